/**
 * The view of a desk for frameworks. It is a new object whenever a field changes, and it takes the next job when one
 * has ended. `react.js` renders it.
 */
import { Intray } from './client.js'
import { IntrayError } from './http.js'
import { reasonOf } from './record.js'

/** @import * as Types from './client.d.ts' */
/** @import * as React from './react.d.ts' */

/**
 * State from events.
 * @typedef {Pick<React.Desk, 'left' | 'waiting' | 'warning' | 'retrying' | 'lost' | 'error'>} Signs
 */

/** @type {Signs} */
const NONE = { left: false, waiting: null, warning: false, retrying: false, lost: null, error: null }

export class DeskView {
  /** @type {Intray | null} */ #desk = null
  /** The job on the screen; it may be lost. */
  /** @type {Types.Job | null} */ #job = null
  #signs = NONE
  #name = ''
  #round = 0 // number of the current request: only the last may show its job
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #leaving
  /** @type {Set<() => void>} */ #watchers = new Set()
  #hands = this.#handsFor(null)
  /** @type {readonly Types.Kept[]} */ #kept = []
  #view = this.#draw()

  /**
   * The actions of a view are those of the job that it shows: one that is no longer rendered does nothing to another.
   * @param {Types.Job | null} shown
   * @returns {Pick<React.Desk, keyof React.Hands>}
   */
  #handsFor(shown) {
    /** @type {<T>(does: (job: Types.Job) => Promise<T>, states?: Types.JobState[]) => Promise<T | null>} */
    const act = async (does, states) => (shown && shown === this.#job ? this.#act(shown, does, states) : null)
    return {
      save: async (draft) => (await act((job) => job.save(draft), ['held', 'lost'])) ?? false,
      complete: (result, how) => act((job) => job.complete(result, how)),
      abandon: (how) => act((job) => job.abandon(how)),
      fail: (error) => act((job) => job.fail(error)),
      handOver: (to, how) => act((job) => job.handOver(to, how)),
      undo: () => this.#undo(),
      next: () => void this.#next(),
      forget: (id) => this.#desk?.forget(id),
      touch: () => this.#desk?.touch(),
      leave: async () => (await this.#desk?.leave()) ?? { sent: true, unsent: [] },
    }
  }

  /** @param {() => void} watcher */
  watch = (watcher) => {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  view = () => this.#view

  /**
   * Opens the desk and returns the function that leaves it. A component that leaves and opens again at once, as
   * React's StrictMode does, gets the same desk, with its job.
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
    on('left', () => this.#left())
    on('undone', () => desk.job && this.#put(desk.job))
    ours('warning', () => ({ warning: true }))
    ours('extended', () => ({ warning: false, retrying: false, lost: null }))
    ours('saved', () => ({ retrying: false }))
    ours('lost', ({ reason, jobState, certain }) => ({ warning: false, lost: { reason, jobState, certain } }))
    ours('refused', (refusal) => this.#refused(refusal))
    this.#next()
  }

  /**
   * Reports a refusal that may arrive long after its call has returned.
   * @param {{ status: number, problem: Partial<Types.Problem> }} refusal
   * @returns {Partial<Signs>}
   */
  #refused({ status, problem }) {
    const error = new IntrayError(status, problem)
    const reason = error.lost ? reasonOf(error.reason) : 'refused'
    const jobState = /** @type {Types.ServiceState | undefined} */ (error.jobState) ?? null
    const lost = this.#job?.state === 'lost' ? { reason, jobState, certain: true } : null
    return { error, retrying: false, lost }
  }

  /** Other settings, or the same ones again, begin another desk. */
  #left() {
    this.#desk = null
    this.#name = ''
    this.#put(null)
    this.#show({ left: true })
  }

  #leave() {
    const desk = this.#desk
    this.#desk = null
    this.#put(null)
    desk?.close()
  }

  /** Takes the next job; the previous one has ended or was dropped. */
  async #next() {
    const desk = this.#desk
    if (!desk) return
    const round = this.#put(null)
    try {
      const job = await desk.next()
      if (round === this.#round) this.#put(job)
    } catch (error) {
      if (round === this.#round) this.#show({ error, retrying: false })
    }
  }

  /** @param {Types.Job | null} job */
  #put(job) {
    this.#job = job
    this.#hands = this.#handsFor(job)
    this.#signs = NONE
    this.#show()
    return ++this.#round
  }

  /**
   * Shows refusals. Ignores the call if the job is in another state.
   * @template T
   * @param {Types.Job} job
   * @param {(job: Types.Job) => Promise<T>} does
   * @param {Types.JobState[]} [states] without them: any
   */
  async #act(job, does, states) {
    if (states && !states.includes(job.state)) return null
    this.#show({ error: null })
    try {
      return await does(job)
    } catch (error) {
      if (job === this.#job) this.#show({ error })
      return null
    }
  }

  /** The event `undone` shows the job. */
  async #undo() {
    this.#show({ error: null })
    try {
      return Boolean(await this.#desk?.closing?.undo())
    } catch (error) {
      this.#show({ error })
      return false
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
    const closing = desk?.closing ?? null
    return Object.freeze({
      ...this.#signs, ...this.#hands, desk, job, state, draft, otherDraft, remaining, closing,
      kept: this.#kept,
    })
  }
}
