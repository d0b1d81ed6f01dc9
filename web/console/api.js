// The service's calls. The key lives in this module's memory and nowhere else.

import { read } from './exact.js'

const base = new URL(document.querySelector('meta[name=intray-api]')?.content || '../', document.baseURI)
const PATIENCE = 10_000

let key = null
let ahead = 0

export const signIn = (text) => { key = text }
export const signOut = () => { key = null }
export const hasKey = () => key !== null

/** The service's time; a person's clock is wrong. */
export const now = () => Date.now() + ahead

/** What the service refused, in its own words. */
export class Problem extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `the service answered ${status}`)
    this.name = 'Problem'
    this.status = status
    this.type = problem.type ?? ''
    this.title = problem.title ?? ''
    this.errors = problem.errors ?? []
    this.applied = problem.applied
  }
}

/** Nobody answered. */
export class Away extends Error {
  constructor() {
    super('The service does not answer.')
    this.name = 'Away'
  }
}

export function url(path, query = {}) {
  const full = new URL(path.replace(/^\//, ''), base)
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') full.searchParams.set(name, value)
  }
  return full
}

export const headers = (more = {}) => (key === null ? more : { ...more, authorization: `Bearer ${key}` })

export async function call(method, path, { query, body, signal } = {}) {
  const patience = AbortSignal.timeout(PATIENCE)
  const init = {
    method,
    headers: headers(body === undefined ? {} : { 'content-type': 'application/json' }),
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: signal ? AbortSignal.any([signal, patience]) : patience,
    cache: 'no-store',
  }
  let response, text
  try {
    response = await fetch(url(path, query), init)
    text = await response.text()
  } catch (error) {
    if (signal?.aborted) throw error
    throw new Away()
  }
  setClock(response)
  const answer = parse(text)
  if (!response.ok) throw new Problem(response.status, answer ?? {})
  // A proxy's page, perhaps; the service answers in JSON.
  if (answer === null) throw new Away()
  if (answer.server_time) ahead = Date.parse(answer.server_time) - Date.now()
  return answer
}

/** To the second, until an answer says `server_time`. */
function setClock(response) {
  const date = Date.parse(response.headers.get('date') ?? '')
  if (Number.isFinite(date) && Math.abs(date - now()) > 1_500) ahead = date - Date.now()
}

function parse(text) {
  try {
    return read(text)
  } catch {
    return null
  }
}

const segment = encodeURIComponent
const job = (id) => `/jobs/${segment(id)}`
const queue = (name, more = '') => `/queues/${segment(name)}${more}`
const batch = (id, more = '') => `/batches/${segment(id)}${more}`


/** All of them, page by page. */
export async function queues(signal) {
  const all = []
  for (let after; after !== null;) {
    const page = await call('GET', '/queues', { query: { after }, signal })
    all.push(...page.queues)
    after = page.next ?? null
  }
  return { queues: all }
}
export const configure = (name, settings) => call('PATCH', queue(name), { body: settings })
export const sweep = (name) => call('POST', queue(name, '/sweep'), { body: {} })
export const jobs = (name, query, signal) => call('GET', queue(name, '/jobs'), { query, signal })
export const workers = (name, query, signal) => call('GET', queue(name, '/workers'), { query, signal })
export const locks = (name, query, signal) => call('GET', queue(name, '/locks'), { query, signal })
export const inspect = (id, signal) => call('GET', job(id), { signal })
export const cancel = (id, force) => call('DELETE', job(id), { query: { force: force || undefined } })
export const reprioritize = (id, priority) => call('PATCH', job(id), { body: { priority } })
export const release = (what) => call('POST', '/jobs/release', { body: what })
export const requeue = (what) => call('POST', '/jobs/requeue', { body: what })
export const batches = (query, signal) => call('GET', '/batches', { query, signal })
export const inspectBatch = (id, signal) => call('GET', batch(id), { signal })
export const results = (id, query, signal) => call('GET', batch(id, '/results'), { query, signal })
export const seal = (id) => call('POST', batch(id, '/seal'), { body: {} })
export const cancelBatch = (id) => call('DELETE', batch(id))

/** The service works in bounded steps; this goes on until nothing is left, or `tell` says `false`. `step(after)` is one call. */
async function inSteps(step, count, tell) {
  let done = 0
  for (let more = true, after; more;) {
    const answer = await step(after)
    done += answer[count]
    after = answer.next ?? undefined
    more = tell(done) !== false && answer.more === true
  }
  return done
}

/** `only`: what the list on the screen is narrowed to, `{client}`. */
export const purge = (name, state, only = {}, tell = () => {}) =>
  inSteps((after) => call('DELETE', queue(name), { query: { state, ...only, after } }), 'removed', tell)
export const releaseAll = (name, worker) => inSteps(() => release({ queue: name, worker }), 'released', () => {})
export const requeueAll = (name, only = {}, tell = () => {}) =>
  inSteps((after) => call('POST', '/jobs/requeue', { body: { queue: name, ...only, after } }), 'requeued', tell)
