/**
 * The one writer of records: it takes the steps that states.js answers. What it changes here it changes in the drawer
 * and in the other tabs, with the event that goes with it.
 */
import { mark } from './clock.js'
import { KEPT } from './drawer.js'
import { serves } from './plan.js'
import { newRecord } from './record.js'
import { Records } from './records.js'
import { LEFT, givenAway, handedOut, inHand } from './states.js'
import { fetched, final } from './states_of_undo.js'
import { UndoWindows } from './undo_windows.js'

/** @import { Drawer } from './drawer.js' */
/** @import { Job } from './job.js' */
/** @import { Step } from './states.js' */
/** @import { Entry, EventName, Fields, Handout, JobRecord, Message, Own, Plan, Shared } from './types.js' */
/** @import { Tabs } from './tabs.js' */

/** @typedef {(r: Entry | JobRecord, event: EventName, detail?: object) => void} Emit */

export class JobStore {
  records = new Records()
  /** @type {Plan} */ #plan
  /** @type {Drawer} */ #drawer
  /** @type {Tabs} */ #tabs
  /** @type {(r: JobRecord) => Job} */ #makeJob
  /** @type {Emit} */ #emit
  /** @type {() => void} */ #changed

  /**
   * @param {{ plan: Plan, drawer: Drawer, tabs: Tabs, makeJob(r: JobRecord): Job, emit: Emit, changed(): void }} parts
   */
  constructor({ plan, drawer, tabs, makeJob, emit, changed }) {
    this.#plan = plan
    this.#drawer = drawer
    this.#tabs = tabs
    this.#makeJob = makeJob
    this.#emit = emit
    this.#changed = changed
    this.windows = new UndoWindows((id) => this.#known(id), (r) => this.apply(r, final()))
    for (const { id, closing } of drawer.all()) if (closing) this.windows.watch(id)
  }

  /** @returns {JobRecord | null} of the job in hand, or of the last one */
  get current() {
    return this.records.current
  }

  get job() {
    return this.records.current?.state === 'held' ? this.records.current.job : null
  }

  /**
   * A job was handed to us, to be in hand or, with `behind`, held after that one. A job that we are done with is not
   * taken: its ending must get there first; unless it cannot (`anyway`).
   * @param {Handout} handout
   */
  take(handout, { anyway = false, behind = false } = {}) {
    const { id } = handout
    const entry = this.#drawer.get(id)
    if (entry?.ending && !anyway) return
    for (const other of this.#drawer.all()) {
      const isStale = other.again && !other.behind && !other.undo && other.id !== id && other.id !== this.job?.id
      if (isStale && serves(this.#plan, other)) this.#drawer.letGo(other)
    }
    const isKnown = this.records.find(id) !== null
    const r = this.#of(handout, entry, behind)
    this.apply(r, handedOut(r, handout, { after: behind, isKnown }))
  }

  /** The job in hand; or else the one held after it, which is in hand then. */
  next() {
    const r = this.job ? null : this.records.next()
    if (r) {
      this.#bring(r)
      this.apply(r, inHand(r))
    }
    return this.job
  }

  /** @param {string} id */
  givenAway(id) {
    const r = this.current?.id === id ? this.current : this.#drawer.get(id)
    if (r) this.apply(r, givenAway())
  }

  /** The last completion that can be taken back. */
  get lastHandedIn() {
    const entry = this.#drawer.handedIn(this.#plan, (entry) => this.windows.left(entry))
    return entry ? (this.records.find(entry.id) ?? entry) : null
  }

  /** @param {Entry} entry which was reopened @param {Handout} [handout] of the wait for it, if that has answered */
  fetched(entry, handout) {
    if (handout) {
      this.#cover(entry.id)
      this.take(handout)
    }
    const r = this.records.find(entry.id) ?? entry
    this.apply(r, fetched(r))
  }

  /** The person leaves: no job here is theirs from now on. */
  leave() {
    for (const r of this.records.all) write(r, LEFT)
    this.records = new Records()
  }

  /**
   * Changes that concern only this tab.
   * @param {JobRecord} r
   * @param {Partial<Own> & { due?: boolean, behind?: boolean, left?: number }} news
   */
  note(r, news) {
    write(r, news)
  }

  /**
   * Another tab has learned something. Answers whether it was news.
   * @param {Message} message
   */
  hear({ id, queue, news, event, detail, at }) {
    const { handout } = news
    const isNext = handout && (!this.job || event === 'undone') && serves(this.#plan, { id, queue })
    if (isNext && event === 'undone') this.#cover(id)
    const r = isNext && news.state === 'held' ? this.#of(handout) : this.records.find(id)
    if (r) {
      const isSame = handout?.reservation === r.handout.reservation
      if (handout && isSame && handout.resumes < r.handout.resumes) return false // older than ours
      this.#learn(r, news, at)
      if (news.undo && this.#drawer.get(id)?.ending) this.#drawer.put(r)
    }
    if (news.closing) this.windows.watch(id)
    if (event) this.#emit(r ?? { id, queue }, event, detail)
    if (r) this.#changed()
    return true
  }

  /**
   * The record of this job: the one we have, or a new one. It is in hand then, unless it is to be held after that one.
   * @param {Handout} handout
   * @param {Entry | null} [entry] its entry in the drawer
   */
  #of(handout, entry, behind = false) {
    const r = this.records.find(handout.id) ?? newRecord(handout, entry, this.#makeJob)
    if (behind) this.records.putBehind(r)
    else this.#bring(r)
    return r
  }

  /** @param {string} id */
  #known(id) {
    return this.records.find(id) ?? this.#drawer.get(id)
  }

  /**
   * This one is in hand now; the one that was stays held, and comes after it.
   * @param {JobRecord} r
   */
  #bring(r) {
    write(r, { covered: false })
    const before = this.records.bring(/** @type {Fields} */ (r))
    if (!before) return
    write(before, { behind: true })
    this.#drawer.put(before)
  }

  /**
   * A job that was taken back comes in place of the one that the page shows.
   * @param {string} id
   */
  #cover(id) {
    if (this.current && this.current.id !== id) write(this.current, { covered: true })
  }

  /**
   * @param {Entry | JobRecord} r of an earlier page, it is only an entry
   * @param {Step[]} steps
   */
  apply(r, steps) {
    for (const { own, shown, news, event, detail, quiet, then, keptAs } of steps) {
      if (own) write(r, own)
      if (shown) this.#cover(r.id)
      if (shown && 'job' in r) this.#bring(r)
      const at = Date.now()
      this.#learn(r, news, at)
      if (KEPT.some((name) => name in news)) this.#drawer.put(r)
      this.#tabs.post({ id: r.id, queue: r.queue, news, event, detail, at })
      if (event && !quiet) this.#emit(r, event, detail)
      this.#changed()
      if (then === 'watch') this.windows.watch(r.id)
      if (keptAs) this.#drawer.letGo({ ...r, reason: keptAs })
      if (then === 'drop') {
        this.windows.forget(r.id)
        this.#drawer.drop(r.id)
      }
    }
  }

  /**
   * @param {Entry | JobRecord} r
   * @param {Partial<Entry & Shared>} news
   * @param {number} at when it was true
   */
  #learn(r, news, at) {
    write(r, news)
    if (!('job' in r)) return
    this.records.learn(r, news)
    if (news.left === undefined) return
    const lease = Math.max(r.lease, r.left)
    const beat = Math.min(this.#plan.heartbeat, lease / 3, r.brisk ?? Infinity) * (0.85 + 0.15 * Math.random())
    write(r, { from: mark(Date.now() - at), lease, beat, pause: beat, failures: 0 })
  }
}

/**
 * The one place where a record changes.
 * @param {Entry | JobRecord} r
 * @param {Partial<Fields>} news
 */
function write(r, news) {
  Object.assign(r, news)
}
