/**
 * What outlives the page: drafts, and endings that are still to be sent. An entry per job, in the browser's storage.
 */

/** So long the drawer keeps what nobody has asked for. */
const REMEMBERED = 30 * 24 * 3_600_000

/**
 * @typedef {object} Entry
 * @property {string} id
 * @property {string} queue
 * @property {number} [at] when it was put here
 * @property {Types.JobState} [state]
 * @property {Types.LostReason} [reason] why it was lost
 * @property {any} [draft]
 * @property {boolean} [unsent] whether the service does not have the draft yet
 * @property {string} [base] what the service had when the draft was typed, as JSON
 * @property {boolean} [again] whether this very job is to be asked for again
 * @property {{ action: Types.Action, body: any }} [ending] what is still to be sent
 * @property {any} [result] of a `complete` that was refused
 * @property {number} [warn] so long before the end of a lease the person is warned
 */

/** What the drawer keeps of a record, beside `id` and `queue`. */
export const KEPT = /** @type {const} */ ([
  'state', 'reason', 'draft', 'unsent', 'base', 'again', 'ending', 'result', 'warn',
])

/** Where there is no storage, or no room in it, memory must do. */
export class Drawer {
  /** @type {Storage | null} */ #storage
  /** @type {string} */ #prefix
  /** @type {Map<string, string>} */ #memory = new Map()

  /**
   * @param {Storage | null} storage
   * @param {string} prefix
   */
  constructor(storage, prefix) {
    this.#storage = storage
    this.#prefix = prefix
    for (const { id, at = 0, ending } of this.all()) if (at < Date.now() - REMEMBERED && !ending) this.drop(id)
  }

  /** @param {string} id */
  get(id) {
    return this.#read(this.#prefix + id)
  }

  /** @returns {Entry[]} */
  all() {
    const stored = Array.from({ length: this.#storage?.length ?? 0 }, (_, i) => this.#storage?.key(i))
    const keys = new Set([...stored, ...this.#memory.keys()])
    return [...keys].flatMap((key) => (key?.startsWith(this.#prefix) && this.#read(key)) || [])
  }

  /** @param {Entry} record */
  put(record) {
    const { id, queue } = record
    const kept = Object.fromEntries(KEPT.map((name) => [name, record[name]]))
    const text = JSON.stringify({ ...kept, id, queue, at: Date.now() })
    const key = this.#prefix + id
    if (this.#store(key, text)) this.#memory.delete(key)
    else this.#memory.set(key, text)
  }

  /**
   * @param {string} key
   * @param {string} text
   */
  #store(key, text) {
    try {
      this.#storage?.setItem(key, text)
      return this.#storage !== null
    } catch {
      return false // it is full
    }
  }

  /** @param {string} id */
  drop(id) {
    this.#memory.delete(this.#prefix + id)
    this.#storage?.removeItem(this.#prefix + id)
  }

  /**
   * The job is no longer ours; what was typed is.
   * @param {Entry} entry
   */
  letGo(entry) {
    if (!worked(entry)) return this.drop(entry.id)
    this.put({ ...entry, state: 'lost', reason: entry.reason ?? 'unknown', again: false })
  }

  /**
   * The entry of a job of these queues that is to be asked for again.
   * @param {readonly string[]} queues
   */
  again(queues) {
    return this.all().find((entry) => entry.again && queues.includes(entry.queue))
  }

  /**
   * Work on jobs that are no longer ours: drafts, and results that were refused.
   * @returns {Types.Kept[]}
   */
  kept() {
    const lost = this.all().filter((entry) => entry.state === 'lost' && worked(entry))
    return lost.map(({ id, queue, draft = null, result = null, reason = null, at = 0 }) => (
      { id, queue, draft, result, reason, at }
    ))
  }

  /**
   * Throws away what was kept of a job.
   * @param {string} id
   */
  forget(id) {
    if (this.get(id)?.state === 'lost') this.drop(id)
  }

  /**
   * @param {string} key
   * @returns {Entry | null}
   */
  #read(key) {
    try {
      return JSON.parse(this.#memory.get(key) ?? this.#storage?.getItem(key) ?? 'null')
    } catch {
      return null
    }
  }
}

export function localStorageIfAllowed() {
  try {
    return localStorage
  } catch {
    return null
  }
}

/**
 * Whether somebody has put work into it.
 * @param {Entry} entry
 */
function worked({ draft, result }) {
  return (draft ?? result ?? null) !== null
}

/** @import * as Types from './client.d.ts' */
