// Everybody who works: who holds what, those first whose time is over, and who waits for something to do.

import { html, useSecondTick, useEffect } from '../html.js'
import * as api from '../api.js'
import { age, many, tail } from '../format.js'
import { List, Row, Table, usePages } from '../list.js'
import { mayAct } from '../live.js'
import { Pick, PickAll, usePicks } from '../picks.js'
import { link } from '../router.js'
import { Ago, Empty, Left, Name } from '../ui.js'
import { PickedHeld } from './picked_held.js'

const EVERY = 5_000
const HELD = [
  ['worker', 'Who'], ['queue', 'Queue'], ['id', 'Job'], ['n age', 'Holds it for'], ['lease', 'Time left'],
]
const IDLE = [['worker', 'Who'], ['queues', 'Queues'], ['n age', 'Waits for']]

export function Workers() {
  const pages = usePages((page, signal) => api.people({ limit: 100, ...page }, signal), [])
  const { data, at, reload } = pages.answer
  useEffect(() => {
    const timer = setInterval(() => reload(), EVERY)
    return () => clearInterval(timer)
  }, [])
  const picks = usePicks(data?.held ?? [], '')
  const pick = mayAct() ? [['pick', html`<${PickAll} picks=${picks} />`]] : []
  const row = (job, fresh) => html`<${Row} key=${job.id} href=${link(job.queue, 'held', job.id)} fresh=${fresh}>
    ${mayAct() && html`<${Pick} job=${job} picks=${picks} />`}
    <td class="worker"><${Name} worker=${job.worker} /></td>
    <td class="queue"><a href=${link(job.queue, 'held')}><bdi>${job.queue}</bdi></a></td>
    <td class="id"><a href=${link(job.queue, 'held', job.id)} title=${job.id}>${tail(job.id)}</a></td>
    <td class="n age"><${Ago} at=${job.reserved_at} /></td>
    <td class="lease"><${Left} until=${job.expires_at} since=${job.reserved_at} /></td>
  <//>`
  return html`<main class="page">
    <h1 class="unseen">Everybody who works</h1>
    <h2>At work</h2>
    <${PickedHeld} picks=${picks} changed=${reload} />
    <${List} label="who holds what" columns=${[...pick, ...HELD]} pages=${pages} items=${(answer) => answer.held}
      id=${(job) => job.id} row=${row} empty=${html`<${Empty} title="Nobody holds anything">
        Every worker that holds a job of any queue is here, overdue leases first.<//>`} />
    ${data && html`<h2>Waiting for work</h2>
      <p class="dim">Those who wait at the instance that answers this page${data.waiting_total > data.waiting.length
        && `, the longest of ${many(data.waiting_total, 'call')}`}; with several instances others may wait
        elsewhere.</p>
      <${Idle} waiting=${data.waiting} at=${at} />`}
  </main>`
}

function Idle({ waiting, at }) {
  useSecondTick()
  const items = waiting.map((waits, n) => ({ ...waits, n }))
  const row = ({ n, worker, queues, waited_ms: waited }) => html`<tr data-row tabindex="-1" key=${n}>
    <td class="worker"><${Name} worker=${worker} /></td>
    <td class="queues">${queues.map((queue) => html`<a href=${link(queue)}><bdi>${queue}</bdi></a> `)}</td>
    <td class="n age">${age(waited + Date.now() - at)}</td>
  </tr>`
  return html`<${Table} label="who waits" columns=${IDLE} items=${items} id=${({ n }) => n} row=${row}
    empty=${html`<p class="empty">Nobody waits here.</p>`} />`
}
