/** The one table of keywords, as the service has it: name, where it may stand, and what its value must be. */
import { escaped, isObject } from './json.js'

/** @import { Fault } from '../form.js' */

const DIALECT = 'https://json-schema.org/draft/2020-12/schema'

/** Places by their names in a sentence. `root` is a place besides the one that the whole form has. */
const NAMES = {
  root: 'the whole form', object: 'an object', text: 'a text', choice: 'a choice', option: 'an option',
  number: 'a number', boolean: 'a boolean', list: 'a list of options', reference: 'a reference',
  nullable: '`anyOf` of a schema and null', null: 'null',
}

/** @typedef {keyof typeof NAMES} Place */

/** @param {unknown} value */
const isTexts = (value) => (
  Array.isArray(value) && value.every((one) => typeof one === 'string') && new Set(value).size === value.length)

/**
 * The type that a schema names, and whether null is one too.
 * @param {unknown} type
 * @returns {{ name: string, isNullable: boolean } | undefined}
 */
export function typeOf(type) {
  if (typeof type === 'string') return { name: type, isNullable: false }
  if (!Array.isArray(type) || type.length !== 2) return
  const [name, ...more] = type.filter((one) => one !== 'null')
  return typeof name === 'string' && more.length === 0 ? { name, isNullable: true } : undefined
}

/** @type {Record<string, [(value: any) => boolean, string]>} */
const VALUES = {
  type: [(value) => typeOf(value) !== undefined, 'must be the name of a type, or a list of one and "null"'],
  text: [(value) => typeof value === 'string', 'must be a text'],
  dialect: [(value) => value === DIALECT, `must be ${DIALECT}`],
  count: [(value) => Number.isInteger(value) && value >= 0, 'must be a whole number, at least 0'],
  number: [(value) => typeof value === 'number', 'must be a number'],
  positive: [(value) => typeof value === 'number' && value > 0, 'must be a number above 0'],
  boolean: [(value) => typeof value === 'boolean', 'must be true or false'],
  texts: [isTexts, 'must be a list of texts, each once'],
  options: [(value) => isTexts(value) && value.length > 0, 'must be a list of texts, at least one and each once'],
  schema: [isObject, 'must be an object that is a schema'],
  schemas: [(value) => Array.isArray(value) && value.length > 0, 'must be a list of schemas, at least one'],
  named: [isObject, 'must be an object of schemas'],
  list: [Array.isArray, 'must be a list'],
  anything: [() => true, 'may be anything'],
}

/** @type {Place[]} */
const FIELDS = ['object', 'text', 'choice', 'number', 'boolean', 'list', 'reference', 'nullable']
/** @type {Place[]} */
const LABELLED = [...FIELDS, 'option']
/** @type {Place[]} */
const TYPED = ['object', 'text', 'choice', 'option', 'number', 'boolean', 'list', 'null']

/** @type {Record<string, [Place[], keyof typeof VALUES]>} */
export const KEYWORDS = {
  type: [TYPED, 'type'],
  properties: [['object'], 'named'],
  required: [['object'], 'texts'],
  additionalProperties: [['object'], 'boolean'],
  title: [LABELLED, 'text'],
  description: [LABELLED, 'text'],
  default: [FIELDS, 'anything'],
  enum: [['choice'], 'options'],
  const: [['choice', 'option'], 'text'],
  oneOf: [['choice'], 'schemas'],
  anyOf: [['choice', 'nullable'], 'schemas'],
  format: [['text'], 'text'],
  minLength: [['text'], 'count'],
  maxLength: [['text'], 'count'],
  pattern: [['text'], 'text'],
  minimum: [['number'], 'number'],
  maximum: [['number'], 'number'],
  exclusiveMinimum: [['number'], 'number'],
  exclusiveMaximum: [['number'], 'number'],
  multipleOf: [['number'], 'positive'],
  items: [['list'], 'schema'],
  minItems: [['list'], 'count'],
  maxItems: [['list'], 'count'],
  uniqueItems: [['list'], 'boolean'],
  $ref: [['reference'], 'text'],
  allOf: [['reference'], 'schemas'],
  $defs: [['root'], 'named'],
  $schema: [['root'], 'dialect'],
  $id: [['root'], 'text'],
  $comment: [LABELLED, 'text'],
  examples: [LABELLED, 'list'],
  deprecated: [LABELLED, 'boolean'],
  readOnly: [LABELLED, 'boolean'],
}

/**
 * A fault for each member of a schema that the table does not take there.
 * @param {any} node
 * @param {Place[]} places
 * @param {string} at
 * @returns {Fault[]}
 */
export function checkKeywords(node, places, at) {
  return Object.entries(node).flatMap(([name, value]) => {
    const detail = wrong(name, value, places)
    return detail ? [{ pointer: `${at}/${escaped(name)}`, detail }] : []
  })
}

/** @param {string} name @param {unknown} value @param {Place[]} places */
function wrong(name, value, places) {
  if (!Object.hasOwn(KEYWORDS, name)) return `\`${[...name].slice(0, 40).join('')}\` is not a keyword of a form`
  const [allowed, kind] = KEYWORDS[name]
  if (!allowed.some((place) => places.includes(place))) {
    const elsewhere = allowed.length > 2 ? 'elsewhere' : allowed.map((place) => NAMES[place]).join(' or ')
    return `\`${name}\` is not a keyword of ${NAMES[places.at(-1) ?? 'root']}, only of ${elsewhere}`
  }
  const [takes, rule] = VALUES[kind]
  return takes(value) ? undefined : `\`${name}\` ${rule}`
}
