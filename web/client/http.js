/**
 * One request, and the service's refusals. It knows nothing of jobs; the console uses it too.
 */

/** Characters, which may be 60 KB: a browser sends no more for a page that is gone. */
const KEEPALIVE = 20_000
/** How often a call is tried that something other than intray refuses. */
export const TRIES = 5
/** The longest pause that is accepted from an answer: of anything between page and service, and of intray. */
export const MINUTE = 60_000
export const LONGEST = 300_000
/** A token that is valid in a header. */
const TOKEN = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/

/**
 * The source of a token, and the last one. `get` is called once, and again after the service has refused its token.
 * @typedef {object} Token
 * @property {string} [value]
 * @property {string} [refused]
 * @property {(about: { refused?: string }) => string | undefined | Promise<string | undefined>} [get]
 */

/**
 * What a request may have besides what `fetch` knows: a `body` that is sent as JSON, or its `text`; a `token`;
 * `keepalive`, when it may outlive the page; how an answer is `read`; `within` how many
 * milliseconds each try is answered; and whether it `waits`, so that a token may end meanwhile.
 * @typedef {Omit<RequestInit, 'body'> & {
 *   body?: unknown, text?: string, headers?: Record<string, string>, token?: Token, read?: (text: string) => any,
 *   within?: number, waits?: boolean
 * }} Asked
 */

/**
 * One request. Throws an IntrayError when the answer is a refusal, and something else when there was none.
 * @param {string | URL} url
 * @param {Asked} asked
 */
export async function request(url, asked) {
  const { body, text = JSON.stringify(body), headers, token, keepalive = false, within, waits, ...rest } = asked
  const { read = JSON.parse, ...how } = rest
  const fits = keepalive && text.length < KEEPALIVE
  const send = async () => {
    const ends = [how.signal ?? [], within === undefined ? [] : AbortSignal.timeout(within)].flat()
    const signal = AbortSignal.any(ends)
    const own = { ...headers, ...(await authorization(token, signal)) }
    return fetch(url, { ...how, signal, body: text, headers: own, keepalive: fits })
  }
  let response = await send()
  if (response.status === 401 && token?.get) {
    Object.assign(token, { refused: token.value, value: undefined })
    if (waits) throw new TokenEnded()
    response = await send()
  }
  const answer = await response.text()
  if (response.ok) return { answer: read(answer), response }
  throw new IntrayError(response.status, problemIn(answer), retryAfter(response))
}

/** The token of a call that waits is no longer valid. Only a call that does not wait tells whether a new one is. */
export class TokenEnded {}

/**
 * @param {Token} [token]
 * @param {AbortSignal | null} [signal]
 * @returns {Promise<Record<string, string>>}
 */
async function authorization(token, signal) {
  if (!token) return {}
  if (token.get) token.value ??= checked(await given(token.get, token.refused, signal))
  return token.value ? { authorization: `Bearer ${checked(token.value)}` } : {}
}

/**
 * Some sites answer with a page for logging in, which no header can carry.
 * @param {unknown} value
 */
function checked(value) {
  if (typeof value === 'string' && TOKEN.test(value.trim())) return value.trim()
  const what = value ? 'is not a token' : 'is missing'
  throw new TokenFailure(new TypeError(`intray: what token() gave ${what}. Is the person still logged in?`), false)
}

/**
 * The result of the page's function. A timeout counts as a call without an answer.
 * @param {NonNullable<Token['get']>} get
 * @param {string} [refused]
 * @param {AbortSignal | null} [signal]
 */
async function given(get, refused, signal) {
  const asked = new Promise((resolve) => resolve(get({ refused }))).catch((cause) => {
    throw new TokenFailure(cause, NO_ANSWER.includes(cause?.name))
  })
  return Promise.race(signal ? [asked, failing(signal)] : [asked])
}

/**
 * @param {AbortSignal} signal
 * @returns {Promise<never>}
 */
function failing(signal) {
  return new Promise((_, reject) => {
    const fail = () => reject(signal.reason)
    if (signal.aborted) fail()
    else signal.addEventListener('abort', fail, { once: true })
  })
}

/** The errors that `fetch` throws without an answer. */
const NO_ANSWER = ['TypeError', 'NetworkError', 'TimeoutError', 'AbortError']

/** The page's token function failed, with `cause`. Network failures are retried a few times. */
export class TokenFailure {
  /**
   * @param {any} cause
   * @param {boolean} passes
   */
  constructor(cause, passes) {
    this.cause = cause
    this.passes = passes
  }
}

/**
 * A refusal is JSON, also of a table. Something between page and service may answer too, with a page of its own.
 * @param {string} text
 * @returns {Partial<Types.Problem>}
 */
function problemIn(text) {
  try {
    const problem = JSON.parse(text)
    return typeof problem === 'object' && !Array.isArray(problem) ? (problem ?? {}) : {}
  } catch {
    return {}
  }
}

/**
 * Seconds; a date is no pause.
 * @param {Response} response
 */
function retryAfter(response) {
  return Number(response.headers.get('retry-after')) * 1_000
}

/**
 * A time to wait that an answer names, or `undefined` where it names none.
 * @param {unknown} ms
 * @param {number} max
 */
export function requestedPause(ms, max) {
  return typeof ms === 'number' && ms > 0 ? Math.min(ms, max) : undefined
}

/**
 * A refusal.
 * @implements {Types.IntrayError}
 */
export class IntrayError extends Error {
  /**
   * @param {number} status
   * @param {Partial<Types.Problem>} problem
   * @param {number} [retryAfter]
   */
  constructor(status, problem, retryAfter) {
    super(String(problem.detail ?? problem.title ?? `something that is not intray answered ${status}`))
    this.name = 'IntrayError'
    this.status = status
    this.type = /** @type {Types.ProblemType} */ (String(problem.type ?? 'about:blank'))
    this.problem = { title: 'Refused', ...problem, type: this.type, status, detail: this.message }
    this.reason = problem.reason
    this.jobState = problem.job_state
    this.retryAfter = requestedPause(problem.retry_after_ms ?? retryAfter, longestPause(this))
  }

  get lost() {
    return this.type === '/problems/reservation-lost'
  }
}

/**
 * Whether intray itself refused.
 * @param {unknown} error
 * @returns {error is IntrayError}
 */
export function isOwn(error) {
  return error instanceof IntrayError && error.type.startsWith('/problems/')
}

/**
 * The longest pause that this failure may ask for.
 * @param {unknown} error
 */
export function longestPause(error) {
  return isOwn(error) ? LONGEST : MINUTE
}

/** @param {IntrayError} error */
function isPassing({ status }) {
  return (status >= 500 && status !== 511) || [408, 425, 429].includes(status)
}

/**
 * Intray's own refusal is the last word.
 * @param {unknown} error
 * @returns {error is IntrayError}
 */
export function isFinal(error) {
  return isOwn(error) && !isPassing(error)
}

/**
 * Something else refused: a proxy's filter, a portal's form, a page for logging in. It may be over soon, or never.
 * @param {unknown} error
 * @returns {error is IntrayError}
 */
export function isForeign(error) {
  return error instanceof IntrayError && !isOwn(error) && !isPassing(error)
}

/** How often one thing was refused by something else. */
export class Tries {
  #refused = 0

  /**
   * Whether this failure is the last word. No answer, and one that a service gives when it is away, never is.
   * @param {unknown} error
   */
  isOver(error) {
    if (error instanceof TokenFailure) return !error.passes || ++this.#refused >= TRIES
    return isFinal(error) || (isForeign(error) && ++this.#refused >= TRIES)
  }
}

/** @import * as Types from './client.d.ts' */
