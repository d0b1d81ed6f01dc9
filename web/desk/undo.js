// What was handed in last can be taken back for a few seconds: by a click, by `u`, or by Tab and Enter.

import { $, toast } from './page.js'
import { DONE_WORDS, SAY } from './words.js'

export const UNDO_WITHIN = 7_000

let watched, closing = null

/** Also after a reload: the desk knows what an earlier page handed in. */
export function watchUndo(desk) {
  watched = desk
  desk.addEventListener('change', lookAtClosing)
  lookAtClosing()
}

/** Announced once: a screen reader does not count along. */
export function handedIn(what) {
  $('undo-what').textContent = what
  const within = closing?.finalIn ?? UNDO_WITHIN
  $('undo-status').textContent = SAY.undoWithin(what, Math.ceil(within / 1_000))
}

function lookAtClosing() {
  closing = watched.closing
  countDown()
}

/** Null while the answer could not be sent: its time begins when it is. */
const leftOf = ({ finalIn }) => (finalIn === null ? '' : `(${Math.ceil(finalIn / 1_000)} s)`)

function countDown() {
  const isOver = !closing || closing.finalIn === 0
  $('undo').disabled = isOver
  $('undo-box').classList.toggle('shown', !isOver)
  if (isOver) $('undo-status').textContent = ''
  else {
    // Handed in by an earlier page.
    $('undo-what').textContent ||= DONE_WORDS.send
    $('undo-left').textContent = leftOf(closing)
  }
}
setInterval(countDown, 250)

$('undo').addEventListener('click', () => {
  if (!closing) return
  toast(SAY.takingBack)
  closing.undo().then(() => toast(SAY.takenBack), (error) => {
    if (error.name !== 'AbortError') toast(error.lost ? SAY.undoTooLate : error.message)
  })
})
