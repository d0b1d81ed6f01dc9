/** Fields that a person chooses in: buttons, check boxes, a list for many options. Digits choose, and never send. */
import { describe, make, tell } from './elements.js'
import { wholeStep } from './formats.js'
import { clearButton, list, search } from './list.js'
import { WORDS } from './words.js'

/** @import { About, Choice, Control } from '../form.js' */

export const MAX_BUTTONS = 9

/** @param {any} field */
export const isChoice = (field) => (
  ['options', 'boolean', 'array'].includes(field.kind) || (field.kind === 'integer' && wholes(field) !== undefined))

/** @param {any} field @param {About} about @returns {Control} */
export function choiceFor(field, about) {
  const all = choicesOf(field, about.from)
  const choices = about.keys() ? keyed(all) : all
  if (field.kind === 'array') return checkBoxes(field, choices, about)
  return choices.length > MAX_BUTTONS ? list(field, choices, about) : buttons(field, choices, about)
}

/** @param {any} field @param {string} from @returns {Choice[]} */
function choicesOf(field, from) {
  if (field.kind === 'boolean') return [{ value: true, title: WORDS.yes }, { value: false, title: WORDS.no }]
  if (field.kind === 'integer') return (wholes(field) ?? []).map((value) => ({ value, title: String(value) }))
  return field.options.map((/** @type {any} */ { value, title, description }) => ({
    value, description, title: title || named(value),
    // The one who asks could call one thing by the name of another.
    ...(from === 'job' && title && title !== value && { also: named(value) }),
  }))
}

/** Blanks alone would not be seen. @param {string} value */
const named = (value) => (value.trim() ? value : value ? JSON.stringify(value) : WORDS.empty)

/**
 * Numbers of one digit are chosen by themselves, all else by its place.
 * @param {Choice[]} choices
 * @returns {Choice[]}
 */
function keyed(choices) {
  const areNumbers = choices.some(({ value }) => typeof value === 'number')
  const areDigits = areNumbers && choices.every(({ value }) => /^\d$/.test(String(value)))
  // By its place, 5 would choose 9 of the numbers from 5 to 12.
  if (choices.length > MAX_BUTTONS || (areNumbers && !areDigits)) return choices
  return choices.map((choice, n) => ({ ...choice, key: String(areDigits ? choice.value : n + 1) }))
}

/** The whole numbers of a range that has few of them. @param {any} field */
function wholes({ minimum = -Infinity, maximum = Infinity, multipleOf = 1, ...limits }) {
  const { exclusiveMinimum: above = -Infinity, exclusiveMaximum: below = Infinity } = limits
  const first = Math.max(Math.ceil(minimum), Math.floor(above) + 1)
  const last = Math.min(Math.floor(maximum), Math.ceil(below) - 1)
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(last)) return
  const step = wholeStep(multipleOf)
  const start = BigInt(first) + (((-BigInt(first) % step) + step) % step)
  const count = start > BigInt(last) ? 0 : Number((BigInt(last) - start) / step) + 1
  if (count === 0 || count > MAX_BUTTONS) return
  return Array.from({ length: count }, (_, n) => Number(start + BigInt(n) * step))
}

/**
 * One choice with its label.
 * @param {'radio' | 'checkbox'} type
 * @param {Choice} choice
 * @param {string} id
 * @param {string} name
 */
function option(type, { title, also, description, key }, id, name) {
  const input = make('input', { type, name, id })
  const text = make('span', { className: 'form-option-title', id: `${id}-title` }, [tell(make('span'), title)])
  if (also !== undefined) text.append(' ', tell(make('code'), also))
  const note = description ? [tell(make('span', { className: 'form-note', id: `${id}-note` }), description)] : []
  const keys = key ? [make('kbd', { textContent: key, ariaHidden: 'true' })] : []
  describe(input, { 'aria-labelledby': text.id, 'aria-describedby': note[0]?.id, 'aria-keyshortcuts': key })
  return { input, label: make('label', { className: 'form-option' }, [input, ...keys, text, ...note]) }
}

