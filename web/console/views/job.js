// Everything about one job, next to its list.

import { html, useAnswer, useLayoutEffect, useState } from '../html.js'
import * as api from '../api.js'
import * as actions from '../actions.js'
import { age, duration, many, tail, time } from '../format.js'
import { useTop } from '../list.js'
import { mayAct } from '../live.js'
import { runAgain } from '../newjob.js'
import { link, tabOf } from '../router.js'
import { forWhom } from '../whom.js'
import { Ago, Button, Closing, Copy, Left, Missing, Name, Payload, State, Until } from '../ui.js'
import { ForWhom } from './for_whom.js'
import { Story } from './story.js'

export function Job({ queue, id, back }) {
  useTop(id)
  const answer = useAnswer((signal) => api.inspect(id, signal), [id], queue.name)
  return html`<aside class="panel" aria-label=${`Job ${tail(id)}`}>
    <header>
      <h2 tabindex="-1"><span class="dim">${id.slice(0, -8)}</span>${tail(id)}</h2>
      <${Copy} text=${id} label="Copy the id" />
      <a class="button quiet" href=${back} aria-keyshortcuts="Escape" aria-label="Close" title="Close (Esc)">×</a>
    </header>
    <${Missing} answer=${answer}>${(job) => html`
      <${Known} job=${job} settings=${queue.settings} changed=${answer.reload} error=${answer.error} />`}<//>
  </aside>`
}

function Known({ job, settings, changed, error }) {
  return html`
    ${error && html`<p class="stale" role="status">Not up to date: ${error.message}</p>`}
    <p class="facts"><${State} of=${job.state} />
      ${job.state === 'delayed' && html`<span>due in <${Until} at=${job.due_at} /></span>`}
      ${job.reserved?.final_at && html`<${Closing} at=${job.reserved.final_at} />`}
      ${job.expires_at && !job.ended_at && html`<span>expires in <${Until} at=${job.expires_at} /></span>`}
      ${job.breached && html`<b class="chip breached">SLA breached</b>`}
      ${job.cancelled && html`<span>${job.cancelled.reason}</span>`}
      ${job.ended_at && html`<span>ended <${Ago} at=${job.ended_at} /> ago</span>`}
      <span>enqueued <${Ago} at=${job.enqueued_at} /> ago</span>
    </p>
    <${Actions} job=${job} changed=${changed} />
    <${ForWhom} job=${job} />
    ${job.reserved && html`<section><h3>Reserved</h3><dl>
      <dt>Who</dt><dd><${Name} worker=${job.reserved.worker} /></dd>
      <dt>Since</dt><dd>${time(job.reserved.reserved_at)}, <${Ago} at=${job.reserved.reserved_at} /></dd>
      ${job.reserved.final_at
        ? html`<dt>Completed</dt><dd>and can be taken back until ${time(job.reserved.final_at)}</dd>`
        : html`<dt>Left</dt><dd><${Left} until=${job.reserved.expires_at} since=${job.reserved.reserved_at} /></dd>`}
      ${job.reserved.resumes > 0 && html`<dt>Came back</dt><dd>${many(job.reserved.resumes, 'time')}</dd>`}
    </dl></section>`}
    ${job.completed && html`<section><h3>Completed</h3><dl>
      <dt>Who</dt><dd><${Name} worker=${job.completed.worker} /></dd>
      <dt>When</dt><dd>${time(job.completed.at)}${job.completed.late && ', late'}</dd>
      <dt>Had it for</dt><dd>${age(job.completed.held_ms)}</dd>
    </dl></section>`}
    <${Payload} exact=${job.payload} title="Payload" />
    ${!job.result.isNull && html`<${Payload} exact=${job.result} title="Result" />`}
    ${job.late_results.map((late) => html`<${Payload} exact=${late.result}
      title=${`Came too late, from ${late.worker ?? 'an unnamed worker'}, ${time(late.at)}`} />`)}
    ${job.errors.length > 0 && html`<section><h3>Errors</h3><ol class="errors">
      ${newestFirst(job.errors).map((error) => html`<${Quote} of=${error} text=${error.error} />`)}
    </ol></section>`}
    ${job.reasons?.length > 0 && html`<section><h3>Given back because</h3><ol class="errors">
      ${newestFirst(job.reasons).map((back) => html`<${Quote} of=${back} text=${back.reason} />`)}
    </ol></section>`}
    <${About} job=${job} settings=${settings} />
    <${Story} id=${job.id} mark=${`${job.state} ${job.priority} ${JSON.stringify(job.counts)}`} />`
}

