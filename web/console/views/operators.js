// What operators did in a queue, newest first: who, when, on what, and of settings the values before and after.

import { html } from '../html.js'
import * as api from '../api.js'
import { number, tail, time } from '../format.js'
import { List, Row, usePages } from '../list.js'
import { link } from '../router.js'
import { Empty } from '../ui.js'
import { describe, title } from './settings.js'

const COLUMNS = [
  ['n when', 'When'], ['kind', 'What'], ['n count', 'How many'], ['who', 'Whose key'], ['id', 'Job'],
  ['why', 'In detail'],
]

export function Operators({ name }) {
  const pages = usePages((page, signal) => api.operatorActions(name, { limit: 50, ...page }, signal), [name], name)
  const row = (one, fresh) => html`<${Done} key=${key(one)} one=${one} name=${name} fresh=${fresh} />`
  return html`<${List} label="what operators did" columns=${COLUMNS} pages=${pages} items=${({ actions }) => actions}
    id=${key} row=${row} empty=${html`<${Empty} title="No operator has done anything here">
      Changed settings, requeued, moved, withdrawn and removed jobs are here, with the key of the operator.<//>`} />`
}

const key = ({ began_at: began, action, job, batch }) => `${began} ${action} ${job ?? batch ?? ''}`

function Done({ one, name, fresh }) {
  const { action, at, began_at: began, by, job, batch, count } = one
  const id = job ?? batch
  const href = job ? link(name, 'waiting', job) : batch ? link(name, 'batches', batch) : link(name, 'activity')
  return html`<${Row} href=${href} fresh=${fresh}>
    <td class="n when" title=${began === at ? at : `${began} to ${at}`}>${time(at)}</td>
    <td class="kind">${action}</td>
    <td class="n count" data-title="how many">${action !== 'configure' && number(count)}</td>
    <td class="who">${by !== null && html`<bdi>${by}</bdi>`}</td>
    <td class="id">${id && html`<a href=${href} title=${id}>${tail(id)}</a>`}</td>
    <td class="why"><bdi>${details(one)}</bdi></td>
  <//>`
}

const details = ({ parameters, settings }) => [
  ...settings.map(({ name, from, to }) => `${title(name)}: ${value(name, from)} → ${value(name, to)}`),
  ...Object.entries(parameters).map(([name, what]) =>
    `${name}: ${typeof what === 'string' ? what : JSON.stringify(what)}`),
].join(', ')

const value = (name, what) => (what === null ? 'default' : describe(name, what))
