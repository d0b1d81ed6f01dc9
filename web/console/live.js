// What the console knows of the service at this moment. The counts are asked for every two seconds, which also gives
// the rates; the stream of events says at once that something happened, so that lists are asked again then and not
// before.

import * as api from './api.js'
import { isTooOften } from './patience.js'
import { add as sample, forget } from './rates.js'
import { follow } from './sse.js'
import { store } from './store.js'
import { forget as forgetChoices } from './remembered.js'

const EVERY = 2_000
const EVERY_HIDDEN = 15_000
const SOON = 200
// How old data of a rate-limited service may be before its age is shown.
const OLD = 10_000
const STREAM_QUEUES = 16
const BETWEEN_PULSES = 1_000
// A stream that says more than a page can take is left alone for a while; the counts go on.
const FLOOD = 1_500
const AFTER_FLOOD = 60_000

const NOTHING = { me: null, link: 'starting', queues: null, at: null, error: null }

/** `access`: 'unknown', 'open', 'signed-in', 'needed' or 'refused'. `link`: 'starting', 'live', 'polling' or 'away'. */
export const live = store({ access: 'unknown', ...NOTHING })

/** Whether the user may make changes. */
export const mayAct = () => live.get().me?.role === 'operator'

let timer, coming, asking, stream, lastId, streamed = '', isStreaming = false, focus = null, floods = 0, quietUntil = 0
const pulses = new Map()

/** Calls `tell` when something happened in `queue`, at most once a second. */
export function onPulse(queue, tell) {
  const entry = { tell, last: Date.now(), timer: null }
  if (!pulses.has(queue)) pulses.set(queue, new Set())
  pulses.get(queue).add(entry)
  return () => { clearTimeout(entry.timer); pulses.get(queue).delete(entry) }
}

function pulse(queue) {
  for (const entry of pulses.get(queue) ?? []) {
    entry.timer ??= setTimeout(() => {
      entry.timer = null
      entry.last = Date.now()
      entry.tell()
    }, Math.max(120, entry.last + BETWEEN_PULSES - Date.now()))
  }
}

const pulseAll = () => [...pulses.keys()].forEach(pulse)

/** Loads the counts now and then regularly. */
export async function refresh() {
  if (asking) return
  clearTimeout(timer)
  asking = new AbortController()
  const { signal } = asking
  let next = document.hidden ? EVERY_HIDDEN : EVERY
  try {
    // After an outage the service may see the user with another role.
    const { me: known, error } = live.get()
    const me = (error ? null : known) ?? await api.me(signal)
    if (!isForLooking(me)) return turnedAway(new Error(notFor(me)))
    const { queues } = await api.queues(signal)
    if (signal.aborted) return
    queues.sort((a, b) => (a.name < b.name ? -1 : 1))
    const wasAway = live.get().error !== null
    sample(queues, api.now())
    const access = api.hasKey() ? 'signed-in' : 'open'
    live.set({ access, me, queues, at: Date.now(), error: null, link: linked() })
    listen()
    if (wasAway || !isStreaming) pulseAll()
  } catch (error) {
    if (signal.aborted) return
    if (error.status === 401 || error.status === 403) return turnedAway(error)
    if (isTooOften(error)) next = Math.min(Math.max(error.retryAfter ?? next, SOON), next)
    if (!isTooOften(error) || Date.now() - live.get().at > OLD) live.set({ error, link: 'away' })
  } finally {
    if (!signal.aborted) asking = null
  }
  timer = setTimeout(refresh, next)
}

const isForLooking = ({ role }) => role === 'viewer' || role === 'operator'
const keyOf = (role) => `This is ${role === 'asker' ? 'an' : 'a'} ${role}'s key`
const notFor = ({ role, worker }) => `${worker ? "This is a worker's token" : keyOf(role)}: `
  + "it sees no queues. The console takes a viewer's key or an operator's."

/** After an action: running loads may be older than it. `queue` is the service's current state of the queue. */
export function again(queue) {
  asking?.abort()
  asking = null
  const { queues } = live.get()
  if (queue && queues) live.set({ queues: queues.map((other) => (other.name === queue.name ? queue : other)) })
  return refresh()
}

const linked = () => (isStreaming ? 'live' : 'polling')

function turnedAway(error) {
  const refused = api.hasKey()
  leave()
  live.set({ access: refused ? 'refused' : 'needed', error: refused ? error : null })
}

/** Forgets the key and all that was seen with it. */
export function leave() {
  clearTimeout(timer)
  clearTimeout(coming)
  asking?.abort()
  stream?.abort()
  asking = coming = stream = lastId = undefined
  streamed = ''
  isStreaming = false
  api.signOut()
  forget()
  forgetChoices()
  live.set({ access: 'needed', ...NOTHING })
}

/** The open queue is always among the subscribed queues, however many there are. */
export function lookAt(queue) {
  focus = queue
  if (live.get().queues) listen()
}

function listen() {
  if (Date.now() < quietUntil) return
  const names = live.get().queues.map((queue) => queue.name)
  const first = names.includes(focus) ? [focus] : []
  const wanted = [...first, ...names.filter((name) => name !== focus)].slice(0, STREAM_QUEUES).sort()
  if (wanted.join() === streamed) return
  streamed = wanted.join()
  stream?.abort()
  stream = new AbortController()
  if (wanted.length === 0) return
  const { signal } = stream
  follow({
    url: api.url('/events', { queue: streamed }),
    headers: api.headers,
    signal,
    lastId,
    tell: (message) => { if (!signal.aborted) receive(message) },
    report: (state) => {
      if (signal.aborted) return
      isStreaming = state === 'open'
      if (isStreaming) pulseAll()
      if (live.get().link !== 'away') live.set({ link: linked() })
      if (state === 'refused') refresh()
    },
  })
}

function receive({ id, event, data }) {
  lastId = id ?? lastId
  if (event === 'heartbeat') return
  const news = JSON.parse(data)
  pulse(news.queue)
  if (event === 'gap') return
  soon()
  floods += 1
  if (floods > FLOOD) beQuiet()
}

setInterval(() => { floods = 0 }, 1_000)

function beQuiet() {
  stream?.abort()
  streamed = ''
  lastId = undefined
  isStreaming = false
  quietUntil = Date.now() + AFTER_FLOOD
  live.set({ link: linked() })
}

function soon() {
  coming ??= setTimeout(() => { coming = null; refresh() }, 1_000)
}

document.addEventListener('visibilitychange', () => {
  if (!document.hidden && live.get().queues) refresh()
})
addEventListener('online', () => { if (live.get().link === 'away') refresh() })
