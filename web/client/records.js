/**
 * The records of this page: the job in hand, those that are held after it, and those that can be taken back.
 */

/** @import { Entry, Fields, JobRecord, Shared } from './types.js' */

export class Records {
  /** The record of the job in hand, or of the last one. */
  /** @type {Fields | null} */ current = null
  /** Held too: a completion was taken back while there was a next job. */
  /** @type {Fields[]} */ #behind = []
  /** @type {Map<string, Fields>} */ #handedIn = new Map()

  /** All that are held, or may be: the one in hand first. */
  get held() {
    return [this.current, ...this.#behind].filter((r) => r !== null)
  }

  get all() {
    return [...this.held, ...this.#handedIn.values()]
  }

  /** @param {string} id */
  find(id) {
    return this.all.find((r) => r.id === id) ?? null
  }

  /** The one that comes next. */
  next() {
    this.#behind = this.#behind.filter(({ state }) => state === 'held')
    return this.#behind[0] ?? null
  }

  /**
   * This one is in hand now. Answers the one that was, which stays held and comes after it.
   * @param {Fields} r
   */
  bring(r) {
    const before = this.current
    this.#behind = this.#behind.filter((other) => other !== r)
    this.current = r
    if (before === null || before === r || before.state !== 'held') return null
    this.#behind.unshift(before)
    return before
  }

  /** @param {Fields} r */
  putBehind(r) {
    if (this.find(r.id) === null) this.#behind.push(r)
  }

  /**
   * Keeps what can be taken back.
   * @param {JobRecord} r
   * @param {Partial<Entry & Shared>} news
   */
  learn(r, news) {
    if (news.closing || news.ending?.body.undo_ms) this.#handedIn.set(r.id, r)
    else if ('closing' in news) this.#handedIn.delete(r.id)
  }
}
