/**
 * What a page shows of a desk, for frameworks: a view, which is another object whenever something in it is, and the
 * round of taking the next job when one is over. `react.js` draws it.
 */
import { Intray } from './client.js'
import { IntrayError } from './http.js'
import { reasonOf } from './record.js'

/** @import * as Types from './client.d.ts' */
/** @import * as React from './react.d.ts' */

/** @typedef {Pick<React.Desk, 'waiting' | 'warning' | 'retrying' | 'lost' | 'error'>} Signs what events have told */

/** @type {Signs} */
const NONE = { waiting: null, warning: false, retrying: false, lost: null, error: null }

export class Screen {
  /** @type {Intray | null} */ #desk = null
  /** The one on the screen, which its person may have lost. */
  /** @type {Types.Job | null} */ #job = null
  #signs = NONE
  #name = ''
  #round = 0 // of asking for a job: only the last may put one on the screen
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #leaving
  /** @type {Set<() => void>} */ #watchers = new Set()
  /** @type {Pick<React.Desk, 'save' | 'complete' | 'abandon' | 'fail' | 'next' | 'forget' | 'touch'>} */
  #hands = {
    save: async (draft) => (await this.#act(['held', 'lost'], (job) => job.save(draft))) ?? false,
    complete: (result) => this.#act([], (job) => job.complete(result)),
    abandon: (how) => this.#act([], (job) => job.abandon(how)),
    fail: (error) => this.#act([], (job) => job.fail(error)),
    next: () => void this.#next(),
    forget: (id) => this.#desk?.forget(id),
    touch: () => this.#desk?.touch(),
  }
  /** @type {readonly Types.Kept[]} */ #kept = []
  #view = this.#draw()

  /** @param {() => void} watcher */
  watch = (watcher) => {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  view = () => this.#view

  /**
   * Comes to the desk; what it answers leaves it. Whoever leaves and comes back at once, as React's StrictMode does,
   * finds it as it was: it is the same desk, which has given nothing back.
   * @param {React.DeskSettings} settings
   * @param {string} name of what makes it this desk and no other
   */
  open(settings, name) {
    clearTimeout(this.#leaving)
    if (!this.#desk || this.#name !== name) {
      this.#leave()
      this.#begin(settings, name)
    }
    return () => {
      this.#leaving = setTimeout(() => this.#leave())
    }
  }

  /**
   * @param {React.DeskSettings} settings
   * @param {string} name
   */
  #begin(settings, name) {
    const desk = (this.#desk = new Intray(settings))
    this.#name = name
    /** @type {(type: string, does: (detail: any) => void) => void} */
    const on = (type, does) => desk.addEventListener(type, (event) => {
      if (desk === this.#desk) does(/** @type {CustomEvent} */ (event).detail)
    })
    /** @type {(type: string, signs: (detail: any) => Partial<Signs>) => void} */
    const ours = (type, signs) => on(type, (detail) => detail.id === this.#job?.id && this.#show(signs(detail)))
    on('change', () => this.#show())
    on('waiting', ({ reason }) => this.#show({ waiting: reason, retrying: false }))
    on('retrying', () => this.#show({ retrying: true }))
    on('ended', ({ id }) => id === this.#job?.id && this.#next())
    ours('warning', () => ({ warning: true }))
    ours('extended', () => ({ warning: false, retrying: false, lost: null }))
    ours('saved', () => ({ retrying: false }))
    ours('lost', ({ reason, certain }) => ({ warning: false, lost: { reason, certain } }))
    ours('refused', (refusal) => this.#refused(refusal))
    this.#next()
  }

  /**
   * Perhaps long after the call, of which nobody waits for an answer any more.
   * @param {{ status: number, problem: Partial<Types.Problem> }} refusal
   * @returns {Partial<Signs>}
   */
  #refused({ status, problem }) {
    const error = new IntrayError(status, problem)
    const reason = error.lost ? reasonOf(error.reason) : 'refused'
    const lost = this.#job?.state === 'lost' ? { reason, certain: true } : null
    return { error, retrying: false, lost }
  }

  #leave() {
    const desk = this.#desk
    this.#desk = null
    this.#put(null)
    desk?.close()
  }

  /** Takes the next job; what was on the screen is over, or let go. */
  async #next() {
    const desk = this.#desk
    if (!desk) return
    const round = this.#put(null)
    try {
      const job = await desk.next()
      if (round === this.#round) this.#put(job)
    } catch (error) {
      if (round === this.#round) this.#show({ error })
    }
  }

  /** @param {Types.Job | null} job */
  #put(job) {
    this.#job = job
    this.#signs = NONE
    this.#show()
    return ++this.#round
  }

  /**
   * What is refused is shown. A job in another state is not asked.
   * @template T
   * @param {Types.JobState[]} states none: any
   * @param {(job: Types.Job) => Promise<T>} does
   */
  async #act(states, does) {
    const job = this.#job
    if (!job || (states.length && !states.includes(job.state))) return null
    this.#show({ error: null })
    try {
      return await does(job)
    } catch (error) {
      if (job === this.#job) this.#show({ error })
      return null
    }
  }

  /** @param {Partial<Signs>} [signs] */
  #show(signs) {
    this.#signs = { ...this.#signs, ...signs }
    this.#view = this.#draw()
    for (const watcher of this.#watchers) watcher()
  }

  /** @returns {React.Desk} */
  #draw() {
    const [desk, job] = [this.#desk, this.#job]
    const { draft = null, otherDraft, state = null } = job ?? {}
    const kept = desk?.kept() ?? []
    if (JSON.stringify(kept) !== JSON.stringify(this.#kept)) this.#kept = kept
    const remaining = desk?.remaining ?? null
    return Object.freeze({
      ...this.#signs, ...this.#hands, desk, job, state, draft, otherDraft, remaining, kept: this.#kept,
    })
  }
}
