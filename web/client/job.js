import { left } from './record.js'
import { ERROR_BYTES, NOTE_BYTES, REASON_BYTES, cut } from './words.js'

/** @import * as Types from './client.d.ts' */
/** @import { JobRecord } from './types.js' */

/**
 * The actions of a job, performed by the desk.
 * @typedef {object} Hands
 * @property {(draft: any) => Promise<boolean>} save
 * @property {(action: Types.Action, body: object) => Promise<Types.Ending>} settle
 * @property {() => Promise<Types.Job>} undo
 */

/**
 * A reserved job, as a page sees it.
 * @implements {Types.Job}
 */
export class Job extends EventTarget {
  /** @type {JobRecord} */ #r
  /** @type {Hands} */ #hands

  /**
   * @param {JobRecord} r
   * @param {Hands} hands
   */
  constructor(r, hands) {
    super()
    this.#r = r
    this.#hands = hands
  }

  get id() { return this.#r.id }
  get queue() { return this.#r.queue }
  get payload() { return this.#r.handout.payload }
  get exact() { return this.#r.handout.exact }
  get attempt() { return this.#r.handout.attempt }
  get priority() { return this.#r.handout.priority }
  get client() { return this.#r.handout.client }
  get locks() { return this.#r.handout.locks }
  get batch() { return this.#r.handout.batch }
  get enqueuedAt() { return this.#r.handout.enqueued_at }
  get traceparent() { return this.#r.handout.traceparent }
  get note() { return this.#r.handout.note ?? null }
  get reservation() { return this.#r.handout.reservation }
  get resumed() { return this.#r.handout.resumed }
  get state() { return this.#r.state }
  get draft() { return this.#r.draft }
  get otherDraft() { return this.#r.other }
  get expiresIn() { return Math.max(0, Math.round(left(this.#r))) }

  /** @param {any} draft */
  save(draft) {
    return this.#hands.save(draft)
  }

  /**
   * @param {any} [result]
   * @param {{ undo?: number, exact?: string } | null} [how]
   * @returns {Promise<Types.Completion>}
   */
  async complete(result, how) {
    const exact = how?.exact
    if (exact !== undefined) JSON.parse(exact) // or it would be refused, perhaps long after
    const undo_ms = how?.undo || undefined
    const resumes = undo_ms && this.#r.handout.resumes
    const ending = await this.#hands.settle('complete', { result, exact, undo_ms, resumes })
    return { final: !undo_ms, finalIn: null, ...ending, undo: () => this.#hands.undo() }
  }

  /** @param {{ skip?: boolean, reason?: unknown, delay?: number } | null} [how] */
  abandon(how) {
    const { skip, reason, delay } = how ?? {}
    return this.#hands.settle('abandon', { skip, reason: cut(reason, REASON_BYTES), delay_ms: delay })
  }

  /** @param {unknown} [error] */
  fail(error) {
    return this.#hands.settle('fail', { error: cut(error, ERROR_BYTES) })
  }

  /**
   * @param {string | null} to
   * @param {{ note?: unknown, skill?: string, fallback?: number } | null} [how]
   */
  handOver(to, how) {
    const { note, skill, fallback } = how ?? {}
    const body = { to: to ?? undefined, skill, note: cut(note, NOTE_BYTES), fallback_ms: fallback }
    return this.#hands.settle('hand-over', body)
  }
}
