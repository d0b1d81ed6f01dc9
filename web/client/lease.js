/**
 * Keeps the lease: it is extended while the person is present, with the draft if there is news, and lost when its
 * time is over. The leading tab does that for all.
 */
import { backoff } from './calls.js'
import { mark, since } from './clock.js'
import { Tries, isFinal, isForeign } from './http.js'
import { left, mayGoAlong, mustBeOpen, ours, rest, sendable } from './record.js'
import { extended, lost, typed } from './states.js'
import { takenBack } from './states_of_undo.js'

/** @import { Calls } from './calls.js' */
/** @import { Endings } from './endings.js' */
/** @import { IntrayError } from './http.js' */
/** @import { Emit, JobStore } from './job_store.js' */
/** @import { JobRecord } from './types.js' */
/** @import { Tabs } from './tabs.js' */

/** How long the service may take to confirm that a lease is over; then we say so ourselves. */
const PATIENCE = 400
/** This long after its end a lease is over by any clock, in ms. */
const CLOCK_MARGIN_MS = 1_000
/** Drafts are sent no faster. */
const DRAFTS_APART = 1_000

export class Lease {
  /** @type {Calls} */ #calls
  /** @type {JobStore} */ #jobStore
  /** @type {Tabs} */ #tabs
  /** @type {() => boolean} */ #isPresent
  /** @type {Emit} */ #emit
  /** @type {Endings} */ #endings
  /** @type {Map<JobRecord, Promise<boolean>>} */ #extending = new Map()

  /**
   * @param {{
   *   calls: Calls, jobStore: JobStore, endings: Endings, tabs: Tabs, isPresent: () => boolean, emit: Emit,
   * }} parts
   */
  constructor({ calls, jobStore, endings, tabs, isPresent, emit }) {
    this.#calls = calls
    this.#jobStore = jobStore
    this.#tabs = tabs
    this.#isPresent = isPresent
    this.#emit = emit
    this.#endings = endings
  }

  /** Checks the clock and does due work: for the job in hand, and for those that are held after it. */
  tick() {
    for (const r of this.#jobStore.records.held) if (ours(r)) this.#look(r)
  }

  /** @param {JobRecord} r */
  #look(r) {
    // An idle desk does not keep the job. It only asks what has become of it, when that can no longer be to keep it.
    const over = left(r) <= -CLOCK_MARGIN_MS
    this.#jobStore.note(r, { due: r.due || (over && !r.over), over: over ? (r.over ?? mark()) : null })
    if (r.state === 'held' && r.over && since(r.over) > PATIENCE) {
      this.#jobStore.apply(r, lost(r, { reason: 'expired', certain: false }))
    }
    const isWanted = this.#isPresent() || sendable(r) || over
    const again = r.vain && !r.vain.owed && sendable(r) && !rest(r)
    if (this.#tabs.leads && isWanted && (r.due || again || since(r.asked) > r.pause)) {
      this.#extend(r).then(() => r.due && !r.undo && this.tick())
      return
    }
    const short = !over && left(r) <= Math.min(r.warn ?? 0, r.lease / 2)
    if (short && !r.warned) this.#emit(r, 'warning', { expiresIn: r.job.expiresIn })
    this.#jobStore.note(r, { warned: short })
  }

