// The reserved jobs, their workers and the time left.

import { html, useAnswer } from '../html.js'
import * as api from '../api.js'
import * as actions from '../actions.js'
import { many, tail } from '../format.js'
import { List, Row, usePages } from '../list.js'
import { mayAct } from '../live.js'
import { usePayloadColumns } from '../payload_columns.js'
import { Pick, PickAll, usePicks } from '../picks.js'
import { link } from '../router.js'
import { Act, Ago, Closing, Empty, Left, Name } from '../ui.js'
import { PickedHeld } from './picked_held.js'

const LAST = [['n age', 'Holds it for'], ['lease', 'Time left']]

export function Held({ name, queue, selected }) {
  const pages = usePages((page, signal) => api.workers(name, { limit: 100, ...page }, signal), [name], name)
  // What they hold says this list, which is in another order; a job that is on neither page has no preview here.
  const held = useAnswer((signal) => api.jobs(name, { state: 'reserved', limit: 100 }, signal), [name], name)
  const payloads = new Map((held.data?.jobs ?? []).map((job) => [job.id, job.payload]))
  // A job that is closing cannot be released: it comes after those that are worked on.
  const closing = (held.data?.jobs ?? []).filter(({ reserved }) => reserved?.final_at)
    .map(({ id, reserved }) => ({ id, ...reserved, of: 1, first: true }))
  const items = (data) => {
    const worked = data.workers.flatMap(({ worker, jobs }) =>
      jobs.map((job, n) => ({ ...job, worker, of: jobs.length, first: n === 0 })))
    // One of the two answers may be older: a job that was taken back would stand here twice.
    const ids = new Set(worked.map(({ id }) => id))
    return [...worked, ...(data.next ? [] : closing.filter(({ id }) => !ids.has(id)))]
  }
  const changed = pages.answer.reload
  const payload = usePayloadColumns(name, [...payloads.values()])
  // A completion that can still be taken back is its worker's.
  const ready = pages.answer.data ? items(pages.answer.data).filter((job) => !job.final_at) : []
  const picks = usePicks(ready, name)
  const pick = mayAct() ? [['pick', html`<${PickAll} picks=${picks} />`]] : []
  const columns = [...pick, ['worker', 'Who'], ['id', 'Job'], ...payload.heads, ...LAST]
  const row = (job, fresh) => html`<${Row} key=${job.id} href=${link(name, 'held', job.id)}
      selected=${job.id === selected} fresh=${fresh}>
    ${mayAct() && (job.final_at ? html`<td class="pick"></td>` : html`<${Pick} job=${job} picks=${picks} />`)}
    <td class="worker">${job.first && html`<${Who} job=${job} />`}</td>
    <td class="id"><a href=${link(name, 'held', job.id)} title=${job.id}>${tail(job.id)}</a></td>
    ${payload.cells(payloads.get(job.id))}
    <td class="n age"><${Ago} at=${job.reserved_at} /></td>
    <td class="lease">${job.final_at ? html`<${Closing} at=${job.final_at} />`
      : html`<${Left} until=${job.expires_at} since=${job.reserved_at} />`}</td>
  <//>`
  const { live, overdue } = queue?.reservations ?? { live: 0, overdue: 0 }
  return html`<div class="bar">
      <span>${many(live, 'job')} held${overdue > 0 && html`, <b class="bad">${overdue} overdue</b>`}</span>
      <span class="space"></span>
      ${payload.button}
      <${Act} kind="row" label="Check now: take back what is overdue"
        onClick=${() => actions.returnOverdue(name)}>Check now<//></div>
    <${PickedHeld} queue=${name} picks=${picks} changed=${changed} />
    <${List} label="held jobs" columns=${columns} pages=${pages} items=${items} id=${(job) => job.id} row=${row}
      empty=${html`<${Empty} title="Nobody holds anything">
        Reserved jobs are here, with the time that is left.<//>`} />`
}

const Who = ({ job }) => html`<span class="who">
  <${Name} worker=${job.worker} />
  ${job.of > 1 && html`<span class="count">${job.of}</span>`}
</span>`
