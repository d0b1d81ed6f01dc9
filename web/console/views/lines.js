// Jobs that are not everybody's: how many wait for whom, and for how long.

import { html, classes, useAnswer, useSecondTick } from '../html.js'
import * as api from '../api.js'
import { age, number } from '../format.js'
import { Row, Table } from '../list.js'
import { reassign } from '../reassign.js'
import { link } from '../router.js'
import { Act, Empty, Missing } from '../ui.js'

/** How long a line may wait before it is marked: its worker or the people with its skill may have left. */
const LONG = 3_600_000
/** The service names no more of them. */
const MAX = 100

const COLUMNS = [
  ['line', 'For whom'], ['whom', 'Which is'], ['n waiting', 'Waiting'], ['n age', 'Oldest'],
  ['do', html`<span class="unseen">Actions</span>`],
]

function Oldest({ ms, at }) {
  useSecondTick()
  const since = ms + Date.now() - at
  return html`<td class=${classes('n age', since > LONG && 'bad')} data-title="oldest">${age(since)}${
    since > LONG && html` <b class="chip breached">Over an hour</b>`}</td>`
}

export function Lines({ name }) {
  const answer = useAnswer((signal) => api.inspectQueue(name, signal), [name], name)
  const row = ({ line, waiting, oldest_ms: oldest }, fresh) => {
    const href = link(name, 'waiting', null, { line })
    const isWorker = line.startsWith('@')
    return html`<${Row} key=${line} href=${href} fresh=${fresh}>
      <td class="line"><a href=${href}><bdi>${line}</bdi></a></td>
      <td class="whom">${isWorker ? 'a worker' : 'a skill'}</td>
      <td class="n waiting" data-title="waiting">${number(waiting)}</td>
      <${Oldest} ms=${oldest} at=${answer.at} />
      <td class="do always"><${Act} kind="row" keys="R" label="Reassign"
        onClick=${() => reassign(name, line, answer.reload)}>Reassign…<//></td>
    <//>`
  }
  return html`<${Missing} answer=${answer}>${({ lines }) => html`
    <${Table} label="for whom jobs wait" columns=${COLUMNS} items=${lines} id=${({ line }) => line} row=${row}
      empty=${html`<${Empty} title="All that waits is everybody's">
        Jobs that are assigned, need a skill or were handed over are here, by whom they wait for.<//>`} />
    ${lines.length >= MAX && html`<p class="more">The first ${MAX} names and skills</p>`}
    ${answer.error && html`<p class="stale" role="status">Not up to date: ${answer.error.message}</p>`}`}
  <//>`
}
