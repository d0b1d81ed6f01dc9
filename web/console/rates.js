// How fast things go, from the totals of the queues, which only grow.

const WINDOW = 10 * 60_000
const SMOOTH = 30_000
const CLOSE = 1_500
/** So many samples of all queues are kept, about; of many queues each has fewer. */
const MAX = 100_000
const TOO_SHORT = 5_000
const COUNTED = ['enqueued', 'handed_out', 'completed', 'expired', 'failed']

/** queue → [{at, enqueued, handed_out, …}], oldest first. "" is all queues together. */
const samples = new Map()

export function forget() { samples.clear() }

export function add(queues, at = Date.now()) {
  const close = Math.max(CLOSE, WINDOW * queues.length / MAX)
  const sum = Object.fromEntries(COUNTED.map((name) => [name, 0]))
  for (const { name, totals } of queues) {
    COUNTED.forEach((counted) => { sum[counted] += totals[counted] })
    put(name, { ...Object.fromEntries(COUNTED.map((counted) => [counted, totals[counted]])), at }, close)
  }
  put('', { ...sum, at }, CLOSE)
}

function put(queue, sample, close) {
  const list = samples.get(queue) ?? []
  const last = list.at(-1)
  // A queue that was emptied of everything and came back counts from 0 again.
  if (last && sample.enqueued < last.enqueued) list.length = 0
  // The last one is a better last one until it is far enough from the one before.
  if (list.length > 1 && last.at - list.at(-2).at < close) list.pop()
  list.push(sample)
  while (list.length > 2 && list[1].at < sample.at - WINDOW) list.shift()
  samples.set(queue, list)
}

/** Per minute over the last half minute, or as long as it is known; `null` before that. */
export function ratesOf(queue) {
  const list = samples.get(queue) ?? []
  return list.length < 2 || list.at(-1).at - list[0].at < TOO_SHORT ? null : between(list, list.length - 1)
}

function between(list, end) {
  const last = list[end]
  let start = end
  while (start > 0 && list[start].at > last.at - SMOOTH) start -= 1
  const first = list[start]
  const minutes = Math.max(last.at - first.at, 1_000) / 60_000
  return Object.fromEntries(COUNTED.map((name) => [name, Math.max(0, last[name] - first[name]) / minutes]))
}

/** Columns for a chart: seconds, then per minute each of `names`. */
export function history(queue, names) {
  const list = (samples.get(queue) ?? [])
  const columns = [[], ...names.map(() => [])]
  for (let at = 1; at < list.length; at += 1) {
    if (list[at].at - list[0].at < TOO_SHORT) continue
    const rates = between(list, at)
    columns[0].push(list[at].at / 1_000)
    names.forEach((name, n) => columns[n + 1].push(rates[name]))
  }
  return columns
}

export const SPAN = WINDOW / 1_000
