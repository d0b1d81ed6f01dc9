// Lists: pages that follow each other, rows that the keyboard walks through.

import { html, classes, useAnswer, useEffect, useLayoutEffect, useRef, useState } from './html.js'
import { rove } from './keys.js'
import { go } from './router.js'
import { Button, Missing } from './ui.js'

/**
 * The pages of `load({after}, signal)`, whose answers have `next`. The page that is shown is asked again when things
 * happen.
 */
export function usePages(load, parts, queue) {
  const [places, setPlaces] = useState([undefined])
  const after = places.at(-1)
  const answer = useAnswer((signal) => load({ after }, signal), [...parts, after], queue)
  useLayoutEffect(() => setPlaces([undefined]), parts)
  const next = answer.data?.next
  return {
    answer,
    number: places.length,
    back: places.length > 1 ? () => setPlaces(places.slice(0, -1)) : null,
    next: next && next !== after ? () => setPlaces([...places, next]) : null,
  }
}

export const Pager = ({ pages }) => (pages.back || pages.next) && html`<nav class="pager" aria-label="Pages">
  <${Button} kind="quiet" keys="b" busy=${!pages.back} onClick=${pages.back}>Back<//>
  <span>Page ${pages.number}</span>
  <${Button} kind="quiet" keys="n" busy=${!pages.next} onClick=${pages.next}>Next<//>
</nav>`

/** `columns`: [[class, title]]; `row(item, fresh)` draws one; `items(data)` are they; `empty` when there are none. */
export function List({ label, columns, pages, items, id, row, empty }) {
  return html`<${Missing} answer=${pages.answer}>${(data) => html`
    <${Table} label=${label} columns=${columns} items=${items(data)} id=${id} row=${row}
      empty=${pages.number > 1 || pages.next ? html`<p class="empty">Nothing on this page.</p>` : empty} />
    ${pages.answer.error && html`<p class="stale" role="status">Not up to date: ${pages.answer.error.message}</p>`}
    <${Pager} pages=${pages} />`}
  <//>`
}

export function Table({ label, columns, items, id = (item) => item.id, row, empty }) {
  const list = useRef(null)
  const memory = useRef({ known: null }).current
  const known = memory.known
  useEffect(() => {
    memory.known = new Set(items.map(id))
    if (list.current) rove(list.current)
  })
  if (items.length === 0) return empty
  return html`<table class="list" data-list ref=${list} aria-label=${label}
      onFocusIn=${() => rove(list.current)}>
    <thead><tr>${columns.map(([name, title]) => html`<th scope="col" class=${name}>${title}</th>`)}</tr></thead>
    <tbody>${items.map((item) => row(item, known !== null && !known.has(id(item))))}</tbody>
  </table>`
}

/** A row that opens `href`. */
export function Row({ href, selected, fresh, children }) {
  const open = (event) => {
    if (event.target.closest('a, button, input, label') || String(getSelection())) return
    go(href)
  }
  const enter = (event) => {
    if (event.key === 'Enter' && event.target === event.currentTarget) go(href)
  }
  return html`<tr data-row tabindex="-1" class=${classes(selected && 'selected', fresh && 'fresh')}
    aria-selected=${selected ? 'true' : undefined} onClick=${open} onKeyDown=${enter}>${children}</tr>`
}

/** A panel that takes the list's place begins at its top. */
export function useTop(id) {
  useEffect(() => { if (matchMedia('(max-width: 1080px)').matches) scrollTo(0, 0) }, [id])
}
