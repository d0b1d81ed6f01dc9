/**
 * Taking completions back. One that the service has is asked for until it answers; one that it may not have is in hand
 * at once, and the service is asked all the same, for it may have arrived.
 */
import { reopened, takenBack, undoRefused } from './states_of_undo.js'

/** @import * as Types from './client.d.ts' */
/** @import { Calls } from './calls.js' */
/** @import { IntrayError, Tries } from './http.js' */
/** @import { Job } from './job.js' */
/** @import { JobStore } from './job_store.js' */
/** @import { Entry, JobRecord } from './types.js' */

/** @typedef {(r: Entry | JobRecord) => Promise<unknown>} Send */

export class Undo {
  /** @type {Calls} */ #calls
  /** @type {JobStore} */ #jobStore
  /** @type {AbortSignal} */ #life
  /** @type {Send} */ #send
  /** @type {Map<string, Promise<void>>} */ #asking = new Map() // by job

  /** @param {{ calls: Calls, jobStore: JobStore, life: AbortSignal, send: Send }} parts */
  constructor({ calls, jobStore, life, send }) {
    this.#calls = calls
    this.#jobStore = jobStore
    this.#life = life
    this.#send = send
  }

  /**
   * Whether it asks by itself.
   * @param {string} id
   */
  isAsking(id) {
    return this.#asking.has(id)
  }

  /** @param {Entry | JobRecord} r */
  async begin(r) {
    mustBeUndoable(r)
    if (r.state === 'completed' && 'job' in r) {
      return this.#jobStore.apply(r, reopened(r, await this.#calls.undo(r.handout.reservation)))
    }
    if (!r.undo || r.ending) this.#jobStore.apply(r, takenBack(r))
    // What asks already sends the next completion too, and asks again if that one is taken back meanwhile.
    if (!this.isAsking(r.id)) {
      this.#asking.set(r.id, this.#untilAnswered(r).finally(() => this.#asking.delete(r.id)))
    }
    const answered = this.#asking.get(r.id)
    if (r.state === 'closing') return answered
    answered?.catch(() => {}) // the job is lost then: see the event
  }

  /**
   * Its complete may be on its way: then the first call is that one, for the undo must arrive after it.
   * @param {Entry | JobRecord} r
   */
  async #untilAnswered(r) {
    for (let failures = 0; r.undo; failures++) {
      try {
        await this.#send(r)
      } catch (error) {
        if (!r.undo) throw error
        this.#life.throwIfAborted()
        await this.#calls.pauseAfter(error, failures)
      }
    }
  }

  /**
   * What was handed in since goes after it. Throws where there is no answer, and a refusal that ends all.
   * @param {Entry | JobRecord} r
   * @param {string} reservation
   * @param {Tries} tries
   */
  async ask(r, reservation, tries) {
    try {
      const answer = await this.#calls.undo(reservation)
      this.#jobStore.apply(r, reopened(r, answer))
      if (!('job' in r)) await this.#takeAgain(r)
    } catch (error) {
      if (tries.isOver(error)) this.#jobStore.apply(r, undoRefused(r, /** @type {IntrayError} */ (error)))
      if (r.undo || !r.ending) throw error
    }
  }

  /**
   * An earlier page had it. If it cannot be taken now, the next wait asks for it.
   * @param {Entry} entry
   */
  async #takeAgain(entry) {
    const { jobs } = await this.#calls.resume(entry.id).catch(() => ({ jobs: [] }))
    this.#jobStore.fetched(entry, jobs[0])
  }
}

/**
 * Only a completion can be taken back. One that seems to be final is asked for, so that the service says so.
 * @param {Entry | JobRecord} r
 */
export function mustBeUndoable({ state, ending }) {
  if (state === 'closing' || state === 'completed' || ending?.body.undo_ms) return
  throw new DOMException(`the job is ${state}`, 'InvalidStateError')
}

/**
 * A completion that can be taken back, as a page sees it.
 * @param {Entry | JobRecord} r
 * @param {() => number} left
 * @param {() => Promise<Job | null>} undo
 * @returns {Types.Closing}
 */
export function closingOf({ id, queue, closing }, left, undo) {
  return Object.freeze({
    id, queue, undo,
    get finalIn() {
      return closing ? left() : null
    },
  })
}
