/**
 * What a form may be: a small part of JSON Schema, read into fields. All else is refused by name, with its place. The
 * service has the same gate, and both run one table of cases.
 */
import { checkValue } from './check.js'
import { FORMATS } from './formats.js'
import { MAX_FAULTS, limitFaults, escaped, faultsOf, isObject, readJson } from './json.js'
import { checkKeywords, typeOf } from './keywords.js'
import { isNull, isNullable, readOptions } from './options.js'

/** @import { Fault, Form, Origin, Refused } from '../form.js' */
/** @import { Place } from './keywords.js' */

const MAX_BYTES = 16_384
const MAX_PROPERTIES = 64
const MAX_OPTIONS = 256
const MAX_PATTERNS = 16
/** References on the way from the form to a property. */
const MAX_REFS = 4
/** As SDKs write names: without characters that a pointer or a URI would escape. */
const REFERENCE = /^#\/\$defs\/([\w.-]+)$/
const ITEMS = 'the items of a list must be options: `enum`, or `anyOf` of `const` and `title`'

/** @type {Record<string, Place>} */
const PLACES = {
  string: 'text', number: 'number', integer: 'number', boolean: 'boolean', array: 'list', object: 'object',
}
const TYPES = `${Object.keys(PLACES).join(', ')}, or a list of one of them and "null"`

/** Where in a form a schema stands: `grouped` is a property of a group. */
/** @typedef {'form' | 'property' | 'grouped' | 'items'} Level */

/**
 * The form of a schema, or of its text; or why it is none.
 * @param {unknown} schema
 * @param {{ from?: Origin }} [how] who wrote it
 * @returns {Form | Refused}
 */
export function readForm(schema, { from = 'queue' } = {}) {
  const text = typeof schema === 'string' ? schema : (JSON.stringify(schema) ?? 'null')
  const refused = (/** @type {Fault[]} */ faults) => ({ faults: limitFaults(faults) })
  if (new TextEncoder().encode(text).length > MAX_BYTES) {
    return refused([{ pointer: '', detail: `must have at most ${MAX_BYTES} bytes` }])
  }
  const { value, faults } = readJson(text)
  // JSON has null for a number that a value cannot have.
  const all = typeof schema === 'string' ? faults : faultsOf(schema)
  if (all.length > 0) return refused(all)
  const gate = new Gate(value, from)
  const form = gate.form()
  return gate.faults.length > 0 || !form ? refused(gate.faults) : form
}

class Gate {
  /** @type {Fault[]} */
  faults = []
  /** @type {string[]} definitions on the way to this schema */
  #way = []
  #used = new Set()
  /** By the schema that has them, so that a definition is counted once. */
  #properties = new Map()
  /** @type {Map<any, import('../form.js').Option[]>} */
  #options = new Map()
  /** How many texts have a pattern, by each way they are reached. */
  #patterns = 0
  /** The schemas that were checked, so that many references to one cost little. */
  #seen = new Set()

  /** @param {any} root @param {Origin} from */
  constructor(root, from) {
    this.root = root
    this.from = from
    this.definitions = isObject(root) && isObject(root.$defs) ? root.$defs : {}
  }

  /** @param {string} pointer @param {string} detail */
  add(pointer, detail) {
    const isKnown = this.faults.some((fault) => fault.pointer === pointer && fault.detail === detail)
    if (!isKnown) this.faults.push({ pointer, detail })
  }

