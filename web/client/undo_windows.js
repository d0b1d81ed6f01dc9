/**
 * For how long completions can be taken back, by a clock that is never set.
 */
import { mark, since } from './clock.js'

/** @import { Mark } from './clock.js' */
/** @import { Entry, JobRecord } from './types.js' */

/** Timers of browsers stop while a machine sleeps. */
const LOOK_AGAIN = 60_000
/** A completion can be taken back for no longer, even if a clock was set meanwhile. */
const LONGEST_UNDO = 60_000

export class UndoWindows {
  /** @type {Map<string, { until: number, from: Mark, lasts: number }>} */ #windows = new Map() // by job
  /** @type {(id: string) => Entry | JobRecord | null} */ #find
  /** @type {(r: Entry | JobRecord) => void} */ #close

  /**
   * @param {(id: string) => Entry | JobRecord | null} find what is known of a job
   * @param {(r: Entry | JobRecord) => void} close called when a job can no longer be taken back
   */
  constructor(find, close) {
    this.#find = find
    this.#close = close
  }

  /**
   * For how long it can be taken back. An earlier page, or another tab, has set until when by the person's clock.
   * @param {Entry | JobRecord} r
   */
  left({ id, closing }) {
    const { until = 0 } = closing ?? {}
    const known = this.#windows.get(id)
    const lasts = Math.min(until - Date.now(), LONGEST_UNDO)
    const window = known?.until === until ? known : { until, from: mark(), lasts }
    this.#windows.set(id, window)
    return Math.max(0, window.lasts - since(window.from))
  }

  /**
   * It is final when its time is over, unless it is taken back.
   * @param {string} id
   */
  watch(id) {
    const r = this.#find(id)
    if (!r?.closing) return
    const left = this.left(r)
    if (left > 0) setTimeout(() => this.watch(id), Math.min(left + 1, LOOK_AGAIN))
    else if (!r.undo) this.#close(r)
  }

  /** @param {string} id */
  forget(id) {
    this.#windows.delete(id)
  }
}
