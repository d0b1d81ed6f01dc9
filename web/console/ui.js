// Small parts that several views have.

import { useStore, html, classes, useSecondTick, useLayoutEffect, useMemo, useRef, useState } from './html.js'
import { brief, pretty } from './exact_json.js'
import { now } from './api.js'
import { NONE, age, countdown, time } from './format.js'
import { live, mayAct } from './live.js'
import { Problem } from './problem.js'
import { onLeave } from './router.js'
import { store } from './store.js'

const LONG = 4_000

export const State = ({ of }) => html`<span class=${`state ${of}`}>${of}</span>`

export function Button({ keys, kind, busy, label, children, ...rest }) {
  const title = keys ? `${label ?? children} (${keys})` : label
  return html`<button type="button" class=${classes('button', kind)} title=${title} aria-label=${label}
    aria-keyshortcuts=${keys} disabled=${busy} ...${rest}>${children}</button>`
}

/** A button that makes a change; viewers get neither the button nor its key. */
export const Act = (props) => (mayAct() ? html`<${Button} ...${props} />` : null)

export { Name } from './name.js'

/** How long ago, ticking. */
export function Ago({ at }) {
  useSecondTick()
  return html`<time datetime=${at} title=${at}>${at ? age(now() - Date.parse(at)) : NONE}</time>`
}

/** How long until; nothing is below zero. */
export function Until({ at }) {
  useSecondTick()
  const left = Date.parse(at) - now()
  return html`<time datetime=${at} title=${at}>${left > 0 ? age(left) : 'due'}</time>`
}

/** A job that its worker has completed and can take back until then. */
export const Closing = ({ at }) => html`<span>closing in <${Until} at=${at} /></span>`

/** The remaining time of a reservation. */
export function Left({ until, since }) {
  useSecondTick()
  const left = Date.parse(until) - now()
  const whole = Date.parse(until) - Date.parse(since)
  const urgency = left <= 0 ? 'over' : left < 60_000 ? 'short' : ''
  return html`<span class=${classes('left', urgency)} title=${`until ${time(until)}`}>
    <span class="drain" aria-hidden="true"><i style=${{ inlineSize: share(left, whole) }}></i></span>
    <span>${left <= 0 ? 'time is over' : countdown(left)}</span>
  </span>`
}

const share = (part, whole) => `${Math.round(Math.min(Math.max(part / whole, 0), 1) * 100)}%`

/** Payloads and results, shown as plain text. */
export function Payload({ exact, title }) {
  const [all, setAll] = useState(false)
  const text = useMemo(() => pretty(exact), [exact.text])
  const cut = !all && text.length > LONG
  return html`<section class="payload">
    <div class="tools"><h3>${title}</h3>
      ${cut && html`<${Button} kind="quiet" onClick=${() => setAll(true)}>Show all<//>`}
      <${Copy} text=${exact.text} label=${`Copy: ${title}`} /></div>
    <pre tabindex="0" aria-label=${title}>${cut ? `${text.slice(0, LONG)}…` : text}</pre>
  </section>`
}

export const Brief = ({ exact }) =>
  html`<span class=${classes('brief', exact.isNull && 'none')}>${exact.isNull ? 'no payload' : brief(exact)}</span>`

export function Copy({ text, label }) {
  const [done, setDone] = useState(false)
  const copy = async (event) => {
    event.stopPropagation()
    try {
      await navigator.clipboard.writeText(text)
      setDone(true)
      setTimeout(() => setDone(false), 1_500)
    } catch {
      say('The browser does not let this page copy.', 'bad')
    }
  }
  return html`<${Button} kind="quiet" label=${label} onClick=${copy}>${done ? 'Copied' : 'Copy'}<//>`
}

export const Empty = ({ title, children }) => html`<div class="empty"><strong>${title}</strong><p>${children}</p></div>`

export const Waiting = ({ rows = 6 }) => html`<div class="loading" role="status" aria-label="Loading">
  ${Array.from({ length: rows }, () => html`<i></i>`)}
</div>`

/** The placeholder for a missing answer. */
export function Missing({ answer, children }) {
  if (answer.data) return children(answer.data)
  if (!answer.error) return html`<${Waiting} />`
  return html`<div class="empty bad" role="alert"><strong>${answer.error.problem?.title ?? 'That did not work'}</strong>
    <p>${answer.error.message}</p><${Button} onClick=${answer.reload}>Try again<//></div>`
}

// -- short messages

const messages = store([])
let nextMessage = 0

export function say(text, kind = 'good') {
  const id = nextMessage++
  messages.set((list) => [...list.slice(-3), { id, text, kind }])
  setTimeout(drop, kind === 'bad' ? 12_000 : 4_000, id)
}

const drop = (id) => messages.set((list) => list.filter((message) => message.id !== id))

/** Runs the action and reports its result, if there is one to report, or the service's reason for refusing. */
export async function act(work, done) {
  try {
    const answer = await work()
    const text = typeof done === 'function' ? done(answer) : done
    if (text) say(text)
    return true
  } catch (error) {
    say(error.message, 'bad')
    return false
  }
}