  /**
   * The page goes. From the last tab the job goes back after `grace`, if nobody returns; with its draft, unless that is
   * too large for a beacon.
   * @param {number | null} grace
   */
  farewell(grace) {
    const r = this.#jobStore.current
    if (r?.state !== 'held' || !this.#tabs.isLast || grace === null) return
    const { reservation, resumes } = r.handout
    const goodbye = { reservation, grace_ms: grace, resumes }
    const sent = mayGoAlong(r) && this.#calls.beacon('abandon', { ...goodbye, draft: r.draft })
    if (!sent) this.#calls.beacon('abandon', goodbye)
    this.#tabs.post({ farewell: true })
    this.#jobStore.note(r, { left: Math.min(left(r), grace), from: mark() }) // the service will leave us no more
  }

  /**
   * Keeps a draft here, and at the service. True: the service has it. What something else refuses is tried some times.
   * @param {JobRecord} r
   * @param {any} draft
   */
  async save(r, draft = null) {
    mustBeOpen(r)
    this.#jobStore.apply(r, typed(r, draft))
    while (r.state === 'held' && sendable(r)) {
      if (r.vain?.isForeign && rest(r)) await this.#calls.pause(rest(r))
      const before = r.vain
      if (!(await this.#extend(r)) && (r.vain === before || !r.vain?.isForeign)) break
    }
    if (r.unsent && r.refused?.draft === JSON.stringify(r.draft)) throw r.refused.error
    return !r.unsent
  }

  /**
   * Says that we are here, with the draft if there is news. True: the job is ours.
   * @param {JobRecord} r
   */
  #extend(r) {
    const extending = this.#extending.get(r) ?? this.#extendNow(r).finally(() => this.#extending.delete(r))
    this.#extending.set(r, extending)
    return extending
  }

  /** @param {JobRecord} r */
  async #extendNow(r) {
    this.#jobStore.note(r, { due: false, asked: mark() })
    if (r.regain) await this.#regain(r)
    const isNext = () => sendable(r) && !r.vain?.owed && !rest(r)
    if (isNext() && r.sent) await this.#calls.pause(DRAFTS_APART - since(r.sent))
    if (!this.#tabs.isOpen || !ours(r) || r.undo) return false
    const draft = isNext() ? r.draft : undefined
    const sent = JSON.stringify(draft)
    const asked = mark()
    this.#jobStore.note(r, { asked, sent: sent ? asked : r.sent })
    try {
      const { expires_in_ms } = await this.#calls.extend(r.handout.reservation, draft)
      if (!ours(r)) return false
      this.#jobStore.note(r, { vain: r.vain && !sent ? { ...r.vain, owed: false } : null })
      this.#jobStore.apply(r, extended(r, Math.round(expires_in_ms - since(asked)), sent))
      return true
    } catch (error) {
      this.#notExtended(r, error, sent)
      return false
    }
  }

  /**
   * The job is lost; or its draft is refused, for good or for now; or nothing answered. The job must not be lost for a
   * draft, which the drawer has: the next extend goes without it.
   * @param {JobRecord} r
   * @param {unknown} error
   * @param {string} [sent]
   */
  #notExtended(r, error, sent) {
    if (isFinal(error) && error.lost) {
      const { reason, jobState } = error
      if (ours(r)) this.#jobStore.apply(r, lost(r, { reason, jobState, certain: true }))
      return
    }
    if (isFinal(error) && error.type === '/problems/closing') return this.#completed(r)
    const tries = r.vain?.tries ?? new Tries()
    if (sent && tries.isOver(error)) {
      const refused = { draft: sent, error: /** @type {IntrayError} */ (error) }
      this.#jobStore.note(r, { refused, vain: null, due: true })
      return
    }
    const pause = Math.min(r.beat, this.#calls.retry(error, r.failures))
    this.#jobStore.note(r, { pause, failures: r.failures + 1 })
    if (!sent) return
    const { times = 0 } = r.vain ?? {}
    const why = { isForeign: isForeign(error), tries, times: times + 1 }
    this.#jobStore.note(r, { vain: { draft: sent, at: mark(), delay: backoff(times), owed: true, ...why } })
    this.#jobStore.note(r, { due: why.isForeign })
  }

  /**
   * A completion that was taken back has arrived after all; or the person has handed it in on another machine.
   * @param {JobRecord} r
   */
  #completed(r) {
    if (!ours(r)) return
    const how = { reason: 'completed', jobState: 'reserved', certain: true }
    if (!r.brisk) return this.#jobStore.apply(r, lost(r, how))
    this.#jobStore.apply(r, takenBack(r))
    this.#endings.carry()
  }

  /**
   * Resumes what a farewell may have given back. Whatever comes of it, the job is extended, which needs no token.
   * @param {JobRecord} r
   */
  async #regain(r) {
    try {
      if (left(r) > 0) {
        const { jobs } = await this.#calls.resume(r.id)
        this.#jobStore.take(jobs[0], { behind: r !== this.#jobStore.current })
      }
    } catch (error) {
      if (!new Tries().isOver(error) && !isForeign(error)) return
    }
    this.#jobStore.note(r, { regain: false })
  }
}
