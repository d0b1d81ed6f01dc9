// The service's calls. The key lives in this module's memory, and in the tab's storage if the user asks for that.

import { read, readMember, readOpinions } from './exact_json.js'
import { IntrayError, request } from './http.js'
import * as tabKey from './tab_key.js'
import { STOPPED, patiently } from './patience.js'

const base = new URL(document.querySelector('meta[name=intray-api]')?.content || '../', document.baseURI)
const PATIENCE = 10_000
/** A test of a webhook has an answer after 15 seconds at the latest. */
const PATIENCE_WITH_A_RECEIVER = 20_000
/** A table of a year of many workers, or a look at 20,000 jobs. */
const PATIENCE_WITH_A_FILE = 120_000

let key = tabKey.read()
let ahead = 0

export function signIn(text, isKept) {
  key = text
  if (isKept) tabKey.keep(text)
}
export function signOut() {
  key = null
  tabKey.forget()
}
export const hasKey = () => key !== null

/** The service's time; a person's clock is wrong. */
export const now = () => Date.now() + ahead

export function url(path, query = {}) {
  const full = new URL(path.replace(/^\//, ''), base)
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') full.searchParams.set(name, value)
  }
  return full
}

export const headers = (more = {}) => (key === null ? more : { ...more, authorization: `Bearer ${key}` })

/**
 * `body` is sent as JSON, `text` is JSON already; `more` are further headers, `within` the time in ms. A refusal is an
 * IntrayError; any other error means that there was no answer of the service.
 */
export async function call(method, path, { query, body, text, more, signal, parse = read, within = PATIENCE } = {}) {
  const patience = AbortSignal.timeout(within)
  const how = {
    method,
    headers: headers(body === undefined && text === undefined ? more : { 'content-type': 'application/json', ...more }),
    body,
    text,
    signal: signal ? AbortSignal.any([signal, patience]) : patience,
    cache: 'no-store',
    read: parse,
  }
  const { answer, response } = await request(url(path, query), how).catch((error) => {
    if (error instanceof IntrayError || signal?.aborted) throw error
    throw away()
  })
  setClock(response)
  if (!answer) throw away()
  if (answer.server_time) ahead = Date.parse(answer.server_time) - Date.now()
  return answer
}

/** Or it was a proxy's page; the service answers in JSON. */
const away = () => new Error('The service does not answer.')

/** To the second, until an answer says `server_time`. */
function setClock(response) {
  const date = Date.parse(response.headers.get('date') ?? '')
  if (Number.isFinite(date) && Math.abs(date - now()) > 1_500) ahead = date - Date.now()
}

const segment = encodeURIComponent
const job = (id) => `/jobs/${segment(id)}`
const queue = (name, more = '') => `/queues/${segment(name)}${more}`
const batch = (id, more = '') => `/batches/${segment(id)}${more}`

export const inspectQueue = (name, signal) => call('GET', queue(name), { signal })
/** All of them, page by page. There may be thousands, which keep nothing that people sent. */
export async function queues(signal) {
  const all = []
  for (let after; after !== null;) {
    const page = await call('GET', '/queues', { query: { after }, signal, parse: JSON.parse })
    all.push(...page.queues)
    after = page.next ?? null
  }
  return { queues: all }
}
export const me = (signal) => call('GET', '/me', { signal })
/** `create`: a queue that is not there is made; else it is refused. */
export const configure = (name, settings, create = false) =>
  call('PATCH', queue(name), { query: { create }, body: settings })
/** Removes a queue without jobs. */
export const forget = (name) => call('DELETE', queue(name), { query: { forget: true } })
/** Its text, as it was set. */
export async function form(name, signal) {
  const parse = (text) => readMember(text, 'result_schema')
  return (await call('GET', queue(name, '/form'), { signal, parse })).result_schema
}
/** `text`: JSON, sent as it was typed. */
export const setForm = (name, text, create = false) =>
  call('PATCH', queue(name), { query: { create }, text: `{"result_schema":${text}}` })
/** Where a refusal names a place in the form. */
export const FORM_POINTER = '/result_schema'
export const returnOverdue = (name) => call('POST', queue(name, '/sweep'), { body: {} })
export const jobs = (name, query, signal) => call('GET', queue(name, '/jobs'), { query, signal })
export const workers = (name, query, signal) => call('GET', queue(name, '/workers'), { query, signal })
/** Who has worked in it lately: `{names, skills, more}`. */
export const recentWorkers = (name) => call('GET', queue(name, '/workers'), { query: { recent: 'true' } })
export const events = (name, query, signal) => call('GET', queue(name, '/events'), { query, signal })
export const operatorActions = (name, query, signal) => call('GET', queue(name, '/actions'), { query, signal })
export const redis = (signal) => call('GET', '/redis', { signal })
export const history = (name, query, signal) => call('GET', queue(name, '/history'), { query, signal })
export const sheets = (name, query, signal) => call('GET', queue(name, '/sheets'), { query, signal })
/** The same as a table. */
export const sheetsTable = (name, query) => call('GET', queue(name, '/sheets'), {
  query, more: { accept: 'text/csv' }, parse: String, within: PATIENCE_WITH_A_FILE,
})
export const people = (query, signal) => call('GET', '/workers', { query, signal })
/** One of them, in the next queues. */
export const worker = (name, query, signal) => call('GET', `/workers/${segment(name)}`, { query, signal })
/** Takes the name out of what is kept, and adds to `sum` what that was. Answers whether all is done. */
export async function erase(name, sum, tell) {
  let isDone = false
  await inSteps(async () => {
    const answer = await call('DELETE', `/workers/${segment(name)}`, { within: PATIENCE_WITH_A_FILE })
    for (const what of Object.keys(sum)) sum[what] += answer[what]
    isDone = !answer.more
    return answer
  }, 'jobs', tell)
  return isDone
}
const webhook = (name, more) => `/webhooks/${segment(name)}${more}`
export const webhooks = (signal) => call('GET', '/webhooks', { signal })
export const deliveries = (name, query, signal) => call('GET', webhook(name, '/deliveries'), { query, signal })
/** `what`: `{queue}`, or `{queue, webhook_id}` for one delivery. */
export const redeliver = (name, what) => call('POST', webhook(name, '/redeliver'), { body: what })
export const testWebhook = (name) =>
  call('POST', webhook(name, '/test'), { body: {}, within: PATIENCE_WITH_A_RECEIVER })
export const locks = (name, query, signal) => call('GET', queue(name, '/locks'), { query, signal })
/** `text`: the job as JSON; `create`: a queue that is not there is made; else it is refused. */
export const enqueue = (text, key, create = false) =>
  call('POST', '/jobs', { query: { create }, text, more: { 'idempotency-key': key } })
/** A line, or several. A refusal is one. */
function linesOf(text) {
  const lines = text.trimEnd().split('\n').map((line) => JSON.parse(line))
  return lines.length === 1 ? lines[0] : lines
}
/** `text`: a job a line, the `first` of this number. Answers a line, or several. */
export const addLines = (text, { key, first, create, signal }) => call('POST', '/jobs', {
  query: { create, first_line: first }, text, signal, parse: linesOf, within: PATIENCE_WITH_A_FILE,
  more: { 'content-type': 'application/x-ndjson', 'idempotency-key': key },
})
/** `text`: an array of batches with an overlap. */
export const addBatches = (text, { key, create, signal }) =>
  call('POST', '/batches', { query: { create }, text, signal, more: { 'idempotency-key': key } })
export const inspect = (id, signal) => call('GET', job(id), { signal })
export const story = (id, query, signal) => call('GET', `${job(id)}/events`, { query, signal })
export const cancel = (id, force) => call('DELETE', job(id), { query: { force: force || undefined } })
/** `changes`: what a job has of `priority`, `assignees`, `excluded`, `skill`, `fallback_ms`; `null` takes one away. */
export const change = (id, changes) => call('PATCH', job(id), { body: changes })
export const reprioritize = (id, priority) => change(id, { priority })
export const release = (what) => call('POST', '/jobs/release', { body: what })
export const requeue = (what) => call('POST', '/jobs/requeue', { body: what })
/** With what was asked and answered. `query`: what is compared, `at`, and which are shown, `agreement`. */
const withOpinions = (path, query, signal) =>
  call('GET', path, { query: { opinions: true, ...query }, signal, parse: readOpinions })
export const batches = (query, signal) => withOpinions('/batches', query, signal)
export const inspectBatch = (id, query, signal) => withOpinions(batch(id), query, signal)
export const results = (id, query, signal) => call('GET', batch(id, '/results'), { query, signal })
export const seal = (id) => call('POST', batch(id, '/seal'), { body: {} })
export const cancelBatch = (id) => call('DELETE', batch(id))

/**
 * The service works in bounded steps; this continues until nothing is left, or `tell(done, waits)` says `false`.
 * `waits`: the service takes the next step later.
 */
async function inSteps(step, count, tell) {
  let done = 0
  for (let more = true, after; more;) {
    const answer = await patiently(() => step(after), () => tell(done, true))
    if (answer === STOPPED) break
    done += answer[count]
    after = answer.next ?? undefined
    more = tell(done) !== false && answer.more === true
  }
  return done
}

/** `to`: names, or `null`: everybody. Answers `{changed, refused}`. */
export async function reassign(name, from, to, tell = () => {}) {
  let refused = 0
  const changed = await inSteps(async (after) => {
    const answer = await call('POST', '/jobs/reassign', { body: { queue: name, from, to, after } })
    refused += answer.refused
    return answer
  }, 'changed', tell)
  return { changed, refused }
}

/** `only`: what the list on the screen is narrowed to, `{client, batch, error, enqueued_before}`. */
export const purge = (name, state, only = {}, tell = () => {}) =>
  inSteps((after) => call('DELETE', queue(name), { query: { state, ...only, after } }), 'removed', tell)
export const reprioritizeAll = (name, state, priority, only = {}, tell = () => {}) => {
  const body = { queue: name, state, priority, ...only }
  return inSteps((after) => call('POST', '/jobs/reprioritize', { body: { ...body, after } }), 'changed', tell)
}
export const releaseAll = (name, worker, tell) => inSteps(() => release({ queue: name, worker }), 'released', tell)
export const requeueAll = (name, only = {}, tell = () => {}) =>
  inSteps((after) => call('POST', '/jobs/requeue', { body: { queue: name, ...only, after } }), 'requeued', tell)
