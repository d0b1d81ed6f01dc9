// What was handed in last can be taken back for a few seconds: by a click, by `u`, or by Tab and Enter.

import { element as $, toast } from './draw.js'

export const UNDO_WITHIN = 7_000

let desk, closing = null

/** Also after a reload: the desk knows what an earlier page handed in. */
export function watchUndo(of) {
  desk = of
  desk.addEventListener('change', look)
  look()
  if (closing) handedIn('Handed in')
}

/** What the toast says when it comes. */
export function handingIn(what) {
  $('undo-what').textContent = what
}

/** Announced once: a screen reader does not count along. */
export function handedIn(what) {
  handingIn(what)
  const within = closing?.finalIn ?? UNDO_WITHIN
  $('undo-status').textContent = `${what}. Undo within ${Math.ceil(within / 1_000)} seconds: press U.`
}

function look() {
  closing = desk.closing
  count()
}

function count() {
  const left = closing ? closing.finalIn : 0
  const isOpen = left !== 0
  if (isOpen) $('undo-left').textContent = left === null ? '' : `(${Math.ceil(left / 1_000)} s)`
  $('undo-box').classList.toggle('shown', isOpen)
  $('undo').disabled = !isOpen
  if (!isOpen) $('undo-status').textContent = ''
}
setInterval(count, 250)

async function takeBack() {
  const taken = closing
  if (!taken) return
  toast('Taking it back …')
  try {
    await taken.undo()
    toast('Taken back: decide again')
  } catch (error) {
    if (error.name !== 'AbortError') toast(error.lost ? 'Too late: it is handed in' : error.message)
  }
}
$('undo').addEventListener('click', takeBack)
