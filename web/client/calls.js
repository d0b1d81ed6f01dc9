/**
 * What a desk asks of the service, and how long it waits before it asks again. A call that may hang on a dead
 * connection can be given up, and a pause ends as soon as something happens.
 */
import { aborted, jitter } from './clock.js'
import { IntrayError, TokenFailure, isOwn, longestPause, request } from './http.js'
import { readExact } from './json_text.js'

/** A call that takes longer is tried again. */
const ANSWER_WITHIN = 15_000
/** The longest pause between two tries. */
export const RETRY_WITHIN = 30_000
/** Browsers end a longer timer at once. */
const LONGEST_TIMER = 2 ** 31 - 1

/** @import * as Types from './client.d.ts' */
/** @import { Asked, Token } from './http.js' */
/** @import { Handout, Plan } from './types.js' */
/** @import { Reopened } from './states_of_undo.js' */

/** @typedef {{ jobs: Handout[], remaining: number, reason?: string, retry_after_ms?: number }} Handouts */
/** @typedef {{ state: Types.ServiceState, expires_in_ms: number }} Extended */
/**
 * @typedef {{
 *   state: Types.ServiceState, late?: boolean, duplicate: boolean, final?: boolean, final_in_ms?: number | null,
 * }} Settled
 */

export class Calls {
  /** @type {Plan} */ #plan
  /** @type {Token} */ #token
  /** @type {AbortSignal} */ #life
  /** @type {(retry: { error: unknown, delay: number }) => void} */ #tell
  #wake = new AbortController() // ends all pauses
  #connection = new AbortController() // ends the calls that may hang on a dead connection
  #answered = new AbortController() // ends what a proxy has us wait for

  /**
   * @param {Plan} plan
   * @param {Types.Settings['token']} token
   * @param {AbortSignal} life
   * @param {(retry: { error: unknown, delay: number }) => void} tell
   */
  constructor(plan, token, life, tell) {
    this.#plan = plan
    this.#token = typeof token === 'function' ? { get: token } : { value: token }
    this.#life = life
    this.#tell = tell
  }

  /**
   * The next of the desk's queues, or its one job; only this call is made with a token, and needs a preflight. The same
   * `key` for what is tried again: an answer that was lost is given again.
   * @param {{ key: string, wait: number, stop: AbortSignal }} how
   * @returns {Promise<Handouts>}
   */
  reserve({ key, wait, stop }) {
    const more = { headers: { 'idempotency-key': key }, within: wait + ANSWER_WITHIN, waits: wait > 0, stop }
    const { job, queues } = this.#plan
    return this.#reserve(job === undefined ? { queues, wait_ms: wait } : { id: job }, more)
  }

  /**
   * This very job, which was ours.
   * @param {string} id
   * @param {AbortSignal} [stop]
   * @returns {Promise<Handouts>}
   */
  resume(id, stop) {
    return this.#reserve({ id }, { stop })
  }

