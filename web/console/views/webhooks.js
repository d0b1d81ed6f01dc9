// Where events are sent: how each webhook is, and what one of them has not delivered yet, or not at all.

import { html, classes, useAnswer, useEffect } from '../html.js'
import * as api from '../api.js'
import * as actions from '../actions.js'
import { age, number, tail } from '../format.js'
import { List, Row, Table, usePages } from '../list.js'
import { TABS, go, link, webhookLink } from '../router.js'
import { Act, Ago, Empty, Missing, State, Until, Waiting } from '../ui.js'

const EVERY = 5_000
const WEBHOOKS = [
  ['name', 'Webhook'], ['host', 'To'], ['types', 'Events'], ['n waiting', 'Waiting'], ['n oldest', 'Oldest'],
  ['n failed', 'Failed'], ['n lost', 'Lost'], ['last', 'Last answer'],
  ['do', html`<span class="unseen">Actions</span>`],
]
const DELIVERIES = [
  ['type', 'Event'], ['id', 'Job'], ['n attempts', 'Attempts'], ['last', 'Last answer'], ['n age', 'When'],
  ['do', html`<span class="unseen">Actions</span>`],
]
const STATES = ['failed', 'waiting']
const NOTHING = {
  failed: ['Nothing has failed', 'What was not taken in ten attempts is kept here for seven days.'],
  waiting: ['Nothing waits', 'What the receiver has taken is not listed.'],
}
const WORDS = {
  failing: 'The last five attempts failed. One delivery is tried every 30 s, until one is taken.',
  gone: 'The receiver answered 410, so nothing is sent until something is sent again.',
}

/** Asked again every few seconds, because no event says that a delivery was made. */
function useRegular({ reload }) {
  useEffect(() => {
    const timer = setInterval(() => reload(), EVERY)
    return () => clearInterval(timer)
  }, [])
}

export function Webhooks({ name, only, queues }) {
  const answer = useAnswer((signal) => api.webhooks(signal), [])
  useRegular(answer)
  if (!queues) return html`<main class="page"><${Waiting} rows=${8} /></main>`
  return html`<main class="page"><${Missing} answer=${answer}>${({ webhooks }) => {
    if (name === null) return html`<${All} webhooks=${webhooks} changed=${answer.reload} />`
    const webhook = webhooks.find((one) => one.name === name)
    if (!webhook) {
      return html`<${Empty} title=${`There is no webhook ${name}`}><a href="#/webhooks">All webhooks</a><//>`
    }
    return html`<${One} key=${name} webhook=${webhook} only=${only} queues=${queues} changed=${answer.reload} />`
  }}<//>
    ${answer.data && answer.error && html`<p class="stale" role="status">Not up to date: ${answer.error.message}</p>`}
  </main>`
}

const counted = (n) => n > 0 && number(n)
const isUsual = ({ state }) => state === 'ok'

/** What came back last: a status, or why there was none. */
const Last = ({ status, error }) => (status === null && error === null
  ? html`<span class="dim">none yet</span>`
  : html`<span class=${classes((status ?? 0) < 200 || status >= 300 ? 'bad' : null)}>${status ?? error}</span>`)

const Test = ({ name, changed, kind }) => html`<${Act} kind=${kind} keys="T" label=${`Send a test to ${name}`}
  onClick=${() => actions.testWebhook(name, changed)}>Send a test<//>`

function All({ webhooks, changed }) {
  const row = (hook) => html`<${Row} key=${hook.name} href=${webhookLink(hook.name)}>
    <td class="name"><a href=${webhookLink(hook.name)}><bdi>${hook.name}</bdi></a>${!isUsual(hook)
      && html` <${State} of=${hook.state} />`}</td>
    <td class="host"><bdi>${hook.host}</bdi></td>
    <td class="types"><bdi>${hook.queues}</bdi><span class="dim">: ${hook.types.join(', ')}</span></td>
    <td class="n waiting" data-title="waiting">${counted(hook.waiting)}</td>
    <td class="n oldest" data-title="oldest">${hook.oldest_ms !== null && age(hook.oldest_ms)}</td>
    <td class="n failed bad" data-title="failed">${counted(hook.failed)}</td>
    <td class="n lost bad" data-title="lost">${counted(hook.lost)}</td>
    <td class="last"><${Last} status=${hook.last_status} error=${hook.last_error} />${hook.last_at
      && html` <span class="dim"><${Ago} at=${hook.last_at} /> ago</span>`}</td>
    <td class="do always"><${Test} name=${hook.name} changed=${changed} kind="row" /></td>
  <//>`
  return html`<div class="bar"><h1>Webhooks</h1></div>
    <${Table} label="webhooks" columns=${WEBHOOKS} items=${webhooks} id=${({ name }) => name} row=${row}
      empty=${html`<${Empty} title="No webhooks">The service sends events nowhere, or nothing of your queues.
        A line of the webhooks file makes one: <a href="../docs/webhooks">how</a>.<//>`} />`
}

