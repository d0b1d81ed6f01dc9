/** A form on a page: its value, its errors, and its keys. */
import { checkValue } from './check.js'
import { make, tell } from './elements.js'
import { drawFields, mark, markAll, valuesOf } from './fields.js'
import { readForm } from './gate.js'
import { isObject } from './json.js'
import { WORDS } from './words.js'

/** @import * as Types from '../form.js' */

/** A form of 16 KiB can refer to one list a thousand times, which no person and no browser could use. */
const MAX_DRAWN_FIELDS = 256
const MAX_DRAWN_OPTIONS = 4_096
const MAX_DRAWN_LETTERS = 65_536

/** @param {any[]} fields @returns {any[]} */
const leavesOf = (fields) => fields.flatMap((field) => (field.fields ? leavesOf(field.fields) : [field]))

/** @param {any} part @returns {number} */
const lettersOf = ({ name, title, description, value, default: filled, fields = [], options = [] }) => (
  [name, title, description, value, filled].reduce((sum, text) => sum + (typeof text === 'string' ? text.length : 0), 0)
  + [...fields, ...options].reduce((sum, part) => sum + lettersOf(part), 0))

/**
 * A form on a page. Throws a TypeError when the schema is none, or is too large to be drawn.
 * @param {unknown} schema
 * @param {Types.FormSettings} [settings]
 * @returns {Types.DrawnForm}
 */
export function drawForm(schema, { value, onchange, from = 'queue', keys = () => true } = {}) {
  const form = readForm(schema, { from })
  if (form.faults) throw new TypeError(`this is no form: ${form.faults[0].pointer} ${form.faults[0].detail}`)
  const all = leavesOf(form.fields)
  const options = all.reduce((sum, field) => sum + (field.options?.length ?? 0), 0)
  const letters = lettersOf(form)
  if (all.length > MAX_DRAWN_FIELDS || options > MAX_DRAWN_OPTIONS || letters > MAX_DRAWN_LETTERS) {
    throw new TypeError('this form is too large to be drawn')
  }
  const isNew = value === undefined || value === null
  const context = { from, keys, isNew, changed: () => onchange?.(drawn.value()) }
  const fields = drawFields(form.fields, isObject(value) ? value : {}, '', context)
  const error = make('p', { className: 'form-error', hidden: true })
  const parts = [...heading(form, from), error, ...fields.map((one) => one.element)]
  const element = make('div', { className: `form from-${from}` }, parts)
  element.addEventListener('keydown', keepEnter)
  const drawn = new Drawn(form, element, fields, error)
  return drawn
}

/** Enter never sends, also in a page's own `<form>`. @param {KeyboardEvent} event */
function keepEnter(event) {
  const isOwn = /** @type {Element} */ (event.target).matches('input, select')
  if (event.key === 'Enter' && isOwn && !event.ctrlKey && !event.metaKey) event.preventDefault()
}

/** @param {Types.Form} form @param {string} from */
function heading({ title, description }, from) {
  return [
    from === 'job' ? make('p', { className: 'form-origin', textContent: WORDS.byTheJob }) : [],
    title ? tell(make('p', { className: 'form-title' }), title) : [],
    description ? tell(make('p', { className: 'form-note' }), description) : [],
  ].flat()
}

/** @implements {Types.DrawnForm} */
class Drawn {
  #form
  #fields
  #error

  /** @param {Types.Form} form @param {HTMLElement} element @param {any[]} fields @param {HTMLElement} error */
  constructor(form, element, fields, error) {
    this.element = element
    this.#form = form
    this.#fields = fields
    this.#error = error
  }

  value() {
    return valuesOf(this.#fields)
  }

  /** @param {readonly { pointer?: string, detail: string }[]} [found] by the service; else, what is wrong now */
  errors(found = this.#wrong()) {
    const faults = found.map(({ pointer = '', detail }) => ({ pointer, detail }))
    const left = markAll(this.#fields, faults)
    mark(this.#error, left.map(({ detail }) => detail).join(' '))
    return faults
  }

  #wrong() {
    const unheld = this.#leaves().flatMap(({ pointer, control }) => {
      const detail = control.wrong?.()
      return detail ? [{ pointer, detail }] : []
    })
    const held = new Set(unheld.map(({ pointer }) => pointer))
    const others = checkValue(this.#form, this.value()).filter(({ pointer }) => !held.has(pointer))
    return [...unheld, ...others]
  }

  #leaves() {
    return leavesOf(this.#fields)
  }

  focus() {
    const leaves = this.#leaves()
    const first = leaves.find(({ element }) => element.classList.contains('is-wrong')) ?? leaves[0]
    first?.control.focus()
  }

  /** A digit that was pressed outside of the form, when one group can be meant. @param {KeyboardEvent} event */
  press(event) {
    const groups = this.#leaves().filter(({ control }) => control.press)
    return groups.length === 1 && groups[0].control.press(event)
  }
}
