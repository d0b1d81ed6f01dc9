/**
 * What the parts of the module hand to each other. No page loads this: it has no code.
 *
 * Each part has one subject:
 *
 *   desk      the page's interface: presence, the leading tab, change events
 *   page_events  coming and going
 *   job       a job as the page sees it
 *   acquire   reserving the next job
 *   lease     extending the lease, saving drafts
 *   leaving   logging out
 *   endings   complete, abandon, fail and hand-over, sent now or later
 *   undo      taking completions back
 *   job_store the only writer of job records
 *   records   the records of a page
 *   record    a job record
 *   states    what becomes of it, by what happens; states_of_undo: when a completion is taken back
 *   undo_windows for how long one can be
 *   tabs      the tabs of a person: one leads, all share the state
 *   words     errors and reasons, cut to the service's limits
 *   plan      the settings of a desk
 *   drawer    what outlives the page: drafts and unsent endings
 *   calls     the calls to the service, and the delays between retries
 *   http      one request, and the service's refusals
 *   clock     a clock that notices sleep
 *   json_text payloads as they were sent
 */

/** @import * as Types from './client.d.ts' */
/** @import { Mark } from './clock.js' */
/** @import { IntrayError, Tries } from './http.js' */
/** @import { Job } from './job.js' */

/**
 * An entry of the drawer, which outlives the page.
 * @typedef {object} Entry
 * @property {string} id
 * @property {string} queue
 * @property {number} [at] when it was put here
 * @property {number} [aged] when it was first found to be old
 * @property {Types.JobState} [state]
 * @property {Types.LostReason} [reason] why it was lost
 * @property {any} [draft]
 * @property {boolean} [unsent] whether the service does not have the draft yet
 * @property {string} [base] the service's draft when this draft was typed, as JSON
 * @property {boolean} [again] whether this very job is to be asked for again
 * @property {{ action: Types.Action, body: any }} [ending] the unsent call
 * @property {any} [result] of a `complete` that was refused
 * @property {string} [words] of a `fail`, an `abandon` or a `handOver` that was refused
 * @property {{ reservation: string, until: number }} [closing] a completion that can be taken back, and until when by
 *   this person's clock
 * @property {string} [undo] the reservation of a completion that is to be taken back: the call is unsent
 * @property {boolean} [behind] whether it is held, and comes after the job on the desk
 * @property {boolean} [aside] whether the job goes to others when the person continues
 * @property {number} [warn] how long before the end of a lease the person is warned
 */

/**
 * What a desk was told, and what holds where it was told nothing.
 * @typedef {object} Plan
 * @property {string} url without a slash at its end
 * @property {string} worker
 * @property {readonly string[]} queues
 * @property {string} [job] the only one; the queues do not count then
 * @property {readonly string[]} [skills]
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
 * @property {{ readonly payload: string }} exact
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
 * @property {Types.Note | null} [note]
 */

/**
 * The fields that all tabs share, besides the stored ones (`Entry`).
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
 * The fields of this tab only.
 * @typedef {object} Own
 * @property {Job} job
 * @property {Mark} from
 * @property {number} lease the longest time that was left of it
 * @property {number} beat how often it is extended
 * @property {number} pause the same, or less after a failure
 * @property {number} failures of extends, in a row
 * @property {Mark} asked when the last extend was made
 * @property {Mark | null} sent when the last extend with a draft was made
 * @property {Refusal | null} [refused] a draft that was refused for good
 * @property {Vain | null} [vain] the draft that was sent in vain last
 * @property {Mark | null} over since when its time is over
 * @property {boolean} warned whether the person was warned that it will be
 * @property {number} [brisk] it is extended as often as this: a completion that was taken back may still arrive
 * @property {boolean} covered whether a job that was taken back is on the desk in its place
 * @property {boolean} regain whether a farewell of ours may be on its way, which only a resume outruns
 */

/** @typedef {{ draft: string, error: IntrayError }} Refusal the draft as JSON */
/**
 * A draft, as JSON, that did not get through: it rests for `delay`. First an extend without it keeps the job (`owed`).
 * @typedef {{
 *   draft: string, at: Mark, delay: number, owed: boolean, isForeign: boolean, tries: Tries, times: number,
 * }} Vain
 */

/** @typedef {Entry & Shared & Own} Fields */
/** @typedef {Readonly<Fields>} JobRecord */
/** @typedef {keyof Types.JobEvents} EventName */

/**
 * A message from one tab to the others.
 * @typedef {object} Message
 * @property {string} id
 * @property {string} queue
 * @property {Partial<Entry & Shared>} news
 * @property {EventName} [event]
 * @property {object} [detail]
 * @property {number} at
 */

export {}
