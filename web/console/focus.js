// When the focused element is removed, the focus moves next to it: to the row that takes its place, to the panel
// that they were in, else in the list. A browser would put them on the page as a whole, from where Tab begins again.

import { place } from './router.js'

/** Where the focus was last in the list and the panel that are shown, a question that was asked meanwhile aside. */
let last = null

const isThere = (element) => element?.isConnected && element.checkVisibility() && !element.disabled
const rowsOf = (list) => [...list.querySelectorAll('[data-row]')]
const shown = (selector) => [...document.querySelectorAll(selector)].find(isThere)

function entered({ target }) {
  if (target.closest('dialog')) return
  if (!target.closest('.page')) { last = null; return }
  const [row, list, panel] = ['[data-row]', '[data-list]', '.panel'].map((around) => target.closest(around))
  last = { element: target, row, list, panel }
  count()
}

/** Rows come and go before the one that has the focus, too. */
function count() {
  const at = last.list ? rowsOf(last.list).indexOf(last.row) : -1
  if (at >= 0) last.at = at
}

/**
 * The focus is not brought back to an element that a person left while it was there, however much the page redraws:
 * they pressed Escape, or pressed outside it, or left it in another way that the browser reports.
 */
export const letGo = () => { last = null }

function pressed({ target }) {
  if (last && !last.element.contains(target) && !target.closest('dialog')) letGo()
}

function left({ target }) {
  setTimeout(() => {
    if (last?.element === target && isThere(target) && document.activeElement === document.body) letGo()
  })
}

function lookAfter(isLate = false) {
  if (!last) return
  const { activeElement: active, body } = document
  if (isThere(last.element) && active !== body) return count()
  if (active !== body && active !== last.element || document.querySelector('dialog[open]')) return
  // A moved element keeps the focus; pending loads are waited for.
  if (isThere(last.element)) return last.element.focus()
  if (shown('.loading:not(.panel *)')) return
  const to = next()
  if (to) return to.focus()
  // A list may be asked for again with the next drawing. Where there is none, its name is all there is.
  if (isLate) shown('.tabs [aria-current], .top [aria-current]')?.focus()
  else requestAnimationFrame(() => setTimeout(lookAfter, 0, true))
}

function next() {
  const { list, panel, at } = last
  const rows = isThere(list) ? rowsOf(list) : []
  if (rows.length > 0) return rows[Math.min(at ?? 0, rows.length - 1)]
  if (isThere(panel)) return panel.querySelector('h2')
  const main = shown('[data-list]:not(.panel *)')
  const listed = main && (main.querySelector('[data-row][tabindex="0"]') ?? main.querySelector('[data-row]'))
  const headed = shown('.panel h2')
  return panel ? headed ?? listed : listed ?? headed
}

/** The focus never moves to another list. */
function followPlace() {
  const name = ({ page, queue, tab }) => [page, queue, tab].join(' ')
  let known = name(place.get())
  place.subscribe((now) => {
    if (name(now) !== known) last = null
    known = name(now)
  })
}

export function listen(root) {
  document.addEventListener('focusin', entered)
  document.addEventListener('focusout', left)
  document.addEventListener('pointerdown', pressed, { capture: true })
  new MutationObserver(() => lookAfter()).observe(root, { childList: true, subtree: true })
  followPlace()
}
