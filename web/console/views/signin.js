// Asks for a key. It goes into memory and, for who wants that, into what the browser keeps for this tab; not into a
// password manager, and not into an address.

import { html, useEffect, useRef, useState } from '../html.js'
import * as api from '../api.js'
import { refresh } from '../live.js'

export function SignIn({ refused, reason }) {
  const [text, setText] = useState('')
  const [isKept, setKept] = useState(false)
  const [busy, setBusy] = useState(false)
  const [odd, setOdd] = useState(false)
  const field = useRef(null)
  useEffect(() => field.current.focus(), [])
  const enter = async (event) => {
    event.preventDefault()
    if (!text.trim()) return
    // No header can hold anything else.
    if (!/^[\x21-\x7e]+$/.test(text.trim())) return setOdd(true)
    setOdd(false)
    setBusy(true)
    api.signIn(text.trim(), isKept)
    setText('')
    await refresh()
    setBusy(false)
  }
  const refusal = refused && (reason ?? 'That key is not accepted.')
  const problem = odd
    ? 'This is not a whole key. A key is one word of letters, digits and signs: copy it once more.' : refusal
  return html`<main class="signin"><form onSubmit=${enter}>
    <h1>intray</h1>
    <p>This service needs a key. Sign in with an operator's key; a viewer's key shows everything and changes
      nothing.</p>
    <label for="key">Your key</label>
    <input id="key" ref=${field} class="secret" type="text" value=${text}
      autocomplete="off" autocapitalize="off" autocorrect=${false} spellcheck=${false}
      data-1p-ignore data-lpignore="true" onInput=${(event) => setText(event.target.value)} />
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    <button class="button primary" type="submit" disabled=${busy || !text.trim()}>
      ${busy ? 'Signing in …' : 'Sign in'}</button>
    <label class="keep"><input type="checkbox" checked=${isKept}
      onChange=${(event) => setKept(event.target.checked)} /> Keep the key while this tab is open</label>
    <p class="dim"><code>intray key NAME operator</code> makes a key, on the machine of the service.</p>
    <p class="dim">${isKept
      ? 'A reload does not ask again. Signing out or closing the tab forgets it; a duplicate of the tab has it too.'
      : 'The key is kept in this page\'s memory only. Closing or reloading the page forgets it.'}</p>
  </form></main>`
}