  /** @returns {Form | undefined} */
  form() {
    const form = this.field(this.root, '', 'form')
    // A definition is read where it is used, so one that is not used would be ignored.
    for (const name of this.faults.length ? [] : Object.keys(this.definitions)) {
      if (!this.#used.has(name)) this.add(`/$defs/${escaped(name)}`, 'a definition must be used by a `$ref`')
    }
    return form && { ...form, from: this.from }
  }

  /**
   * Nothing only after a fault.
   * @param {any} node
   * @param {string} at
   * @param {Level} level
   * @returns {any}
   */
  field(node, at, level) {
    if (this.faults.length >= MAX_FAULTS) return
    const place = this.#place(node, at)
    if (!place) return
    const isNew = !this.#seen.has(node)
    this.#seen.add(node)
    if (isNew) this.faults.push(...checkKeywords(node, node === this.root ? ['root', place] : [place], at))
    const refusal = misplaced(level, place, place === 'nullable' || Array.isArray(node.type))
    if (refusal) return this.add(at, refusal)
    const found = this.#read(place, node, at, level)
    if (!found) return
    const field = { ...found, ...noted(node) }
    if (!isNew || !Object.hasOwn(node, 'default')) return field
    for (const { pointer, detail } of checkValue(field, node.default, `${at}/default`)) {
      this.add(pointer, `the default does not fit: ${detail}`)
    }
    return field
  }

  /** @param {any} node @param {string} at @returns {Place | undefined} */
  #place(node, at) {
    if (!isObject(node)) return void this.add(at, 'must be a schema, an object')
    const has = (/** @type {string[]} */ ...names) => names.some((name) => Object.hasOwn(node, name))
    if (has('$ref', 'allOf')) return 'reference'
    if (isNullable(node)) return 'nullable'
    if (has('enum', 'const', 'oneOf', 'anyOf')) return 'choice'
    if (!has('type')) return void this.add(at, '`type` must be there')
    const name = typeOf(node.type)?.name ?? ''
    if (Object.hasOwn(PLACES, name)) return PLACES[name]
    this.add(`${at}/type`, `\`type\` must be ${TYPES}`)
  }

  /** @param {Place} place @param {any} node @param {string} at @param {Level} level */
  #read(place, node, at, level) {
    if (place === 'reference') return this.#reference(node, at, level)
    if (place === 'nullable') return this.#nullable(node, at, level)
    const { name, isNullable } = typeOf(node.type) ?? { name: '', isNullable: false }
    const own = { isNullable }
    switch (place) {
      case 'object': return this.#object(node, at, level, own)
      case 'choice': return { kind: 'options', ...own, options: this.#choice(node, at) }
      case 'text': return { kind: 'text', ...own, ...this.#text(node, at) }
      case 'list': return this.#list(node, at, own)
      case 'boolean': return { kind: 'boolean', ...own }
      default: return { kind: name, ...own, ...limits(node) }
    }
  }

  /** @param {any} node @param {string} at @param {Level} level */
  #nullable(node, at, level) {
    const inner = node.anyOf.findIndex((/** @type {any} */ one) => !isNull(one))
    if (inner < 0) return this.add(`${at}/anyOf`, '`anyOf` must have a schema next to null')
    this.faults.push(...checkKeywords(node.anyOf[1 - inner], ['null'], `${at}/anyOf/${1 - inner}`))
    const field = this.field(node.anyOf[inner], `${at}/anyOf/${inner}`, level)
    return field && { ...field, isNullable: true }
  }

