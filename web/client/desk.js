/**
 * The desk: what a page sees of a person's work. It knows who is here and which tab does the work, and lets the others
 * react to changes: the person came or left, the machine woke, the network is back.
 */
import { Calls } from './calls.js'
import { ASLEEP, mark, since } from './clock.js'
import { Drawer, localStorageIfAllowed } from './drawer.js'
import { Endings } from './endings.js'
import { Job } from './job.js'
import { Lease } from './lease.js'
import { Leaving } from './leaving.js'
import { JobStore } from './job_store.js'
import { listen } from './page_events.js'
import { planOf } from './plan.js'
import { Acquirer } from './acquire.js'
import { Tabs, shown } from './tabs.js'

/** @import * as Types from './client.d.ts' */
/** @import { Entry, JobRecord, Plan } from './types.js' */
/** @import { News } from './tabs.js' */

/** How often we look at the clock. */
const TICK = 500

/** @implements {Types.Intray} */
export class Intray extends EventTarget {
  /** @type {Plan} */ #plan
  /** @type {Drawer} */ #drawer
  /** @type {Tabs} */ #tabs
  /** @type {Calls} */ #calls
  /** @type {JobStore} */ #jobStore
  /** @type {Endings} */ #endings
  /** @type {Lease} */ #lease
  /** @type {Acquirer} */ #acquirer
  /** @type {Leaving} */ #leaving
  /** @type {ReturnType<typeof setInterval> | undefined} */ #timer
  #seen = mark() // when the person was last active
  #ticked = mark()
  #life = new AbortController()

