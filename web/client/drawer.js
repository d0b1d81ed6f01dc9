/**
 * State that outlives the page: drafts and unsent endings, one entry per job, in the browser's storage.
 */
import { serves } from './plan.js'

/** How long the drawer keeps unclaimed entries. */
const DAY = 24 * 3_600_000
const REMEMBERED = 30 * DAY

/** The stored fields of a record, besides `id` and `queue`. */
export const KEPT = /** @type {const} */ ([
  'state', 'reason', 'draft', 'unsent', 'base', 'again', 'ending', 'result', 'words', 'aside', 'warn', 'closing',
  'undo', 'behind',
])

/** Where there is no storage, or none that works, memory must do. */
export class Drawer {
  /** @type {Storage | null} */ #storage
  /** @type {string} */ #prefix
  /** Entries that this page has put or (`null`) dropped, and whether the storage succeeded. */
  /** @type {Map<string, { text: string | null, isStored: boolean }>} */ #memory = new Map()

  #isShut = false

  /**
   * @param {Storage | null} storage
   * @param {string} prefix
   */
  constructor(storage, prefix) {
    this.#storage = storage
    this.#prefix = prefix
    for (const entry of this.all()) this.#age(entry)
  }

  /**
   * An entry goes when it is found to be old twice, a day apart: a clock may be wrong once.
   * @param {Entry} entry
   */
  #age({ aged, ...entry }) {
    const now = Date.now()
    const isOld = (entry.at ?? 0) < now - REMEMBERED && !entry.ending
    if (isOld && aged !== undefined && now - aged >= DAY) return this.drop(entry.id)
    if (isOld === (aged !== undefined && aged <= now)) return
    this.#store(this.#prefix + entry.id, JSON.stringify(isOld ? { ...entry, aged: now } : entry))
  }

  /**
   * The person leaves: nothing stays here, and nothing comes. Without `all` another page has emptied it, so that only
   * what this one has put here goes: what came since may be of the next time that the person works here.
   * @param {{ all: boolean }} how
   */
  shut({ all }) {
    for (const key of all ? this.#keys() : this.#memory.keys()) {
      if (all || this.#text(key) === this.#memory.get(key)?.text) this.#store(key, null)
    }
    this.#memory.clear()
    this.#isShut = true
  }

  /** @param {string} id */
  get(id) {
    return this.#read(this.#prefix + id)
  }

  /** @returns {Entry[]} */
  all() {
    return this.#keys().flatMap((key) => this.#read(key) ?? [])
  }

  #keys() {
    return [...new Set([...this.#stored(), ...this.#memory.keys()])]
  }

  /** @returns {string[]} */
  #stored() {
    try {
      const keys = Array.from({ length: this.#storage?.length ?? 0 }, (_, i) => this.#storage?.key(i) ?? '')
      return keys.filter((key) => key.startsWith(this.#prefix))
    } catch {
      return []
    }
  }

  /** @param {Entry} record */
  put(record) {
    const { id, queue } = record
    const kept = Object.fromEntries(KEPT.map((name) => [name, record[name]]))
    const text = JSON.stringify({ ...kept, id, queue, at: Date.now() })
    this.#store(this.#prefix + id, text)
  }

  /** @param {string} id */
  drop(id) {
    this.#store(this.#prefix + id, null)
  }

  /**
   * In memory too: a storage may be full, or broken in any of its calls, now or later.
   * @param {string} key
   * @param {string | null} text
   */
  #store(key, text) {
    if (this.#isShut) return
    let isStored = !this.#storage && text === null
    try {
      if (text === null) this.#storage?.removeItem(key)
      else this.#storage?.setItem(key, text)
      isStored ||= this.#storage?.getItem(key) === text
    } catch {
      // Then memory has it.
    }
    if (isStored && text === null) this.#memory.delete(key)
    else this.#memory.set(key, { text, isStored })
  }

  /**
   * Keeps the draft of a job that is no longer ours.
   * @param {Entry} entry
   */
  letGo(entry) {
    if (!worked(entry)) return this.drop(entry.id)
    this.put({ ...entry, state: 'lost', reason: entry.reason ?? 'unknown', again: false })
  }

  /**
   * The entry of a job of the desk that is to be asked for again; the one that was in hand before those held after it.
   * @param {Plan} plan
   */
  again(plan) {
    const all = this.all().filter((entry) => entry.again && !entry.undo && serves(plan, entry))
    return all.find(({ behind }) => !behind) ?? all[0]
  }

  /**
   * The entry of the last completion that can be taken back, sent or not.
   * @param {Plan} plan
   * @param {(entry: Entry) => number} left how long a sent one can be
   */
  handedIn(plan, left) {
    const all = this.all().filter((entry) => !entry.undo && serves(plan, entry) && (
      entry.closing ? left(entry) > 0 : entry.ending?.body.undo_ms
    ))
    return all.sort((a, b) => (b.at ?? 0) - (a.at ?? 0))[0]
  }

  /**
   * Work on jobs that are no longer ours: drafts, and results that were refused.
   * @returns {Types.Kept[]}
   */
  kept() {
    const lost = this.all().filter((entry) => entry.state === 'lost' && worked(entry))
    return lost.map(({ id, queue, draft = null, result = null, words = null, reason = null, at = 0 }) => (
      { id, queue, draft, result, words, reason, at }
    ))
  }

  /**
   * Deletes the kept work on a job.
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
      const entry = JSON.parse(this.#text(key) ?? 'null')
      return entry?.id && key === this.#prefix + entry.id ? entry : null
    } catch {
      return null // not ours
    }
  }

  /** @param {string} key */
  #text(key) {
    const own = this.#memory.get(key)
    if (own && !own.isStored) return own.text
    try {
      return this.#storage?.getItem(key)
    } catch {
      return own?.text
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
 * Whether it holds work of the person.
 * @param {Entry} entry
 */
function worked({ draft, result, words }) {
  return (draft ?? result ?? words ?? null) !== null
}

/** @import * as Types from './client.d.ts' */
/** @import { Entry, Plan } from './types.js' */
