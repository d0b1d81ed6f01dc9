// What is wrong with a queue, and which queue is looked at first.

import { number } from './format.js'

const isIdle = ({ counts, reservations, settings }) =>
  counts.waiting > 0 && reservations.live === 0 && !settings.paused

/** What no other column of the overview says: `[kind, words]` of each. */
export const troublesOf = (queue) => [
  queue.reservations.overdue > 0 && ['overdue', `${number(queue.reservations.overdue)} overdue`],
  isIdle(queue) && ['idle', 'no workers'],
  queue.settings.paused && ['paused', 'paused'],
].filter(Boolean)

/** Dead jobs count most, then overdue ones, then jobs that wait for nobody; among equals the older line is worse. */
function rankOf(queue) {
  const { counts: { dead, waiting }, reservations: { overdue }, settings: { paused } } = queue
  const kinds = [dead > 0, overdue > 0, isIdle(queue), paused && waiting > 0]
  const kind = kinds.reduce((sum, is) => sum * 2 + Number(is), 0)
  return [kind, dead + overdue, queue.oldest_waiting_ms ?? -1]
}

/** The worst first, and then by name. */
export function byTrouble(queues) {
  const ranked = queues.map((queue) => ({ queue, rank: rankOf(queue) }))
  const order = (a, b) => {
    const at = a.rank.findIndex((n, place) => n !== b.rank[place])
    return at < 0 ? (a.queue.name < b.queue.name ? -1 : 1) : b.rank[at] - a.rank[at]
  }
  return ranked.sort(order).map(({ queue }) => queue)
}
