// All queues.

import { html, classes, useBeat, useState } from '../html.js'
import * as actions from '../actions.js'
import { Chart, Spark } from '../chart.js'
import { age, number, rate } from '../format.js'
import { Row, Table } from '../list.js'
import { ratesOf } from '../rates.js'
import { link } from '../router.js'
import { Act, Empty, Waiting } from '../ui.js'

/** More rows than anybody reads take a browser's seconds at each answer. */
const MOST = 200

const sum = (queues, of) => queues.reduce((total, queue) => total + of(queue), 0)
const per = (name) => (queue) => ratesOf(queue.name)?.[name] ?? null
const count = (state) => (queue) => queue.counts[state]

/** [class, title, value for sorting, tab, how it is drawn]. */
const NUMBERS = [
  ['waiting', 'Waiting', count('waiting'), 'waiting'],
  ['oldest', 'Oldest', (queue) => queue.oldest_waiting_ms ?? -1, 'waiting', ({ oldest_waiting_ms: ms }, at) =>
    html`<${Ageing} ms=${ms} at=${at} />`],
  ['held', 'Held', count('reserved'), 'held'],
  ['blocked', 'Blocked', count('blocked'), 'blocked'],
  ['delayed', 'Delayed', count('delayed'), 'delayed'],
  ['dead', 'Dead', count('dead'), 'dead'],
  ['in', 'In / min', per('enqueued'), 'activity', (queue) => rate(per('enqueued')(queue))],
  ['out', 'Done / min', per('completed'), 'activity', (queue) => rate(per('completed')(queue))],
]

const FIRST = `curl --json '{"queue":"reviews","payload":{"photo":17}}' ${location.origin}/jobs`

export function Overview({ queues, at, theme, filter }) {
  const [order, setOrder] = useState(['name', 1])
  if (!queues) return html`<main class="page"><${Waiting} rows=${8} /></main>`
  if (queues.length === 0) {
    return html`<main class="page"><${Empty} title="No queue yet">
      A queue comes into being with its first job: <code>${FIRST}</code><//></main>`
  }
  const isLike = ({ name }) => name.toLowerCase().includes(filter.toLowerCase())
  const shown = sorted(queues.filter(isLike), order)
  const rows = shown.slice(0, MOST)
  const since = html`<${Ageing} ms=${oldest(queues)} at=${at} before="oldest " />`
  return html`<main class="page">
    <h1 class="unseen">All queues</h1>
    <section class="summary">
      <${Total} of=${queues} title="Waiting" value=${count('waiting')} more=${since} />
      <${Total} of=${queues} title="Held" value=${count('reserved')} more=${overdue(queues)} />
      <${Total} of=${queues} title="Dead" value=${count('dead')} bad />
      <${Total} of=${queues} title="Blocked" value=${count('blocked')} />
      <${Total} of=${queues} title="Delayed" value=${count('delayed')} />
      <${Total} of=${queues} title="Completed" value=${count('completed')} more="kept" />
      <${Chart} queue="" theme=${theme} />
    </section>
    <${Table} label="queues" columns=${columns(order, setOrder)} items=${rows} id=${(queue) => queue.name}
      row=${(queue) => html`<${Line} key=${queue.name} queue=${queue} at=${at} />`}
      empty=${html`<${Empty} title=${`No queue is called like “${filter}”`}>
        Enter looks for a job or a batch with this id.<//>`} />
    ${shown.length > rows.length && html`<p class="more" role="status">
      and ${number(shown.length - rows.length)} more; search narrows, a heading sorts</p>`}
  </main>`
}

const Total = ({ of, title, value, more, bad }) => {
  const n = sum(of, value)
  return html`<div class="total"><span>${title}</span>
    <b class=${classes(bad && n > 0 && 'bad')}>${number(n)}</b><small>${more}</small></div>`
}

const oldest = (queues) => queues.reduce((most, { oldest_waiting_ms: ms }) =>
  (ms === null ? most : Math.max(most ?? 0, ms)), null)

/** What was so old when it was asked for. It alone ticks, and not the table around it. */
function Ageing({ ms, at, before = '' }) {
  useBeat()
  return ms === null ? '' : `${before}${age(ms + Date.now() - at)}`
}

function overdue(queues) {
  const n = sum(queues, (queue) => queue.reservations.overdue)
  return n ? `${number(n)} overdue` : ''
}

function columns([by, way], setOrder) {
  const sort = (name) => setOrder([name, by === name ? -way : name === 'name' ? 1 : -1])
  const head = (name, title, kind) => [`${kind} ${name}`, html`<button type="button"
    class=${classes('sort', by === name && (way > 0 ? 'up' : 'down'))}
    aria-label=${`Sort by ${title}`} onClick=${() => sort(name)}>${title}</button>`]
  return [
    head('name', 'Queue', ''), ...NUMBERS.map(([name, title]) => head(name, title, 'n')),
    ['trend', html`<span class="unseen">Trend</span>`], ['do', html`<span class="unseen">Actions</span>`],
  ]
}

function sorted(queues, [by, way]) {
  const value = NUMBERS.find(([name]) => name === by)?.[2] ?? ((queue) => queue.name)
  const keyed = queues.map((queue) => ({ queue, key: value(queue) }))
  const [first, second] = [(a, b) => (a.key < b.key ? -way : way), (a, b) => (a.queue.name < b.queue.name ? -1 : 1)]
  return keyed.sort((a, b) => (a.key === b.key ? second(a, b) : first(a, b))).map(({ queue }) => queue)
}

function Line({ queue, at }) {
  const { name, settings } = queue
  return html`<${Row} href=${link(name)}>
    <td class="name"><a href=${link(name)}>${name}</a>${
      settings.paused && html`<span class="state paused">paused</span>`}</td>
    ${NUMBERS.map(([kind, title, value, tab, draw]) => html`
      <td class=${classes('n', kind, !draw && value(queue) === 0 && 'zero')} data-title=${title}>
      <a href=${link(name, tab)}>${draw ? draw(queue, at) : number(value(queue))}</a></td>`)}
    <td class="trend"><${Spark} queue=${name} /></td>
    <td class="do"><${Pause} queue=${queue} kind="quiet" /></td>
  <//>`
}

export function Pause({ queue: { name, settings }, kind }) {
  const what = settings.paused ? 'Resume' : 'Pause'
  return html`<${Act} kind=${kind} keys="p" label=${`${what} ${name}`}
    onClick=${() => actions.pause(name, !settings.paused)}>${what}<//>`
}