  /** @param {any} node @param {string} at @param {Level} level */
  #reference(node, at, level) {
    const { only, own } = referenceOf(node, at)
    if (!only) return this.add(own, '`allOf` must be a list of one object that has `$ref` only')
    const name = typeof only.$ref === 'string' ? REFERENCE.exec(only.$ref)?.[1] : undefined
    if (name === undefined) {
      return this.add(own, "`$ref` must be #/$defs/NAME, with a name of A-Z, a-z, 0-9, '.', '_' and '-'")
    }
    if (!Object.hasOwn(this.definitions, name)) return this.add(own, '`$ref` must name a member of `$defs`')
    if (this.#way.includes(name)) return this.add(own, '`$ref` must not lead back to itself')
    if (this.#way.length === MAX_REFS) return this.add(own, '`$ref` must not be the fifth on the way to a property')
    this.#used.add(name)
    this.#way.push(name)
    const field = this.field(this.definitions[name], `/$defs/${name}`, level)
    this.#way.pop()
    return field
  }

  /** @param {any} node @param {string} at @param {Level} level @param {{ isNullable: boolean }} own */
  #object(node, at, level, own) {
    const { properties } = node
    if (properties === undefined) {
      return this.add(at, '`properties` must be there: an object without them cannot be drawn')
    }
    const all = isObject(properties) ? Object.entries(properties) : []
    this.#properties.set(properties, all.length)
    if (sum(this.#properties.values()) > MAX_PROPERTIES) {
      return this.add(`${at}/properties`, `a form must have at most ${MAX_PROPERTIES} properties`)
    }
    const required = Array.isArray(node.required) ? node.required : []
    required.forEach((/** @type {unknown} */ name, /** @type {number} */ n) => {
      const isKnown = typeof name !== 'string' || !isObject(properties) || Object.hasOwn(properties, name)
      if (!isKnown) this.add(`${at}/required/${n}`, '`required` must name a property')
    })
    const inner = level === 'form' ? 'property' : 'grouped'
    const fields = all.flatMap(([name, schema]) => {
      const field = this.field(schema, `${at}/properties/${escaped(name)}`, inner)
      return field ? [{ ...field, name, isRequired: required.includes(name) }] : []
    })
    return { kind: 'object', ...own, fields, isClosed: node.additionalProperties === false }
  }

  /** @param {any} node @param {string} at */
  #choice(node, at) {
    const known = this.#options.get(node)
    if (known) return known
    const { options, faults, way } = readOptions(node, at)
    for (const { pointer, detail } of faults) this.add(pointer, detail)
    this.#options.set(node, options)
    if (sum([...this.#options.values()].map(({ length }) => length)) > MAX_OPTIONS) {
      this.add(`${at}/${way}`, `a form must have at most ${MAX_OPTIONS} options`)
    }
    return options
  }

  /** @param {any} node @param {string} at @param {{ isNullable: boolean }} own */
  #list(node, at, own) {
    if (node.items === undefined) return this.add(at, '`items` must be there: a list is drawn as check boxes')
    const items = this.field(node.items, `${at}/items`, 'items')
    if (!items || items.isNullable) return
    return { kind: 'array', ...own, options: items.options, isUnique: node.uniqueItems === true, ...limits(node) }
  }

  /** @param {any} node @param {string} at */
  #text(node, at) {
    const { format, pattern } = node
    const isFormat = typeof format === 'string' && Object.hasOwn(FORMATS, format)
    if (typeof format === 'string' && !isFormat) {
      this.add(`${at}/format`, '`format` must be email, uri, date or date-time')
    }
    if (pattern !== undefined && this.from === 'job') {
      this.add(`${at}/pattern`, "`pattern` is a keyword of a queue's form only")
    } else if (pattern !== undefined && ++this.#patterns > MAX_PATTERNS) {
      this.add(`${at}/pattern`, `a form must have at most ${MAX_PATTERNS} texts with a pattern`)
    }
    return { ...limits(node), ...(isFormat && { format }) }
  }
}

/**
 * Why a schema of this kind may not stand here.
 * @param {Level} level
 * @param {Place} place
 * @param {boolean} isNullable
 */
function misplaced(level, place, isNullable) {
  if (place === 'reference') return
  if (level === 'form' && place !== 'object') return 'the `type` of a form must be object'
  if (level === 'form' && isNullable) return 'a form must not be null'
  if (level === 'grouped' && place === 'object') return 'a group must not have a group'
  if (level === 'items' && (place !== 'choice' || isNullable)) return ITEMS
}

/**
 * The schema that has the `$ref`, and the place of it; none if it is more than that.
 * @param {any} node
 * @param {string} at
 * @returns {{ only?: any, own: string }}
 */
function referenceOf(node, at) {
  if (!Object.hasOwn(node, 'allOf')) return { only: node, own: `${at}/$ref` }
  const [only, ...more] = Array.isArray(node.allOf) && !Object.hasOwn(node, '$ref') ? node.allOf : []
  const isOne = more.length === 0 && isObject(only) && Object.keys(only).join() === '$ref'
  return { only: isOne ? only : undefined, own: `${at}/allOf` }
}

/** @param {Iterable<number>} counts */
const sum = (counts) => [...counts].reduce((all, one) => all + one, 0)

/** @param {any} node */
const noted = (node) => pick(node, ['title', 'description', 'default'])

const LIMITS = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minimum', 'maximum', 'exclusiveMinimum',
  'exclusiveMaximum', 'multipleOf']

/** Those that are no numbers are refused already. @param {any} node */
function limits(node) {
  const numbers = pick(node, LIMITS.filter((name) => typeof node[name] === 'number'))
  if (numbers.multipleOf <= 0) delete numbers.multipleOf
  return numbers
}

/** @param {any} node @param {string[]} names */
const pick = (node, names) => Object.fromEntries(
  names.filter((name) => Object.hasOwn(node, name)).map((name) => [name, node[name]]))
