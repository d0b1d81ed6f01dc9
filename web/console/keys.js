// The keyboard. What a key does is written at the element itself, in `aria-keyshortcuts`; here it is found and used:
// first in the row that has the focus, then in the open panel, then anywhere.

const STEP = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }

const isWriting = (element) =>
  element.matches?.('input:not([type=checkbox]), textarea, select, [contenteditable]')

function onKey(event, leave) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
  if (document.querySelector('dialog[open]')) return
  const { target, key } = event
  if (isWriting(target)) {
    if (key !== 'Escape') return
    // A browser would empty the field too.
    event.preventDefault()
    leave()
    target.blur()
    return
  }
  if (key in STEP || key === 'Home' || key === 'End') {
    // Arrow keys scroll scrollable elements.
    if (key.length > 1 && target.matches('pre')) return
    if (move(key)) event.preventDefault()
    return
  }
  const places = [target.closest?.('[data-row]'), document.querySelector('.panel'), document]
  const wanted = `[aria-keyshortcuts~="${CSS.escape(key)}"]:not(:disabled)`
  const found = places.map((place) => place?.querySelector(wanted)).find(Boolean)
  if (!found) return
  event.preventDefault()
  if (isWriting(found)) return found.select()
  // With Shift a check box takes all between it and the one before.
  const { shiftKey } = event
  found.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, composed: true, shiftKey }))
}

/** Moves the focus among the rows of the list that has it, or into the first list. */
function move(key) {
  const row = document.activeElement?.closest('[data-row]')
  const list = row?.closest('[data-list]') ?? document.querySelector('[data-list]')
  const rows = [...(list?.querySelectorAll('[data-row]') ?? [])]
  if (rows.length === 0) return false
  const known = row ? rows.indexOf(row) : rows.findIndex((other) => other.tabIndex === 0)
  const by = { Home: -rows.length, End: rows.length }[key] ?? STEP[key]
  const to = row ? Math.min(Math.max(known + by, 0), rows.length - 1) : Math.max(known, 0)
  rows[to].focus()
  rows[to].scrollIntoView({ block: 'nearest' })
  return true
}

/** One row of a list is reached with Tab, and in it its buttons; the others with j and k. Called after each drawing. */
export function rove(list) {
  const rows = [...list.querySelectorAll('[data-row]')]
  const at = rows.findIndex((row) => row.contains(document.activeElement))
  const held = rows.findIndex((row) => row.tabIndex === 0)
  const current = at >= 0 ? at : Math.max(held, 0)
  rows.forEach((row, n) => {
    row.tabIndex = n === current ? 0 : -1
    row.querySelectorAll('a, button, input').forEach((inner) => { inner.tabIndex = n === current ? 0 : -1 })
  })
}

/** `leave` is called before a field is left with Escape. */
export const listen = (leave) => document.addEventListener('keydown', (event) => onKey(event, leave))

export const HELP = [
  ['Anywhere', [
    ['/', 'search'], ['g', 'all queues'], ['w', 'everybody who works'], ['W', 'webhooks'], ['t', 'dark or light'],
    ['?', 'these keys'], ['Esc', 'close, leave a field'],
  ]],
  ['In lists', [
    ['j  k', 'down, up'], ['↵', 'open'], ['n  b', 'next page, back'], ['f', 'one client only'],
    ['i', 'what is in it'], ['F', 'more filters, and into the first'], ['x  X', 'pick, all up to here'],
    ['a', 'pick the page'], ['C', 'columns of the payload'], ['e', 'export'], ['Tab', "to the row's buttons"],
  ]],
  ['All queues', [['d', 'what died, by error']]],
  ['A queue', [['1 … 9', 'its lists'], ['0', 'whom jobs wait for'], ['v', 'what happens'],
    ['S', 'what each worker did'], ['s', 'settings']]],
  ['A job', [['h', 'what happened']]],
]

/** Those of the buttons that only an operator has. */
export const HELP_TO_ACT = [
  ['What you do', [
    ['p', 'pause, resume'], ['r', 'release'], ['u', 'requeue, run now, send again'], ['c', 'withdraw'],
    ['y', 'priority'], ['o', 'for whom'], ['A', 'add a job'], ['I', 'upload a table'],
    ['E', 'edit and run again'], ['R', 'reassign'], ['U', 'requeue all that died, send all again'],
    ['T', 'test a webhook'],
  ]],
]
