/** Fields that a person types into. What was not touched goes back as it came. */
import { checkValue } from './check.js'
import { describe, grow, make, tell } from './elements.js'
import { isHeld } from './formats.js'
import { visible } from './shown.js'
import { WORDS } from './words.js'

/** @import { About, Control } from '../form.js' */

const SINGLE_LINE_MAX_LENGTH = 120
const TEXT_ROWS = { least: 3, limit: 20 }

/** @param {any} field @param {About} about @returns {Control} */
export function boxFor(field, about) {
  if (field.kind !== 'text') return numberBox(field, about)
  const make = { date, 'date-time': time }[/** @type {string} */ (field.format)]
  return (make ?? text)(field, about)
}

/**
 * @param {HTMLInputElement | HTMLTextAreaElement} box
 * @param {any} field
 * @param {About} about
 * @param {{ shown?: string, read?: (text: string) => unknown, wrong?: () => string | undefined, more?: Node[] }} how
 * @returns {Control}
 */
function control(box, field, { id, describedBy, value, changed }, how) {
  const { shown, read = String, wrong, more = [] } = how
  let untouched = shown !== undefined
  const needed = field.isRequired || undefined
  describe(box, { id, 'aria-describedby': describedBy, 'aria-required': needed, autocomplete: 'off' })
  box.value = shown ?? ''
  box.addEventListener('input', () => {
    untouched = false
    changed()
  })
  return {
    element: more.length ? make('div', {}, [box, ...more]) : box,
    get: () => (untouched ? value : box.value === '' ? undefined : read(box.value)),
    wrong: () => (untouched ? undefined : wrong?.()),
    mark: (isWrong) => box.setAttribute('aria-invalid', String(isWrong)),
    focus: () => box.focus(),
  }
}

/** @param {unknown} value */
const asText = (value) => (typeof value === 'string' ? value : undefined)

/**
 * What the one who asked has filled in is in sight to its end: in the box, or below it as it can be relied on.
 * @param {any} field
 * @param {About} about
 */
function text(field, about) {
  const shown = asText(about.value)
  const type = { email: 'email', uri: 'url' }[/** @type {string} */ (field.format)]
  const isFilled = about.from === 'job' && field.default !== undefined
  const isLine = (type || field.maxLength <= SINGLE_LINE_MAX_LENGTH) && !isFilled && !shown?.includes('\n')
  if (isLine) return control(make('input', { type: type ?? 'text' }), field, about, { shown })
  const isPlain = !shown || visible(shown) === shown
  const isWhole = isFilled && isPlain
  const rows = Math.max(shown?.split('\n').length ?? 0, TEXT_ROWS.least)
  const box = make('textarea', { rows: isWhole ? rows : Math.min(rows, TEXT_ROWS.limit), inputMode: type ?? '' })
  if (isWhole) box.style.maxHeight = 'none'
  grow(box)
  if (!isFilled || isPlain) return control(box, field, about, { shown })
  const note = tell(make('p', { className: 'form-note form-sent', id: `${about.id}-sent` }), WORDS.asSent(shown))
  return control(box, field, { ...about, describedBy: `${note.id} ${about.describedBy}` }, { shown, more: [note] })
}

/** @param {any} field @param {About} about */
function date(field, about) {
  const box = make('input', { type: 'date', max: '9999-12-31' })
  const shown = checkValue(field, about.value).length ? undefined : asText(about.value)
  return control(box, field, about, { shown, wrong: () => (box.validity.badInput ? WORDS.notADate : undefined) })
}

/**
 * The browser asks for the time on the person's own clock; what is sent is in UTC.
 * @param {any} field
 * @param {About} about
 */
function time(field, about) {
  const box = make('input', { type: 'datetime-local', max: '9999-12-31T23:59' })
  const begins = checkValue(field, about.value).length ? NaN : Date.parse(asText(about.value) ?? '')
  const year = new Date(begins).getFullYear()
  if (year < 1 || year > 9_999) return text(field, about)
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  const note = make('p', { className: 'form-note', id: `${about.id}-zone`, textContent: WORDS.zone(zone) })
  const own = { ...about, describedBy: `${note.id} ${about.describedBy}` }
  return control(box, field, own, {
    shown: Number.isNaN(begins) ? undefined : local(new Date(begins)),
    read: (typed) => new Date(typed).toISOString().replace('.000Z', 'Z'),
    wrong: () => (box.validity.badInput ? WORDS.notADate : undefined),
    more: [note],
  })
}

/** @param {Date} date */
function local(date) {
  const two = (/** @type {number} */ part) => String(part).padStart(2, '0')
  const day = [String(date.getFullYear()).padStart(4, '0'), two(date.getMonth() + 1), two(date.getDate())].join('-')
  const seconds = date.getSeconds() ? `:${two(date.getSeconds())}` : ''
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}${seconds}`
}

/** @param {any} field @param {About} about */
function numberBox(field, about) {
  const isWhole = field.kind === 'integer'
  const box = make('input', { type: 'number', step: isWhole ? '1' : 'any', inputMode: isWhole ? 'numeric' : 'decimal' })
  // For a minus.
  if (field.minimum < 0 || !(field.minimum >= 0 || field.exclusiveMinimum >= 0)) box.inputMode = 'text'
  describe(box, { min: field.minimum, max: field.maximum })
  // A wheel that scrolls the page must not change what was typed.
  box.addEventListener('wheel', () => box.blur(), { passive: true })
  return control(box, field, about, {
    shown: typeof about.value === 'number' ? String(about.value) : undefined,
    read: (typed) => (isHeld(typed) ? Number(typed) : undefined),
    wrong: () => {
      if (box.validity.badInput) return isWhole ? WORDS.integer : WORDS.number
      return box.value === '' || isHeld(box.value) ? undefined : WORDS.held
    },
  })
}
