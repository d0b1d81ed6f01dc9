// What is wrong with an answer to a question, in the dialog.

import { html, useLayoutEffect, useRef } from './html.js'

/** A doubt has the focus: a key pressed for the question before confirms nothing. `more`: what it leads to. */
export function Problem({ of: { message, isDoubt, more } }) {
  const text = useRef(null)
  useLayoutEffect(() => { if (isDoubt) text.current.focus() }, [])
  return html`<div class="problem" role="alert" tabindex=${isDoubt ? '-1' : undefined} ref=${text}>
    ${message}${more}</div>`
}
