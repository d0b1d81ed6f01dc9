// The address: #/ is all queues, #/q/NAME/TAB one of a queue's lists, #/q/NAME/TAB/ID a job or a batch next to it,
// #/workers all who work, #/workers/NAME one of them, #/dead the dead jobs of all queues, #/upload a table to put in,
// #/webhooks the webhooks, #/webhooks/NAME the deliveries of one. What narrows or sorts a page follows a question mark,
// so that a link and the browser's Back and Forward restore it.

import { store } from './store.js'

export const TABS = [
  'waiting', 'held', 'blocked', 'delayed', 'dead', 'completed', 'cancelled', 'locks', 'batches', 'lines', 'activity',
  'sheets', 'settings',
]
const TITLES = { lines: 'for whom' }
/** What a tab is called; its name stays in addresses. */
export const titleOf = (tab) => TITLES[tab] ?? tab

/** The filters of a list of jobs, by the service's words. */
const FILTERS = ['client', 'search', 'breached', 'error', 'batch', 'enqueued_before', 'line', 'worker']
/** The lists of those that only some have. */
const OF_SOME = { line: ['waiting'], worker: ['completed', 'dead'] }
export const hasFilter = (tab, name) => (OF_SOME[name] ?? [tab]).includes(tab)
/** Which day sheets are shown. */
export const SHEETS = ['from', 'to', 'worker']
/** Which batches are shown, and what of their answers is compared. */
const OPINIONS = ['agreement', 'at']
const OVERVIEW = ['find', 'sort', 'way']
const DELIVERIES = ['queue', 'state']
const UPLOAD = ['queue']
const PAGES = ['workers', 'dead', 'webhooks', 'upload']

export const place = store(read())

/** `{page, queue, tab, id, webhook, worker, only}`: `only` has the known parameters that are not empty. */
function read() {
  const mark = location.hash.indexOf('?')
  const path = mark < 0 ? location.hash : location.hash.slice(0, mark)
  const [, kind, queue, tab, id] = path.split('/').map(decode)
  const query = new URLSearchParams(mark < 0 ? '' : location.hash.slice(mark + 1))
  const only = (names) => Object.fromEntries(names.map((name) => [name, query.get(name)]).filter(([, text]) => text))
  if (kind === 'q' && queue) {
    const known = TABS.includes(tab) ? tab : 'waiting'
    const jobs = FILTERS.filter((name) => hasFilter(known, name))
    const filters = known === 'sheets' ? SHEETS : known === 'batches' ? OPINIONS : jobs
    return { page: 'queue', queue, tab: known, id: id || null, only: only(filters) }
  }
  const page = PAGES.includes(kind) ? kind : 'overview'
  const webhook = (page === 'webhooks' && queue) || null
  const worker = (page === 'workers' && queue) || null
  const usual = page === 'upload' ? UPLOAD : OVERVIEW
  return { page, queue: null, tab: null, id: null, webhook, worker, only: only(webhook ? DELIVERIES : usual) }
}

function decode(part) {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function withQuery(path, only = {}) {
  const query = new URLSearchParams(Object.entries(only).filter(([, text]) => text))
  return query.size ? `${path}?${query}` : path
}

export const link = (queue, tab = 'waiting', id = null, only = {}) =>
  withQuery(['#', ...['q', queue, tab, ...(id ? [id] : [])].map(encodeURIComponent)].join('/'), only)
export const webhookLink = (name, only = {}) => withQuery(`#/webhooks/${encodeURIComponent(name)}`, only)
export const workerLink = (name) => `#/workers/${encodeURIComponent(name)}`
export const uploadLink = (queue) => withQuery('#/upload', { queue })
export const overviewLink = (only) => withQuery('#/', only)

/** The list that holds jobs of a state. */
export const tabOf = (state) => (state === 'reserved' ? 'held' : state)

export const go = (hash) => { location.hash = hash }

/** The same place in the history, as for each letter that is typed. */
export function replace(hash) {
  history.replaceState(history.state, '', hash)
  place.set(() => read())
}

/** Calls `tell` when the page that is shown is left for another one, of the console or of another site. */
export function onLeave(tell) {
  addEventListener('hashchange', tell)
  addEventListener('pagehide', tell)
  return () => { removeEventListener('hashchange', tell); removeEventListener('pagehide', tell) }
}

addEventListener('hashchange', () => place.set(() => read()))
