// Tables for a spreadsheet: cells by RFC 4180, as the service writes them. None of them is a formula there.

import { Exact } from './exact_json.js'
import { CONTROL, FORMULA, FORMULA_IN_JSON } from './words.js'

const BREAKS = /[\t\r\n]/g

/** JSON on one line, with payloads as sent; line breaks in JSON stand only between tokens. */
export function json(value) {
  if (value instanceof Exact) return value.text.replace(/[\r\n]/g, ' ')
  if (Array.isArray(value)) return `[${value.map(json).join(',')}]`
  if (value && typeof value === 'object') {
    return `{${Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}:${json(inner)}`).join(',')}}`
  }
  return JSON.stringify(value)
}

/** An apostrophe makes text of a formula, also after what another program takes for a separator. */
function tamed(text) {
  const before = (at) => (at === 0 || ';|'.includes(text[at - 1]) ? "'" : '')
  const tame = text.replace(FORMULA, (skipped, at) => before(at) + skipped.replace(BREAKS, (char) => `${char}'`))
  return CONTROL.test(text) && !tame.startsWith("'") ? `'${tame}` : tame
}

/** The value of JSON stays the same: what would start a formula is escaped. */
const tamedJson = (text) => text.replace(BREAKS, ' ')
  .replace(FORMULA_IN_JSON, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Text without its quotes, all else as JSON, and nothing for `null`. */
function written(value) {
  if (value === null || value === undefined || value.isNull) return ''
  const text = value instanceof Exact && value.text.startsWith('"') ? JSON.parse(value.text) : value
  return typeof text === 'string' && text.isWellFormed() ? tamed(text) : tamedJson(json(value))
}

/** A cell as it stands in a row. */
export function cell(value) {
  const text = written(value)
  return /[",\r\n']|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** `columns`: `[{name, of(job)}]`. */
export function csv(jobs, columns) {
  const rows = [columns.map(({ name }) => name), ...jobs.map((job) => columns.map(({ of }) => of(job)))]
  return rows.map((values) => `${values.map(cell).join(',')}\r\n`).join('')
}
