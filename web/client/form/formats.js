/** Four formats and exact multiples, as the service defines them: one table of cases runs on both sides. */

/** As HTML defines it: https://html.spec.whatwg.org/multipage/input.html#valid-e-mail-address */
const LABEL = '[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?'
const EMAIL = new RegExp(`^[a-zA-Z0-9.!#$%&'*+/=?^_\`{|}~-]+@${LABEL}(?:\\.${LABEL})*$`)
/** RFC 3986 with a host of letters, digits, `.`, `_` and `-`, or an IPv6 address, and without a user. */
const URI_PART = `(?:[\\w.~!$&'()*+,;=:@/-]|%[0-9a-f]{2})`
const HOST = `(?:\\[(?<six>[0-9a-f:.]+)\\]|[\\w.-]+)`
const AFTER = `(?:/${URI_PART}*)?(?:\\?(?:${URI_PART}|\\?)*)?(?:#(?:${URI_PART}|\\?)*)?`
const URI = new RegExp(`^https?://${HOST}(?::(?<port>\\d*))?${AFTER}$`, 'i')
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/
const DATE = /^(\d{4})-(\d{2})-(\d{2})$/
const TIME = /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** @type {Record<string, (text: string) => boolean>} */
export const FORMATS = {
  email: (text) => EMAIL.test(text),
  uri: isUri,
  date: isDate,
  'date-time': (text) => text[10] === 'T' && isDate(text.slice(0, 10)) && TIME.test(text.slice(11)),
}

/** @param {string} text */
function isUri(text) {
  const { six, port } = URI.exec(text)?.groups ?? { port: '70000' }
  return Number(port ?? 0) <= 65_535 && (six === undefined || isAddress(six))
}

/** An IPv6 address (RFC 4291, section 2.2), in which browsers differ. @param {string} text */
function isAddress(text) {
  const halves = text.split('::')
  const groups = halves.flatMap((half) => (half ? half.split(':') : []))
  const endsInFour = !text.endsWith('::') && IPV4.test(groups.at(-1) ?? '')
  const areHex = groups.slice(0, endsInFour ? -1 : undefined).every((group) => /^[\da-f]{1,4}$/i.test(group))
  const count = groups.length + Number(endsInFour)
  return areHex && (halves.length === 1 ? count === 8 : halves.length === 2 && count < 8)
}

/** @param {string} text */
function isDate(text) {
  const [year, month, day] = (DATE.exec(text) ?? []).slice(1).map(Number)
  if (!year || month < 1 || month > 12) return false
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
  return day >= 1 && day <= days[month - 1]
}

/**
 * A decimal text as a whole number and a power of ten.
 * @param {string} text as JSON writes a number
 */
function decimal(text) {
  const [mantissa, power = '0'] = text.toLowerCase().split('e')
  const [whole, part = ''] = mantissa.split('.')
  return { digits: BigInt(whole.replace('+', '') + part), power: Number(power) - part.length }
}

/** @param {{ digits: bigint, power: number }[]} numbers as whole numbers of one unit */
function aligned(...numbers) {
  const least = Math.min(...numbers.map(({ power }) => power))
  return numbers.map(({ digits, power }) => digits * 10n ** BigInt(power - least))
}

/** Exact in decimals: 19.99 is a multiple of 0.01. @param {number} value @param {number} step */
export function isMultiple(value, step) {
  const [number, unit] = aligned(decimal(String(value)), decimal(String(step)))
  return number % unit === 0n
}

/** The whole numbers that are multiples of a step are those of this one. @param {number} step */
export function wholeStep(step) {
  const { digits, power } = decimal(String(step))
  if (power >= 0) return digits * 10n ** BigInt(power)
  let [divisor, rest] = [digits, 10n ** BigInt(-power)]
  while (rest) [divisor, rest] = [rest, divisor % rest]
  return digits / divisor
}

/** Whether a double holds what was typed. @param {string} typed */
export function isHeld(typed) {
  const number = Number(typed)
  if (!Number.isFinite(number) || /e[+-]?\d{4}/i.test(typed)) return false
  const [one, other] = aligned(decimal(typed), decimal(String(number)))
  return one === other
}
