/** A list of many options, and a search in them. */
import { describe, make, tell } from './elements.js'
import { visible } from './shown.js'
import { WORDS } from './words.js'

/** @import { About, Choice, Control } from '../form.js' */

const LIST_ROWS = 8

/** @param {string} text */
const plain = (text) => text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()

/** @param {Choice} choice */
const textOf = ({ title, also, description }) => (
  // The value stands first: the end of a long title is out of sight.
  `${also === undefined ? title : `${also} (${title})`}${description ? `: ${description}` : ''}`)

/**
 * A box that shows those options that have each of its words. What is chosen stays in sight.
 * @template {Choice} One
 * @param {string} name of the field
 * @param {One[]} choices
 * @param {(choice: One, isFound: boolean) => void} show
 * @param {(choice: One) => boolean} isChosen
 */
export function search(name, choices, show, isChosen) {
  const box = make('input', { type: 'search', className: 'form-search', placeholder: WORDS.search })
  describe(box, { 'aria-label': `${WORDS.search}: ${visible(name)}`, autocomplete: 'off' })
  const status = make('p', { className: 'form-note', role: 'status' })
  box.addEventListener('input', () => {
    const words = plain(box.value).split(/\s+/).filter(Boolean)
    const found = choices.filter((choice) => words.every((word) => plain(textOf(choice)).includes(word)))
    for (const choice of choices) show(choice, found.includes(choice) || isChosen(choice))
    status.textContent = found.length ? '' : WORDS.none
  })
  return [box, status]
}

/** @param {string} id of the field */
export function clearButton(id) {
  const clear = make('button', { type: 'button', className: 'form-clear', textContent: WORDS.clear, id: `${id}-clear` })
  describe(clear, { 'aria-labelledby': `${id}-clear ${id}-label` })
  return clear
}

/** @param {any} field @param {Choice[]} choices @param {About} about @returns {Control} */
export function list(field, choices, { id, describedBy, value, changed, name }) {
  const select = make('select', { size: LIST_ROWS, id })
  describe(select, {
    'aria-labelledby': `${id}-label`, 'aria-describedby': describedBy, 'aria-required': field.isRequired || undefined,
  })
  let chosen = choices.find((choice) => choice.value === value)
  const clear = clearButton(id)
  // A line of the list may be cut off.
  const whole = make('p', { className: 'form-chosen' })
  const settle = () => {
    clear.hidden = Boolean(field.isRequired) || !chosen
    whole.hidden = !chosen
    tell(whole, chosen ? textOf(chosen) : '')
  }
  const hidden = new Set()
  const draw = () => {
    select.replaceChildren(...choices.filter((choice) => !hidden.has(choice)).map((choice) => make('option', {
      value: String(choices.indexOf(choice)), textContent: visible(textOf(choice)), selected: choice === chosen,
    })))
    if (!chosen) select.selectedIndex = -1
    settle()
  }
  const show = (/** @type {Choice} */ choice, /** @type {boolean} */ isFound) => {
    if (isFound) hidden.delete(choice)
    else hidden.add(choice)
  }
  const [box, status] = search(name, choices, show, (choice) => choice === chosen)
  box.addEventListener('input', draw)
  box.addEventListener('keydown', (event) => {
    if (/** @type {KeyboardEvent} */ (event).key !== 'ArrowDown') return
    event.preventDefault()
    select.focus()
  })
  const choose = (/** @type {Choice | undefined} */ choice) => {
    chosen = choice
    settle()
    changed()
  }
  select.addEventListener('change', () => choose(choices[Number(select.value)]))
  clear.addEventListener('click', () => {
    select.selectedIndex = -1
    select.focus()
    choose(undefined)
  })
  draw()
  return {
    element: make('div', { className: 'form-list' }, [box, status, select, whole, clear]),
    get: () => chosen?.value,
    mark: (isWrong) => select.setAttribute('aria-invalid', String(isWrong)),
    focus: () => box.focus(),
  }
}
