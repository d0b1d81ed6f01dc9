// What the beginning of a file says of it: whether it is a table, and what separates its cells. form.rs of the command
// line has the same rules.

import { SEPARATORS } from './csv_rows.js'

/** Bytes that are looked at for it. */
export const BEGINNING = 8 << 10
const SAVE = 'save the sheet as CSV UTF-8'
export const NOT_UTF8 = `is not UTF-8: ${SAVE}`
const FOUND = SEPARATORS.filter(([char]) => char !== '|')

const WORKBOOKS = ['PK\x03\x04', '\xd0\xcf\x11\xe0']
const MARK = '\xef\xbb\xbf'

/** The bytes as characters, one for one. */
const latin = (bytes) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')

/** Whether the text is JSON, or its beginning. */
function isJson(line) {
  const open = []
  let isText = false
  for (let at = 0; at < line.length; at += 1) {
    const char = line[at]
    if (isText && char === '\\') at += 1
    else if (char === '"') isText = !isText
    else if (!isText && '{['.includes(char)) open.push(char === '{' ? '}' : ']')
    else if (!isText && '}]'.includes(char) && open.pop() !== char) return false
  }
  const closed = open.reverse().join('')
  const endings = isText ? ['"', '":0', '\\"', '\\":0'] : ['', '0', ':0', '"":0']
  return endings.some((ending) => {
    try {
      return JSON.parse(line + ending + closed) !== undefined
    } catch {
      return false
    }
  })
}

/** Why the file is no table, as the end of a sentence about it; '' if it may be one. */
function foreign(text) {
  const first = text.trimStart().split('\n')[0]
  const isPacked = WORKBOOKS.some((mark) => text.startsWith(mark))
  if (isPacked) return `is a workbook or an archive, not a table as text: ${SAVE}`
  if (/^(?:\xff\xfe|\xfe\xff|\0[^\0]|[^\0]\0)/.test(text)) return `is UTF-16, not UTF-8: ${SAVE}`
  if (text.includes('\0')) return 'is no text: a table is wanted, as CSV in UTF-8'
  if (/^[{[]/.test(first) && isJson(first)) return 'is JSON, not a table: intray import reads a job a line'
  if (first.startsWith('<')) return 'is XML or HTML: a table is wanted, as CSV in UTF-8'
  return ''
}

/** A first line for Excel, which is no row. */
const DECLARED = /^(?:sep=([^"\r\n\0\x80-\xff])|"sep=([^"\r\n\0\x80-\xff])")(?:\r\n|\r|\n)/i

/** The bytes of the first row that are outside of quotes. A quote within a cell is a character like others. */
function unquoted(text) {
  let isQuoted = false, mayQuote = true, outside = ''
  for (const char of text.replace(/^[\r\n]+/, '')) {
    if (char === '"' && (isQuoted || mayQuote)) {
      isQuoted = !isQuoted
      mayQuote = true
    } else if (!isQuoted) {
      if ('\r\n'.includes(char)) break
      mayQuote = FOUND.some(([separator]) => separator === char)
      outside += char
    }
  }
  return outside
}

/** `{separator}`, or `{problem}` where it is to be chosen. A table with one column has none. */
function separatorOf(text) {
  const row = unquoted(text)
  const found = FOUND.filter(([char]) => row.includes(char))
  if (found.length === 1) return { separator: found[0][0] }
  if (found.length === 0 && !row.includes('|')) return { separator: ',' }
  const names = found.map(([char, name]) => (char === '\t' ? name : char))
  const what = names.length > 0 ? `${names[0]} and ${names[1]} in its first row`
    : 'no comma, semicolon or tab in its first row, but |'
  return { problem: `has ${what}: choose what separates the cells` }
}

/**
 * What the first bytes of a file say: `{foreign}`, why it is no table; or `{start, separator, problem}`, where the
 * first row is, and what separates its cells or why that is to be chosen.
 */
export function formOf(bytes) {
  const all = latin(bytes.subarray(0, BEGINNING))
  const mark = all.startsWith(MARK) ? MARK.length : 0
  const text = all.slice(mark)
  const why = foreign(text)
  if (why) return { foreign: why }
  const declared = DECLARED.exec(text)
  if (declared) return { start: mark + declared[0].length, separator: declared[1] ?? declared[2] }
  return { start: mark, ...separatorOf(text) }
}
