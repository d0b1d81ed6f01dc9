// What a person works on: the queues that the address names, or those that they tick.

import { make, tell } from '../client/form/elements.js'
import { $, reveal } from './page.js'
import { ask } from './person.js'
import { SAY, SIGN_IN_WORDS } from './words.js'

const MAX_QUEUES = 16

const inAddress = () => [...new Set(new URLSearchParams(location.search).getAll('queue').filter(Boolean))]

/** Those of the address, which can be bookmarked; and those that are too many. */
export const namedQueues = () => inAddress().slice(0, MAX_QUEUES)
export const leftOutQueues = () => inAddress().slice(MAX_QUEUES)

export function nameQueues(queues) {
  const query = new URLSearchParams(queues.map((queue) => ['queue', queue]))
  history.replaceState(history.state, '', `${location.pathname}?${query}`)
}

export async function offerQueues(api, { token, worker }) {
  const url = new URL('me/queues', api)
  if (worker) url.searchParams.set('worker', worker)
  const answer = await ask(url, token)
  const { queues, detail } = await answer.json()
  if (!answer.ok) throw Object.assign(new Error(detail), { status: answer.status })
  const isAll = queues.length <= MAX_QUEUES
  $('queue-list').replaceChildren(...queues.map(({ name, waiting, paused }) => {
    const box = make('input', { type: 'checkbox', name: 'queue', value: name, checked: isAll })
    return make('label', { className: 'tick' }, [box, tell(make('span'), SAY.queue(name, waiting, paused))])
  }))
  reveal('no-queues', queues.length === 0)
  reveal('queue-list', queues.length > 0)
  reveal('which', true)
  return queues.map(({ name }) => name)
}

/** Undefined if they are too few or too many. */
export function tickedQueues() {
  const ticked = [...$('queue-list').querySelectorAll(':checked')].map(({ value }) => value)
  return ticked.length > 0 && ticked.length <= MAX_QUEUES ? ticked : undefined
}

/** The form of a queue: undefined while the service cannot be asked. Throws when the person has to sign in again. */
export async function readQueueForm(api, queue, token) {
  const url = new URL(`queues/${encodeURIComponent(queue)}/form`, api)
  const answer = await ask(url, token).catch(() => ({ status: 0, ok: false }))
  if (answer.status === 404) return null
  const { status } = answer
  if (status === 401 || status === 403) throw Object.assign(new Error(SIGN_IN_WORDS[status]), { status })
  // A page of something in between is no answer of the service.
  return answer.ok ? (await answer.json().catch(() => ({}))).result_schema : undefined
}
