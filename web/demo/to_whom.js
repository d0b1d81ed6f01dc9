// Handing a post to another moderator. The desk does not know who else there is: the name is typed.

import { shown } from '../form.js'
import { element as $, show } from './draw.js'

const NOT_ELIGIBLE = {
  excluded: 'This post is kept from them.',
  overlap: 'They had a copy of this post already.',
}

let handTo = null

export const isAsked = () => $('to-whom').open

/** `then(name, { note, fallback })` hands it over, and calls `stopAsking` or `notHanded`. */
export function askToWhom(then) {
  handTo = then
  for (const field of ['to', 'word']) $(field).value = ''
  $('alone').value = '900000'
  ready()
  $('to-whom').showModal()
  $('to').focus()
}

export function stopAsking() {
  if (isAsked()) $('to-whom').close()
}

/** The post stays in hand: another name may be typed. */
export function notHanded(error, to) {
  ready()
  shown($('not-handed'), `Not handed to ${to}. ${NOT_ELIGIBLE[error.problem?.rule] ?? error.message}`)
  show('not-handed', true)
  $('to').select()
}

/** Ctrl and Enter in the note, where Enter is a new line. No other key is the desk's now. */
export function sendForm(event) {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) $('hand-over').requestSubmit()
}

function ready() {
  $('hand-it').disabled = false
  show('not-handed', false)
}

$('hand-over').addEventListener('submit', (event) => {
  event.preventDefault()
  const to = $('to').value.trim()
  // A second Enter while the first is on its way.
  if (!to || $('hand-it').disabled) return
  $('hand-it').disabled = true
  handTo(to, { note: $('word').value.trim() || undefined, fallback: Number($('alone').value) })
})
$('keep').addEventListener('click', stopAsking)
