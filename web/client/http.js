/**
 * One request, and what the service has refused. It knows nothing of jobs; the console makes its calls with it too.
 */

/** Characters, which may be 60 KB: for a page that is gone the browser sends no more. */
const KEEPALIVE = 20_000

/**
 * Where a token comes from, and the last one. `get` is asked once, and again when the service has refused what it gave.
 * @typedef {object} Token
 * @property {string} [value]
 * @property {string} [refused]
 * @property {(about: { refused?: string }) => string | undefined | Promise<string | undefined>} [get]
 */

/**
 * What a request may have beside what `fetch` knows: a `body` that is sent as JSON, or its `text`; a `token`;
 * `keepalive`, when it may outlive the page; and how an answer is `read`.
 * @typedef {Omit<RequestInit, 'body'> & {
 *   body?: unknown, text?: string, headers?: Record<string, string>, token?: Token, read?: (text: string) => any
 * }} Asked
 */

/**
 * One request. Throws an IntrayError when the answer is a refusal, and something else when there was none.
 * @param {string | URL} url
 * @param {Asked} asked
 */
export async function request(url, asked) {
  const { body, text = JSON.stringify(body), headers, token, keepalive = false, read = JSON.parse, ...how } = asked
  const fits = keepalive && text.length < KEEPALIVE
  const send = async () => {
    const own = { ...headers, ...(await authorization(token)) }
    return fetch(url, { ...how, body: text, headers: own, keepalive: fits })
  }
  let response = await send()
  if (response.status === 401 && token?.get) {
    Object.assign(token, { refused: token.value, value: undefined })
    response = await send()
  }
  const answer = await response.text()
  if (response.ok) return { answer: read(answer), response }
  throw new IntrayError(response.status, problemIn(answer, read), retryAfter(response))
}

/**
 * @param {Token} [token]
 * @returns {Promise<Record<string, string>>}
 */
async function authorization(token) {
  if (!token) return {}
  token.value ??= await token.get?.({ refused: token.refused })
  return token.value ? { authorization: `Bearer ${token.value}` } : {}
}

/**
 * Whatever stands between a page and the service may answer too, with a page of its own.
 * @param {string} text
 * @param {(text: string) => any} read
 * @returns {Partial<Types.Problem>}
 */
function problemIn(text, read) {
  try {
    return read(text) ?? {}
  } catch {
    return {}
  }
}

/** @param {Response} response */
function retryAfter(response) {
  return Number(response.headers.get('retry-after')) * 1_000 || undefined
}

/**
 * What the service has refused.
 * @implements {Types.IntrayError}
 */
export class IntrayError extends Error {
  /**
   * @param {number} status
   * @param {Partial<Types.Problem>} problem
   * @param {number} [retryAfter]
   */
  constructor(status, problem, retryAfter) {
    super(problem.detail ?? problem.title ?? `the service answered ${status}`)
    this.name = 'IntrayError'
    this.status = status
    this.type = String(problem.type ?? 'about:blank')
    this.problem = problem
    this.reason = problem.reason
    this.jobState = problem.job_state
    this.retryAfter = problem.retry_after_ms ?? retryAfter
  }

  get lost() {
    return this.type === '/problems/reservation-lost'
  }
}

/**
 * Only intray's own word is final. A proxy's error page, a portal's form, a dead network: all that passes.
 * @param {unknown} error
 * @returns {error is IntrayError}
 */
export function isFinal(error) {
  if (!(error instanceof IntrayError)) return false
  return error.status < 500 && ![408, 429].includes(error.status) && error.type.startsWith('/problems/')
}

/** @import * as Types from './client.d.ts' */
