// The jobs of one state.

import { html } from '../html.js'
import * as api from '../api.js'
import * as actions from '../actions.js'
import * as bulk from '../bulk.js'
import { exportList } from '../export.js'
import { Filters, isLookedFor, isNarrowed, onlyShows } from '../filters.js'
import { number, tail } from '../format.js'
import { List, Row, usePages } from '../list.js'
import { jobsOf, useMatching } from '../matching.js'
import { usePayloadColumns } from '../payload_columns.js'
import { Pick, PickAll, usePicks } from '../picks.js'
import { reassign } from '../reassign.js'
import { go, link, tabOf } from '../router.js'
import { Act, Ago, Brief, Button, Empty, Name, Until } from '../ui.js'
import { forWhom, forWhomPicked } from '../whom.js'
import { Lines, linesOf } from './for_whom.js'
import { newestFirst } from './job.js'

const PAGE = 50

const Id = ({ job, href }) => html`<td class="id">
  <a href=${href} title=${job.id}>${tail(job.id)}</a></td>`
const lead = (job) => html`${job.breached && html`<b class="chip breached">SLA breached</b> `}
  <${Lines} of=${linesOf(job)} />  `
const Client = ({ job }) => html`<td class="client" data-title="client">${
  job.client && html`<bdi>${job.client}</bdi>`}</td>`
const Priority = ({ job }) => html`<td class="n priority" data-title="priority">${job.priority}</td>`
const Who = ({ by }) => html`<td class="worker" data-title="by">${by && html`<${Name} worker=${by.worker} />`}</td>`
const Attempts = ({ job }) => html`<td class="n attempts" data-title="attempts">${job.attempts || ''}</td>`

const LISTS = {
  waiting: {
    columns: [['n priority', 'Priority'], ['client', 'Client'], ['n attempts', 'Attempts'], ['n age', 'Age']],
    cells: (job) => [Priority, Client, Attempts].map((Cell) => html`<${Cell} job=${job} />`)
      .concat(html`<td class="n age"><${Ago} at=${job.enqueued_at} /></td>`),
    moves: true,
    empty: ['Nothing is waiting', 'Callers that ask for work now are asked to retry a little later.'],
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
    moves: true,
    empty: ['Nothing is blocked', 'No job waits for a lock, or for room in its batch.'],
  },
  delayed: {
    columns: [['client', 'Client'], ['n attempts', 'Attempts'], ['n age', 'Due in']],
    cells: (job) => [html`<${Client} job=${job} />`, html`<${Attempts} job=${job} />`,
      html`<td class="n age"><${Until} at=${job.due_at} /></td>`],
    act: (job, changed) => html`<${Act} kind="row" keys="u" label="Run now"
      onClick=${() => actions.requeue(job, changed)}>Run now<//>`,
    rises: true,
    moves: true,
    empty: ['Nothing is delayed', 'No job waits for its time.'],
  },
  dead: {
    columns: [['error', 'Last error'], ['worker', 'Who'], ['n attempts', 'Attempts'], ['n age', 'Died']],
    cells: (job) => [html`<td class="error"><bdi>${newestFirst(job.errors)[0]?.error ?? 'ran out of time'}</bdi></td>`,
      html`<${Who} by=${job.died} />`, html`<${Attempts} job=${job} />`,
      html`<td class="n age"><${Ago} at=${job.ended_at} /></td>`],
    act: (job, changed) => html`<${Act} kind="row" keys="u" label="Requeue"
      onClick=${() => actions.requeue(job, changed)}>Requeue<//>`,
    rises: true,
    all: (queue, matching, only, changed) => html`<${Act} keys="U"
      onClick=${() => actions.requeueAll(queue, matching, only, changed)}>${`Requeue ${jobsOf(matching)}`}<//>`,
    empty: ['Nothing has died', 'A job lands here when it has failed as often as its queue allows.'],
  },
  completed: {
    columns: [['result', 'Result'], ['worker', 'Who'], ['client', 'Client'], ['n age', 'Ended']],
    cells: (job) => [html`<td class="result">${!job.result.isNull && html`<${Brief} exact=${job.result} />`}</td>`,
      html`<${Who} by=${job.completed} />`, html`<${Client} job=${job} />`,
      html`<td class="n age"><${Ago} at=${job.ended_at} /></td>`],
    final: true,
    empty: ['Nothing completed is kept', 'Completed jobs and their results stay for the retention of the queue. '
      + 'Those of a batch are with their batch, and in the list of one worker.'],
  },
  cancelled: {
    columns: [['client', 'Client'], ['n priority', 'Priority'], ['n age', 'Ended']],
    cells: (job) => [html`<${Client} job=${job} />`, html`<${Priority} job=${job} />`,
      html`<td class="n age"><${Ago} at=${job.ended_at} /></td>`],
    final: true,
    empty: ['Nothing cancelled is kept', 'Cancelled jobs stay for the retention of the queue.'],
  },
}