  /** @param {Types.Settings} settings */
  constructor({ token, storage = localStorageIfAllowed(), signal, ...settings }) {
    super()
    const plan = (this.#plan = planOf(settings))
    const name = `intray ${plan.url} ${encodeURIComponent(plan.worker)} `
    const life = this.#life.signal
    const emit = this.#emit.bind(this)
    const drawer = (this.#drawer = new Drawer(storage, name))
    const tabs = (this.#tabs = new Tabs(name, plan.job ?? [...plan.queues].sort().join(' '), {
      hears: (news) => this.#hear(news),
      follows: () => this.#calls.giveUp(),
      leads: (inherits) => (inherits ? this.#inherit() : this.#revive()),
    }))
    const calls = (this.#calls = new Calls(plan, token, life, (detail) => this.#tell('retrying', detail)))
    const makeJob = (/** @type {JobRecord} */ r) => this.#makeJob(r)
    const changed = () => this.dispatchEvent(new Event('change'))
    const jobStore = (this.#jobStore = new JobStore({ plan, drawer, tabs, makeJob, emit, changed }))
    const endings = (this.#endings = new Endings({ calls, drawer, jobStore, life }))
    this.#lease = new Lease({ calls, jobStore, endings, tabs, emit, isPresent: () => this.#isPresent })
    const mayAsk = () => tabs.leads && (shown() || this.#isPresent)
    const tell = (/** @type {object} */ why) => (this.#tell('waiting', why), changed())
    this.#acquirer = new Acquirer({ plan, calls, drawer, endings, jobStore, mayAsk, tell })
    this.#leaving = new Leaving({ calls, drawer, jobStore, tabs })
    listen(life, {
      present: () => this.touch(),
      online: () => this.#revive({ reconnects: true }),
      goes: () => this.#leave(),
      returns: () => this.#enter(),
      wakes: () => this.#wake(),
      looks: () => (this.#seen = mark()),
      shows: () => this.#revive(),
    })
    this.#enter()
    signal?.addEventListener('abort', () => this.close(), { signal: life })
    if (signal?.aborted) this.close()
  }

  /**
   * The job in hand, or else the next one: waits until there is one.
   * @param {{ signal?: AbortSignal }} [how]
   */
  async next({ signal } = {}) {
    signal?.throwIfAborted()
    this.#life.signal.throwIfAborted()
    return this.job ?? this.#acquirer.next(signal)
  }

  /** The job in hand, if there is one. */
  get job() {
    return this.#jobStore.job
  }

  /** How many jobs were in line when the service was last asked for one. */
  get remaining() {
    return this.#acquirer.remaining
  }

  /** The last completion that can be taken back, also one of an earlier page. */
  get closing() {
    return this.#endings.closing
  }

  /** Work on jobs that are no longer ours: drafts, and results that were refused. */
  kept() {
    return this.#drawer.kept()
  }

  /**
   * Deletes the kept work on a job.
   * @param {string} id
   */
  forget(id) {
    this.#drawer.forget(id)
    this.dispatchEvent(new Event('change'))
  }

  /** The person is present. The desk notices keys and pointers itself, but not a playing film or the use of a frame. */
  touch() {
    const back = !this.#isPresent
    this.#seen = mark()
    if (shown()) this.#tabs.lead()
    if (back) this.#revive()
  }

  /** Leaves the desk, as closing the tab does. */
  close() {
    if (this.#life.signal.aborted) return
    this.#leave()
    this.#end('the desk is closed')
  }

  /** The person logs out, in all tabs of this browser. Nothing of theirs stays here. */
  leave() {
    return this.#go(null)
  }

  /** @param {string[] | null} known */
  #go(known) {
    const answer = this.#leaving.go(known)
    clearInterval(this.#timer)
    this.#tabs.leave()
    this.#end('the person has left')
    this.#tell('left', { here: !known })
    this.dispatchEvent(new Event('change'))
    return answer
  }

  /** @param {string} why */
  #end(why) {
    this.#life.abort(new DOMException(why, 'AbortError'))
    this.#acquirer.end(this.#life.signal.reason)
  }

  get #isPresent() {
    return since(this.#seen) < this.#plan.idleAfter
  }

  // -- coming and going

  /** When the page is made, and when the browser brings it back from its cache. */
  #enter() {
    this.#tabs.enter()
    this.#timer = setInterval(() => this.#tick(), TICK)
    const r = this.#jobStore.current
    if (!r) return
    this.#jobStore.note(r, { regain: true })
    this.#wake()
  }

  /** The page closes, perhaps for good: sends pending calls and a farewell by beacon. */
  #leave() {
    if (!this.#tabs.isOpen) return
    this.#calls.giveUp() // an extend that overtook the farewell would undo it
    this.#endings.beacon()
    this.#lease.farewell(this.#plan.grace)
    clearInterval(this.#timer)
    this.#tabs.leave()
  }

  /** The person has closed a tab and is present. Its farewell may still be in flight: only a resume outruns it. */
  #inherit() {
    this.#seen = mark()
    const r = this.#jobStore.current
    if (r) this.#jobStore.note(r, { regain: true })
    if (this.#tabs.leads) this.#revive()
  }

  /** The machine slept, or the page was frozen, and the person has opened it again. */
  #wake() {
    this.#calls.giveUp()
    if (shown()) this.touch()
    this.#revive()
  }

  /** State may have changed: ends all pauses and does due work now. `reconnects`: connections may be dead. */
  #revive({ reconnects = false } = {}) {
    if (reconnects) this.#calls.giveUp()
    this.#calls.nudge()
    if (!this.#tabs.leads) return
    this.#endings.carry()
    const r = this.#jobStore.current
    if (r) this.#jobStore.note(r, { due: true })
    this.#tick()
  }

  #tick() {
    const slept = shown() && since(this.#ticked) > ASLEEP
    this.#ticked = mark()
    if (slept) this.#wake()
    else this.#lease.tick()
  }

  /** @param {News} news */
  #hear(news) {
    if ('farewell' in news) this.#inherit()
    else if ('left' in news) this.#go(news.left)
    else if (this.#jobStore.hear(news)) this.#calls.nudge()
  }

  /** @param {JobRecord} r */
  #makeJob(r) {
    return new Job(r, {
      save: (draft) => this.#lease.save(r, draft),
      settle: (action, body) => this.#endings.settle(r, action, body),
      undo: () => this.#endings.undo(r).then(() => r.job),
    })
  }

  /**
   * On the job, and then on the desk.
   * @param {Entry | JobRecord} r
   * @param {string} type
   * @param {object} [detail]
   */
  #emit(r, type, detail) {
    const all = { id: r.id, queue: r.queue, ...detail }
    if ('job' in r) r.job.dispatchEvent(new CustomEvent(type, { detail: all }))
    this.#tell(type, all)
    if (type !== 'undone') return
    this.#calls.giveUp() // a wait for the next job: it is this one
    this.#calls.nudge()
  }

  /** @type {(type: string, detail: object) => void} */
  #tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }))
  }
}
