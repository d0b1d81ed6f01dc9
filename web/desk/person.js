// Who works here: by a name, where anybody can use any; by a code that was given to them; or by a link in a message,
// for one request. A code leaves the address at once, which others may read, and stays in this tab.

import { LINK_WORDS, SIGN_IN_WORDS } from './words.js'

const kept = (name) => sessionStorage.getItem(name) ?? undefined

/** Whether the address has a token, also of a link that was pasted into a page that is there already. */
export const hasLink = () => new URLSearchParams(location.hash.slice(1)).has('token')

/** The token of a link in the address, or of the one request that the page was opened for. */
export function linkToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (!token) return kept(linkKey())
  leaveHistory({ link: Date.now() })
  sessionStorage.setItem(linkKey(), token)
  return token
}

/** The history, which outlives the person, has only the name under which the token is kept. */
const linkKey = () => `desk link ${history.state?.link}`
export const cameByLink = () => Boolean(history.state?.link)

export const keptName = () => kept('desk name')
export const keptToken = () => kept('desk token')
export const keptRequest = () => kept('desk request')

export function keepPerson({ worker, job }) {
  sessionStorage.setItem(job ? 'desk request' : 'desk name', job ?? worker)
}

/** The token of a person is for this tab, and not in its history, where Back would find it after they have left. */
export function keepToken(token) {
  if (token) sessionStorage.setItem('desk token', token)
  sessionStorage.removeItem(linkKey())
  leaveHistory(null)
}

const leaveHistory = (state) => history.replaceState(state, '', location.pathname + location.search)

export function forgetPerson({ isSignedOut = false } = {}) {
  for (const name of Object.keys(sessionStorage)) if (name.startsWith('desk ')) sessionStorage.removeItem(name)
  leaveHistory(isSignedOut ? { isSignedOut } : null)
}

let tabs
/** Of this browser, also those that have no work yet: `hears` who has left in another one. */
export function listenToTabs(api, hears) {
  try {
    tabs = new BroadcastChannel(`intray desk ${api}`)
    tabs.onmessage = ({ data }) => hears(data.left)
  } catch {
    // Without it a tab hears only from those that do the same work.
  }
}

export const tellTabs = (left) => tabs?.postMessage({ left })

export const credential = (token) => (token ? { authorization: `Bearer ${token}` } : {})

/** What the service knows of a code, or of a page without one: null if it needs another one. */
export async function readMe(api, token) {
  const answer = await fetch(new URL('me', api), { headers: credential(token), credentials: 'omit' })
  if (answer.status === 401) return null
  const me = await answer.json()
  if (!answer.ok) throw new Error(SIGN_IN_WORDS[answer.status] ?? me.detail)
  const isOpen = me.role === 'operator' && me.name === null
  if (!isOpen && !['worker', 'operator'].includes(me.role)) {
    throw Object.assign(new Error(SIGN_IN_WORDS.oneJob), { needsCode: true })
  }
  return { ...me, isOpen, needsName: me.worker === null }
}

/** In words for a person: a browser has others for each way not to reach a service. */
export function wordsFor(error) {
  const isUnreachable = error instanceof TypeError || error instanceof SyntaxError
  return SIGN_IN_WORDS[error.status] ?? (isUnreachable ? SIGN_IN_WORDS.unreachable : error.message)
}

/** Why the request of a link cannot be had. */
export function whyNot(error) {
  if (error.status === 401) return LINK_WORDS.invalid
  if (error.status === 403) return LINK_WORDS.otherPeople
  if (error.type === '/problems/worker-limit') return LINK_WORDS.another
  if (error.status === 404) return LINK_WORDS.unknown
  return LINK_WORDS[error.problem?.job_state] ?? error.message
}
