// Two questions: why a request is skipped, and to whom it is handed over.

import { make } from '../client/form/elements.js'
import { $, reveal } from './page.js'
import { tabMemory } from './person.js'
import { NOT_ELIGIBLE_WORDS, SAY } from './words.js'
import { shown } from '../client/form/shown.js'

const HANDED_FOR_MS = 900_000

let skips, hands
const namesUsed = () => JSON.parse(tabMemory['desk names'] ?? '[]')

export const isAsking = () => $('why-skip').open || $('to-whom').open

export function stopAsking() {
  for (const id of ['why-skip', 'to-whom']) if ($(id).open) $(id).close()
}

/** `then(reason)` skips. */
export function askWhySkip(then) {
  skips = then
  $('skip-reason').value = ''
  $('why-skip').showModal()
}

/** `then(name, { note, fallback })` hands it over, and calls `handedTo` or `notHanded`. */
export function askToWhom(then) {
  hands = then
  for (const field of ['to', 'word']) $(field).value = ''
  $('names-used').replaceChildren(...namesUsed().map((value) => make('option', { value })))
  ready()
  $('to-whom').showModal()
  $('to').focus()
}

/** The name is offered from now on. */
export function handedTo(to) {
  tabMemory['desk names'] = JSON.stringify([...new Set([to, ...namesUsed()])].slice(0, 20))
  stopAsking()
}

/** The request stays in hand: another name may be typed. */
export function notHanded(error, to) {
  ready()
  shown($('not-handed'), SAY.notHanded(to, NOT_ELIGIBLE_WORDS[error.problem?.rule] ?? error.message))
  reveal('not-handed', true)
  $('to').select()
}

function ready() {
  $('hand-it').disabled = false
  reveal('not-handed', false)
}

$('skip-form').addEventListener('submit', (event) => {
  event.preventDefault()
  $('why-skip').close()
  skips($('skip-reason').value.trim() || undefined)
})
$('hand-form').addEventListener('submit', (event) => {
  event.preventDefault()
  const to = $('to').value.trim()
  // A second Enter while the first is on its way.
  if (!to || $('hand-it').disabled) return
  $('hand-it').disabled = true
  hands(to, { note: $('word').value.trim() || undefined, fallback: HANDED_FOR_MS })
})
// It cannot be kept, and what comes of it is said here.
const isHanding = () => $('to-whom').open && $('hand-it').disabled
for (const button of document.querySelectorAll('dialog .stay')) {
  button.addEventListener('click', () => isHanding() || stopAsking())
}
$('to-whom').addEventListener('cancel', (event) => isHanding() && event.preventDefault())
