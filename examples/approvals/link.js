// A link in a message: the desk is for one request, and says what became of it. The token of the link stands behind the `#`, which
// browsers send to no server. Opening the link takes nothing: programs that look at links before people do are given no request.

const INVALID = 'This link is not valid any more. Ask for a new one.'
const ENDED = {
  completed: 'This request is answered already.',
  cancelled: 'This request was withdrawn, or has expired. It needs no answer any more.',
  dead: 'This request needs an operator now.',
  reserved: 'Another person has this request now. If they give it back, the link works again.',
}

export const THANKS = 'Thank you. Your answer is on its way to the agent.'
export const PASSED = 'You have passed it on. Others are asked.'

/** The token of the link, if the page was opened by one. It leaves the address at once, which others may read, and keeps for a reload. */
export function linkToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (!token) return history.state?.token ?? null
  history.replaceState({ token }, '', location.pathname + location.search)
  return token
}

/** For whom and for which request the link is. */
export async function readLink(api, token) {
  const answer = await fetch(new URL('me', api), { headers: { authorization: `Bearer ${token}` }, credentials: 'omit' })
  if (answer.status === 401) throw new Error(INVALID)
  const { worker, job } = await answer.json()
  if (!answer.ok || !worker || !job) throw new Error('This is no link to a request.')
  return { worker, job }
}

/** Why the request of the link cannot be had. */
export function whyNot(error) {
  if (error.status === 401) return INVALID
  if (error.status === 403) return 'This request is for other people now.'
  if (error.type === '/problems/worker-limit') return 'You have another request open. Answer that one first.'
  if (error.status === 404) return 'This request is not known any more.'
  return ENDED[error.problem?.job_state] ?? error.message
}