export function Messages() {
  const list = useStore(messages)
  return html`<div class="messages" role="status" aria-live="polite">
    ${list.map(({ id, text, kind }) => html`<p key=${id} class=${kind}><span>${text}</span>
      <button type="button" aria-label="Dismiss" onClick=${() => drop(id)}>×</button></p>`)}
  </div>`
}

// -- asking before work is destroyed

const question = store(null)

// The question was for the previous user, not for the next one.
live.subscribe(({ access }) => { if (access === 'needed' || access === 'refused') question.set(() => null) })
// And it was asked on one page: none stays open over another.
onLeave(() => question.set(() => null))

/**
 * `{title, text, action, danger, typed, work, done}`: `work(tell)` runs when it is confirmed, and the dialog stays with
 * the service's answer when it is refused; `tell(text, waits)` says how far it is and whether the service takes no
 * more for now, and answers whether to go on. `typed` must be typed first. `field`, `{label, value}` and `options` or
 * what an input has, is asked for and handed to `work` too; so is the `value` of a `form`, a part that gets
 * `{what, value, onChange}`. `onChange` hears of it. An error with `isDoubt` asks once more: `work` gets it as its
 * third argument when the same is confirmed again.
 */
export const ask = (what) => question.set(() => ({ ...what }))

export function Question() {
  const what = useStore(question)
  return what && html`<${Dialog} what=${what} key=${what} />`
}

function Dialog({ what }) {
  const dialog = useRef(null)
  const isOpen = useRef(true)
  const [typed, setTyped] = useState('')
  const [value, setValue] = useState(what.field?.value ?? what.value)
  const change = (next) => { setValue(next); what.onChange?.(next); forget() }
  // Before anything is painted: a quick Escape is meant for it.
  useLayoutEffect(() => {
    dialog.current.showModal()
    // Enter never triggers a destructive action.
    const first = what.form && dialog.current.querySelector('[autofocus]')
    if (!what.danger) (first || dialog.current.querySelector('[type=submit]')).focus()
    // Running actions stop when their view is closed.
    return () => { isOpen.current = false }
  }, [])
  const close = () => {
    isOpen.current = false
    dialog.current?.close()
    question.set((other) => (other === what ? null : other))
  }
  const { busy, problem, isEarly, go, forget } = useWork(what, value, isOpen, close)
  return html`<dialog ref=${dialog} class=${classes('question', what.form && 'wide')}
      aria-labelledby="question" onClose=${close}>
    <form onSubmit=${go}>
      <h2 id="question">${what.title}</h2>
      <p>${what.text}</p>
      ${what.typed && html`<label><span>Type <b><bdi>${what.typed}</bdi></b> to go on</span>
        <input value=${typed} autocomplete="off" spellcheck=${false}
          onInput=${(event) => setTyped(event.target.value)} /></label>`}
      ${what.field && html`<${Asked} field=${what.field} value=${value} onChange=${change} />`}
      ${what.form && html`<${what.form} what=${what} value=${value} onChange=${change} />`}
      ${problem && html`<${Problem} of=${problem} key=${problem} />`}
      ${busy?.waits && html`<p class="waits" role="status">
        The service limits the calls per second. It continues by itself.</p>`}
      <p class="choices">
        <button type="button" class="button" onClick=${close}>${busy ? 'Stop' : 'Cancel'}</button>
        <button type="submit" class=${classes('button', what.danger ? 'danger' : 'primary')}
          disabled=${busy !== null || isEarly || (what.typed && typed !== what.typed)}>
          ${busy ? `${what.action} ${busy.far}` : problem?.isDoubt ? `${what.action} anyway` : what.action}</button>
      </p>
    </form>
  </dialog>`
}

function Asked({ field: { label, options, value: _, ...how }, value, onChange }) {
  const set = (event) => onChange(event.target.value)
  return html`<label>${label}${options
    ? html`<select value=${value} onChange=${set}>${options.map((one) => html`<option>${one}</option>`)}</select>`
    : html`<input ...${how} value=${value} required onInput=${set} />`}</label>`
}

const DOUBLE_CLICK = 500
/** Runs the confirmed action, and reports the result even if the dialog was closed. */
function useWork(what, value, isOpen, close) {
  const [busy, setBusy] = useState(null)
  const [problem, setProblem] = useState(null)
  const [isEarly, setEarly] = useState(false)
  const tell = (far, waits = false) => {
    // After one wait more will follow, and a flickering line cannot be read.
    setBusy((last) => ({ far, waits: waits || Boolean(last?.waits) }))
    return isOpen.current
  }
  const go = async (event) => {
    event.preventDefault()
    const doubt = problem?.isDoubt ? problem : undefined
    setProblem(null)
    tell('…')
    try {
      const answer = await what.work(tell, value, doubt)
      const done = typeof what.done === 'function' ? what.done(answer) : what.done
      say(isOpen.current ? done : `Stopped. ${done}`)
      close()
    } catch (error) {
      if (!isOpen.current) say(error.message, 'bad')
      setProblem(error)
      setBusy(null)
      // The second half of a double click is no answer to the doubt.
      setEarly(Boolean(error.isDoubt))
      setTimeout(setEarly, DOUBLE_CLICK, false)
    }
  }
  return { busy, problem, isEarly, go, forget: () => setProblem(null) }
}
