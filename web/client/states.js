/**
 * The states of a job, and what leads from one to the next. Each function here answers what an event makes of a record:
 * the steps, and nothing else. The job store takes them.
 *
 *   (in line) ── handedOut ──▶ held ─────── handedIn ─────▶ ending ── accepted ──▶ completed, abandoned, failed,
 *                              ▲  │                         ▲    │                 handed-over; or closing
 *            handedOut,        │  │lost                     │    │refused
 *            extended          │  ▼                         │    ▼
 *                              lost ─────── handedIn ───────┘   held; or lost, when it was no longer ours, or when
 *                                                               something between page and service refused
 *
 * What is `closing` is completed when its time is over; taken back (states_of_undo.js) it is held again, as is what was
 * still `ending`. The service must hear of an `undo` before any other call of the job.
 *
 * A record is `lost` for certain when the service says so. Until then it is only `doubtful`: its time is over, and the
 * service could not be asked, so that an extend may still find it to be held. What is lost may be handed in all the
 * same: it counts if no other person has taken the job.
 */
import { isForeign } from './http.js'
import { DONE, HELD, asJson, mayGoAlong, reasonOf } from './record.js'

/** @import * as Types from './client.d.ts' */
/** @import { IntrayError } from './http.js' */
/** @import { Entry, EventName, Handout, JobRecord, Own, Shared } from './types.js' */

/**
 * What an event makes of a record. The fields of this tab change before those that all tabs share.
 * @typedef {object} Step
 * @property {Partial<Entry & Shared>} news what all tabs learn
 * @property {Partial<Own> & { due?: boolean }} [own] what concerns this tab alone
 * @property {boolean} [shown] whether it comes before that in place of the job that the page shows
 * @property {EventName} [event] which the pages hear
 * @property {object} [detail] of the event
 * @property {boolean} [quiet] whether this page knows it already
 * @property {'drop' | 'watch'} [then] its entry goes; or its time to be taken back runs
 * @property {Types.LostReason} [keptAs] its draft stays, as that of a job that is lost
 */

/** @typedef {{ reason?: string, jobState?: string | null, certain: boolean }} Loss */

/**
 * What was typed here and has not arrived goes before what the service has, unless both are new.
 * @param {JobRecord} r
 * @param {Handout} handout
 * @param {{ after: boolean, isKnown: boolean }} how it comes after the job in hand; this page had it before
 * @returns {Step[]}
 */
export function handedOut(r, handout, { after, isKnown }) {
  const { draft: theirs = null, expires_in_ms: lasts } = handout
  const known = JSON.stringify(theirs)
  const unsent = Boolean(r.unsent) && JSON.stringify(r.draft) !== known
  const clash = unsent && r.base !== known
  const draft = unsent ? r.draft : theirs
  const drafts = { draft, unsent, base: clash ? r.base : known, other: clash ? theirs : undefined }
  const warn = Math.max(r.warn ?? 0, lasts - handout.warn_in_ms)
  const news = { handout, left: lasts, warn, due: handout.resumed, ...HELD, ...drafts, behind: after }
  const elsewhere = isKnown && JSON.stringify(draft) !== JSON.stringify(r.draft ?? null)
  return [elsewhere ? { news, event: 'draft', detail: { draft } } : { news }]
}

/**
 * It was held after another one, and comes next.
 * @param {JobRecord} r
 * @returns {Step[]}
 */
export function inHand({ handout }) {
  return [{ news: { handout, state: 'held', behind: false } }]
}

/**
 * The person has typed. The page has the draft already; the other tabs do not.
 * @param {JobRecord} r
 * @param {any} given
 * @returns {Step[]}
 */
export function typed(r, given) {
  const draft = asJson(given)
  const base = r.other === undefined ? r.base : JSON.stringify(r.other)
  const news = { draft, base, unsent: JSON.stringify(given) !== base, other: undefined }
  return [{ news, event: 'draft', detail: { draft }, quiet: true }]
}

