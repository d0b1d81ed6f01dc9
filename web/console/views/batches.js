// Requests that were split into many jobs, and how far each has come.

import { html, useAnswer, useRef } from '../html.js'
import * as api from '../api.js'
import * as actions from '../actions.js'
import { many, number, tail, time } from '../format.js'
import { List, Row, usePages, useTop } from '../list.js'
import { usePayloadColumns } from '../payload_columns.js'
import { go, link, tabOf } from '../router.js'
import { Act, Ago, Brief, Button, Copy, Empty, Missing, Name, State } from '../ui.js'
import { Agreed, NoMeasure, OpinionFilters, Opinions } from './opinions.js'

const SEGMENTS = ['completed', 'reserved', 'dead', 'cancelled', 'waiting', 'blocked', 'delayed']
const COLUMNS = [
  ['id', 'Batch'], ['client', 'Client'], ['progress', 'Progress'], ['n done', 'Done'], ['n out', 'Held'],
  ['n age', 'Age'], ['status', 'State'],
]

const ended = ({ counts }) => counts.completed + counts.dead + counts.cancelled
const percent = (n, total) => (total ? (100 * n) / total : 0)

export function Progress({ batch }) {
  const { counts } = batch
  // Fifty full bars say no more than fifty ticks.
  if (counts.total > 0 && counts.completed === counts.total) return html`<span class="all-done">✓ All completed</span>`
  const done = Math.round(percent(ended(batch), counts.total))
  const there = SEGMENTS.filter((state) => counts[state] > 0)
  return html`<span class="bar-of" role="progressbar" aria-valuemin="0" aria-valuemax="100" aria-valuenow=${done}
    aria-label=${`${done} % done`} title=${there.map((state) => `${number(counts[state])} ${state}`).join(', ')}>
    ${there.map((state) => html`<i class=${state}
      style=${{ inlineSize: `${percent(counts[state], counts.total)}%` }}></i>`)}
  </span>`
}

/** `sealed`, in plain words: all its jobs are there, and some have not ended. */
const BatchState = ({ of }) => html`<span class=${`state ${of}`}>${of === 'sealed' ? 'in work' : of}</span>`

const isOver = (batch) => !['open', 'sealed'].includes(batch.state)

const Actions = ({ batch, changed }) => !isOver(batch) && html`<p class="actions">
  ${batch.state === 'open' && html`<${Act} keys="e" onClick=${() => actions.seal(batch, changed)}>Seal<//>`}
  <span class="space"></span>
  <${Act} kind="danger" keys="c" onClick=${() => actions.cancelBatch(batch, changed)}>Withdraw<//></p>`

