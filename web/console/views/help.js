// The keys.

import { html, useLayoutEffect, useRef } from '../html.js'
import { HELP, HELP_TO_ACT } from '../keys.js'
import { mayAct } from '../live.js'

const drawn = (part) => (part.trim() && part !== ' … ' ? html`<kbd>${part}</kbd>` : part)

export function Help({ onClose }) {
  const dialog = useRef(null)
  useLayoutEffect(() => { dialog.current.showModal() }, [])
  const groups = mayAct() ? [...HELP, ...HELP_TO_ACT] : HELP
  const outside = (event) => { if (event.target === dialog.current) dialog.current.close() }
  return html`<dialog ref=${dialog} class="help" aria-labelledby="help" onClose=${onClose} onClick=${outside}>
    <header><h2 id="help">Keys</h2>
      <button type="button" class="button quiet" title="Close (Esc)"
        onClick=${() => dialog.current.close()}>Close</button></header>
    <div class="groups">${groups.map(([title, keys]) => html`<section><h3>${title}</h3><dl>
      ${keys.map(([key, what]) => html`<dt>${key.split(/(  | … )/).map(drawn)}</dt><dd>${what}</dd>`)}
    </dl></section>`)}</div>
  </dialog>`
}
