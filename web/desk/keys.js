// The keyboard: single keys move the focus, and a person can switch them off.

import { answerWith, isTooEarly, pressed } from './acting.js'
import { isAsking } from './dialogs.js'
import { $ } from './page.js'
import { tabMemory } from './person.js'
import { inHand } from './work.js'

export const keys = () => $('keys').checked

$('keys').checked = tabMemory['desk keys'] !== 'off'
showKeys()
$('keys').addEventListener('change', () => {
  tabMemory['desk keys'] = keys() ? 'on' : 'off'
  showKeys()
})

function showKeys() {
  document.body.dataset.keys = keys() ? 'on' : 'off'
}

/** A letter only moves the focus: it takes Enter to answer, so that no slip of a finger answers anything. */
const LETTERS = { a: 'approve', r: 'reject', s: 'skip', h: 'hand-over', b: 'break', n: 'reason' }
// The button that a letter has moved the focus to.
let lettered = null
const TYPED_IN = 'textarea, select, input:not([type=radio], [type=checkbox])'

document.addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.isComposing || isAsking()) return
  if (event.ctrlKey || event.metaKey || event.altKey) {
    if (event.key === 'Enter' && !event.altKey && !event.repeat && !isTooEarly(event)) answerWith('send')
    return
  }
  if (event.target.matches(TYPED_IN)) {
    if (event.key === 'Escape' && inHand()) $('title').focus({ preventScroll: true })
    return
  }
  if (!keys()) return
  if (event.key === 'u' && !$('undo').disabled) return void $('undo').click()
  if (!inHand() || pressed(event) || !Object.hasOwn(LETTERS, event.key)) return
  const place = $(LETTERS[event.key])
  if (!place || place.closest('[hidden]')) return
  event.preventDefault()
  place.focus()
  lettered = place.matches('button') ? place : null
})

/** A blank after a letter is one of a text that is typed outside of its box: it presses no button. */
const passBlank = (event) => event.key === ' ' && event.target === lettered && event.preventDefault()
for (const type of ['keydown', 'keyup']) document.addEventListener(type, passBlank)
document.addEventListener('focusin', () => { lettered = null })
