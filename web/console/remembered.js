// How the lists of a queue were shown and exported last, for as long as the tab is open and until its person signs
// out: the names of columns are of what they may see. A browser may forbid a page to keep anything: then it is not
// remembered.

const NAME = 'intray-console-exports'
const MAX_QUEUES = 32
/** Columns that a person has ticked or not, of one queue. A longer name is not kept. */
const MAX_TICKS = 300
const MAX_NAME = 256
const KINDS = ['NDJSON', 'CSV']
/** Members of the payloads that are columns of the lists. */
export const MAX_SHOWN = 2

/**
 * `kind` of file; `isMarked`, by a byte order mark; `ticks` by the names of columns, for those that were changed;
 * `shown`, the members of the payloads that the lists show.
 */
const USUAL = { kind: 'NDJSON', isMarked: true, ticks: new Map(), shown: [] }

function stored() {
  try {
    const list = JSON.parse(sessionStorage.getItem(NAME))
    return Array.isArray(list) ? list.filter((entry) => Array.isArray(entry) && typeof entry[0] === 'string') : []
  } catch {
    return []
  }
}

/** What is kept may be of another version, or of another page. */
function valid(kept) {
  const ticks = Array.isArray(kept?.ticks) ? kept.ticks : []
  const shown = Array.isArray(kept?.shown) ? kept.shown : []
  const isTick = (tick) => Array.isArray(tick) && typeof tick[0] === 'string' && typeof tick[1] === 'boolean'
  return {
    kind: KINDS.includes(kept?.kind) ? kept.kind : USUAL.kind,
    isMarked: typeof kept?.isMarked === 'boolean' ? kept.isMarked : USUAL.isMarked,
    ticks: new Map(ticks.filter(isTick)),
    shown: shown.filter((name) => typeof name === 'string').slice(0, MAX_SHOWN),
  }
}

export const recall = (queue) => valid(stored().find(([name]) => name === queue)?.[1])

export function forget() {
  try {
    sessionStorage.removeItem(NAME)
  } catch {}
}

/** `change`: some of it. */
export function remember(queue, change) {
  const { kind, isMarked, ticks, shown } = { ...recall(queue), ...change }
  const isShort = (name) => name.length <= MAX_NAME
  const short = [...ticks].filter(([name]) => isShort(name)).slice(-MAX_TICKS)
  const others = stored().filter(([name]) => name !== queue).slice(0, MAX_QUEUES - 1)
  try {
    const kept = { kind, isMarked, ticks: short, shown: shown.filter(isShort) }
    sessionStorage.setItem(NAME, JSON.stringify([[queue, kept], ...others]))
  } catch {}
}