/** Whether a pattern of the webhooks file has this name; `*` stands for any characters, or none. */
function matches(pattern, name) {
  const [first, ...rest] = pattern.split('*')
  if (rest.length === 0) return name === pattern
  if (!name.startsWith(first)) return false
  const last = rest.pop()
  let at = first.length
  for (const part of rest) {
    const found = name.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return name.length - last.length >= at && name.endsWith(last)
}

function One({ webhook, only, queues, changed }) {
  const { name, host, types, state } = webhook
  const known = queues.map((queue) => queue.name).filter((queue) => matches(webhook.queues, queue))
  const queue = known.includes(only.queue) ? only.queue : known[0]
  const shown = STATES.includes(only.state) ? only.state : STATES[0]
  const choose = (change) => go(webhookLink(name, { queue, state: shown, ...change }))
  return html`<header class="bar">
      <h1><bdi>${name}</bdi></h1> <${State} of=${state} />
      <span class="dim">to <bdi>${host}</bdi>: ${types.join(', ')} of <bdi>${webhook.queues}</bdi></span>
      <span class="space"></span>
      <${Test} name=${name} changed=${changed} />
    </header>
    ${WORDS[state] && html`<p class="stale" role="status">${WORDS[state]}</p>`}
    ${queue === undefined
    ? html`<${Empty} title="No queue yet">No queue has a name that this webhook is for.<//>`
    : html`<div class="bar">
        <label>Queue <select value=${queue} onChange=${({ target }) => choose({ queue: target.value })}>
          ${known.map((one) => html`<option value=${one}>${one}</option>`)}</select></label>
        <label>Show <select value=${shown} onChange=${({ target }) => choose({ state: target.value })}>
          ${STATES.map((one) => html`<option value=${one}>${one}</option>`)}</select></label>
        <span class="space"></span>
        ${(shown === 'failed' || state === 'gone') && html`<${Act} keys="U" label="Send all again"
          onClick=${() => actions.redeliverAll(name, queue, changed)}>Send all again…<//>`}
      </div>
      <${Deliveries} key=${`${queue} ${shown}`} name=${name} queue=${queue} state=${shown} changed=${changed} />`}`
}

/** What the event is about: a job next to the list in which it most likely is, a batch, or the queue itself. */
function placeOf(queue, { type, job }) {
  if (job === null) return link(queue)
  const word = type.split('.').at(-1)
  return link(queue, type.startsWith('batch.') ? 'batches' : TABS.includes(word) ? word : 'waiting', job)
}

function Deliveries({ name, queue, state, changed }) {
  const ask = (page, signal) => api.deliveries(name, { queue, state, limit: 50, ...page }, signal)
  const pages = usePages(ask, [name, queue, state], queue)
  useRegular(pages.answer)
  const after = () => { pages.answer.reload(); changed() }
  const row = (one, fresh) => html`<${Row} key=${one.webhook_id} href=${placeOf(queue, one)} fresh=${fresh}>
    <td class="type" title=${one.webhook_id}>${one.type}</td>
    <td class="id">${one.job && html`<a href=${placeOf(queue, one)} title=${one.job}>${tail(one.job)}</a>`}</td>
    <td class="n attempts" data-title="attempts">${counted(one.attempts)}</td>
    <td class="last"><${Last} status=${one.last_status} error=${one.last_error} /></td>
    <td class="n age">${one.failed_at
      ? html`<${Ago} at=${one.failed_at} /> ago`
      : html`<span class="dim">next: </span><${Until} at=${one.next_at} />`}</td>
    <td class="do always">${state === 'failed' && html`<${Act} kind="row" keys="u"
      label=${`Send again ${tail(one.webhook_id)}`}
      onClick=${() => actions.redeliver(name, queue, one, after)}>Send again<//>`}</td>
  <//>`
  const [title, text] = NOTHING[state]
  const empty = html`<${Empty} title=${title}>${text}<//>`
  return html`<${List} label="deliveries" columns=${DELIVERIES} pages=${pages} items=${(data) => data.deliveries}
    id=${(one) => one.webhook_id} row=${row} empty=${empty} />`
}
