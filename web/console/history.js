// The stored histories of queues: counts from before the page was opened.

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const MAX_QUEUES = 50
const TOGETHER = 8

export const RANGES = {
  hour: { title: 'Hour', words: 'the last hour', step: MINUTE, ms: HOUR },
  day: { title: 'Day', words: 'the last day', step: MINUTE, ms: 24 * HOUR },
  days: { title: '90 days', words: 'the last 90 days', step: HOUR, ms: 90 * 24 * HOUR },
}

/** queue → `{spans, since}` of what `ask(name, query)` says; `null` where there are so many that asking is a burden. */
export async function load(names, range, now, ask) {
  if (names.length === 0 || names.length > MAX_QUEUES) return null
  const { step, ms } = RANGES[range]
  const after = new Date(now - ms - step).toISOString()
  const query = { step: step === MINUTE ? 'minute' : 'hour', after, limit: 2_160 }
  const all = new Map()
  for (let at = 0; at < names.length; at += TOGETHER) {
    await Promise.all(names.slice(at, at + TOGETHER).map(async (name) => {
      const { spans, since } = await ask(name, query)
      all.set(name, { spans, since: since ? Date.parse(since) : null })
    }))
  }
  return all
}

/** The time since which each of them has all counts, where that is later than the range begins; else `null`. */
export function wholeSince(all, range, now) {
  const { step, ms } = RANGES[range]
  const latest = Math.max(...[...all.values()].map(({ since }) => since ?? -Infinity))
  return latest > Math.floor((now - ms) / step) * step ? latest : null
}

/**
 * Columns of a chart: seconds, then per minute each of `names`. Where nothing was counted it is nought, and where what
 * was counted has been dropped there is nothing.
 */
export function columns(all, range, names, now) {
  const { step, ms } = RANGES[range]
  const since = wholeSince(all, range, now) ?? -Infinity
  const begin = Math.floor((now - ms) / step) * step
  const places = Math.floor((now - begin) / step) + 1
  const sums = names.map(() => new Array(places).fill(0))
  for (const { at, gained } of spansOf(all)) {
    const place = (Date.parse(at) - begin) / step
    if (place in sums[0]) names.forEach((name, n) => { sums[n][place] += gained[name] })
  }
  const end = (place) => Math.min(begin + (place + 1) * step, now)
  // The current minute may be very short.
  const minutes = (place) => Math.max(end(place) - begin - place * step, step / 2) / MINUTE
  return [
    sums[0].map((_, place) => end(place) / 1_000),
    ...sums.map((sum) => sum.map((n, place) => (begin + place * step < since ? null : n / minutes(place)))),
  ]
}

/** The stored history, followed by the page's own samples. The span in which they begin keeps the part before them. */
export function joined(before, since) {
  const first = since[0][0] ?? Infinity
  const kept = before[0].filter((at) => at < first).length
  const [times, ...counts] = before.map((column) => column.slice(0, kept && kept + 1))
  if (kept < times.length) times[kept] = (times[kept - 1] + first) / 2
  return [times, ...counts].map((column, n) => [...column, ...since[n]])
}

const spansOf = (all) => [...all.values()].flatMap(({ spans }) => spans)

/** The sum over the stored range. */
export function sum(all, range, name, now) {
  const from = Math.max(now - RANGES[range].ms, wholeSince(all, range, now) ?? -Infinity)
  const spans = spansOf(all).filter(({ at }) => Date.parse(at) >= from)
  return spans.reduce((total, { gained }) => total + gained[name], 0)
}
