// What happened to a job, out of the stream of events, when it is asked for.

import { html, useEffect, useState } from '../html.js'
import * as api from '../api.js'
import { accessOf, reasonOf, time } from '../format.js'
import { Button, Name } from '../ui.js'
import { AFTER } from '../words.js'

/** Each page has some thousand events of the queue; after this many pages a button reads on. */
const PAGES = 10

async function load(id, known, signal) {
  const story = { events: [...(known?.events ?? [])], next: known?.next ?? undefined, whole: true }
  for (let page = 0; page < PAGES; page += 1) {
    const part = await api.story(id, { after: story.next }, signal)
    story.events.push(...part.events)
    Object.assign(story, { next: part.next, whole: part.whole })
    if (!part.next) break
  }
  return story
}

const Happened = ({ event }) => html`<li>
  <p class="facts"><span title=${event.at}>${time(event.at)}</span>
    <span class=${`state ${AFTER[event.type] ?? ''} ${event.type}`}>${event.type}</span>
    ${event.worker && html`<${Name} worker=${event.worker} />`}
    ${accessOf(event.access) && html`<span title="the worker's credential">${accessOf(event.access)}</span>`}
    ${event.by && html`<span title="whose key it was">by ${event.by}</span>`}</p>
  ${event.reason && html`<pre>${reasonOf(event)}</pre>`}</li>`

/** `mark`: what changes when something has happened to the job. */
export function Story({ id, mark }) {
  const [isOpen, setOpen] = useState(false)
  const [{ story, error }, setState] = useState({})
  const ask = (known, signal) => load(id, known, signal).then(
    (found) => { if (!signal?.aborted) setState({ story: found }) },
    (problem) => { if (!signal?.aborted) setState((last) => ({ ...last, error: problem })) },
  )
  useEffect(() => {
    const gone = new AbortController()
    if (isOpen) ask(null, gone.signal)
    return () => gone.abort()
  }, [id, isOpen, mark])
  if (!isOpen) {
    return html`<section><${Button} keys="h" onClick=${() => setOpen(true)}>Show what happened to it<//></section>`
  }
  return html`<section><h3>What happened to it</h3>
    ${error && html`<p class="problem" role="alert">${error.message}</p>`}
    ${!story && !error && html`<p class="dim" role="status">Loading…</p>`}
    ${story && !story.whole && html`<p class="dim">The stream is not kept back to its beginning.</p>`}
    <ol class="errors story">${story?.events.map((event, n) => html`<${Happened} key=${n} event=${event} />`)}</ol>
    ${story?.next && html`<${Button} onClick=${() => ask(story)}>Look on<//>`}
  </section>`
}
