/**
 * The tabs of a person: a channel for what one of them learns, and a lock that is held by the one that leads, which is
 * the one that was touched last. A tab that gets the lock in line inherits from a closed tab; a tab that takes
 * it hears the farewell of one that goes. Without Web Locks (a page over plain http), or where they throw, every tab
 * leads, and none knows itself to be the last. Without a channel no tab hears of another.
 */
import { aborted } from './clock.js'

/** @import { Message } from './types.js' */

/**
 * A tab goes; or the person has left, with the jobs of which the service is told; or something is known of a job.
 * @typedef {{ farewell: true } | { left: string[] } | Message} News
 */

/**
 * @typedef {object} Ears
 * @property {(news: News) => void} hears
 * @property {() => void} follows the lead was taken from this tab
 * @property {(inherits: boolean) => void} leads
 */

export class Tabs {
  leads = false
  /** @type {string} */ #person
  /** @type {string} */ #name
  /** @type {Ears} */ #on
  /** @type {BroadcastChannel | null} */ #channel = null
  #isOpen = false
  #locks = locksIfAllowed()
  /** @type {{ steal: boolean, end: () => void } | null} */ #claim = null // our place in line

  /**
   * @param {string} person
   * @param {string} work what they are here for: tabs for other work hear only that the person has left
   * @param {Ears} on
   */
  constructor(person, work, on) {
    this.#person = person
    this.#name = person + work
    this.#on = on
  }

  get isOpen() {
    return this.#isOpen
  }

  /** Whether the job goes back when this tab is closed. If there are others, one of them inherits, and keeps it. */
  get isLast() {
    return this.leads && this.#locks !== null
  }

  enter() {
    this.#isOpen = true
    try {
      this.#channel = new BroadcastChannel(this.#person)
      this.#channel.onmessage = ({ data: { of, ...news } }) => (of === this.#name || news.left) && this.#on.hears(news)
    } catch {
      this.#channel = null
    }
    this.#line(shown())
  }

  leave() {
    this.#isOpen = false
    try {
      this.#channel?.close()
    } catch {
      // It says nothing more in any case.
    }
    this.#channel = null
    this.leads = false
    this.#claim?.end()
  }

  /** @param {News} news */
  post(news) {
    try {
      this.#channel?.postMessage({ ...news, of: this.#name })
    } catch {
      // The other tabs learn it from the service.
    }
  }

  /** Takes the lead from the leading tab. */
  lead() {
    if (!this.leads && this.isOpen && !this.#claim?.steal) this.#line(true)
  }

  /**
   * @param {boolean} steal
   * @returns {Promise<void>}
   */
  async #line(steal) {
    this.#claim?.end()
    const place = new AbortController()
    const claim = (this.#claim = { steal, end: () => place.abort() })
    const lead = async () => {
      if (place.signal.aborted) return
      this.leads = true
      this.#on.leads(!steal)
      await aborted(place.signal)
    }
    if (!this.#locks) return lead()
    try {
      await this.#locks.request(this.#name, steal ? { steal } : { signal: place.signal }, lead)
    } catch (error) {
      if (!(error instanceof DOMException && error.name === 'AbortError')) {
        this.#locks = null // they do not work here
        return this.#claim === claim ? lead() : undefined
      }
    }
    if (this.#claim !== claim || place.signal.aborted) return
    this.leads = false // it was taken from us
    this.#on.follows()
    this.#line(false)
  }
}

function locksIfAllowed() {
  try {
    return navigator.locks ?? null
  } catch {
    return null
  }
}

export function shown() {
  return document.visibilityState === 'visible'
}
