// What was handed in last can be taken back for a few seconds: by a click, by `u`, or by Tab and Enter.

import { $, DOUBLE_CLICK_MS, toast } from './page.js'
import { DONE_WORDS, SAY } from './words.js'

export const UNDO_WITHIN = 7_000

let watched, closing = null
// The answer that the words are about, and when they came up.
let described = {}
// What was typed for the answer that was sent last: its result may have less of it. `isBack`: it was taken back.
let typed = null

/** Also after a reload: the desk knows what an earlier page handed in. */
export function watchUndo(desk) {
  watched = desk
  desk.addEventListener('change', lookAtClosing)
  desk.addEventListener('undone', ({ detail }) => { if (typed?.id === detail.id) typed.isBack = true })
  lookAtClosing()
}

export const keepTyped = ({ job, answer }) => { typed = { id: job.id, value: answer.value(), isBack: false } }

/** What is filled in: what was typed, if the answer was taken back. */
export function draftOf(job) {
  if (!typed?.isBack || typed.id !== job.id) return job.draft
  const { value } = typed
  typed = null
  return value
}

/** Announced once: a screen reader does not count along. */
export function handedIn(what, id) {
  describeAnswer(what, id)
  const within = closing?.finalIn ?? UNDO_WITHIN
  $('undo-status').textContent = SAY.undoWithin(what, Math.ceil(within / 1_000))
}

function describeAnswer(what, id) {
  $('undo-what').textContent = what
  described = { id, at: performance.now() }
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
    // Handed in by an earlier page, or by another tab.
    if (closing.id !== described.id) describeAnswer(DONE_WORDS.send, closing.id)
    $('undo-left').textContent = leftOf(closing)
  }
}
setInterval(countDown, 250)

$('undo').addEventListener('click', ({ detail, timeStamp }) => {
  // A key is no second click.
  const isTooEarlyClick = detail > 0 && timeStamp - described.at < DOUBLE_CLICK_MS
  if (!closing || isTooEarlyClick) return
  toast(SAY.takingBack)
  closing.undo().then(() => toast(SAY.takenBack), (error) => {
    if (error.name !== 'AbortError') toast(error.lost ? SAY.undoTooLate : error.message)
  })
})
