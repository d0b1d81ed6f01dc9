// All queues: the sum of them, and a row for each, which prints no zeros.

import { html, classes, useSecondTick } from '../html.js'
import * as actions from '../actions.js'
import * as api from '../api.js'
import { Chart, Spark } from '../chart.js'
import { age, number, rate } from '../format.js'
import { Row, Table } from '../list.js'
import { mayAct } from '../live.js'
import { addJob } from '../newjob.js'
import { ratesOf } from '../rates.js'
import { go, link, overviewLink, uploadLink } from '../router.js'
import { byTrouble, troublesOf } from '../trouble.js'
import { Act, Empty, Waiting } from '../ui.js'
import { Redis } from './redis.js'

/** More rows than anybody reads take a browser's seconds at each answer. */
const MAX = 200

const sum = (queues, of) => queues.reduce((total, queue) => total + of(queue), 0)
const per = (name) => (queue) => ratesOf(queue.name)?.[name] ?? 0
const count = (state) => (queue) => queue.counts[state]
const counted = (queue, at, value) => value && number(value)
/** A rate that would read as 0 is not drawn. */
const rated = (queue, at, value) => value >= 0.05 && rate(value)

/** [class, title, value for sorting, tab, how it is drawn]; a number that is 0 is an empty cell. */
const NUMBERS = [
  ['waiting', 'Waiting', count('waiting'), 'waiting', counted],
  ['oldest', 'Oldest', (queue) => queue.oldest_waiting_ms ?? -1, 'waiting', ({ oldest_waiting_ms: ms }, at) =>
    ms !== null && html`<${Ageing} ms=${ms} at=${at} />`],
  ['held', 'Held', count('reserved'), 'held', counted],
  ['blocked', 'Blocked', count('blocked'), 'blocked', counted],
  ['delayed', 'Delayed', count('delayed'), 'delayed', counted],
  ['dead', 'Dead', count('dead'), 'dead', counted],
  ['in', 'Added / min', per('enqueued'), 'activity', rated],
  ['out', 'Completed / min', per('completed'), 'activity', rated],
]
const SORTS = [['trouble', 'Trouble'], ['name', 'Queue'], ...NUMBERS]

const first = () => [
  'curl', api.hasKey() && "-H 'Authorization: Bearer KEY'",
  `--json '{"queue":"reviews","payload":{"photo":17}}' ${location.origin}/jobs`,
].filter(Boolean).join(' ')