function About({ job, settings }) {
  const { counts } = job
  const history = [
    [counts.handed_out, 'handed out'], [counts.expired, 'ran out of time'], [counts.failed, 'failed'],
    [counts.abandoned, 'given back'], [counts.released, 'released'],
  ].filter(([n]) => n > 0)
  return html`<section><h3>About it</h3><dl>
    <dt>History</dt><dd>${history.map(([n, what]) => `${n} × ${what}`).join(', ') || 'never handed out'}</dd>
    <dt>Attempts</dt><dd>${job.attempts}${limit(job.max_attempts ?? settings.max_attempts)}</dd>
    <dt>Client</dt><dd>${job.client === null ? 'none' : html`<bdi>${job.client}</bdi>`}</dd>
    ${job.locks.length > 0 && html`<dt>Locks</dt><dd class="chips">${
      job.locks.map((lock) => html`<bdi class="chip lock">${lock}</bdi>`)}</dd>`}
    ${job.batch && html`<dt>Batch</dt><dd>
      <a href=${link(job.queue, 'batches', job.batch)}>${tail(job.batch)}</a></dd>`}
    <dt>Lease</dt><dd>${duration(job.lease_ms ?? settings.lease_ms)}</dd>
    ${job.backoff && html`<dt>Backoff</dt><dd>${job.backoff.type}, ${duration(job.backoff.delay_ms)}</dd>`}
    <dt>Enqueued</dt><dd>${time(job.enqueued_at)}</dd>
    ${job.due_at && html`<dt>Due</dt><dd>${time(job.due_at)}</dd>`}
    ${job.sla_at && html`<dt>SLA</dt><dd>${time(job.sla_at)}${job.breached && ', breached'}</dd>`}
    ${job.expires_at && html`<dt>Expires</dt><dd>${time(job.expires_at)}</dd>`}
    ${job.ended_at && html`<dt>Ended</dt><dd>${time(job.ended_at)}</dd>`}
    ${job.traceparent && html`<dt>Trace</dt><dd class="mono">${job.traceparent}</dd>`}
  </dl></section>`
}

/** A text of a worker, and its time. */
const Quote = ({ of, text }) => html`<li>
  <p class="facts"><span>${time(of.at)}</span><${Name} worker=${of.worker} /></p><pre>${text}</pre></li>`

export const newestFirst = (errors) => errors.toSorted((a, b) => (a.at < b.at ? 1 : -1))

const limit = (max) => (max ? ` of ${max}` : ', without a limit')

function Actions({ job, changed }) {
  const { state } = job
  // A completion that can still be taken back is its worker's.
  if (job.reserved?.final_at || !mayAct()) return null
  const again = html`<${Button} keys="E" label="Edit and run again"
    onClick=${() => runAgain(job)}>Edit and run again…<//>`
  if (state === 'completed' || state === 'cancelled') return html`<p class="actions">${again}</p>`
  return html`<p class="actions">
    ${state === 'reserved' && html`<${Button} keys="r"
      onClick=${() => actions.release(job.id, job.reserved.worker, changed)}>Release<//>`}
    ${state === 'dead' && html`<${Button} kind="primary" keys="u"
      onClick=${() => actions.requeue(job, changed)}>Requeue<//>${again}`}
    ${state === 'delayed' && html`<${Button} keys="u" onClick=${() => actions.requeue(job, changed)}>Run now<//>`}
    ${state !== 'dead' && html`<${Priority} job=${job} changed=${changed} />`}
    <${Button} keys="o" onClick=${() => forWhom(job, changed)}>For whom…<//>
    <span class="space"></span>
    <${Button} kind="danger" keys="c" onClick=${() => actions.cancel(job, changed)}>Withdraw<//>
  </p>`
}

function Priority({ job, changed }) {
  const [draft, setDraft] = useState(null)
  useLayoutEffect(() => setDraft(null), [job.id, job.priority])
  const set = (event) => {
    event.preventDefault()
    const wanted = Number(draft)
    if (draft !== null && wanted !== job.priority) actions.reprioritize(job, wanted, changed)
  }
  return html`<form class="priority" onSubmit=${set}><label>Priority
    <input type="number" min="0" max="99" required aria-keyshortcuts="y" value=${draft ?? job.priority}
      onInput=${(event) => setDraft(event.target.value)} /></label>
    ${draft !== null && Number(draft) !== job.priority && html`
      <button class="button primary" type="submit">Set</button>`}
  </form>`
}

/** Where what an id names is now. Throws the service's refusal. */
export async function placeOf({ id, queue, isBatch }) {
  if (isBatch) {
    await api.inspectBatch(id)
    return link(queue, 'batches', id)
  }
  return link(queue, tabOf((await api.inspect(id)).state), id)
}
