/**
 * Text that others wrote, as a person may rely on it: what is not seen, turns other letters round, or pushes them out
 * of sight, is a mark with its number.
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

/** Line breaks, with no more than blanks between, that would push what follows out of sight. */
const BLANK_LINES = /(\n(?:[ \t]*\n){3,})/
const LETTER_MARK = /\p{M}/u
/** The limit of accents on one letter: more are a tower, which covers other lines. */
const MAX_ACCENTS = 8

/** @typedef {{ text: string, isMark: boolean, char?: string }} Part `char`: what the mark stands for */

/** How often it stands there is said once. @param {string} char @param {number} count @returns {Part} */
function markOf(char, count, whole = char.repeat(count)) {
  const number = char.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')
  return { text: `U+${number}${count > 1 ? ` ×${count}` : ''}`, char: whole, isMark: true }
}

/**
 * The text in parts, each with whether it is the mark of what is not seen.
 * @param {string} text
 */
const parts = (text) => text.replaceAll('\r\n', '\n').split(BLANK_LINES).flatMap((part, n) => (
  n % 2 ? markOf('\n', part.split('\n').length - 1, part) : partsOfLines(part)))

/** @param {string} whole @returns {Part[]} */
function partsOfLines(whole) {
  const kept = new Set([...whole.matchAll(KEPT)].map(({ index }) => index))
  /** @type {{ text: string, marks: number }[]} a text, or a character as often as it is not seen */
  const runs = []
  let at = 0
  let accents = 0
  for (const char of whole) {
    const isKept = kept.has(at)
    accents = LETTER_MARK.test(char) ? accents + 1 : isKept ? accents : 0
    const isUnseen = UNSEEN.test(char) && !PLAIN.has(char) && !SHAPED.test(char) && !isKept
    const isMark = isUnseen || accents > MAX_ACCENTS
    const last = runs.at(-1)
    if (last && isMark && last.marks && last.text === char) last.marks += 1
    else if (last && !isMark && !last.marks) last.text += char
    else runs.push({ text: char, marks: Number(isMark) })
    at += char.length
  }
  return runs.map(({ text, marks }) => (marks ? markOf(text, marks) : { text, isMark: false }))
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
  if (text === '') return element.replaceChildren()
  const own = document.createElement('bdi')
  // Until all of it is there: a direction that is found is found again with each part.
  own.dir = 'ltr'
  // One by one: a call takes no hundred thousand arguments.
  for (const { text: part, isMark } of parts(String(text ?? ''))) {
    const title = 'what is not seen as it is'
    own.append(isMark
      ? Object.assign(document.createElement('span'), { className: 'codepoint', textContent: part, title }) : part)
  }
  own.dir = 'auto'
  element.replaceChildren(own)
}