/** @param {any} field @param {Choice[]} choices @param {About} about @returns {Control} */
function buttons(field, choices, { id, describedBy, value, changed, keys }) {
  const options = choices.map((choice, n) => ({ ...choice, ...option('radio', choice, `${id}-${n}`, id) }))
  const clear = clearButton(id)
  const element = make('div', { className: 'form-options' }, [...options.map(({ label }) => label), clear])
  describe(element, {
    role: 'radiogroup', 'aria-labelledby': `${id}-label`, 'aria-describedby': describedBy,
    'aria-required': field.isRequired || undefined,
  })
  const chosen = () => options.find(({ input }) => input.checked)
  const settle = () => (clear.hidden = Boolean(field.isRequired) || !chosen())
  for (const one of options) {
    one.input.checked = one.value === value
    one.input.addEventListener('change', () => (settle(), changed()))
  }
  settle()
  clear.addEventListener('click', () => {
    for (const { input } of options) input.checked = false
    options[0].input.focus()
    settle()
    changed()
  })
  const press = presser(options, keys, (input) => (input.checked = true))
  element.addEventListener('keydown', press)
  return {
    element, press,
    get: () => chosen()?.value,
    mark: (isWrong) => element.setAttribute('aria-invalid', String(isWrong)),
    focus: () => (chosen() ?? options[0]).input.focus(),
  }
}

/**
 * @param {any} field
 * @param {Choice[]} choices
 * @param {About} about
 * @returns {Control}
 */
function checkBoxes(field, choices, { id, describedBy, value, changed, keys, name }) {
  const all = choices.map((choice, n) => ({ ...choice, ...option('checkbox', choice, `${id}-${n}`, id) }))
  for (const one of all) {
    one.input.checked = Array.isArray(value) && value.includes(one.value)
    one.input.addEventListener('change', () => ((untouched = false), changed()))
  }
  const box = make('div', { className: 'form-options' }, all.map(({ label }) => label))
  const isLong = choices.length > MAX_BUTTONS
  const show = (/** @type {(typeof all)[0]} */ { label }, /** @type {boolean} */ isFound) => (label.hidden = !isFound)
  const find = isLong ? search(name, all, show, ({ input }) => input.checked) : []
  const element = make('div', {}, [...find, box])
  describe(element, { role: 'group', 'aria-labelledby': `${id}-label`, 'aria-describedby': describedBy })
  const press = presser(all, keys, (input) => (input.checked = !input.checked))
  element.addEventListener('keydown', press)
  const chosen = () => all.filter(({ input }) => input.checked).map((one) => one.value)
  // In its own order; but nothing twice, and nothing that is not drawn.
  let untouched = Array.isArray(value) && value.length === chosen().length
  return {
    element, ...(!isLong && { press }),
    get: () => (untouched ? value : chosen().length ? chosen() : undefined),
    mark: (isWrong) => all.forEach(({ input }) => input.setAttribute('aria-invalid', String(isWrong))),
    focus: () => all[0].input.focus(),
  }
}

const BOXES = 'input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]'

/**
 * Chooses by a digit, and says whether it did. Never in a box, and not while a character is composed.
 * @param {(Choice & { input: HTMLInputElement })[]} options
 * @param {() => boolean} keys
 * @param {(input: HTMLInputElement) => void} choose
 * @returns {(event: KeyboardEvent) => boolean}
 */
function presser(options, keys, choose) {
  return (event) => {
    const { key, target } = event
    const isOther = event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat
    if (event.defaultPrevented || isOther || !keys()) return false
    if (/** @type {Element | null} */ (target)?.closest?.(BOXES)) return false
    const found = options.find((option) => option.key === key)
    if (!found) return false
    event.preventDefault()
    choose(found.input)
    found.input.focus()
    found.input.dispatchEvent(new Event('change', { bubbles: true }))
    return true
  }
}
