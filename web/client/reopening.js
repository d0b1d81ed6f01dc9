/**
 * What becomes of records whose completion is taken back, or is final. The job store makes the changes.
 */
import { mark, since } from './clock.js'
import { HELD, ours } from './record.js'

/** @import { Mark } from './clock.js' */
/** @import { Drawer } from './drawer.js' */
/** @import { IntrayError } from './http.js' */
/** @import { JobStore } from './job_store.js' */
/** @import { Entry, EventName, Fields, Handout, JobRecord, Plan, Shared } from './types.js' */

/**
 * What the service says when a completion is taken back.
 * @typedef {{ expires_in_ms: number, resumes: number, duplicate: boolean, draft?: any }} Reopened
 */
/** @typedef {Partial<Entry & Shared>} News */
/** @typedef {(r: Entry | JobRecord, news: News, event?: EventName, detail?: object) => void} Change */

/** So often a job is extended at least whose complete may still arrive, by how long that could be taken back. */
const BRISK = 1 / 3
/** Timers of browsers stop while a machine sleeps. */
const LOOK_AGAIN = 60_000
/** A completion can be taken back for no longer, whatever a clock says that was set meanwhile. */
const LONGEST_UNDO = 60_000

export class Reopening {
  /** @type {JobStore} */ #store
  /** @type {Drawer} */ #drawer
  /** @type {Plan} */ #plan
  /** @type {Change} */ #change
  /** How long completions can be taken back, by a clock that nobody sets: by job. */
  /** @type {Map<string, { until: number, from: Mark, lasts: number }>} */ #windows = new Map()

  /** @param {{ plan: Plan, store: JobStore, drawer: Drawer, change: Change }} parts */
  constructor({ plan, store, drawer, change }) {
    this.#plan = plan
    this.#store = store
    this.#drawer = drawer
    this.#change = change
    for (const { id, closing } of drawer.all()) if (closing) this.finish(id)
  }