export function Batches({ name, selected, only }) {
  const load = (page, signal) => api.batches({ queue: name, ...only, limit: 50, ...page }, signal)
  const pages = usePages(load, [name, only.agreement, only.at], name)
  const setOnly = (next) => go(link(name, 'batches', selected, next))
  const list = pages.answer.data?.batches ?? []
  const isAsked = Boolean(only.agreement || only.at)
  // Without a batch with an overlap there is nothing to compare. What was asked with stays, and so does its focus.
  const hadOpinions = useRef(false)
  hadOpinions.current ||= isAsked || list.some(({ opinions }) => opinions)
  const hasOpinions = hadOpinions.current
  const item = usePayloadColumns(name, list.flatMap(({ opinions }) => opinions?.payload ?? []), 'Item')
  const row = (batch, fresh) => html`<${Row} key=${batch.id} href=${link(name, 'batches', batch.id, only)}
      selected=${batch.id === selected} fresh=${fresh}>
    <td class="id"><a href=${link(name, 'batches', batch.id, only)} title=${batch.id}>${
      batch.id.slice(-10, -4)}</a></td>
    ${hasOpinions && item.cells(batch.opinions?.payload)}
    <td class="client" data-title="client">${batch.client && html`<bdi>${batch.client}</bdi>`}</td>
    <td class="progress">${batch.opinions
      ? html`<${Agreed} opinions=${batch.opinions} />` : html`<${Progress} batch=${batch} />`}</td>
    <td class="n done">${number(ended(batch))}<span class="dim"> / ${number(batch.counts.total)}</span></td>
    <td class="n out" data-title="held">${batch.counts.reserved}${
      batch.concurrency !== null && html`<span class="dim"> / ${batch.concurrency}</span>`}</td>
    <td class="n age"><${Ago} at=${batch.created_at} /></td>
    <td class="status"><${BatchState} of=${batch.state} /></td>
  <//>`
  const none = html`<${Empty} title="No batches">
    A request that is split into many jobs is here until the retention of the queue is over.<//>`
  const noMatch = html`<div class="empty"><strong>No batch matches this filter.</strong>
    <${Button} onClick=${() => setOnly({})}>Clear<//></div>`
  return html`
    ${hasOpinions && html`<${OpinionFilters} name=${name} batches=${list} only=${only} setOnly=${setOnly}>${
      item.button}<//>`}
    <${List} label="batches" columns=${hasOpinions ? COLUMNS.toSpliced(1, 0, ...item.heads) : COLUMNS} pages=${pages}
      items=${(data) => data.batches} id=${(batch) => batch.id} row=${row} empty=${only.agreement ? noMatch : none} />
    ${hasOpinions && html`<${NoMeasure} />`}`
}

/** Next to the list. */
export function Batch({ name, id, only, back }) {
  useTop(id)
  const answer = useAnswer((signal) => api.inspectBatch(id, { at: only.at }, signal), [id, only.at], name)
  // While another part of the answers is compared, what was there stays.
  const last = useRef()
  last.current = answer.error ? answer.data : answer.data ?? last.current
  return html`<aside class="panel" aria-label=${`Batch ${tail(id)}`}>
    <header>
      <h2 tabindex="-1"><span class="dim">${id.slice(0, -10)}</span>${id.slice(-10, -4)}<span
        class="dim">0000</span></h2>
      <${Copy} text=${id} label="Copy the id" />
      <a class="button quiet" href=${back} aria-keyshortcuts="Escape" aria-label="Close" title="Close (Esc)">×</a>
    </header>
    <${Missing} answer=${{ ...answer, data: last.current }}>${(batch) => html`
      <p class="facts"><${BatchState} of=${batch.state} /><span>created <${Ago} at=${batch.created_at} /> ago</span>
        ${batch.ended_at && html`<span>ended <${Ago} at=${batch.ended_at} /> ago</span>`}</p>
      <${Actions} batch=${batch} changed=${answer.reload} />
      <section><h3>${number(ended(batch))} of ${many(batch.counts.total, 'job')} done</h3>
        <${Progress} batch=${batch} />
        <ul class="legend">${SEGMENTS.filter((state) => batch.counts[state]).map((state) =>
          html`<li><${State} of=${state} /> ${number(batch.counts[state])}</li>`)}</ul></section>
      ${batch.opinions && html`<${Opinions} name=${name} batch=${batch} only=${only} />`}
      <section><h3>About it</h3><dl>
        <dt>Held at once</dt><dd>${batch.concurrency === null ? 'any number' : `at most ${batch.concurrency}`}</dd>
        <dt>Priority</dt><dd>${batch.priority}</dd>
        <dt>Client</dt><dd>${batch.client === null ? 'none' : html`<bdi>${batch.client}</bdi>`}</dd>
        <dt>All jobs are there</dt><dd>${batch.sealed_at
          ? `since ${time(batch.sealed_at)}` : 'not yet: more may come'}</dd>
      </dl></section>
      ${!batch.opinions && html`<section><h3>Its jobs</h3><${Results} name=${name} id=${id} /></section>`}`}
    <//>
  </aside>`
}

const RESULTS = [['n index', '#'], ['status', 'State'], ['worker', 'Who'], ['result', 'Result']]

function Results({ name, id }) {
  const pages = usePages((page, signal) => api.results(id, { limit: 25, ...page }, signal), [id], name)
  const row = (one) => html`<${Row} key=${one.id} href=${link(name, tabOf(one.state), one.id)}>
    <td class="n index"><a href=${link(name, tabOf(one.state), one.id)} title=${one.id}>${one.index + 1}</a></td>
    <td class="status"><${State} of=${one.state} /></td>
    <td class="worker">${one.completed && html`<${Name} worker=${one.completed.worker} />`}</td>
    <td class="result">${!one.result.isNull && html`<${Brief} exact=${one.result} />`}</td>
  <//>`
  return html`<${List} label="jobs of the batch" columns=${RESULTS} pages=${pages} items=${(data) => data.results}
    id=${(one) => one.id} row=${row} empty=${html`<${Empty} title="No jobs yet">They come by appending.<//>`} />`
}
