/**
 * Asking for work: one search, however many callers wait for it. It looks first, so that the page can say at once why
 * there is nothing; then it waits.
 */
import { ASLEEP, aborted, jitter, mark, since } from './clock.js'
import { RETRY_WITHIN } from './calls.js'
import { isFinal } from './http.js'

/** @import * as Types from './client.d.ts' */
/** @import { Calls, Handouts } from './calls.js' */
/** @import { Drawer } from './drawer.js' */
/** @import { Endings } from './endings.js' */
/** @import { Job } from './job.js' */
/** @import { Ledger } from './ledger.js' */
/** @import { Plan } from './record.js' */

/** @typedef {{ key: string, wait: number, looked: boolean }} Round its idempotency key, and how long it waits */
/** @typedef {{ callers: number, stop: AbortController, answer: Promise<Job> }} Asking */

export class Search {
  /** How many jobs were in line when the service was last asked for one. */
  /** @type {number | null} */ remaining = null
  /** @type {Plan} */ #plan
  /** @type {Calls} */ #calls
  /** @type {Drawer} */ #drawer
  /** @type {Endings} */ #endings
  /** @type {Ledger} */ #ledger
  /** @type {() => boolean} */ #mayAsk
  /** @type {(why: { reason?: string, remaining: number }) => void} */ #tell
  /** @type {Asking | null} */ #asking = null

  /**
   * @param {{
   *   plan: Plan, calls: Calls, drawer: Drawer, endings: Endings, ledger: Ledger,
   *   mayAsk: () => boolean, tell: (why: { reason?: string, remaining: number }) => void,
   * }} parts
   */
  constructor({ plan, calls, drawer, endings, ledger, mayAsk, tell }) {
    this.#plan = plan
    this.#calls = calls
    this.#drawer = drawer
    this.#endings = endings
    this.#ledger = ledger
    this.#mayAsk = mayAsk
    this.#tell = tell
  }

  /**
   * The next job. The search ends when its last caller has gone.
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
    const answer = this.#search(stop.signal)
    answer.catch(() => {}) // when nobody asks any more
    return { callers: 0, stop, answer }
  }

  /** @param {AbortSignal} stop */
  async #search(stop) {
    const round = { key: unique(), wait: 0, looked: false }
    for (let failures = 0; ; ) {
      const { job } = this.#ledger
      if (job) return job
      stop.throwIfAborted()
      if (!this.#mayAsk()) {
        await this.#calls.pause(Infinity, stop) // for the lead, for somebody to look, for another tab's news
        continue
      }
      try {
        await this.#endings.carry() // or we would be given again what is done
        await this.#ask(round, stop)
        failures = 0
        round.key = unique()
      } catch (error) {
        stop.throwIfAborted()
        if (isFinal(error)) throw error
        await this.#calls.pause(this.#calls.retry(error, failures++), stop)
      }
    }
  }

  /**
   * Takes what there is; or says why there is nothing, and sleeps until it is time to ask again.
   * @param {Round} round
   * @param {AbortSignal} stop
   */
  async #ask(round, stop) {
    const asked = mark()
    const answer = await this.#reserve(round, stop)
    const { jobs, reason, remaining, retry_after_ms = 1_000 } = answer
    this.remaining = remaining
    if (jobs.length) {
      this.#ledger.take(jobs[0])
      const { current } = this.#ledger
      if (current && since(asked) > round.wait + ASLEEP) this.#ledger.note(current, { due: true }) // we slept over it
    } else if (reason === 'replaced') {
      await this.#calls.pause(RETRY_WITHIN, stop) // the same person waits elsewhere, where they came last
    } else {
      if (reason !== 'shutdown') this.#tell({ reason, remaining })
      const waited = round.wait >= 1_000 && since(asked) >= round.wait - 1_000
      if (round.looked) await this.#calls.pause(jitter(waited ? 100 : retry_after_ms), stop)
      Object.assign(round, { wait: this.#plan.wait, looked: true })
    }
  }

  /**
   * First the very job that we held: the page was reloaded, or its lease ran out and perhaps nobody has it.
   * @param {Round} round
   * @param {AbortSignal} stop
   * @returns {Promise<Handouts>}
   */
  async #reserve({ key, wait }, stop) {
    const held = this.#drawer.again(this.#plan.queues)
    if (held) {
      try {
        return await this.#calls.resume(held.id, stop)
      } catch (error) {
        if (!isFinal(error) || error.status === 401) throw error
        this.#drawer.letGo(held)
      }
    }
    return this.#calls.reserve({ key, wait, stop })
  }
}

function unique() {
  return `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`
}
