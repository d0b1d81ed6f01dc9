// The address: #/ is all queues, #/q/NAME/TAB one of a queue's lists, #/q/NAME/TAB/ID a job or a batch beside it,
// #/workers everybody who works.

import { store } from './store.js'

export const TABS = [
  'waiting', 'held', 'blocked', 'delayed', 'dead', 'completed', 'cancelled', 'locks', 'batches', 'activity', 'settings',
]

export const place = store(read())

function read() {
  const [, kind, queue, tab, id] = location.hash.split('/').map(decode)
  if (kind !== 'q' || !queue) return { queue: null, tab: null, id: null, isWorkers: kind === 'workers' }
  return { queue, tab: TABS.includes(tab) ? tab : 'waiting', id: id || null, isWorkers: false }
}

function decode(part) {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export function link(queue, tab = 'waiting', id) {
  const parts = ['#', 'q', queue, tab, ...(id ? [id] : [])]
  return parts.map((part) => (part === '#' ? part : encodeURIComponent(part))).join('/')
}

/** The list that holds jobs of a state. */
export const tabOf = (state) => (state === 'reserved' ? 'held' : state)

export const go = (hash) => { location.hash = hash }

addEventListener('hashchange', () => place.set(() => read()))
