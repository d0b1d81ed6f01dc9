/**
 * JSON as it was sent. JSON.parse rounds 9007199254740993, drops a member that is there twice, and puts "10" after "2":
 * what a person decides about stays text. The console and the desk use it too.
 */

/** A token, after the blanks before it. */
export const JSON_TOKEN = /[\s\ufeff]*("[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+)/gy

/** A text that nothing has touched. */
export class Exact {
  /** @param {string} text */
  constructor(text) {
    this.text = text
  }

  get isNull() {
    return this.text === 'null'
  }
}

/**
 * The value of a valid JSON text, with an `Exact` for each member that has one of these names.
 * @param {string} text
 * @param {Set<string>} kept
 */
export function readExact(text, kept) {
  const cursor = new RegExp(JSON_TOKEN)
  const next = () => {
    const found = cursor.exec(text)
    if (!found) throw new SyntaxError('the answer ends too early')
    return found[1]
  }
  /** @type {(token: string) => any} */
  const value = (token) => (token === '{' ? object() : token === '[' ? array() : JSON.parse(token))
  const object = () => {
    /** @type {Record<string, any>} */
    const result = {}
    for (let token = next(); token !== '}'; token = next()) {
      if (token === ',') continue
      const key = JSON.parse(token)
      next()
      result[key] = kept.has(key) ? exact() : value(next())
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

/**
 * A value with the texts of its numbers, and its members in their order, also those that are there twice.
 * @typedef {{ kind: 'object', members: { name: string, value: JsonNode }[] } | { kind: 'array', items: JsonNode[] }
 *   | { kind: 'string', value: string, text: string } | { kind: 'number' | 'word', text: string }} JsonNode
 */

/**
 * @param {string} text valid JSON
 * @returns {JsonNode}
 */
export function readNodes(text) {
  const tokens = text.matchAll(JSON_TOKEN)
  const next = () => tokens.next().value?.[1] ?? ''
  /** @type {(token: string) => JsonNode} */
  const node = (token) => {
    if (token === '{') return { kind: 'object', members: members() }
    if (token === '[') return { kind: 'array', items: items() }
    if (token[0] === '"') return { kind: 'string', value: JSON.parse(token), text: token }
    return { kind: /^[-\d]/.test(token) ? 'number' : 'word', text: token }
  }
  const members = () => {
    const all = []
    for (let token = next(); token !== '}'; token = next()) {
      if (token === ',') continue
      next()
      all.push({ name: String(JSON.parse(token)), value: node(next()) })
    }
    return all
  }
  const items = () => {
    const all = []
    for (let token = next(); token !== ']'; token = next()) {
      if (token !== ',') all.push(node(token))
    }
    return all
  }
  return node(next())
}
