/**
 * What is known of a job: its record, the same in all tabs of a person. How it changes is in states.js.
 *
 * The job store alone writes one. All else reads it: a `JobRecord` is read-only, which the compiler sees to.
 */
import { mark, since } from './clock.js'

/** @import * as Types from './client.d.ts' */
/** @import { Job } from './job.js' */
/** @import { Entry, Fields, Handout, JobRecord, Shared } from './types.js' */

/** The state of a job that was just handed out. */
/** @type {Partial<Entry & Shared>} */
export const HELD = {
  state: 'held', doubtful: false, reason: undefined, again: true, aside: false, ending: undefined, closing: undefined,
}
/** @type {Record<Types.Action, 'completed' | 'abandoned' | 'failed' | 'handed-over'>} */
export const DONE = { complete: 'completed', abandon: 'abandoned', fail: 'failed', 'hand-over': 'handed-over' }

/**
 * Milliseconds left of the lease.
 * @param {JobRecord} r
 */
export function left(r) {
  return r.left - since(r.from)
}

/**
 * Whether the job is in our hands, or may be.
 * @param {JobRecord} r
 */
export function ours(r) {
  return r.state === 'held' || r.doubtful
}

/**
 * Whether there is a draft that the service should have and can take.
 * @param {JobRecord} r
 */
export function sendable(r) {
  return Boolean(r.unsent) && r.other === undefined && r.refused?.draft !== JSON.stringify(r.draft)
}

/**
 * How long the draft is not tried again.
 * @param {JobRecord} r
 */
export function rest({ vain, draft }) {
  return vain?.draft === JSON.stringify(draft) ? Math.max(0, vain.delay - since(vain.at)) : 0
}

/**
 * Whether a draft may go with a call that must get through.
 * @param {JobRecord} r
 */
export function mayGoAlong(r) {
  return sendable(r) && !r.vain?.isForeign
}

const COVERED = 'the job comes after one that was taken back: show desk.job, and act on that one'
/**
 * Only held and lost jobs take drafts and completions, and none that are held after one that was taken back.
 * @param {JobRecord} r
 */
export function mustBeOpen({ state, covered }) {
  const isOpen = state === 'held' || state === 'lost'
  if (!isOpen || covered) throw new DOMException(isOpen ? COVERED : `the job is ${state}`, 'InvalidStateError')
}

/**
 * @param {Handout} handout
 * @param {Entry | null | undefined} entry its entry in the drawer
 * @param {(r: JobRecord) => Job} makeJob
 */
export function newRecord(handout, entry, makeJob) {
  const { id, queue } = handout
  const times = { left: 0, from: mark(), lease: 0, beat: 0, pause: 0, asked: mark(), sent: null, over: null }
  const signs = { due: false, doubtful: false, warned: false, covered: false, regain: false, failures: 0 }
  /** @type {Omit<Fields, 'job'> & { job?: Job }} */
  const made = { draft: null, other: undefined, ...entry, ...times, ...signs, id, queue, handout, state: 'held' }
  made.job = makeJob(/** @type {Fields} */ (made))
  return /** @type {Fields} */ (made)
}

/**
 * How a reservation ended, in the service's words.
 * @param {string} [given]
 */
export function reasonOf(given = 'unknown') {
  return /** @type {Types.LostReason} */ (given)
}

/**
 * A copy as JSON will carry it; throws if it cannot be sent.
 * @param {any} value
 */
export function asJson(value) {
  return JSON.parse(JSON.stringify(value))
}
