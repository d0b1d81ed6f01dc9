/**
 * Handing in: first into the drawer, then to the service. What cannot be sent now is sent later, by whichever page is
 * open then. None waits for another, and the next job waits only so long.
 */
import { aborted } from './clock.js'
import { Tries, isFinal } from './http.js'
import { mustBeOpen } from './record.js'
import { accepted, handedIn, refused } from './states.js'
import { takenBackElsewhere } from './states_of_undo.js'
import { Undo, closingOf } from './undo.js'

/** @import * as Types from './client.d.ts' */
/** @import { Calls } from './calls.js' */
/** @import { Drawer } from './drawer.js' */
/** @import { IntrayError } from './http.js' */
/** @import { JobStore } from './job_store.js' */
/** @import { Entry, Handout, JobRecord } from './types.js' */

/** How long the next job waits for the unsent call. */
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
  /** @type {Undo} */ #undo
  #failures = 0 // rounds in vain since the last hand-in
  /** @type {Map<string, Tries>} */ #tries = new Map() // by job
  /** @type {Set<string>} */ #late = new Set() // jobs whose ending the next one has waited for

  /** @param {{ calls: Calls, drawer: Drawer, jobStore: JobStore, life: AbortSignal }} parts */
  constructor({ calls, drawer, jobStore, life }) {
    this.#calls = calls
    this.#drawer = drawer
    this.#jobStore = jobStore
    this.#life = life
    this.#undo = new Undo({ calls, jobStore, life, send: (r) => this.#send(r) })
  }

  /**
   * @param {JobRecord} r
   * @param {Types.Action} action
   * @param {object} body
   * @returns {Promise<Types.Ending>}
   */
  async settle(r, action, body) {
    mustBeOpen(r)
    this.#jobStore.apply(r, handedIn(r, action, body))
    this.#over(r.id)
    try {
      if (r.undo) await this.#sending.get(r.id)?.catch(() => {}) // an earlier one
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
   * Takes a completion back.
   * @param {Entry | JobRecord} r
   */
  undo(r) {
    this.#over(r.id)
    return this.#undo.begin(r)
  }

  /** The last completion that can be taken back. */
  get closing() {
    const { records, windows, lastHandedIn: r } = this.#jobStore
    const job = () => records.find(r?.id ?? '')?.job ?? null
    return r && closingOf(r, () => windows.left(r), () => this.undo(r).then(job))
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
    return this.#drawer.all().filter(({ id, ending, undo }) => (ending || undo) && !this.#undo.isAsking(id))
  }

  /** The page goes, and hears no answer: so it stays in the drawer too. */
  beacon() {
    for (const { ending, undo } of this.#drawer.all()) {
      if (undo) this.#calls.beacon('undo', { reservation: undo })
      else if (ending) this.#calls.beacon(ending.action, ending.body)
    }
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
      (error) => (this.#isWaiting(entry.id) ? error : null),
    )
  }

  /** @param {string} id */
  #isWaiting(id) {
    const { ending, undo } = this.#drawer.get(id) ?? {}
    return Boolean(ending || undo)
  }

  /**
   * The record, if there is one.
   * @param {Entry} entry
   */
  #known(entry) {
    const r = this.#jobStore.records.find(entry.id)
    return r && (r.ending || r.undo) ? r : entry
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
    if (r.undo) await this.#undo.ask(r, r.undo, this.#triesOf(r.id))
    if (!r.ending) return { sent: true, state: 'reserved', late: false, duplicate: false }
    const { action, body } = r.ending
    try {
      const answer = await this.#calls.settle(action, body)
      const { state, late = false, duplicate } = answer
      const until = { final: answer.final !== false, finalIn: answer.final_in_ms ?? null }
      this.#over(r.id)
      const announced = !this.#drawer.get(r.id)?.ending // by another tab, which tried as well
      const how = { action, late, duplicate, ...until, announced }
      if (!this.#isTakenBack(r, body)) this.#jobStore.apply(r, accepted(r, how))
      return { sent: true, state, late, duplicate, ...(action === 'complete' && until) }
    } catch (error) {
      if (this.#triesOf(r.id).isOver(error)) this.#refused(r, body, /** @type {IntrayError} */ (error))
      throw error
    }
  }

  /**
   * @param {Entry | JobRecord} r
   * @param {any} body
   * @param {IntrayError} error
   */
  #refused(r, body, error) {
    this.#over(r.id)
    if (this.#isTakenBack(r, body)) return
    const isUndone = error.type === '/problems/undone'
    const steps = isUndone ? takenBackElsewhere(r) : refused(r, error, r === this.#jobStore.current)
    this.#jobStore.apply(r, steps)
  }

  /**
   * Whether it was taken back while its complete was on its way, here or in another tab.
   * @param {Entry | JobRecord} r
   * @param {any} body
   */
  #isTakenBack({ id }, body) {
    const entry = body.undo_ms ? this.#drawer.get(id) : null
    return Boolean(entry && (entry.undo || (!entry.ending && entry.state === 'held')))
  }

  /** @param {string} id */
  #triesOf(id) {
    const tries = this.#tries.get(id) ?? new Tries()
    this.#tries.set(id, tries)
    return tries
  }
}
