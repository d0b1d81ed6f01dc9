/** What can be chosen: `enum`, `const`, or `oneOf` and `anyOf` of constants with titles. And `anyOf` with null. */
import { isObject } from './json.js'
import { checkKeywords } from './keywords.js'

/** @import { Fault, Option } from '../form.js' */

const WAYS = ['enum', 'const', 'oneOf', 'anyOf']

/** @param {any} schema */
export const isNull = (schema) => isObject(schema) && schema.type === 'null'

/** @param {any} schema */
export const isNullable = ({ anyOf }) => Array.isArray(anyOf) && anyOf.length === 2 && anyOf.some(isNull)

/**
 * @param {any} schema which has one of the ways
 * @param {string} at
 * @returns {{ options: Option[], faults: Fault[], way: string }}
 */
export function readOptions(schema, at) {
  const faults = typeFaults(schema, at)
  const [name, other] = WAYS.filter((one) => Object.hasOwn(schema, one))
  if (other) {
    faults.push({ pointer: `${at}/${other}`, detail: `a choice must have \`${name}\` or \`${other}\`, not both` })
  }
  const list = name === 'const' ? [schema.const] : Array.isArray(schema[name]) ? schema[name] : []
  if (name === 'enum' || name === 'const') {
    return { options: list.filter((one) => typeof one === 'string').map((value) => ({ value })), faults, way: name }
  }
  return { options: titled(list, `${at}/${name}`, faults), faults, way: name }
}

/** @param {any[]} list @param {string} at @param {Fault[]} faults which it adds to */
function titled(list, at, faults) {
  /** @type {Option[]} */
  const options = []
  for (const [n, one] of list.entries()) {
    const own = `${at}/${n}`
    if (!isObject(one) || !Object.hasOwn(one, 'const') || !Object.hasOwn(one, 'title')) {
      faults.push({ pointer: own, detail: 'an option must have `const` and `title`' })
      continue
    }
    faults.push(...checkKeywords(one, ['option'], own), ...typeFaults(one, own))
    const { const: value, title, description } = one
    if (options.some((option) => option.value === value)) {
      faults.push({ pointer: `${own}/const`, detail: 'each option must be there once' })
    } else if (typeof value === 'string') {
      options.push({ value, title, ...(description && { description }) })
    }
  }
  return options
}

/**
 * Options are texts. Null is none of them, so a type with null would promise what no result can have.
 * @param {any} schema
 * @param {string} at
 * @returns {Fault[]}
 */
function typeFaults({ type }, at) {
  if (type === undefined || type === 'string') return []
  const isOrNull = Array.isArray(type) && type.includes('string') && type.includes('null')
  const hint = isOrNull ? '; for null write `anyOf` of the choice and null' : ''
  return [{ pointer: `${at}/type`, detail: `the \`type\` of options must be string${hint}` }]
}