/**
 * The service says that it is ours, and for how long; with the draft that it was sent, as JSON.
 * @param {JobRecord} r
 * @param {number} expiresIn
 * @param {string} [sent]
 * @returns {Step[]}
 */
export function extended(r, expiresIn, sent) {
  /** @type {Step['news']} */
  const found = r.doubtful ? { state: 'held', doubtful: false, reason: undefined } : {}
  /** @type {Step} */
  const extended = { news: { ...found, left: expiresIn }, event: 'extended', detail: { expiresIn } }
  if (!sent) return [extended]
  const news = { base: sent, unsent: sent !== JSON.stringify(r.draft) }
  return [extended, { news, event: 'saved', detail: { draft: JSON.parse(sent) } }]
}

/**
 * The draft stays. The next wait asks again for a job that only expired, because it may still be free.
 * @param {Entry | JobRecord} r
 * @param {Loss} how
 * @returns {Step[]}
 */
export function lost(r, { reason: given, jobState = null, certain }) {
  const reason = reasonOf(given)
  const again = ['expired', 'abandoned'].includes(reason)
  const detail = { reason, jobState, certain, draft: r.draft }
  return [{ news: { state: 'lost', doubtful: !certain, reason, again }, event: 'lost', detail }]
}

/**
 * It is handed in, or given back: into the drawer first, and then to the service.
 * @param {JobRecord} r
 * @param {Types.Action} action
 * @param {object} body
 * @returns {Step[]}
 */
export function handedIn(r, action, body) {
  const goesOn = action === 'abandon' || action === 'hand-over'
  const draft = goesOn && mayGoAlong(r) ? r.draft : undefined
  const ending = asJson({ action, body: { reservation: r.handout.reservation, ...body, draft } })
  return [{ news: { state: 'ending', doubtful: false, again: false, aside: false, ending } }]
}

/**
 * The service has accepted it, from this tab or from another one, which has then announced it.
 * @param {Entry | JobRecord} r
 * @param {Types.Ended & { announced: boolean }} how
 * @returns {Step[]}
 */
export function accepted(r, { announced, ...detail }) {
  const { action, finalIn } = detail
  const { body } = r.ending ?? {}
  const closing = finalIn === null ? undefined : { reservation: body?.reservation, until: Date.now() + finalIn }
  const state = closing ? 'closing' : DONE[action]
  // Keeps the draft of a failed job, which is stored nowhere else.
  const isKept = action !== 'complete' && ((r.unsent && body?.draft === undefined) || r.result !== undefined)
  /** @type {Step} */
  const step = { news: { state, ending: undefined, closing }, event: announced ? undefined : 'ended', detail }
  if (closing) return [{ ...step, then: 'watch' }]
  return [isKept ? { ...step, keptAs: DONE[action] } : { ...step, then: 'drop' }]
}

/**
 * The service, or a proxy before it, has refused the ending for good. What a proxy refused would be refused again.
 * @param {Entry | JobRecord} r
 * @param {IntrayError} error
 * @param {boolean} isInHand whether it is the job on the desk
 * @returns {Step[]}
 */
export function refused(r, error, isInHand) {
  const { action, body } = r.ending ?? {}
  const words = body?.error ?? body?.reason ?? body?.note ?? r.words // what a person has written with it
  const over = { ending: undefined, closing: undefined, result: body?.result ?? r.result, words }
  const detail = { action, problem: error.problem, status: error.status }
  /** @param {Step['news']} news @returns {Step[]} */
  const step = (news) => [{ news: { ...over, ...news }, event: 'refused', detail }]
  if (error.lost) return step({ state: 'lost', reason: reasonOf(error.reason) })
  if (isForeign(error)) return step({ state: 'lost', reason: 'refused', aside: true })
  return step({ state: isInHand ? 'held' : 'lost', again: true })
}

/**
 * Others have the job now, with which this person was done.
 * @returns {Step[]}
 */
export function givenAway() {
  return [{ news: { aside: false } }]
}

/** The person leaves: the job is no longer theirs. */
export const LEFT = Object.freeze({ ...HELD, state: /** @type {const} */ ('abandoned'), again: false, undo: undefined })
