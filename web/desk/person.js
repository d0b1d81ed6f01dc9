// Who works here: by a name, where anybody can use any; by a code that was given to them; or by a link in a message,
// for one request. A code leaves the address at once, which others may read, and stays in this tab.

import { LINK_WORDS, SIGN_IN_WORDS } from './words.js'

const kept = (name) => sessionStorage.getItem(name) ?? undefined

/** The token of a link in the address, or of the one that the page was opened by. */
export function linkToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (!token) return history.state?.token
  history.replaceState({ token }, '', location.pathname + location.search)
  return token
}

export const keptName = () => kept('desk name')
export const keptToken = () => kept('desk token')
export const keptRequest = () => kept('desk request')

export function keepPerson({ worker, token, job }) {
  sessionStorage.setItem(job ? 'desk request' : 'desk name', job ?? worker)
  if (token && !job) sessionStorage.setItem('desk token', token)
}

export function forgetPerson() {
  sessionStorage.clear()
  history.replaceState(null, '', location.pathname + location.search)
}

export const credential = (token) => (token ? { authorization: `Bearer ${token}` } : {})

/** What the service knows of a code, or of a page without one: null if it needs another one. */
export async function readMe(api, token) {
  const answer = await fetch(new URL('me', api), { headers: credential(token), credentials: 'omit' })
  if (answer.status === 401) return null
  const me = await answer.json()
  if (!answer.ok) throw new Error(SIGN_IN_WORDS[answer.status] ?? me.detail)
  const isOpen = me.role === 'operator' && me.name === null
  if (!isOpen && !['worker', 'operator'].includes(me.role)) throw new Error(SIGN_IN_WORDS.oneJob)
  return { ...me, isOpen, needsName: me.worker === null }
}

/** Why the request of a link cannot be had. */
export function whyNot(error) {
  if (error.status === 401) return LINK_WORDS.invalid
  if (error.status === 403) return LINK_WORDS.otherPeople
  if (error.type === '/problems/worker-limit') return LINK_WORDS.another
  if (error.status === 404) return LINK_WORDS.unknown
  return LINK_WORDS[error.problem?.job_state] ?? error.message
}
