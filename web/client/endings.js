/**
 * Handing in: first into the drawer, then to the service. What cannot be sent now is sent later, by whichever page is
 * open then. None waits for another, and the next job waits only so long.
 */
import { aborted } from './clock.js'
import { Tries, isFinal } from './http.js'
import { mustBeOpen } from './record.js'

/** @import * as Types from './client.d.ts' */
/** @import { Calls } from './calls.js' */
/** @import { Drawer, Entry } from './drawer.js' */
/** @import { IntrayError } from './http.js' */
/** @import { JobStore } from './job_store.js' */
/** @import { Handout, JobRecord } from './record.js' */

/** So long the next job waits for the unsent call. */
const LATE_AFTER = 10_000
/** Said to operators, in the history of the job. */
const ASIDE = 'what was handed in did not get through'

/** @typedef {Extract<Types.Ending, { sent: true }>} Sent */

export class Endings {
  /** @type {Calls} */ #calls
  /** @type {Drawer} */ #drawer
  /** @type {JobStore} */ #jobStore
  /** @type {AbortSignal} */ #life
  /** @type {Map<string, Promise<Sent>>} */ #sending = new Map() // by job
  /** @type {Promise<void> | null} */ #carrying = null
  #failures = 0 // rounds in vain since the last hand-in
  /** @type {Map<string, Tries>} */ #tries = new Map() // by job
  /** @type {Set<string>} */ #late = new Set() // jobs whose ending the next one has waited for

  /** @param {{ calls: Calls, drawer: Drawer, jobStore: JobStore, life: AbortSignal }} parts */
  constructor({ calls, drawer, jobStore, life }) {
    this.#calls = calls
    this.#drawer = drawer
    this.#jobStore = jobStore
    this.#life = life
  }

  /**
   * @param {JobRecord} r
   * @param {Types.Action} action
   * @param {object} body
   * @returns {Promise<Types.Ending>}
   */
  async settle(r, action, body) {
    mustBeOpen(r)
    this.#jobStore.settle(r, action, body)
    this.#over(r.id)
    try {
      return await this.#send(r)
    } catch (error) {
      if (isFinal(error)) throw error
      this.#failures = 0
      if (this.#carrying) this.#calls.nudge()
      this.carry(error)
      return { sent: false, state: 'ending', late: false, duplicate: false }
    }
  }

  /**
   * Sends all endings in the drawer, until the service has accepted or refused each.
   * @param {unknown} [failure] of one that was just sent in vain
   */
  carry(failure) {
    return (this.#carrying ??= this.#carryOn(failure).finally(() => (this.#carrying = null)))
  }

  /**
   * Before the next job: sends the unsent call, but waits for each ending only once, and not for long.
   * @param {AbortSignal} stop
   */
  async settled(stop) {
    const waiting = this.#waiting().map(({ id }) => id)
    if (waiting.every((id) => this.#late.has(id))) return
    await Promise.race([this.carry(), aborted(AbortSignal.any([AbortSignal.timeout(LATE_AFTER), stop]))])
    for (const { id } of this.#waiting()) if (waiting.includes(id)) this.#late.add(id)
  }

  /**
   * The service hands out a job with which this person is done: the ending is sent once more, or else others get it.
   * @param {Handout} handout
   */
  async putAside({ id, reservation }) {
    const entry = this.#drawer.get(id)
    if (entry?.ending && (await this.#send(this.#known(entry)).then(() => true, isFinal))) return
    try {
      await this.#calls.settle('abandon', { reservation, skip: true, reason: ASIDE })
    } catch (error) {
      if (!isFinal(error)) throw error
    }
    this.#jobStore.givenAway(id)
  }

  #waiting() {
    return this.#drawer.all().filter(({ ending }) => ending)
  }

  /** The page goes, and hears no answer: so it stays in the drawer too. */
  beacon() {
    for (const { ending } of this.#waiting()) if (ending) this.#calls.beacon(ending.action, ending.body)
  }

  /** @param {unknown} [failure] */
  async #carryOn(failure) {
    if (failure) await this.#calls.pauseAfter(failure, this.#failures++)
    while (!this.#life.aborted) {
      const errors = (await Promise.all(this.#waiting().map((entry) => this.#try(entry)))).filter(Boolean)
      if (!this.#waiting().length) return
      if (errors.length) await this.#calls.pauseAfter(errors[0], this.#failures++)
    }
  }

  /**
   * Returns the error if the call is to be retried.
   * @param {Entry} entry
   * @returns {Promise<unknown>}
   */
  #try(entry) {
    return this.#send(this.#known(entry)).then(
      () => null,
      (error) => (this.#drawer.get(entry.id)?.ending ? error : null),
    )
  }

  /**
   * The record, if there is one.
   * @param {Entry} entry
   */
  #known(entry) {
    const { current } = this.#jobStore
    return current?.id === entry.id && current.ending ? current : entry
  }

  /** @param {string} id */
  #over(id) {
    this.#tries.delete(id)
    this.#late.delete(id)
  }

  /**
   * A second send of a running call gets the same answer.
   * @param {Entry | JobRecord} r
   */
  #send(r) {
    const sending = this.#sending.get(r.id) ?? this.#sendNow(r).finally(() => this.#sending.delete(r.id))
    this.#sending.set(r.id, sending)
    return sending
  }

  /**
   * @param {Entry | JobRecord} r
   * @returns {Promise<Sent>}
   */
  async #sendNow(r) {
    if (!r.ending) throw new TypeError('there is nothing to be sent')
    const { action, body } = r.ending
    try {
      const { state, late = false, duplicate } = await this.#calls.settle(action, body)
      const announced = !this.#drawer.get(r.id)?.ending // by another tab, which tried as well
      this.#over(r.id)
      this.#jobStore.ended(r, { action, late, duplicate, announced })
      return { sent: true, state, late, duplicate }
    } catch (error) {
      const tries = this.#tries.get(r.id) ?? new Tries()
      this.#tries.set(r.id, tries)
      if (tries.isOver(error)) {
        this.#over(r.id)
        this.#jobStore.refused(r, /** @type {IntrayError} */ (error))
      }
      throw error
    }
  }
}
