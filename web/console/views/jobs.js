// The jobs of one state.

import { html, useState } from '../html.js'
import * as api from '../api.js'
import * as actions from '../actions.js'
import { tail } from '../format.js'
import { List, Row, usePages } from '../list.js'
import { link, tabOf } from '../router.js'
import { Act, Ago, Brief, Empty, Until } from '../ui.js'
import { newestFirst } from './job.js'

const PAGE = 50

const Id = ({ job, tab }) => html`<td class="id">
  <a href=${link(job.queue, tab, job.id)} title=${job.id}>${tail(job.id)}</a></td>`
const What = ({ job }) => html`<td class="what"><${Brief} exact=${job.payload} /></td>`
const Client = ({ job }) => html`<td class="client" data-title="client">${
  job.client && html`<bdi>${job.client}</bdi>`}</td>`
const Priority = ({ job }) => html`<td class="n priority" data-title="priority">${job.priority}</td>`
const Attempts = ({ job }) => html`<td class="n attempts" data-title="attempts">${job.attempts || ''}</td>`

const LISTS = {
  waiting: {
    columns: [['n priority', 'Priority'], ['client', 'Client'], ['n attempts', 'Attempts'], ['n age', 'Age']],
    cells: (job) => [Priority, Client, Attempts].map((Cell) => html`<${Cell} job=${job} />`)
      .concat(html`<td class="n age"><${Ago} at=${job.enqueued_at} /></td>`),
    empty: ['Nothing is waiting', 'Whoever asks for work now is told to come back a little later.'],
  },
  blocked: {
    columns: [['chips', 'Needs'], ['n priority', 'Priority'], ['client', 'Client'], ['n age', 'Age']],
    cells: (job) => [
      html`<td class="chips">${job.locks.map((lock) => html`<bdi class="chip lock">${lock}</bdi>`)}
        ${job.batch && html`<a class="chip" href=${link(job.queue, 'batches', job.batch)}>
          batch ${tail(job.batch)}</a>`}</td>`,
      html`<${Priority} job=${job} />`, html`<${Client} job=${job} />`,
      html`<td class="n age"><${Ago} at=${job.enqueued_at} /></td>`,
    ],
    empty: ['Nothing is blocked', 'No job waits for a lock, or for room in its batch.'],
  },
  delayed: {
    columns: [['client', 'Client'], ['n attempts', 'Attempts'], ['n age', 'Due in']],
    cells: (job) => [html`<${Client} job=${job} />`, html`<${Attempts} job=${job} />`,
      html`<td class="n age"><${Until} at=${job.due_at} /></td>`],
    act: (job, changed) => html`<${Act} kind="quiet" keys="u" label="Run now"
      onClick=${() => actions.requeue(job, changed)}>Run now<//>`,
    empty: ['Nothing is delayed', 'No job waits for its time.'],
  },
  dead: {
    columns: [['error', 'Last error'], ['n attempts', 'Attempts'], ['n age', 'Died']],
    cells: (job) => [html`<td class="error"><bdi>${newestFirst(job.errors)[0]?.error ?? 'ran out of time'}</bdi></td>`,
      html`<${Attempts} job=${job} />`, html`<td class="n age"><${Ago} at=${job.ended_at} /></td>`],
    act: (job, changed) => html`<${Act} kind="quiet" keys="u" label="Requeue"
      onClick=${() => actions.requeue(job, changed)}>Requeue<//>`,
    all: (queue, count, only, changed) => html`<${Act} keys="U"
      onClick=${() => actions.requeueAll(queue, count, only, changed)}>Requeue all<//>`,
    empty: ['Nothing has died', 'A job lands here when it has failed as often as its queue allows.'],
  },
  completed: {
    columns: [['result', 'Result'], ['client', 'Client'], ['n age', 'Ended']],
    cells: (job) => [html`<td class="result">${!job.result.isNull && html`<${Brief} exact=${job.result} />`}</td>`,
      html`<${Client} job=${job} />`, html`<td class="n age"><${Ago} at=${job.ended_at} /></td>`],
    final: true,
    empty: ['Nothing completed is kept', 'Completed jobs and their results stay for the retention of the queue. '
      + 'Those of a batch are with their batch.'],
  },
  cancelled: {
    columns: [['client', 'Client'], ['n priority', 'Priority'], ['n age', 'Ended']],
    cells: (job) => [html`<${Client} job=${job} />`, html`<${Priority} job=${job} />`,
      html`<td class="n age"><${Ago} at=${job.ended_at} /></td>`],
    final: true,
    empty: ['Nothing cancelled is kept', 'Cancelled jobs stay for the retention of the queue, without their payloads.'],
  },
}

export function Jobs({ name, state, count, selected }) {
  const [client, setClient] = useState('')
  const list = LISTS[state]
  const load = (page, signal) => api.jobs(name, { state, client, limit: PAGE, ...page }, signal)
  const pages = usePages(load, [name, state, client], name)
  const changed = pages.answer.reload
  const only = client ? { client } : {}
  const last = ['do', html`<span class="unseen">Actions</span>`]
  const columns = [['id', 'Job'], ['what', 'Payload'], ...list.columns, last]
  const row = (job, fresh) => html`<${Row} key=${job.id} href=${link(name, tabOf(state), job.id)}
      selected=${job.id === selected} fresh=${fresh}>
    <${Id} job=${job} tab=${tabOf(state)} /><${What} job=${job} />${list.cells(job)}
    <td class="do">${list.act?.(job, changed)}
      ${!list.final && html`<${Act} kind="quiet" keys="c" label="Cancel"
        onClick=${() => actions.cancel(job, changed)}>Cancel<//>`}</td>
  <//>`
  const [title, text] = client ? [`Nothing of ${client} here`, 'The list shows one client only.'] : list.empty
  return html`<div class="bar">
      <${Filter} value=${client} onChange=${setClient} />
      <span class="space"></span>
      ${count > 0 && list.all?.(name, count, only, changed)}
      ${count > 0 && html`<${Act} kind="quiet" label=${`Remove all ${state} jobs`}
        onClick=${() => actions.purge(name, state, count, only, changed)}>Remove all…<//>`}
    </div>
    <${List} label=${`${state} jobs`} columns=${columns} pages=${pages} items=${(data) => data.jobs}
      id=${(job) => job.id} row=${row} empty=${html`<${Empty} title=${title}>${text}<//>`} />`
}

/** Asked for when the field is left or Enter is pressed, not at each letter. */
function Filter({ value, onChange }) {
  const set = (event) => onChange(event.target.value.trim())
  const enter = (event) => { if (event.key === 'Enter') set(event) }
  return html`<label class="filter"><span>Client</span>
    <input type="search" value=${value} aria-keyshortcuts="f" placeholder="all" autocomplete="off" spellcheck=${false}
      onChange=${set} onKeyDown=${enter} onSearch=${set} /></label>`
}
