// How numbers, times and names are written.

const NUMBER = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const UNITS = [['d', 86_400_000], ['h', 3_600_000], ['min', 60_000], ['s', 1_000], ['ms', 1]]

/** Where there is no such thing, a time for instance. A count of nothing is 0, and in the cell of a list a blank. */
export const NONE = '–'

export const number = (n) => (n >= 1_000_000 ? SHORT.format(n) : NUMBER.format(n))

export const many = (n, one, more = `${one}s`) => `${number(n)} ${n === 1 ? one : more}`

/** The message after a change of settings, which may have made the queue. */
export const changeText = (queue, text) => ({ created }) => (
  created ? `${queue} was not there, so it was made. ${text}` : text)

const SIZES = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']

/** "1.2 GiB" */
export function bytes(n) {
  const at = Math.min(Math.max(Math.floor(Math.log2(Math.max(n, 1)) / 10), 0), SIZES.length - 1)
  const size = n / 1024 ** at
  return `${at > 0 && size < 10 ? size.toFixed(1) : Math.round(size)} ${SIZES[at]}`
}

/** Per minute. */
export function rate(n) {
  if (n === null) return NONE
  if (n < 0.05) return '0'
  if (n < 10) return n.toFixed(1)
  return number(Math.round(n))
}

/** "3 min"; longer times have two units: "2 h 5 min". */
export function age(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return NONE
  const whole = Math.max(0, ms)
  if (whole < 1_000) return '< 1 s'
  const at = UNITS.findIndex(([, size]) => whole >= size)
  const [unit, size] = UNITS[at]
  const main = Math.floor(whole / size)
  if (at > 1) return `${main} ${unit}`
  const [small, less] = UNITS[at + 1]
  const rest = Math.floor((whole % size) / less)
  return rest ? `${main} ${unit} ${rest} ${small}` : `${main} ${unit}`
}

/** 4:12, as on a clock that runs down. */
export function countdown(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1_000))
  const two = (n) => String(n).padStart(2, '0')
  const [h, m, s] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60]
  return h ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`
}

/** 300000 as "5 min", exactly. */
export function duration(ms) {
  if (!ms) return '0'
  let rest = ms
  return UNITS.flatMap(([unit, size]) => {
    const n = Math.floor(rest / size)
    rest -= n * size
    return n ? [`${n} ${unit}`] : []
  }).join(' ')
}

/** "must be a whole number from 10000 to 2592000000" in the units in which a time is typed. */
export const inUnits = (rule) => rule.replace('a whole number ', '').replace(/\d+/g, (ms) => duration(Number(ms)))

/** Why something happened, as its event says; of a `closing` that is for how long it can be taken back. */
export const reasonOf = ({ type, reason }) => (
  type === 'closing' ? `can be taken back for ${duration(Number(reason))}` : reason)

/** By which credential a worker came to a job, as the event of a reservation says; '' without access control. */
export function accessOf(access) {
  if (!access || access.kind === 'open') return ''
  if (access.issuer) return `by a token of ${access.issuer}`
  const by = access.kind === 'key' ? 'by key' : 'by a token of key'
  return access.key ? `${by} ${access.key}` : 'by a token'
}

/** What people write for the units. */
const WORDS = new Map([
  ...UNITS, ['sec', 1_000], ['second', 1_000], ['seconds', 1_000], ['m', 60_000], ['minute', 60_000],
  ['minutes', 60_000], ['hour', 3_600_000], ['hours', 3_600_000], ['day', 86_400_000], ['days', 86_400_000],
])

/** How a time is typed, for the field that takes it. */
export const SUCH_AS = 'such as 10 s, 5 min, 2 h or 30 d'

/** "1 h 30 min", "90s" or "0" in ms; NaN for other texts, also for a number without a unit. */
export function readDuration(text) {
  const trimmed = text.trim().toLowerCase()
  if (trimmed === '0') return 0
  if (!/^(\d+(\.\d+)?\s*[a-z]+\s*)+$/.test(trimmed)) return NaN
  const parts = [...trimmed.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]+)/g)]
  return Math.round(parts.reduce((sum, [, n, unit]) => sum + Number(n) * (WORDS.get(unit) ?? NaN), 0))
}

export function time(iso) {
  if (!iso) return NONE
  const then = new Date(iso)
  const today = new Date().toDateString() === then.toDateString()
  const clock = then.toLocaleTimeString('en-GB')
  return today ? clock : `${then.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })} ${clock}`
}

const ID = /^(.{1,64})-([0-7][0-9A-HJKMNP-TV-Z]{25})(?:\.[0-7][0-9A-HJKMNP-TV-Z]{25})?$/

/** The queue and the rest of an id, of a reservation (whose secret is dropped) or of a URL that ends in one. */
export function readId(text) {
  const found = ID.exec(text.trim().split('/').pop())
  return found && { id: `${found[1]}-${found[2]}`, queue: found[1], tail: found[2], isBatch: found[2].endsWith('0000') }
}

/** The end of an id: enough to tell the rows of a list apart. */
export const tail = (id) => id.slice(-8)
