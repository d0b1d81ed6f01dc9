/** The fields of a form: label, description, error and what is typed or chosen; and groups of them. */
import { boxFor } from './boxes.js'
import { checkValue } from './check.js'
import { choiceFor, isChoice } from './choices.js'
import { make, tell } from './elements.js'
import { escaped, isObject } from './json.js'
import { isSecret, labelsOf } from './labels.js'
import { WORDS } from './words.js'

/** @import { Fault } from '../form.js' */

/** @param {any[]} fields @returns {Record<string, unknown>} */
export const valuesOf = (fields) => Object.fromEntries(
  fields.map((field) => [field.name, field.value()]).filter(([, value]) => value !== undefined))

/**
 * Marks each field with its error, and answers those that have no field.
 * @param {any[]} fields
 * @param {Fault[]} found
 * @returns {Fault[]}
 */
export function markAll(fields, found) {
  const isIn = (/** @type {string} */ pointer, /** @type {any} */ field) => (
    pointer === field.pointer || pointer.startsWith(`${field.pointer}/`))
  for (const field of fields) {
    const own = found.filter(({ pointer }) => isIn(pointer, field))
    const left = field.fields ? markAll(field.fields, own) : own
    field.mark([...new Set(left.map(({ detail }) => detail))].join(' '))
  }
  return found.filter(({ pointer }) => !fields.some((field) => isIn(pointer, field)))
}

/** @param {HTMLElement} element @param {string} detail */
export function mark(element, detail) {
  tell(element, detail)
  element.hidden = detail === ''
}

/**
 * @param {any[]} fields
 * @param {Record<string, any>} values
 * @param {string} at
 * @param {any} context
 * @returns {any[]}
 */
export function drawFields(fields, values, at, context) {
  const labels = labelsOf(fields)
  return fields.map((field, n) => {
    const { name } = field
    const pointer = `${at}/${escaped(name)}`
    const value = Object.hasOwn(values, name) ? values[name] : undefined
    const about = { label: labels[n], pointer }
    return field.kind === 'object' ? drawGroup(field, value, about, context) : drawField(field, value, about, context)
  })
}

/** On all pages of a window: an id is that of one element. */
let fieldsDrawn = 0

/** @param {any} field @param {string} label @param {any} context */
function surroundings(field, label, { from }) {
  const id = `field-${(fieldsDrawn += 1)}`
  const name = tell(make('span', { className: 'form-label', id: `${id}-label` }), label)
  const asksForASecret = from === 'job' && !isChoice(field) && isSecret(field)
  const notes = [
    field.isRequired ? [] : make('span', { className: 'form-optional', textContent: WORDS.optional }),
    field.description ? tell(make('p', { className: 'form-note' }), field.description) : [],
    asksForASecret ? make('p', { className: 'form-warning', textContent: WORDS.password }) : [],
  ].flat()
  notes.forEach((note, n) => (note.id = `${id}-note-${n}`))
  const error = make('p', { className: 'form-error', id: `${id}-error`, hidden: true })
  return { id, name, notes, error, describedBy: [...notes, error].map((one) => one.id).join(' ') }
}

/**
 * A text and a list that are empty are seen as nothing, also those of a default.
 * @param {any} field
 * @param {any} value
 */
const isGiven = ({ kind }, value) => value !== undefined && !(['text', 'array'].includes(kind) && value.length === 0)

/** @param {any} field @param {any} value @param {any} about @param {any} context */
function drawGroup(field, value, { label, pointer }, context) {
  const { name, notes, error, describedBy } = surroundings(field, label, context)
  // The default of a group is that of its fields, so that one rule says which of them count.
  const fallback = isObject(field.default) ? field.default : {}
  const inner = field.fields.map((/** @type {any} */ one) => (
    Object.hasOwn(fallback, one.name) ? { ...one, default: fallback[one.name] } : one))
  const fields = drawFields(inner, isObject(value) ? value : {}, pointer, context)
  const element = make('fieldset', { className: 'form-group' }, [
    make('legend', {}, [name]), ...notes, error, ...fields.map((one) => one.element),
  ])
  element.setAttribute('aria-describedby', describedBy)
  const current = () => {
    const isNeeded = field.isRequired && !field.isNullable
    if (isNeeded || fields.some(({ control }, n) => isGiven(inner[n], control.get()))) return valuesOf(fields)
    return field.isRequired ? null : undefined
  }
  const own = (/** @type {string} */ detail) => mark(error, detail)
  return { name: field.name, pointer, element, fields, value: current, mark: own }
}

/** @param {any} field @param {any} value @param {any} about @param {any} context */
function drawField(field, value, { label, pointer }, context) {
  const { id, name, notes, error, describedBy } = surroundings(field, label, context)
  // Once it was wrong, what is typed is looked at as it is typed.
  let isLive = false
  const control = (isChoice(field) ? choiceFor : boxFor)(field, {
    id, describedBy, from: context.from, keys: context.keys, name: label,
    value: initial(field, value, context),
    changed: () => {
      if (isLive) own.mark(wrong())
      context.changed()
    },
  })
  const title = isChoice(field) ? name : make('label', { htmlFor: id }, [name])
  const element = make('div', { className: `form-field of-${field.kind}` }, [title, ...notes, control.element, error])
  const current = () => {
    const now = control.get()
    if (now !== undefined || !field.isRequired) return now
    return field.isNullable ? null : field.kind === 'array' ? [] : undefined
  }
  const wrong = () => {
    const now = current()
    const unread = control.wrong?.()
    if (unread) return unread
    if (now === undefined) return field.isRequired ? WORDS.missing : ''
    return checkValue(field, now)[0]?.detail ?? ''
  }
  const own = {
    name: field.name, pointer, element, control, value: current,
    mark: (/** @type {string} */ detail) => {
      isLive ||= detail !== ''
      mark(error, detail)
      element.classList.toggle('is-wrong', detail !== '')
      control.mark(detail !== '')
    },
  }
  return own
}

/**
 * What a field begins with: what it had if it fits, or its default. A job's default never chooses.
 * @param {any} field
 * @param {any} value
 * @param {any} context
 */
function initial(field, value, { isNew, from }) {
  if (value !== undefined) return value
  return isNew && !(from === 'job' && isChoice(field)) ? field.default : undefined
}
