// Who works here: by a name, where anybody can use any; by a code that was given to them; or by a link in a message,
// for one request. A code leaves the address at once, which others may read, and stays in this tab.

import { LINK_WORDS, SIGN_IN_WORDS } from './words.js'

const ASK_WITHIN_MS = 15_000

/** What this tab keeps; where a browser stores nothing, until the page goes. */
export const tabMemory = storageOfTab() ?? {}

function storageOfTab() {
  try {
    return sessionStorage
  } catch {
    return undefined
  }
}

/** Whether the address has a token, also of a link that was pasted into a page that is there already. */
export const hasLink = () => new URLSearchParams(location.hash.slice(1)).has('token')

/** The token of a link in the address, or of the one request that the page was opened for. */
export function linkToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (!token) return tabMemory[linkKey()]
  leaveHistory({ link: Date.now() })
  tabMemory[linkKey()] = token
  return token
}

/** The history, which outlives the person, has only the name under which the token is kept. */
const linkKey = () => `desk link ${history.state?.link}`
export const cameByLink = () => Boolean(history.state?.link)

export const keptName = () => tabMemory['desk name']
export const keptToken = () => tabMemory['desk token']
export const keptRequest = () => tabMemory['desk request']

export function keepPerson({ worker, job }) {
  tabMemory[job ? 'desk request' : 'desk name'] = job ?? worker
}

/** The token of a person is for this tab, and not in its history, where Back would find it after they have left. */
export function keepToken(token) {
  if (token) tabMemory['desk token'] = token
  delete tabMemory[linkKey()]
  leaveHistory(null)
}

const leaveHistory = (state) => history.replaceState(state, '', location.pathname + location.search)

export function forgetPerson({ isSignedOut = false } = {}) {
  // Single keys are a setting of this machine, for a hand or a voice.
  const names = Object.keys(tabMemory).filter((name) => name.startsWith('desk ') && name !== 'desk keys')
  for (const name of names) delete tabMemory[name]
  leaveHistory(isSignedOut ? { isSignedOut } : null)
}

let tabs
/** Listens to all tabs of this browser, also those without work: `hears` gets the name of who has left in another. */
export function listenToTabs(api, hears) {
  try {
    tabs = new BroadcastChannel(`intray desk ${api}`)
    tabs.onmessage = ({ data }) => hears(data.left)
  } catch {
    // Without it a tab hears only from those that do the same work.
  }
}

export const tellTabs = (left) => tabs?.postMessage({ left })

/** A call of the page itself. On a line that is lost in silence it fails after a while. */
export const ask = (url, token) => fetch(url, {
  headers: token ? { authorization: `Bearer ${token}` } : {}, credentials: 'omit', cache: 'no-cache',
  signal: AbortSignal.timeout(ASK_WITHIN_MS),
})

/** What the service knows of a code, or of a page without one: null if it needs another one. */
export async function readMe(api, token) {
  const answer = await ask(new URL('me', api), token)
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
  const isUnreachable = ['TypeError', 'SyntaxError', 'TimeoutError'].includes(error.name)
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
