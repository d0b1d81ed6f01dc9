// What happens in a queue, as it happens.

import { html } from '../html.js'
import { tail, time } from '../format.js'
import { Row, Table } from '../list.js'
import { link, tabOf } from '../router.js'
import { Empty } from '../ui.js'
// The service makes it of its list of events: where to look for a job after each.
import { AFTER } from '../words.js'

const COLUMNS = [
  ['n when', 'When'], ['kind', 'What'], ['id', 'Job'], ['worker', 'Who'], ['client', 'Client'], ['why', 'Why'],
]

export function Activity({ name, events, link: state }) {
  const items = events.filter((event) => event.queue === name)
  const row = (event, fresh) => {
    const { job, batch, type } = event
    const href = job ? link(name, tabOf(AFTER[type]), job) : batch ? link(name, 'batches', batch) : link(name)
    return html`<${Row} key=${key(event)} href=${href} fresh=${fresh}>
      <td class="n when" title=${event.at}>${time(event.at)}</td>
      <td class="kind"><span class=${`state ${AFTER[type] ?? ''} ${type}`}>${type}</span></td>
      <td class="id">${(job || batch) && html`<a href=${href} title=${job ?? batch}>${tail(job ?? batch)}</a>`}</td>
      <td class="worker">${event.worker && html`<bdi>${event.worker}</bdi>`}${
        event.by && html`<span class="dim" title="whose key it was">by ${event.by}</span>`}</td>
      <td class="client">${event.client && html`<bdi>${event.client}</bdi>`}</td>
      <td class="why">${event.reason && html`<bdi>${event.reason}</bdi>`}</td>
    <//>`
  }
  const [title, text] = state === 'live'
    ? ['Nothing has happened yet', 'What happens from now on is here, the last first.']
    : ['Not listening',
      'The stream of events does not come through; counts and lists are asked for every two seconds instead.']
  return html`<${Table} label="activity" columns=${COLUMNS} items=${items} id=${key} row=${row}
    empty=${html`<${Empty} title=${title}>${text}<//>`} />`
}

const key = (event) => `${event.seen} ${event.type} ${event.job ?? event.batch ?? ''}`
