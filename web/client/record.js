/**
 * What is known of a job: its record, the same in all tabs of a person. Its states, and what leads to each:
 *
 *   (in line) ──── take ───▶ held ──────── settle ───────▶ ending ──── ended ───▶ completed, abandoned, failed
 *                            ▲  │                          ▲    │
 *              take, extended│  │lose                      │    │refused
 *                            │  ▼                          │    ▼
 *                            lost ──────── settle ─────────┘   held; or lost, when it was not ours any more
 *
 * A record is `lost` for certain when the service says so. Until then it is only `doubtful`: its time is over, and
 * nobody could be asked, so that an extend may still find it to be held. What is lost may be handed in all the same: it
 * counts if nobody else has taken the job.
 *
 * The ledger alone writes one. All else reads it: a `JobRecord` is read-only, which the compiler sees to.
 */
import { since } from './clock.js'

/** @import * as Types from './client.d.ts' */
/** @import { Mark } from './clock.js' */
/** @import { Entry } from './drawer.js' */
/** @import { Job } from './job.js' */

/**
 * What a desk was told, and what holds where it was told nothing.
 * @typedef {object} Plan
 * @property {string} url without a slash at its end
 * @property {string} worker
 * @property {readonly string[]} queues
 * @property {number} [lease]
 * @property {number} wait
 * @property {number} heartbeat
 * @property {number} idleAfter
 * @property {number | null} grace
 */

/**
 * A job as the service hands it out.
 * @typedef {object} Handout
 * @property {string} id
 * @property {string} queue
 * @property {any} payload
 * @property {string} reservation
 * @property {number} attempt
 * @property {number} expires_in_ms
 * @property {number} warn_in_ms
 * @property {number} priority
 * @property {string | null} client
 * @property {readonly string[]} locks
 * @property {string | null} batch
 * @property {string} enqueued_at
 * @property {boolean} resumed whether it was this person's before
 * @property {number} resumes how often: of two hand-outs of a reservation, the one with more is the newer
 * @property {any} [draft]
 * @property {string | null} traceparent
 */

/**
 * What all tabs know, beside what the drawer keeps (`Entry`).
 * @typedef {object} Shared
 * @property {Types.JobState} state
 * @property {any} draft
 * @property {Handout} handout
 * @property {boolean} doubtful whether it only seems lost
 * @property {any} other the draft of another machine, while ours is unsent; undefined: there is none
 * @property {number} left milliseconds that were left of the lease at `from`
 * @property {boolean} due whether it is to be extended now
 */

/**
 * What is this tab's own.
 * @typedef {object} Own
 * @property {Job} job
 * @property {Mark} from
 * @property {number} lease the most that was left of it
 * @property {number} beat how often it is extended
 * @property {number} pause the same, or less after a failure
 * @property {number} failures of extends, in a row
 * @property {Mark} asked when the last extend was made
 * @property {Mark | null} sent when the last extend with a draft was made
 * @property {string} [refused] a draft that the service cannot take, as JSON
 * @property {Mark | null} over since when its time is over
 * @property {boolean} warned whether somebody was warned that it will be
 * @property {boolean} regain whether a farewell of ours may be on its way, which only a resume outruns
 */

/** @typedef {Entry & Shared & Own} Fields */
/** @typedef {Readonly<Fields>} JobRecord */
/** @typedef {keyof Types.JobEvents} EventName */

/**
 * What one tab has learned, for the others.
 * @typedef {object} Message
 * @property {string} id
 * @property {string} queue
 * @property {Partial<Entry & Shared>} news
 * @property {EventName} [event]
 * @property {object} [detail]
 * @property {number} at
 */

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
  return Boolean(r.unsent) && r.other === undefined && r.refused !== JSON.stringify(r.draft)
}

/**
 * Only what is held, or was, can be typed into or handed in.
 * @param {JobRecord} r
 */
export function mustBeOpen({ state }) {
  if (state !== 'held' && state !== 'lost') throw new DOMException(`the job is ${state}`, 'InvalidStateError')
}

/**
 * How a reservation ended, in the service's words.
 * @param {string} [said]
 */
export function reasonOf(said = 'unknown') {
  return /** @type {Types.LostReason} */ (said)
}

/**
 * A copy as it will arrive; throws what could not be sent.
 * @param {any} value
 */
export function asJson(value) {
  return JSON.parse(JSON.stringify(value))
}
