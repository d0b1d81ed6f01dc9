// Payloads, results and drafts come back byte for byte, and are shown so: JSON.parse would round 9007199254740993, drop
// a key that is there twice, and put "10" behind "2". So those values stay text; all else of an answer becomes values.

import { visible } from './shown.js'

const TOKEN = /[\s\ufeff]*("[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+)/gy
const KEPT = new Set(['payload', 'result', 'draft'])

/** JSON text that nothing has touched. */
export class Exact {
  constructor(text) { this.text = text }
  get isNull() { return this.text === 'null' }
}

/** The value of a JSON text, with an `Exact` for each payload, result and draft. */
export function read(text) {
  const cursor = new RegExp(TOKEN)
  const next = () => {
    const found = cursor.exec(text)
    if (!found) throw new SyntaxError('the answer ends too early')
    return found[1]
  }
  const value = (token) => {
    if (token === '{') return object()
    if (token === '[') return array()
    return JSON.parse(token)
  }
  const object = () => {
    const result = {}
    for (let token = next(); token !== '}'; token = next()) {
      if (token === ',') continue
      const key = JSON.parse(token)
      next()
      result[key] = KEPT.has(key) ? exact() : value(next())
    }
    return result
  }
  const array = () => {
    const result = []
    for (let token = next(); token !== ']'; token = next()) {
      if (token !== ',') result.push(value(token))
    }
    return result
  }
  const exact = () => {
    const first = next()
    const start = cursor.lastIndex - first.length
    let depth = first === '{' || first === '[' ? 1 : 0
    while (depth > 0) {
      const token = next()
      if (token === '{' || token === '[') depth += 1
      if (token === '}' || token === ']') depth -= 1
    }
    return new Exact(text.slice(start, cursor.lastIndex))
  }
  return value(next())
}

// What is not seen is written as JSON may write it.
const unit = (half) => `\\u${half.charCodeAt(0).toString(16).padStart(4, '0')}`
const escaped = ({ char }) => char.split('').map(unit).join('')
const seen = (text) => visible(text, escaped)

/** The same tokens, one member a line. Invisible letters stay, because edited text is sent again. */
export function pretty(exact, isShown = true) {
  const tokens = [...exact.text.matchAll(TOKEN)].map((found) => found[1])
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
  return isShown ? seen(out) : out
}

/** So much of it as fits in a row. */
export function brief(exact, length = 160) {
  const head = exact.text.length > length * 4 ? `${exact.text.slice(0, length * 4)}` : exact.text
  const text = seen(head.replace(/\s+/g, ' '))
  return text.length > length ? `${text.slice(0, length)}…` : text
}
