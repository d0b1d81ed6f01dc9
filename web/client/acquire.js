/**
 * Reserves the next job, once for all callers that wait. The first call does not wait, so that the page can show at
 * once why there is no job; later calls wait.
 */
import { ASLEEP, aborted, jitter, mark, since } from './clock.js'
import { RETRY_WITHIN } from './calls.js'
import { LONGEST, TokenEnded, TokenFailure, Tries, TRIES, requestedPause, isFinal } from './http.js'

/** @import * as Types from './client.d.ts' */
/** @import { Calls, Handouts } from './calls.js' */
/** @import { Mark } from './clock.js' */
/** @import { Drawer } from './drawer.js' */
/** @import { Endings } from './endings.js' */
/** @import { Job } from './job.js' */
/** @import { JobStore } from './job_store.js' */
/** @import { Handout, Plan } from './types.js' */

/**
 * Its idempotency key, how long it waits, and since when; and whether a token has ended in the wait before.
 * @typedef {{ key: string, wait: number, asked: Mark, looked: boolean, renews: boolean }} Round
 */
/** @typedef {{ callers: number, stop: AbortController, answer: Promise<Job> }} Asking */

export class Acquirer {
  /** Jobs in line at the last reserve. */
  /** @type {number | null} */ remaining = null
  /** @type {Plan} */ #plan
  /** @type {Calls} */ #calls
  /** @type {Drawer} */ #drawer
  /** @type {Endings} */ #endings
  /** @type {JobStore} */ #jobStore
  /** @type {() => boolean} */ #mayAsk
  /** @type {(why: { reason?: string, remaining: number }) => void} */ #tell
  /** @type {Asking | null} */ #asking = null
  #vain = 0 // how often a job could not be given to others

  /**
   * @param {{
   *   plan: Plan, calls: Calls, drawer: Drawer, endings: Endings, jobStore: JobStore,
   *   mayAsk: () => boolean, tell: (why: { reason?: string, remaining: number }) => void,
   * }} parts
   */
  constructor({ plan, calls, drawer, endings, jobStore, mayAsk, tell }) {
    this.#plan = plan
    this.#calls = calls
    this.#drawer = drawer
    this.#endings = endings
    this.#jobStore = jobStore
    this.#mayAsk = mayAsk
    this.#tell = tell
  }

  /**
   * The next job. The requests stop when the last caller has left.
   * @param {AbortSignal} [signal]
   * @returns {Promise<Job>}
   */
  async next(signal) {
    const asking = (this.#asking = this.#asking?.callers ? this.#asking : this.#begin())
    const given = signal ? [aborted(signal).then(() => Promise.reject(signal.reason))] : []
    asking.callers++
    try {
      return await Promise.race([asking.answer, ...given])
    } finally {
      if (!--asking.callers) asking.stop.abort()
    }
  }

  /** @param {unknown} reason */
  end(reason) {
    this.#asking?.stop.abort(reason)
  }

  /** @returns {Asking} */
  #begin() {
    const stop = new AbortController()
    const answer = this.#acquire(stop.signal)
    answer.catch(() => {}) // if the answer is no longer awaited
    return { callers: 0, stop, answer }
  }

  /** @param {AbortSignal} stop */
  async #acquire(stop) {
    const round = { key: unique(), wait: 0, asked: mark(), looked: false, renews: false }
    let tries = new Tries()
    for (let failures = 0; ; ) {
      const job = this.#jobStore.next()
      if (job) return job
      stop.throwIfAborted()
      if (!this.#mayAsk()) {
        await this.#calls.pause(Infinity, stop) // for the lead, the person's return, or another tab's message
        continue
      }
      try {
        await this.#endings.settled(stop) // otherwise a finished job would be handed out again
        stop.throwIfAborted()
        if (this.#jobStore.job) continue // one was taken back
        await this.#ask(round, stop)
        tries = new Tries()
        failures = 0
        round.key = unique()
      } catch (error) {
        stop.throwIfAborted()
        if (error instanceof TokenEnded) {
          // A look with the next token, and then another wait.
          Object.assign(round, { key: unique(), wait: 0, renews: since(round.asked) >= 1_000 })
          continue
        }
        if (tries.isOver(error)) throw error instanceof TokenFailure ? error.cause : error
        await this.#calls.pauseAfter(error, failures++, stop)
      }
    }
  }

  /**
   * Takes a job; or reports why there is none, and sleeps until the next request.
   * @param {Round} round
   * @param {AbortSignal} stop
   */
  async #ask(round, stop) {
    const asked = (round.asked = mark())
    const answer = await this.#reserve(round, stop)
    const { jobs, reason, remaining } = answer
    this.remaining = remaining
    if (jobs.length && this.#isDone(jobs[0])) {
      await this.#putAside(jobs[0])
    } else if (jobs.length) {
      this.#jobStore.take(jobs[0], { behind: this.#jobStore.job !== null })
      const { current } = this.#jobStore
      if (current && since(asked) > round.wait + ASLEEP) this.#jobStore.note(current, { due: true }) // we slept over it
    } else if (reason === 'replaced') {
      await this.#calls.pause(RETRY_WITHIN, stop) // the same person waits elsewhere, where they came last
    } else {
      const { lastHandedIn: last, windows } = this.#jobStore
      const own = reason === 'reserved' && last !== null // theirs until it is final
      if (reason !== 'shutdown') this.#tell({ reason: own ? 'closing' : reason, remaining })
      const waited = round.wait >= 1_000 && since(asked) >= round.wait - 1_000
      const pause = waited ? 100 : (requestedPause(answer.retry_after_ms, LONGEST) ?? 1_000)
      if (round.looked && !round.renews) await this.#calls.pause(jitter(pause), stop)
      const max = own ? Math.max(1_000, windows.left(last) + 500) : Infinity
      Object.assign(round, { wait: Math.min(this.#plan.wait, Math.ceil(max)), looked: true, renews: false })
    }
  }

  /**
   * Whether its person has handed it in already, or tried to.
   * @param {Handout} handout
   */
  #isDone({ id, resumed }) {
    const { ending, aside } = this.#drawer.get(id) ?? {}
    return Boolean(ending) || (Boolean(aside) && resumed)
  }

  /**
   * Gives it to others; if that is not possible either, its person has it again.
   * @param {Handout} handout
   */
  async #putAside(handout) {
    try {
      await this.#endings.putAside(handout)
      this.#vain = 0
    } catch (error) {
      if (++this.#vain < TRIES) throw error
      this.#vain = 0
      this.#jobStore.take(handout, { anyway: true })
    }
  }

  /**
   * Asks first for the job that we held: after a reload, or after its lease expired and it may still be free.
   * @param {Round} round
   * @param {AbortSignal} stop
   * @returns {Promise<Handouts>}
   */
  async #reserve({ key, wait }, stop) {
    const held = this.#drawer.again(this.#plan)
    if (held) {
      try {
        return await this.#calls.resume(held.id, stop)
      } catch (error) {
        if (error instanceof TokenFailure || (isFinal(error) && error.status === 401)) throw error
        if (isFinal(error)) this.#drawer.letGo(held) // or else it is not answered, which need not hold for others
      }
    }
    return this.#calls.reserve({ key, wait, stop })
  }
}

function unique() {
  return `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`
}
