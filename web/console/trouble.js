// The problems of a queue, and the order of queues by trouble.

import { number } from './format.js'

const OVERDUE = 'Jobs whose time is over, and that are not back in line yet'

const isIdle = ({ counts, reservations, settings }) =>
  counts.waiting > 0 && reservations.live === 0 && !settings.paused

/** Problems that no other column of the overview shows: `[kind, words, what it means]` of each. */
export const troublesOf = (queue) => [
  queue.reservations.overdue > 0 && ['overdue', `${number(queue.reservations.overdue)} overdue`, OVERDUE],
  isIdle(queue) && ['idle', 'no one at work', 'Jobs wait, and no one holds one just now'],
  queue.settings.paused && ['paused', 'paused', 'No job is handed out'],
].filter(Boolean)

/**
 * How bad it is, as one number, as there may be ten thousand queues: dead jobs count most, then overdue ones, then jobs
 * that wait while no worker holds any. Among equals it is how many, and then how long the oldest has waited.
 */
function rankOf(queue) {
  const { counts: { dead, waiting }, reservations: { overdue }, settings: { paused } } = queue
  const kinds = [dead > 0, overdue > 0, isIdle(queue), paused && waiting > 0]
  const kind = kinds.reduce((sum, is) => sum * 2 + Number(is), 0)
  return kind * 1e14 + Math.min(dead + overdue, 9_999) * 1e10 + Math.min(queue.oldest_waiting_ms ?? -1, 9_999_999_999)
}

/** The worst first, and then by name. */
export function byTrouble(queues) {
  const ranked = queues.map((queue) => ({ queue, rank: rankOf(queue) }))
  return ranked.sort((a, b) => b.rank - a.rank || (a.queue.name < b.queue.name ? -1 : 1)).map(({ queue }) => queue)
}
