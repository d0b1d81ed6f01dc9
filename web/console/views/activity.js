// The events of a queue, newest first, with those since the page was opened apart; and what its operators did.

import { html, useState } from '../html.js'
import * as api from '../api.js'
import { reasonOf, tail, time } from '../format.js'
import { List, Row, usePages } from '../list.js'
import { link, tabOf } from '../router.js'
import { Button, Empty, Name } from '../ui.js'
import { Operators } from './operators.js'
// The service makes it of its list of events: where to look for a job after each.
import { AFTER } from '../words.js'

const PAGE = 100
const COLUMNS = [
  ['n when', 'When'], ['kind', 'What'], ['id', 'Job'], ['worker', 'Who'], ['client', 'Client'], ['why', 'Why'],
]

/** By the service's clock, which is known once it has answered. */
let openedAt = null
const isSince = ({ at }) => Date.parse(at) >= openedAt

const PARTS = [['All events', Events], ['What operators did', Operators]]

export function Activity({ name }) {
  const [shown, show] = useState(0)
  const [, Part] = PARTS[shown]
  return html`<p class="ranges" role="group" aria-label="Show">${PARTS.map(([label], n) => html`<${Button} kind="quiet"
      aria-pressed=${n === shown} onClick=${() => show(n)}>${label}<//>`)}</p>
    <${Part} name=${name} />`
}

function Events({ name }) {
  openedAt ??= api.now() - performance.now()
  const pages = usePages((page, signal) => api.events(name, { limit: PAGE, ...page }, signal), [name], name)
  return html`<${List} label="activity" columns=${COLUMNS} pages=${pages} items=${items} id=${key}
    row=${(item, fresh) => (item.title ? html`<${Since} key=${item.title} title=${item.title} />`
      : html`<${Happened} key=${key(item)} event=${item} name=${name} fresh=${fresh} />`)}
    empty=${html`<${Empty} title="Nothing has happened yet">
      What happens from now on is here, the newest first.<//>`} />`
}

/** The events of a page, with a title before those of either part. */
function items({ events }) {
  const since = events.filter(isSince)
  const before = events.filter((event) => !isSince(event))
  const part = (title, list) => (list.length > 0 ? [{ title }, ...list] : [])
  return [...part('Since you opened this page', since), ...part('Before', before)]
}

const key = (item) => item.title ?? `${item.at} ${item.type} ${item.job ?? item.batch ?? ''} ${item.worker ?? ''}`

const Since = ({ title }) => html`<tr class="part"><th colspan=${COLUMNS.length} scope="rowgroup">${title}</th></tr>`

function Happened({ event, name, fresh }) {
  const { job, batch, type } = event
  const href = job ? link(name, tabOf(AFTER[type]), job) : batch ? link(name, 'batches', batch) : link(name)
  return html`<${Row} href=${href} fresh=${fresh}>
    <td class="n when" title=${event.at}>${time(event.at)}</td>
    <td class="kind"><span class=${`state ${AFTER[type] ?? ''} ${type}`}>${type}</span></td>
    <td class="id">${(job || batch) && html`<a href=${href} title=${job ?? batch}>${tail(job ?? batch)}</a>`}</td>
    <td class="worker">${event.worker && html`<${Name} worker=${event.worker} />`}${
      event.by && html`<span class="dim" title="whose key it was">by ${event.by}</span>`}</td>
    <td class="client">${event.client && html`<bdi>${event.client}</bdi>`}</td>
    <td class="why">${event.reason && html`<bdi>${reasonOf(event)}</bdi>`}</td>
  <//>`
}