  /** The last completion that can be taken back. */
  get last() {
    const entry = this.#drawer.handedIn(this.#plan, (entry) => this.left(entry))
    return entry ? (this.#store.records.find(entry.id) ?? entry) : null
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

  /** The job in hand; or else the one held after it, which is in hand then. */
  next() {
    const r = this.#store.job ? null : this.#store.records.next()
    if (r) {
      this.bring(r)
      this.#change(r, { handout: r.handout, state: 'held', behind: false })
    }
    return this.#store.job
  }

  /**
   * This one is in hand now; the one that was stays held, and comes after it.
   * @param {JobRecord} r
   */
  bring(r) {
    this.#store.note(r, { covered: false })
    const before = this.#store.records.bring(/** @type {Fields} */ (r))
    if (!before) return
    this.#store.note(before, { behind: true })
    this.#drawer.put(before)
  }

  /**
   * A job that was taken back comes in place of the one that the page shows.
   * @param {string} id
   */
  cover(id) {
    const { current } = this.#store
    if (current && current.id !== id) this.#store.note(current, { covered: true })
  }

  /** @param {JobRecord} r */
  #bringBack(r) {
    this.cover(r.id)
    this.bring(r)
  }

  /**
   * It is to be taken back: into the drawer first, where its complete may still lie, and then to the service.
   * @param {Entry | JobRecord} r
   */
  begin(r) {
    const news = takenBack(r)
    if (news.state !== 'held' || !('job' in r)) return this.#change(r, news)
    this.#store.note(r, { brisk: (r.ending?.body.undo_ms ?? LOOK_AGAIN) * BRISK })
    this.#bringBack(r)
    this.#change(r, news, 'undone', { draft: news.draft ?? r.draft })
  }

  /**
   * The service has taken it back: it is in hand again. If an earlier page left it, it has to be taken first (`back`).
   * @param {Entry | JobRecord} r
   * @param {Reopened} answer
   */
  done(r, answer) {
    if (!('job' in r)) return this.#change(r, { ...HELD, unsent: answer.duplicate && r.unsent, undo: undefined })
    const isNews = !ours(r) && !r.ending
    if (isNews) this.#bringBack(r)
    if (!answer.duplicate) this.#store.note(r, { brisk: undefined })
    const news = heldAgain(r, answer)
    if (isNews) this.#change(r, news, 'undone', { draft: news.draft })
    else this.#change(r, news, r.ending ? undefined : 'extended', { expiresIn: news.left })
  }

  /**
   * What an earlier page left is in hand; or will be, when the next wait has asked for it.
   * @param {Entry} entry
   * @param {Handout} [handout]
   */
  back(entry, handout) {
    if (handout) {
      this.cover(entry.id)
      this.#store.take(handout)
    }
    const r = this.#store.records.find(entry.id)
    this.#change(r ?? entry, r ? { handout: r.handout, state: r.state } : {}, 'undone', { draft: (r ?? entry).draft })
  }

  /**
   * It was taken back elsewhere before its complete arrived: the person holds the job. The draft that it has there, if
   * it is another one, comes with the next hand-out.
   * @param {Entry | JobRecord} r
   */
  elsewhere(r) {
    const draft = r.ending?.body.result ?? r.draft
    const news = { ...HELD, draft, unsent: false }
    if (!('job' in r)) return this.#change(r, news, 'undone', { draft })
    this.#bringBack(r)
    this.#store.note(r, { regain: true, due: true })
    this.#change(r, { ...news, handout: r.handout }, 'undone', { draft })
  }

  /**
   * It can no longer be taken back: it is final, or the job is lost. Or something else refused.
   * @param {Entry | JobRecord} r
   * @param {IntrayError} error
   */
  refused(r, { lost, reason, jobState }) {
    this.#change(r, { undo: undefined })
    if (r.closing && lost) this.#final(r)
    else if (r.closing) this.finish(r.id)
    else if (lost && !r.ending) this.#store.lose(r, { reason, jobState, certain: true })
  }

  /**
   * It is final when its time is over, unless it is taken back.
   * @param {string} id
   */
  finish(id) {
    const r = this.#store.records.find(id) ?? this.#drawer.get(id)
    if (!r?.closing) return
    const left = this.left(r)
    if (left > 0) return void setTimeout(() => this.finish(id), Math.min(left + 1, LOOK_AGAIN))
    if (!r.undo) this.#final(r)
  }

  /** @param {Entry | JobRecord} r */
  #final(r) {
    this.#windows.delete(r.id)
    this.#change(r, { state: 'completed', closing: undefined })
    this.#drawer.drop(r.id)
  }
}

/**
 * What becomes of a record that is taken back. One whose complete is unsent is in hand again at once, with what was
 * handed in; one that an earlier page left has no payload, and waits as a closing one does.
 * @param {Entry | JobRecord} r
 * @returns {News}
 */
function takenBack(r) {
  if (r.closing) return { undo: r.closing.reservation }
  const reservation = 'job' in r ? r.handout.reservation : r.ending?.body.reservation
  const result = r.ending?.body.result
  const typed = result === undefined ? {} : { draft: result, unsent: true }
  if (!('job' in r)) return { ...typed, undo: reservation, ending: undefined, state: 'closing' }
  return { ...typed, ...HELD, other: undefined, handout: r.handout, undo: reservation }
}

/**
 * What the service's undo makes of a record. What was typed since goes before what was handed in, and what was handed
 * in since is of the hand-out that the answer names.
 * @param {JobRecord} r
 * @param {Reopened} answer
 * @returns {News}
 */
function heldAgain(r, { expires_in_ms, resumes, draft: theirs = null }) {
  const handout = { ...r.handout, resumes }
  if (r.ending) {
    const { action, body } = r.ending
    return { handout, undo: undefined, ending: { action, body: body.undo_ms ? { ...body, resumes } : body } }
  }
  const base = JSON.stringify(theirs)
  const unsent = r.state !== 'closing' && Boolean(r.unsent) && JSON.stringify(r.draft) !== base
  const drafts = { draft: unsent ? r.draft : theirs, unsent, base, other: undefined }
  return { handout, left: expires_in_ms, ...HELD, ...drafts, undo: undefined }
}
