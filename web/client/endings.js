/**
 * Handing in: first into the drawer, then to the service. What cannot be sent now is sent later, by whichever page is
 * open then.
 */
import { isFinal } from './http.js'
import { mustBeOpen } from './record.js'

/** @import * as Types from './client.d.ts' */
/** @import { Calls } from './calls.js' */
/** @import { Drawer, Entry } from './drawer.js' */
/** @import { Ledger } from './ledger.js' */
/** @import { JobRecord } from './record.js' */

/** @typedef {Extract<Types.Ending, { sent: true }>} Sent */

export class Endings {
  /** @type {Calls} */ #calls
  /** @type {Drawer} */ #drawer
  /** @type {Ledger} */ #ledger
  /** @type {AbortSignal} */ #life
  /** @type {Map<string, Promise<Sent>>} */ #sending = new Map() // by job
  /** @type {Promise<void> | null} */ #carrying = null

  /** @param {{ calls: Calls, drawer: Drawer, ledger: Ledger, life: AbortSignal }} parts */
  constructor({ calls, drawer, ledger, life }) {
    this.#calls = calls
    this.#drawer = drawer
    this.#ledger = ledger
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
    this.#ledger.settle(r, action, body)
    try {
      return await this.#send(r)
    } catch (error) {
      if (isFinal(error)) throw error
      this.carry()
      return { sent: false, state: 'ending', late: false, duplicate: false }
    }
  }

  /** Sends all endings in the drawer, until the service has said yes or no to each. */
  carry() {
    return (this.#carrying ??= this.#carryOn().finally(() => (this.#carrying = null)))
  }

  /** The page goes: nobody will be here to hear an answer, so it stays in the drawer too. */
  beacon() {
    for (const { ending } of this.#drawer.all()) if (ending) this.#calls.beacon(ending.action, ending.body)
  }

  async #carryOn() {
    for (let failures = 0; !this.#life.aborted; ) {
      const entry = this.#drawer.all().find(({ ending }) => ending)
      if (!entry) return
      const { current } = this.#ledger
      try {
        await this.#send(current?.id === entry.id && current.ending ? current : entry)
        failures = 0
      } catch (error) {
        if (!isFinal(error)) await this.#calls.pause(this.#calls.retry(error, failures++))
      }
    }
  }

  /**
   * Who sends what is under way gets the same answer.
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
      const told = !this.#drawer.get(r.id)?.ending // by another tab, which tried as well
      this.#ledger.ended(r, { action, late, duplicate, told })
      return { sent: true, state, late, duplicate }
    } catch (error) {
      if (isFinal(error)) this.#ledger.refused(r, error)
      throw error
    }
  }
}
