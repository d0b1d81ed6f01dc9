/** Whether a value is what a form asks for, by the rules of the service. `pattern` is the service's alone. */
import { FORMATS, isMultiple } from './formats.js'
import { limitFaults, escaped, faultsOf, isObject, lengthOf, readJson } from './json.js'
import { WORDS } from './words.js'

/** @import { Fault, Field, Form } from '../form.js' */

/**
 * What is wrong with a result.
 * @param {Form} form
 * @param {unknown} value
 * @returns {Fault[]}
 */
export function checkForm(form, value) {
  const faults = faultsOf(value)
  return limitFaults(faults.length ? faults : checkValue(form, value))
}

/** The same of a text. @param {Form} form @param {string} text @returns {Fault[]} */
export function checkText(form, text) {
  const { value, faults } = readJson(text)
  return limitFaults(faults.length ? faults : checkValue(form, value))
}

const MAX_ITEMS = 256

/**
 * @param {any} field
 * @param {any} value
 * @param {string} at
 * @returns {Fault[]}
 */
export function checkValue(field, value, at = '') {
  if (value === null && field.isNullable) return []
  return /** @type {Record<string, typeof checkObject>} */ (CHECKS)[field.kind](field, value, at)
}

const CHECKS = {
  object: checkObject,
  array: checkArray,
  options: one(checkOption),
  text: one(checkLetters),
  number: one(checkNumber),
  integer: one(checkNumber),
  boolean: one((_, value) => (typeof value === 'boolean' ? undefined : WORDS.boolean)),
}

/**
 * @param {(field: any, value: any) => string | undefined} check
 * @returns {(field: any, value: any, at: string) => Fault[]}
 */
function one(check) {
  return (field, value, at) => {
    const detail = check(field, value)
    return detail ? [{ pointer: at, detail }] : []
  }
}

/** @param {any} field @param {any} value @param {string} at @returns {Fault[]} */
function checkObject(field, value, at) {
  if (!isObject(value)) return [{ pointer: at, detail: WORDS.object }]
  const faults = field.fields.flatMap((/** @type {Field} */ { name, isRequired, ...own }) => {
    const pointer = `${at}/${escaped(name)}`
    if (Object.hasOwn(value, name)) return checkValue(own, value[name], pointer)
    return isRequired ? [{ pointer, detail: WORDS.missing }] : []
  })
  if (!field.isClosed) return faults
  const known = new Set(field.fields.map((/** @type {Field} */ { name }) => name))
  const others = Object.keys(value).filter((name) => !known.has(name))
  return [...faults, ...others.map((name) => ({ pointer: `${at}/${escaped(name)}`, detail: WORDS.unknown }))]
}

/** @param {any} field @param {any} value @param {string} at @returns {Fault[]} */
function checkArray(field, value, at) {
  if (!Array.isArray(value)) return [{ pointer: at, detail: WORDS.array }]
  if (value.length > MAX_ITEMS) return [{ pointer: at, detail: WORDS.maxItems(MAX_ITEMS) }]
  const { minItems = 0, maxItems = Infinity } = field
  const tooFew = value.length < minItems && WORDS.minItems(minItems)
  const count = tooFew || (value.length > maxItems && WORDS.maxItems(maxItems))
  const values = new Set(field.options.map((/** @type {{ value: string }} */ option) => option.value))
  const seen = new Set()
  const wrong = value.flatMap((item, n) => {
    const isAgain = field.isUnique && seen.has(item)
    seen.add(item)
    const detail = isAgain ? WORDS.unique : values.has(item) ? undefined : WORDS.option
    return detail ? [{ pointer: `${at}/${n}`, detail }] : []
  })
  return count ? [{ pointer: at, detail: count }, ...wrong] : wrong
}

/** @param {any} field @param {any} value */
function checkOption({ options }, value) {
  return options.some((/** @type {{ value: string }} */ option) => option.value === value) ? undefined : WORDS.option
}

/** @param {any} field @param {any} value */
function checkLetters({ minLength = 0, maxLength = Infinity, format }, value) {
  if (typeof value !== 'string') return WORDS.text
  if (!value.isWellFormed()) return WORDS.half
  const length = lengthOf(value)
  if (length < minLength) return WORDS.minLength(minLength)
  if (length > maxLength) return WORDS.maxLength(maxLength, length)
  if (format && !FORMATS[format](value)) return WORDS.format[/** @type {keyof typeof WORDS.format} */ (format)]
}

/** @param {any} field @param {any} value */
function checkNumber(field, value) {
  const { kind, minimum: min, maximum: max, exclusiveMinimum: above, exclusiveMaximum: below, multipleOf } = field
  if (typeof value !== 'number') return kind === 'integer' ? WORDS.integer : WORDS.number
  if (!Number.isFinite(value)) return WORDS.held
  if (kind === 'integer' && !Number.isInteger(value)) return WORDS.integer
  if (value < min) return WORDS.minimum(min)
  if (value > max) return WORDS.maximum(max)
  if (value <= above) return WORDS.above(above)
  if (value >= below) return WORDS.below(below)
  if (multipleOf !== undefined && !isMultiple(value, multipleOf)) return WORDS.multipleOf(multipleOf)
}