  /**
   * @param {object} what
   * @param {{ headers?: Record<string, string>, within?: number, waits?: boolean, stop?: AbortSignal }} how
   */
  #reserve(what, { headers = {}, within = ANSWER_WITHIN, waits, stop }) {
    const { worker, skills, lease } = this.#plan
    return this.#send('reserve', { ...what, worker, skills, lease_ms: lease }, {
      headers: { 'content-type': 'application/json', ...headers },
      token: this.#token,
      within,
      waits,
      signal: AbortSignal.any([this.#connection.signal, ...(stop ? [stop] : [])]),
    })
  }

  /**
   * @param {string} reservation
   * @param {unknown} draft
   * @returns {Promise<Extended>}
   */
  async extend(reservation, draft) {
    const signal = AbortSignal.any([AbortSignal.timeout(ANSWER_WITHIN), this.#connection.signal])
    const answer = await this.#send('extend', { reservation, draft, lease_ms: this.#plan.lease }, { signal })
    if (!Number.isFinite(answer.expires_in_ms)) throw new IntrayError(200, {})
    return answer
  }

  /**
   * An ending outlives the page, if the browser can see to it.
   * @param {Types.Action} action
   * @param {object} body
   * @returns {Promise<Settled>}
   */
  settle(action, body) {
    const how = { text: textOf(body), signal: AbortSignal.timeout(ANSWER_WITHIN), keepalive: true }
    return this.#send(action, body, how)
  }

  /**
   * Takes a completion back.
   * @param {string} reservation
   * @returns {Promise<Reopened>}
   */
  async undo(reservation) {
    const how = { signal: AbortSignal.timeout(ANSWER_WITHIN), keepalive: true }
    const answer = await this.#send('undo', { reservation }, how)
    if (!Number.isFinite(answer.expires_in_ms)) throw new IntrayError(200, {})
    return answer
  }

  /**
   * Settle calls need no credential and go as plain text, like a beacon: no preflight.
   * @param {string} action
   * @param {object} body
   * @param {Omit<Asked, 'body'>} how
   */
  async #send(action, body, how) {
    const more = { method: 'POST', credentials: /** @type {const} */ ('omit'), read: json, body, ...how }
    const { answer, response } = await request(this.#address(action), more)
    if (!Array.isArray(answer?.jobs) && typeof answer?.state !== 'string') throw new IntrayError(response.status, {})
    this.#answered.abort()
    this.#answered = new AbortController()
    return answer
  }

  /**
   * For a page that goes: it hears no answer.
   * @param {Types.Action | 'undo'} action
   * @param {object} body
   */
  beacon(action, body) {
    try {
      return navigator.sendBeacon(this.#address(action), textOf(body))
    } catch {
      return false
    }
  }

  /** @param {string} action */
  #address(action) {
    return `${this.#plan.url}/jobs/${action}`
  }

  /** Aborts calls on a connection that may be dead, and retries them at once. */
  giveUp() {
    this.#connection.abort()
    this.#connection = new AbortController()
  }

  /**
   * Sleeps, unless something happens first.
   * @param {number} ms
   */
  pause(ms, stop = this.#life) {
    return sleep(ms, [this.#wake.signal, stop])
  }

  /**
   * Sleeps after a failure. What a proxy has us wait for beyond our own pause is over as soon as any call is answered.
   * @param {unknown} error
   * @param {number} failures
   */
  async pauseAfter(error, failures, stop = this.#life) {
    const ends = [this.#wake.signal, stop]
    const answered = this.#answered.signal
    const delay = this.retry(error, failures)
    const own = isOwn(error) ? delay : Math.min(delay, backoff(failures))
    await sleep(own, ends)
    if (delay > own) await sleep(delay - own, [answered, ...ends])
  }

  /** The person leaves: their token is no longer asked for. */
  forget() {
    this.#token = {}
    this.giveUp()
  }

  /** Something happened: ends all pauses. */
  nudge() {
    this.#wake.abort()
    this.#wake = new AbortController()
  }

  /**
   * The delay after this failure; zero for calls that we aborted ourselves.
   * @param {any} error
   * @param {number} failures
   */
  retry(error, failures) {
    if (error?.name === 'AbortError') return 0
    const asked = error instanceof IntrayError ? error.retryAfter : undefined
    const delay = jitter(asked === undefined ? backoff(failures) : Math.min(asked, longestPause(error) / 1.5))
    this.#tell({ error: error instanceof TokenFailure ? error.cause : error, delay })
    return delay
  }
}

/** @param {number} failures */
export function backoff(failures) {
  return Math.min(RETRY_WITHIN / 1.5, 400 * 2 ** Math.min(failures, 10))
}

/**
 * @param {number} ms
 * @param {AbortSignal[]} ends
 */
function sleep(ms, ends) {
  const timer = ms === Infinity ? [] : [AbortSignal.timeout(Math.min(Math.max(0, Math.ceil(ms || 0)), LONGEST_TIMER))]
  return aborted(AbortSignal.any([...ends, ...timer]))
}

/**
 * A body as JSON. A result whose text is given goes as that, to the last digit.
 * @param {{ exact?: string, result?: unknown }} body
 */
function textOf({ exact, result, ...others }) {
  if (exact === undefined) return JSON.stringify({ ...others, result })
  return `${JSON.stringify(others).slice(0, -1)},"result":${exact}}`
}

const PAYLOAD = new Set(['payload'])

/**
 * Text that is not JSON is not an answer of intray. Each job has its payload as it was sent too.
 * @param {string} text
 */
function json(text) {
  try {
    const answer = JSON.parse(text)
    if (!Array.isArray(answer?.jobs) || !answer.jobs.length) return answer
    const exact = readExact(text, PAYLOAD).jobs
    return { ...answer, jobs: exact.map((/** @type {any} */ job, /** @type {number} */ n) => (
      { ...answer.jobs[n], exact: { payload: job?.payload?.text } })) }
  } catch {
    return undefined
  }
}