export function Overview({ queues, at, theme, only }) {
  if (!queues) return html`<main class="page"><${Waiting} rows=${8} /></main>`
  if (queues.length === 0) {
    return html`<main class="page"><div class="empty"><strong>No queue yet</strong>
      <p>A queue comes into being with its first job: <code>${first()}</code>${api.hasKey()
        && html`, where <code>KEY</code> is a producer's key`}</p>
      <${Act} kind="primary" keys="A" onClick=${() => addJob()}>Add a job…<//>
      ${mayAct() && html`<a class="button" href=${uploadLink()}
        aria-keyshortcuts="I">Upload a table…</a>`}</div></main>`
  }
  const find = only.find ?? ''
  const order = readOrder(only)
  const setOrder = ([by, way]) => go(overviewLink({ find, ...written(by, way) }))
  const shown = sorted(queues.filter(({ name }) => name.toLowerCase().includes(find.toLowerCase())), order)
  const rows = shown.slice(0, MAX)
  return html`<main class="page">
    <h1 class="unseen">All queues</h1>
    <${Summary} queues=${queues} at=${at} theme=${theme} />
    <${Sorting} order=${order} setOrder=${setOrder} />
    <${Table} label="queues" columns=${columns(order, setOrder)} items=${rows} id=${(queue) => queue.name}
      row=${(queue) => html`<${Line} key=${queue.name} queue=${queue} at=${at} />`}
      empty=${html`<${Empty} title=${`No queue is called like “${find}”`}>
        Enter looks for a job or a batch with this id.<//>`} />
    ${shown.length > rows.length && html`<p class="more" role="status">
      and ${number(shown.length - rows.length)} more; search narrows, a heading sorts</p>`}
  </main>`
}

const Summary = ({ queues, at, theme }) => html`<section class="summary">
  <${Total} of=${queues} title="Waiting" value=${count('waiting')}
    more=${html`<${Ageing} ms=${oldest(queues)} at=${at} before="oldest " />`} />
  <${Total} of=${queues} title="Held" value=${count('reserved')} more=${overdue(queues)} />
  <${Total} of=${queues} title="Dead" value=${count('dead')} bad href="#/dead" keys="d" />
  <${Total} of=${queues} title="Blocked" value=${count('blocked')} />
  <${Total} of=${queues} title="Delayed" value=${count('delayed')} />
  <${Total} of=${queues} title="Completed" value=${count('completed')} more="kept" />
  <${Chart} queue="" theme=${theme} />
  <${Redis} />
</section>`

function Total({ of, title, value, more, bad, href, keys }) {
  const n = sum(of, value)
  const inside = html`<span>${title}</span><b class=${classes(n === 0 && 'dim', bad && n > 0 && 'bad')}>${number(n)}</b>
    <small>${n > 0 && (href ? 'by error' : more)}</small>`
  return href
    ? html`<a class="total" href=${href} aria-keyshortcuts=${keys} title=${`By error (${keys})`}>${inside}</a>`
    : html`<div class="total">${inside}</div>`
}

const oldest = (queues) => queues.reduce((max, { oldest_waiting_ms: ms }) =>
  (ms === null ? max : Math.max(max ?? 0, ms)), null)

/** What was so old when it was asked for. It alone ticks, and not the table around it. */
function Ageing({ ms, at, before = '' }) {
  useSecondTick()
  return ms === null ? '' : `${before}${age(ms + Date.now() - at)}`
}

function overdue(queues) {
  const n = sum(queues, (queue) => queue.reservations.overdue)
  return n ? html`<span class="bad">${number(n)} overdue</span>` : ''
}

// -- the order of the rows, which is in the address

const usualWay = (by) => (by === 'name' ? 1 : -1)

function readOrder({ sort, way }) {
  const by = SORTS.some(([name]) => name === sort) ? sort : 'trouble'
  return [by, way === 'other' ? -usualWay(by) : usualWay(by)]
}

const written = (by, way) =>
  ({ sort: by === 'trouble' ? '' : by, way: way === usualWay(by) ? '' : 'other' })

function sorted(queues, [by, way]) {
  if (by === 'trouble') return way < 0 ? byTrouble(queues) : byTrouble(queues).reverse()
  const value = NUMBERS.find(([name]) => name === by)?.[2] ?? ((queue) => queue.name)
  const keyed = queues.map((queue) => ({ queue, key: value(queue) }))
  const [first, second] = [(a, b) => (a.key < b.key ? -way : way), (a, b) => (a.queue.name < b.queue.name ? -1 : 1)]
  return keyed.sort((a, b) => (a.key === b.key ? second(a, b) : first(a, b))).map(({ queue }) => queue)
}

/** Where the headings are not drawn, on a phone. */
const Sorting = ({ order: [by], setOrder }) => html`<label class="sorting"><span>Sort by</span>
  <select aria-label="Sort by" value=${by} onChange=${({ target: { value } }) => setOrder([value, usualWay(value)])}>
    ${SORTS.map(([name, title]) => html`<option value=${name}>${title}</option>`)}</select></label>`

function columns([by, way], setOrder) {
  const sort = (name) => setOrder([name, by === name ? -way : usualWay(name)])
  const button = (name, title) => html`<button type="button"
    class=${classes('sort', by === name && (way > 0 ? 'up' : 'down'))}
    aria-label=${`Sort by ${title}`} onClick=${() => sort(name)}>${title}</button>`
  return [
    ['name', html`${button('name', 'Queue')}<span class="by">${button('trouble', 'Trouble')}</span>`],
    ...NUMBERS.map(([name, title]) => [`n ${name}`, button(name, title)]),
    ['trend', html`<span class="unseen">Trend</span>`], ['do', html`<span class="unseen">Actions</span>`],
  ]
}

function Line({ queue, at }) {
  const { name } = queue
  return html`<${Row} href=${link(name)}>
    <td class="name"><a href=${link(name)}>${name}</a>${troublesOf(queue).map(([kind, words, why]) => html`
      <span class=${`state ${kind}`} title=${why}>${words}</span>`)}</td>
    ${NUMBERS.map(([kind, title, value, tab, draw]) => html`<${Figure} kind=${kind} title=${title}
      href=${link(name, tab)} drawn=${draw(queue, at, value(queue))} />`)}
    <td class="trend"><${Spark} queue=${name} /></td>
    <td class="do"><${Pause} queue=${queue} kind="row" /></td>
  <//>`
}

const Figure = ({ kind, title, href, drawn }) => (drawn
  ? html`<td class=${`n ${kind}`} data-title=${title}><a href=${href}>${drawn}</a></td>`
  : html`<td class=${`n ${kind} zero`}></td>`)

export function Pause({ queue: { name, settings }, kind }) {
  const what = settings.paused ? 'Resume' : 'Pause'
  return html`<${Act} kind=${kind} keys="p" label=${`${what} ${name}`}
    onClick=${() => actions.pause(name, !settings.paused)}>${what}<//>`
}