export function Jobs({ name, state, count, selected, only }) {
  const list = LISTS[state]
  const tab = tabOf(state)
  const load = (page, signal) => api.jobs(name, { state, ...only, limit: PAGE, ...page }, signal)
  const narrowing = JSON.stringify(only)
  const pages = usePages(load, [name, state, narrowing], name)
  const { data, reload } = pages.answer
  const matching = useMatching(name, state, only, count, pages)
  const changed = () => { reload(); matching.reload() }
  const setOnly = (filters) => go(link(name, tab, selected, filters))
  const picks = usePicks(data?.jobs ?? [], `${name} ${state} ${narrowing}`)
  const payload = usePayloadColumns(name, (data?.jobs ?? []).map((job) => job.payload))
  const last = ['do', html`<span class="unseen">Actions</span>`]
  const pick = ['pick', html`<${PickAll} picks=${picks} />`]
  const columns = [pick, ['id', 'Job'], ...payload.heads, ...list.columns, last]
  const href = (job) => link(name, tab, job.id, only)
  const row = (job, fresh) => html`<${Row} key=${job.id} href=${href(job)}
      selected=${job.id === selected} fresh=${fresh}>
    <${Pick} job=${job} picks=${picks} />
    <${Id} job=${job} href=${href(job)} />${payload.cells(job.payload, lead(job))}${list.cells(job)}
    <td class="do">${list.act?.(job, changed)}
      ${list.moves && html`<${Act} kind="row quiet" keys="o" label="For whom"
        onClick=${() => forWhom(job, changed)}>For whom…<//>`}</td>
  <//>`
  return html`<div class="bar">
      <${Filters} state=${state} only=${only} setOnly=${setOnly} />
      ${isLookedFor(only) && data && html`<span role="status">${number(data.looked)} looked at</span>`}
      ${only.line && html`<${Act} kind="row" keys="R" label="Reassign"
        onClick=${() => reassign(name, only.line, changed)}>Reassign…<//>`}
      ${matching.n > 0 && html`<${All} queue=${name} state=${state} matching=${matching} only=${only} picks=${picks}
        changed=${changed}>${payload.button}<//>`}
    </div>
    ${picks.jobs.length > 0 && html`<${Picked} queue=${name} list=${list} picks=${picks} changed=${changed} />`}
    <${List} label=${`${state} jobs`} columns=${columns} pages=${pages} items=${(page) => page.jobs}
      id=${(job) => job.id} row=${row} empty=${html`<${Nothing} list=${list} only=${only} setOnly=${setOnly} />`} />`
}

function Nothing({ list: { empty: [title, text] }, only, setOnly }) {
  if (!isNarrowed(only)) return html`<${Empty} title=${title}>${text}<//>`
  return html`<div class="empty"><strong>No jobs match these filters.</strong>
    <${Button} onClick=${() => setOnly({})}>Clear<//></div>`
}

/** What is done to all that the list shows. By what it contains the service finds jobs, and changes none. */
function All({ queue, state, matching, only, picks, changed, children }) {
  const list = LISTS[state]
  return html`<span class="acts">${children}${!onlyShows(only) && html`
      ${list.all?.(queue, matching, only, changed)}
      ${list.moves && html`<${Act} kind="row"
        onClick=${() => bulk.reprioritizeAll(queue, state, matching, only, changed)}>${
        `Reorder ${jobsOf(matching)}…`}<//>`}
      <${Act} kind="row"
        onClick=${() => actions.purge(queue, state, matching, only, changed)}>${`Remove ${jobsOf(matching)}…`}<//>`}
    <${Button} kind="row" keys="e" label="Export"
      onClick=${() => exportList(queue, state, only, picks.jobs)}>Export…<//></span>`
}

/** What is done to those that are picked. */
const Picked = ({ queue, list, picks, changed }) => html`<div class="bar picked" role="group"
    aria-label="What is picked">
  <b role="status">${number(picks.jobs.length)} picked</b>
  ${list.rises && html`<${Act} onClick=${() => bulk.requeuePicked(picks, changed)}>Put in line<//>`}
  ${list.moves && html`<${Act} onClick=${() => bulk.reprioritizePicked(picks, changed)}>Set priority…<//>`}
  ${!list.final && html`<${Act} onClick=${() => forWhomPicked(queue, picks, changed)}>For whom…<//>`}
  ${!list.final && html`<${Act} kind="danger" onClick=${() => bulk.cancelPicked(picks, changed)}>Withdraw them…<//>`}
  <${Button} kind="quiet" onClick=${picks.none}>Pick none<//>
</div>`
