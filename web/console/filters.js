// What a list is narrowed to. The words are the service's, so that what is shown is what an act on all of it changes;
// but for `search`, `breached`, `line` and `worker`, which only show.

import { html, useLayoutEffect, useMemo, useRef, useState } from './html.js'
import * as api from './api.js'
import { SUCH_AS, age, readDuration, readId, tail, time } from './format.js'
import { hasFilter } from './router.js'
import { Button, say } from './ui.js'

/** In words: whose the jobs are that an act on all of them changes. Begins with a blank, unless it is nothing. */
export const narrowed = (only) => [
  only.client && ` of ${only.client}`,
  only.batch && ` of batch ${tail(only.batch)}`,
  only.error && ` with “${only.error}” in an error`,
    only.line && ` for ${only.line}`,
    only.worker && ` by ${only.worker}`,
  only.enqueued_before && ` that came before ${time(only.enqueued_before)}`,
].filter(Boolean).join(',')

export const isNarrowed = (only) => Object.keys(only).length > 0

/** The service looks through the jobs for it, and changes none by it. */
export const isLookedFor = (only) => Boolean(only.search || only.breached || only.worker)

/** The service shows the jobs, and takes no order that is for them alone. */
export const onlyShows = (only) => Boolean(isLookedFor(only) || only.line)

/** Changes one filter; empty ones are removed. */
const changed = (only, name, value) =>
  Object.fromEntries(Object.entries({ ...only, [name]: value }).filter(([, text]) => text))

/**
 * Asked for when the field is left or Enter is pressed, not at each letter. A browser reports one Enter up to three
 * times, as a key, a change and a search: what is refused is refused once.
 */
function Field({ label, value, keys, hint = 'any', input, onChange }) {
  const [typed, setTyped] = useState(value)
  const asked = useRef(value)
  useLayoutEffect(() => { asked.current = value; setTyped(value) }, [value])
  const ask = (event, known) => {
    const text = event.target.value.trim()
    if (text === known) return
    asked.current = text
    onChange(text)
  }
  const set = (event) => ask(event, asked.current)
  const enter = (event) => { if (event.key === 'Enter') ask(event, value) }
  return html`<label class="filter"><span>${label}</span>
    <input ref=${input} type="search" value=${typed} aria-keyshortcuts=${keys} placeholder=${hint} autocomplete="off"
      spellcheck=${false} onInput=${(event) => setTyped(event.target.value)}
      onChange=${set} onKeyDown=${enter} onSearch=${set} /></label>`
}

const hasMore = (only) => Boolean(only.error || only.batch || only.enqueued_before || only.breached)

/** Whether the further filters are shown; they are when one of them narrows the list. The first has the focus then. */
function useMore(only) {
  const [isOpen, setOpen] = useState(hasMore(only))
  const first = useRef(null)
  const isAsked = useRef(false)
  useLayoutEffect(() => { if (hasMore(only)) setOpen(true) }, [JSON.stringify(only)])
  useLayoutEffect(() => {
    if (isOpen && isAsked.current) first.current.focus()
    isAsked.current = false
  }, [isOpen])
  const toggle = () => { isAsked.current = !isOpen; setOpen(!isOpen) }
  return { isOpen, first, toggle }
}

/** The age that was typed for a moment; of a moment that a link brings, the age that it has now. */
function useAge(moment) {
  const typed = useRef({})
  const text = useMemo(() => {
    if (!moment) return ''
    const ms = api.now() - Date.parse(moment)
    return typed.current.moment === moment ? typed.current.text : ms < 1_000 ? '0 s' : age(ms)
  }, [moment])
  return [text, (known) => { typed.current = known }]
}

export function Filters({ state, only, setOnly }) {
  const { isOpen, first, toggle } = useMore(only)
  const [ago, setAgo] = useAge(only.enqueued_before)
  const set = (name) => (value) => setOnly(changed(only, name, value))
  const setBatch = (text) => {
    const found = text && readId(text)
    if (text && !found?.isBatch) return say('That is not the id of a batch.', 'bad')
    set('batch')(found?.id ?? '')
  }
  /** A moment, not an age: the pages that follow are of the same jobs. */
  const setBefore = (text) => {
    const ms = text ? readDuration(text) : 0
    if (Number.isNaN(ms)) return say(`An age is written with its unit, ${SUCH_AS}.`, 'bad')
    const moment = text && new Date(api.now() - ms).toISOString()
    setAgo({ moment, text })
    set('enqueued_before')(moment)
  }
  const setLine = (text) => {
    if (text && !/^[@+]./.test(text)) return say('Write @ and a name, or + and a skill.', 'bad')
    set('line')(text)
  }
  return html`
    <${Field} label="Client" keys="f" hint="all" value=${only.client ?? ''} onChange=${set('client')} />
    <${Field} label="Contains" keys="i" value=${only.search ?? ''} onChange=${set('search')} />
    ${hasFilter(state, 'worker') && html`
      <${Field} label="Worker" hint="all" value=${only.worker ?? ''} onChange=${set('worker')} />`}
    ${state === 'waiting' && (isOpen || only.line) && html`
      <${Field} label="For whom" hint="@bob, +de" value=${only.line ?? ''} onChange=${setLine} />`}
    ${isOpen && html`
      <${Field} label="Error" input=${first} value=${only.error ?? ''} onChange=${set('error')} />
      <${Field} label="Batch" value=${only.batch ?? ''} onChange=${setBatch} />
      <${Field} label="Older than" hint="like 2 h" value=${ago} onChange=${setBefore} />
      <label class="filter check"><input type="checkbox" checked=${Boolean(only.breached)}
        onChange=${(event) => set('breached')(event.target.checked && 'true')} /><span>SLA breached</span></label>`}
    <${Button} kind="quiet" keys="F" label=${isOpen ? 'Fewer filters' : 'More filters'} aria-expanded=${isOpen}
      onClick=${toggle}>${isOpen ? 'Fewer' : 'More'}<//>
    ${isNarrowed(only) && html`<${Button} kind="quiet" label="Clear: show all again"
      onClick=${() => setOnly({})}>Clear<//>`}`
}
