/**
 * The person logs out: what they hold goes back now, what is unsent is sent once more, and nothing of theirs stays in
 * this browser. Each of their tabs leaves with the one that they log out in.
 */
import { isFinal } from './http.js'
import { mayGoAlong, ours } from './record.js'

/** @import * as Types from './client.d.ts' */
/** @import { Calls } from './calls.js' */
/** @import { Drawer } from './drawer.js' */
/** @import { JobStore } from './job_store.js' */
/** @import { Entry, JobRecord } from './types.js' */
/** @import { Tabs } from './tabs.js' */

/** @typedef {Entry & { reservation?: string, unsaved?: any }} Owed what the service is to be told of a job */

export class Leaving {
  /** @type {Calls} */ #calls
  /** @type {Drawer} */ #drawer
  /** @type {JobStore} */ #jobStore
  /** @type {Tabs} */ #tabs

  /** @param {{ calls: Calls, drawer: Drawer, jobStore: JobStore, tabs: Tabs }} parts */
  constructor({ calls, drawer, jobStore, tabs }) {
    this.#calls = calls
    this.#drawer = drawer
    this.#jobStore = jobStore
    this.#tabs = tabs
  }

  /**
   * Empties this browser at once, and then says what the service could not be told.
   * @param {string[] | null} known the jobs of which the tab that the person logged out in tells it; `null`: this is it
   * @returns {Promise<Types.Left>}
   */
  async go(known) {
    const held = this.#jobStore.records.held.filter((r) => ours(r) || r.undo).map(heldOf)
    const ids = held.map(({ id }) => id)
    const unsent = this.#drawer.all().filter(({ id, ending, undo }) => (ending || undo) && !ids.includes(id))
    const owed = known ? held.filter(({ id }) => !known.includes(id)) : [...held, ...unsent]
    if (!known) this.#tabs.post({ left: owed.map(({ id }) => id) })
    this.#jobStore.leave()
    this.#drawer.shut({ all: !known })
    this.#calls.forget()
    const heard = await Promise.all(owed.map((entry) => this.#tell(entry)))
    const left = owed.filter((_, i) => !heard[i])
    return { sent: !left.length, unsent: left.filter(hasWork).map(keptOf) }
  }

  /**
   * What the service has refused for good it has heard.
   * @param {Owed} owed
   */
  async #tell({ undo, ending, reservation = undo, unsaved }) {
    try {
      if (undo) await this.#calls.undo(undo)
      if (ending) await this.#calls.settle(ending.action, ending.body)
      else await this.#calls.settle('abandon', { reservation, draft: unsaved })
      return true
    } catch (error) {
      return isFinal(error)
    }
  }
}

/**
 * @param {JobRecord} r
 * @returns {Owed}
 */
function heldOf(r) {
  const { id, queue, draft, undo, handout, ending, result, words } = r
  const unsaved = mayGoAlong(r) ? draft : undefined
  const { reservation } = handout
  return { id, queue, draft: r.unsent ? draft : undefined, undo, ending, result, words, reservation, unsaved }
}

/** @param {Owed} owed */
function hasWork({ draft, ending, result, words }) {
  return (draft ?? ending ?? result ?? words ?? null) !== null
}

/**
 * @param {Owed} owed
 * @returns {Types.Kept}
 */
function keptOf({ id, queue, draft = null, ending, result, words }) {
  const { body } = ending ?? {}
  const written = words ?? body?.error ?? body?.reason ?? body?.note ?? null
  return { id, queue, draft, result: body?.result ?? result ?? null, words: written, reason: null, at: Date.now() }
}
