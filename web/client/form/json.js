/** JSON texts as the service reads them: no member twice, no half of a character, no number beyond a double. */

import { JSON_TOKEN } from '../json_text.js'

/** @import { Fault } from '../form.js' */

/** @param {string} name */
export const escaped = (name) => name.replaceAll('~', '~0').replaceAll('/', '~1')

export const MAX_FAULTS = 20
/** Bytes of a pointer. A longer one ends at the value around. */
const MAX_POINTER = 512

/**
 * What the service answers of faults.
 * @param {Fault[]} faults
 * @returns {Fault[]}
 */
export function limitFaults(faults) {
  return faults.slice(0, MAX_FAULTS).map(({ pointer, detail }) => {
    const steps = pointer.split('/').slice(1)
    let bytes = 0
    const fits = (/** @type {string} */ step) => (bytes += new TextEncoder().encode(step).length + 1) <= MAX_POINTER
    const end = steps.findIndex((step) => !fits(step))
    return { pointer: end < 0 ? pointer : ['', ...steps.slice(0, end)].join('/'), detail }
  })
}

/** @param {unknown} value @returns {value is Record<string, any>} */
export const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

/** How many characters a text has. @param {string} text */
export const lengthOf = (text) => {
  let count = 0
  for (const _ of text) count += 1
  return count
}

const HALF = 'must not have one half of a surrogate pair alone'
const BEYOND = 'must be a number that a double holds'
const MAX_DEPTH = 127

/**
 * The value of a text, and what of it the service refuses before it looks at a form.
 * @param {string} text
 * @returns {{ value?: any, faults: Fault[] }}
 */
export function readJson(text) {
  try {
    return { value: JSON.parse(text), faults: faultsIn(text) }
  } catch {
    return { faults: [{ pointer: '', detail: 'is not JSON' }] }
  }
}

/**
 * What a valid text has that its value does not show.
 * @param {string} text
 */
function faultsIn(text) {
  /** @type {Fault[]} */
  const faults = []
  /** @type {{ at: string, names: Set<string> | null, count: number }[]} */
  const open = []
  let at = ''
  let isName = false
  for (const [, token] of text.matchAll(JSON_TOKEN)) {
    const inside = open.at(-1)
    if (token === '{' || token === '[') {
      isName = token === '{'
      open.push({ at, names: isName ? new Set() : null, count: 0 })
      if (open.length > MAX_DEPTH) return [...faults, { pointer: '', detail: 'is nested too deep' }]
      if (!isName) at += '/0'
    } else if (token === '}' || token === ']') {
      at = open.pop()?.at ?? ''
      isName = false
    } else if (token === ',' && inside) {
      isName = inside.names !== null
      if (!isName) at = `${inside.at}/${(inside.count += 1)}`
    } else if (token !== ':') {
      const value = JSON.parse(token)
      const detail = faultOf(value)
      // Nothing reads further.
      if (detail) return [...faults, { pointer: isName ? (inside?.at ?? '') : at, detail }]
      if (!isName || !inside?.names) continue
      at = `${inside.at}/${escaped(value)}`
      if (inside.names.has(value)) faults.push({ pointer: at, detail: 'must be there once' })
      inside.names.add(value)
      isName = false
    }
  }
  return faults
}

/**
 * The same of a value, which has no member twice.
 * @param {unknown} value
 * @param {string} at
 * @returns {Fault[]}
 */
export function faultsOf(value, at = '') {
  if (Array.isArray(value)) return value.flatMap((item, n) => faultsOf(item, `${at}/${n}`))
  if (isObject(value)) {
    return Object.entries(value).flatMap(([name, item]) => (
      name.isWellFormed() ? faultsOf(item, `${at}/${escaped(name)}`) : [{ pointer: at, detail: HALF }]))
  }
  const detail = faultOf(value)
  return detail ? [{ pointer: at, detail }] : []
}

/** @param {unknown} value */
function faultOf(value) {
  if (typeof value === 'string') return value.isWellFormed() ? undefined : HALF
  return typeof value === 'number' && !Number.isFinite(value) ? BEYOND : undefined
}
