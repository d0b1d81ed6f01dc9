// One worker: what they hold, what they have handed in and given back lately, and what they did per day.

import { html, useEffect } from '../html.js'
import * as api from '../api.js'
import { Erase } from '../erase.js'
import { age, many, reasonOf, tail, time } from '../format.js'
import { Pager, Row, Table, usePages } from '../list.js'
import { link, tabOf } from '../router.js'
import { Ago, Left, Missing } from '../ui.js'
import { AFTER } from '../words.js'
import { NUMBERS, Numbers } from './sheets.js'

const EVERY = 10_000
const HOLDS = [['queue', 'Queue'], ['id', 'Job'], ['n age', 'Holds it for'], ['lease', 'Time left']]
const ENDED = [
  ['n when', 'When'], ['kind', 'What'], ['queue', 'Queue'], ['id', 'Job'], ['n held', 'Had it for'], ['why', 'Why'],
]
const DAYS = [['day', 'Day'], ['name', 'Queue'], ...NUMBERS]

export function Worker({ name }) {
  const pages = usePages((page, signal) => api.worker(name, page, signal), [name])
  const { error, reload } = pages.answer
  useEffect(() => {
    const timer = setInterval(() => reload(), EVERY)
    return () => clearInterval(timer)
  }, [])
  const isPart = Boolean(pages.back || pages.next)
  return html`<main class="page">
    <h1><bdi>${name}</bdi></h1>
    <${Missing} answer=${pages.answer}>${(worker) => html`
      ${error && html`<p class="stale" role="status">Not up to date: ${error.message}</p>`}
      ${worker.unavailable && html`<p class="stale" role="status">Without ${worker.unavailable.join(', ')}, which
        cannot be read now.</p>`}
      ${isPart && html`<p class="dim">A page is about 32 queues.</p>`}
      <${Holds} worker=${worker} isPart=${isPart} />
      <${Ended} worker=${worker} isPart=${isPart} />
      <${Days} worker=${worker} isPart=${isPart} />
      <${Lists} worker=${worker} />
      <${Pager} pages=${pages} />
      <${Erase} name=${name} changed=${reload} />`}
    <//>
  </main>`
}

const Queue = ({ name }) => html`<a href=${link(name)}><bdi>${name}</bdi></a>`

/** Instead of a table without rows: what is not in the queues of this page may be in others. */
const Empty = ({ isPart, children }) => html`<p class="empty">${
  isPart ? 'Nothing in the queues of this page.' : children}</p>`

function Holds({ worker: { holds }, isPart }) {
  const row = (job, fresh) => html`<${Row} key=${job.id} href=${link(job.queue, 'held', job.id)} fresh=${fresh}>
    <td class="queue"><${Queue} name=${job.queue} /></td>
    <td class="id"><a href=${link(job.queue, 'held', job.id)} title=${job.id}>${tail(job.id)}</a></td>
    <td class="n age"><${Ago} at=${job.reserved_at} /></td>
    <td class="lease"><${Left} until=${job.expires_at} since=${job.reserved_at} /></td>
  <//>`
  return html`<h2>Holds now</h2><${Table} label="what the worker holds" columns=${HOLDS} items=${holds} row=${row}
    empty=${html`<${Empty} isPart=${isPart}>Nothing.<//>`} />`
}

const key = ({ at, job, type }) => `${at} ${job} ${type}`

function Ended({ worker: { ended, since }, isPart }) {
  const row = (event, fresh) => html`<${End} key=${key(event)} event=${event} fresh=${fresh} />`
  return html`<h2>Handed in and given back</h2>
    <${Table} label="what the worker handed in and gave back" columns=${ENDED} items=${ended} id=${key} row=${row}
      empty=${html`<${Empty} isPart=${isPart}>Nothing lately.<//>`} />
    <p class="more">${since ? `What ended before ${time(since)} may be missing.` : ended.length > 0
      && `${many(ended.length, 'time')}, all that the kept events know.`}</p>`
}

function End({ event, fresh }) {
  const { at, completed, job, queue, type } = event
  const href = link(queue, tabOf(AFTER[type]), job)
  return html`<${Row} href=${href} fresh=${fresh}>
    <td class="n when" title=${at}>${time(at)}</td>
    <td class="kind"><span class=${`state ${AFTER[type] ?? ''} ${type}`}>${type}</span></td>
    <td class="queue"><${Queue} name=${queue} /></td>
    <td class="id"><a href=${href} title=${job}>${tail(job)}</a></td>
    <td class="n held" data-title="had it for">${completed && age(completed.held_ms)}</td>
    <td class="why">${event.reason && html`<bdi>${reasonOf(event)}</bdi>`}</td>
  <//>`
}

function Days({ worker: { sheets, worker }, isPart }) {
  const lines = sheets.flatMap(({ queue, lines: days }) => days.map((line) => ({ ...line, queue })))
  const id = ({ day, queue }) => `${day} ${queue}`
  const row = (line, fresh) => html`<${Row} key=${id(line)} href=${link(line.queue, 'sheets', null, { worker })}
      fresh=${fresh}>
    <td class="day">${line.day}</td>
    <td class="name"><${Queue} name=${line.queue} /></td>
    <${Numbers} line=${line} />
  <//>`
  return html`<h2>Day sheets</h2><${Table} label="day sheets" columns=${DAYS} items=${lines} id=${id} row=${row}
    empty=${html`<${Empty} isPart=${isPart}>None are kept of this worker.
      <a href="../docs/sheets">Day sheets</a><//>`} />`
}

/** The lists of a queue know more than its events. */
function Lists({ worker: { ended, holds, sheets, worker } }) {
  const names = [...new Set([...holds, ...ended, ...sheets].map(({ queue }) => queue))].toSorted()
  if (names.length === 0) return null
  const links = (state) => names.map((name) => html`
    <a key=${name} href=${link(name, state, null, { worker })}><bdi>${name}</bdi></a> `)
  return html`<h2>All that is kept</h2><dl class="kept">
    <dt>Completed</dt><dd>${links('completed')}</dd>
    <dt>Dead after the worker had it</dt><dd>${links('dead')}</dd>
  </dl>`
}
