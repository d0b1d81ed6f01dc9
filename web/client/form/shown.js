/**
 * Text that others wrote, as a person may rely on it: what is not seen, or turns other letters round, is a mark with
 * its number.
 */

/** Controls but newline and tab, blanks but the plain one, separators, format characters, fillers, half characters. */
const UNSEEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Zs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{1d159}\u{13441}\u{13442}]/u
const PLAIN = new Set(['\n', '\t', ' '])
/** Format characters that have a shape: signs before numbers. */
const SHAPED = /[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}]/u
const SCRIPTS = [
  'Arabic', 'Syriac', 'Mandaic', 'Mongolian', 'Nko', 'Phags_Pa', 'Adlam', 'Hanifi_Rohingya', 'Devanagari', 'Bengali',
  'Gurmukhi', 'Gujarati', 'Oriya', 'Tamil', 'Telugu', 'Kannada', 'Malayalam', 'Sinhala', 'Khmer', 'Myanmar', 'Tibetan',
  'Balinese', 'Javanese',
]
const JOINS = `[${SCRIPTS.map((name) => `\\p{Script=${name}}`).join('')}]`
const PICTURE = '(?:\\p{Extended_Pictographic}\\ufe0f?|\\p{Emoji_Modifier})'
/**
 * A joiner between parts of an emoji, or of a word in a script that joins, or after a sign that ends in one; and the
 * sign for a picture.
 */
const KEPT = new RegExp(
  `(?<=${PICTURE})\\u200d(?=\\p{Extended_Pictographic})`
  + `|(?<=\\p{Extended_Pictographic}|[#*0-9](?=\\ufe0f\\u20e3))\\ufe0f`
  + `|(?<=${JOINS})[\\u200c\\u200d](?=${JOINS})|(?<=(?=${JOINS})\\p{Mn})\\u200d`, 'gu',
)

/** @typedef {{ text: string, isMark: boolean, char?: string }} Part */

/** @param {string} char */
const codepoint = (char) => `U+${char.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`

/**
 * The text in parts, each with whether it is the number of a character that is not seen.
 * @param {string} text
 */
export function parts(text) {
  const whole = text.replaceAll('\r\n', '\n')
  const kept = new Set([...whole.matchAll(KEPT)].map(({ index }) => index))
  /** @type {Part[]} */
  const all = [{ text: '', isMark: false }]
  let at = 0
  for (const char of whole) {
    const isMark = UNSEEN.test(char) && !PLAIN.has(char) && !SHAPED.test(char) && !kept.has(at)
    if (isMark) all.push({ text: codepoint(char), char, isMark }, { text: '', isMark: false })
    else all[all.length - 1].text += char
    at += char.length
  }
  return all.filter(({ text }) => text !== '')
}

/**
 * The same as one text.
 * @param {unknown} text
 * @param {(part: Part) => string} [mark]
 */
export const visible = (text, mark = ({ text }) => `⟨${text}⟩`) => (
  parts(String(text)).map((part) => (part.isMark ? mark(part) : part.text)).join(''))

/**
 * The same in an element, which no direction of letters leaves.
 * @param {Element} element
 * @param {unknown} text
 */
export function shown(element, text) {
  const own = document.createElement('bdi')
  own.dir = 'auto'
  own.append(...parts(String(text ?? '')).map(({ text, isMark }) => {
    if (!isMark) return text
    const mark = Object.assign(document.createElement('span'), { className: 'codepoint', textContent: text })
    mark.title = 'a character that is not seen'
    return mark
  }))
  element.replaceChildren(own)
}
