/**
 * The one writer of records. What it changes here it changes in the drawer and in the other tabs, with the event that
 * goes with it.
 */
import { mark } from './clock.js'
import { KEPT } from './drawer.js'
import { serves } from './plan.js'
import { DONE, HELD, asJson, handedOut, mayGoAlong, newRecord, reasonOf, refusedBy } from './record.js'
import { Records } from './records.js'
import { Reopening } from './reopening.js'

/** @import * as Types from './client.d.ts' */
/** @import { Drawer } from './drawer.js' */
/** @import { IntrayError } from './http.js' */
/** @import { Job } from './job.js' */
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
    this.reopening = new Reopening({ plan, drawer, store: this, change: this.#change.bind(this) })
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
    const news = handedOut(r, handout)
    const elsewhere = isKnown && JSON.stringify(news.draft) !== JSON.stringify(r.draft ?? null)
    this.#change(r, { ...news, behind }, elsewhere ? 'draft' : undefined, { draft: news.draft })
  }

  /**
   * The person has typed. The page has the draft already; the other tabs do not.
   * @param {JobRecord} r
   * @param {any} draft
   */
  type(r, draft) {
    const base = r.other === undefined ? r.base : JSON.stringify(r.other)
    const news = { draft: asJson(draft), base, unsent: JSON.stringify(draft) !== base, other: undefined }
    this.#change(r, news, 'draft', { draft: news.draft }, { here: false })
  }

  /**
   * The service says that it is ours, and for how long; with the draft that it was sent, as JSON.
   * @param {JobRecord} r
   * @param {number} expiresIn
   * @param {string} [sent]
   */
  extended(r, expiresIn, sent) {
    /** @type {Partial<Entry & Shared>} */
    const found = r.doubtful ? { state: 'held', doubtful: false, reason: undefined } : {}
    this.#change(r, { ...found, left: expiresIn }, 'extended', { expiresIn })
    if (!sent) return
    const unsent = sent !== JSON.stringify(r.draft)
    this.#change(r, { base: sent, unsent }, 'saved', { draft: JSON.parse(sent) })
  }

  /**
   * The draft stays. The next next() asks again for a job that only expired, because it may still be free.
   * @param {Entry | JobRecord} r
   * @param {{ reason?: string, jobState?: string | null, certain: boolean }} how
   */
  lose(r, { reason: given, jobState = null, certain }) {
    const reason = reasonOf(given)
    const again = ['expired', 'abandoned'].includes(reason)
    const detail = { reason, jobState, certain, draft: r.draft }
    this.#change(r, { state: 'lost', doubtful: !certain, reason, again }, 'lost', detail)
  }

  /**
   * It is handed in, or given back: into the drawer first, and then to the service.
   * @param {JobRecord} r
   * @param {Types.Action} action
   * @param {object} body
   */
  settle(r, action, body) {
    const goesOn = action === 'abandon' || action === 'hand-over'
    const draft = goesOn && mayGoAlong(r) ? r.draft : undefined
    const ending = asJson({ action, body: { reservation: r.handout.reservation, ...body, draft } })
    this.#change(r, { state: 'ending', doubtful: false, again: false, aside: false, ending })
  }

  /**
   * The service has accepted it, from this tab or from another one, which has then announced it.
   * @param {Entry | JobRecord} r of an earlier page, it is only an entry
   * @param {Types.Ended & { announced: boolean }} how
   */
  ended(r, { announced, ...detail }) {
    const { action, finalIn } = detail
    const { body } = r.ending ?? {}
    const closing = finalIn === null ? undefined : { reservation: body?.reservation, until: Date.now() + finalIn }
    const state = closing ? 'closing' : DONE[action]
    this.#change(r, { state, ending: undefined, closing }, announced ? undefined : 'ended', detail)
    if (closing) return this.reopening.finish(r.id)
    // Keeps the draft of a failed job, which is stored nowhere else.
    const isKept = action !== 'complete' && ((r.unsent && body?.draft === undefined) || r.result !== undefined)
    if (isKept) this.#drawer.letGo({ ...r, reason: DONE[action] })
    else this.#drawer.drop(r.id)
  }

  /**
   * The service, or a proxy before it, has refused for good.
   * @param {Entry | JobRecord} r
   * @param {IntrayError} error
   */
  refused(r, error) {
    const { problem, status } = error
    this.#change(r, refusedBy(r, error, r === this.current), 'refused', { action: r.ending?.action, problem, status })
  }

  /**
   * Others have the job now.
   * @param {string} id
   */
  givenAway(id) {
    const r = this.current?.id === id ? this.current : this.#drawer.get(id)
    if (r) this.#change(r, { aside: false })
  }

  /** The person leaves: no job here is theirs from now on. */
  leave() {
    for (const r of this.records.all) write(r, { ...HELD, state: 'abandoned', again: false, undo: undefined })
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
    if (isNext && event === 'undone') this.reopening.cover(id)
    const r = isNext && news.state === 'held' ? this.#of(handout) : this.records.find(id)
    if (r) {
      const isSame = handout?.reservation === r.handout.reservation
      if (handout && isSame && handout.resumes < r.handout.resumes) return false // older than ours
      this.#learn(r, news, at)
      if (news.undo && this.#drawer.get(id)?.ending) this.#drawer.put(r)
    }
    if (news.closing) this.reopening.finish(id)
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
    else this.reopening.bring(r)
    return r
  }

  /**
   * @param {Entry | JobRecord} r
   * @param {Partial<Entry & Shared>} news
   * @param {EventName} [event]
   * @param {object} [detail]
   * @param {{ here?: boolean }} [how]
   */
  #change(r, news, event, detail, { here = true } = {}) {
    const at = Date.now()
    this.#learn(r, news, at)
    if (KEPT.some((name) => name in news)) this.#drawer.put(r)
    this.#tabs.post({ id: r.id, queue: r.queue, news, event, detail, at })
    if (event && here) this.#emit(r, event, detail)
    this.#changed()
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
