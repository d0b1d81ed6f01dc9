// Payloads, results and drafts come back byte for byte, and are shown so: JSON.parse would round 9007199254740993, drop
// a key that is there twice, and put "10" after "2". So those values stay text; all else of an answer becomes values.

import { Exact, JSON_TOKEN, readExact } from './json_text.js'
import { visible } from './shown.js'

export { Exact }

const KEPT = new Set(['payload', 'result', 'draft'])

/** The value of a JSON text, with an `Exact` for each payload, result and draft. */
export const read = (text) => readExact(text, KEPT)
const OPINIONS = new Set(['payload', 'value'])
/** The same of batches with their opinions. */
export const readOpinions = (text) => readExact(text, OPINIONS)
/** The same of an answer with this member alone. */
export const readMember = (text, name) => readExact(text, new Set([name]))

// What is not seen is written as JSON may write it.
const unit = (half) => `\\u${half.charCodeAt(0).toString(16).padStart(4, '0')}`
const escaped = ({ char }) => char.split('').map(unit).join('')
const escapeInvisible = (text) => visible(text, escaped)

/** The same tokens, one member a line. Invisible letters stay, because edited text is sent again. */
export function pretty(exact, isShown = true) {
  const tokens = [...exact.text.matchAll(JSON_TOKEN)].map((found) => found[1])
  let out = '', depth = 0
  const line = () => `\n${'  '.repeat(depth)}`
  tokens.forEach((token, at) => {
    const empty = /^[{[]$/.test(token) && /^[}\]]$/.test(tokens[at + 1])
    const closesEmpty = at > 0 && /^[}\]]$/.test(token) && /^[{[]$/.test(tokens[at - 1])
    if (token === '{' || token === '[') { depth += 1; out += empty ? token : token + line() }
    else if (token === '}' || token === ']') { depth -= 1; out += closesEmpty ? token : line() + token }
    else if (token === ',') out += token + line()
    else out += token === ':' ? ': ' : token
  })
  return isShown ? escapeInvisible(out) : out
}

/** So much of it as fits in a row. */
export function brief(exact, length = 160) {
  const head = exact.text.length > length * 4 ? `${exact.text.slice(0, length * 4)}` : exact.text
  const text = escapeInvisible(head.replace(/\s+/g, ' '))
  return text.length > length ? `${text.slice(0, length)}…` : text
}

const escapedName = (token) => JSON.parse(token).replaceAll('~', '~0').replaceAll('/', '~1')

/**
 * Where a JSON text has what a pointer names: its name, or its first token in a list. What is missing is where it would
 * be: in the part around it.
 */
export function placeIn(text, pointer) {
  const places = new Map()
  const way = []
  let name = null
  for (const found of text.matchAll(JSON_TOKEN)) {
    const token = found[1], to = found.index + found[0].length, place = { from: to - token.length, to }
    const inside = way.at(-1)
    if (token === '}' || token === ']') { way.pop(); continue }
    if (token === ',' || token === ':') {
      if (token === ',' && inside) inside.at = inside.isList ? inside.at + 1 : null
      continue
    }
    if (inside && !inside.isList && inside.at === null) {
      inside.at = escapedName(token)
      name = place
      continue
    }
    const own = way.map(({ at }) => `/${at}`).join('')
    if (!places.has(own)) places.set(own, inside && !inside.isList ? name : place)
    if (token === '{' || token === '[') way.push({ isList: token === '[', at: token === '[' ? 0 : null })
  }
  for (let at = pointer; at; at = at.slice(0, at.lastIndexOf('/'))) {
    if (places.has(at)) return places.get(at)
  }
  return places.get('') ?? null
}
