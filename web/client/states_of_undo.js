/**
 * The states of a job whose completion is taken back, or is final: as in states.js, what an event makes of a record.
 */
import { HELD, ours } from './record.js'
import { lost } from './states.js'

/** @import { IntrayError } from './http.js' */
/** @import { Step } from './states.js' */
/** @import { Entry, JobRecord } from './types.js' */

/**
 * What the service says when a completion is taken back.
 * @typedef {{ expires_in_ms: number, resumes: number, duplicate: boolean, draft?: any }} Reopened
 */

/** How often a job is extended whose complete may still arrive: a share of the time in which it could be taken back. */
const BRISK = 1 / 3
const UNKNOWN = 60_000

/**
 * It is to be taken back: into the drawer first, where its complete may still lie, and then to the service. One whose
 * complete is unsent is in hand again at once, with what was handed in; one that an earlier page left has no payload,
 * and waits as a closing one does.
 * @param {Entry | JobRecord} r
 * @returns {Step[]}
 */
export function takenBack(r) {
  if (r.closing) return [{ news: { undo: r.closing.reservation } }]
  const { reservation, result, undo_ms = UNKNOWN } = r.ending?.body ?? {}
  const answer = result === undefined ? {} : { draft: result, unsent: true }
  if (!('job' in r)) return [{ news: { ...answer, undo: reservation, ending: undefined, state: 'closing' } }]
  const { handout } = r
  const news = { ...answer, ...HELD, other: undefined, handout, undo: handout.reservation }
  const detail = { draft: news.draft ?? r.draft }
  return [{ own: { brisk: undo_ms * BRISK }, shown: true, news, event: 'undone', detail }]
}

/**
 * The service has taken it back: it is in hand again. What was typed since goes before what was handed in, and what was
 * handed in since is of the hand-out that the answer names. If an earlier page left it, it has to be taken first.
 * @param {Entry | JobRecord} r
 * @param {Reopened} answer
 * @returns {Step[]}
 */
export function reopened(r, { expires_in_ms: left, resumes, duplicate, draft: theirs = null }) {
  if (!('job' in r)) return [{ news: { ...HELD, unsent: duplicate && r.unsent, undo: undefined } }]
  const own = duplicate ? {} : { brisk: undefined }
  const handout = { ...r.handout, resumes }
  if (r.ending) {
    const { action, body } = r.ending
    const ending = { action, body: body.undo_ms ? { ...body, resumes } : body }
    return [{ own, news: { handout, undo: undefined, ending } }]
  }
  const base = JSON.stringify(theirs)
  const unsent = r.state !== 'closing' && Boolean(r.unsent) && JSON.stringify(r.draft) !== base
  const draft = unsent ? r.draft : theirs
  const news = { handout, left, ...HELD, draft, unsent, base, other: undefined, undo: undefined }
  if (ours(r)) return [{ own, news, event: 'extended', detail: { expiresIn: left } }]
  return [{ own, shown: true, news, event: 'undone', detail: { draft } }]
}

/**
 * What an earlier page left and was taken back is in hand; or will be, when the next wait has asked for it.
 * @param {Entry | JobRecord} r
 * @returns {Step[]}
 */
export function fetched(r) {
  const news = 'job' in r ? { handout: r.handout, state: r.state } : {}
  return [{ news, event: 'undone', detail: { draft: r.draft } }]
}

/**
 * It was taken back elsewhere before its complete arrived: the person holds the job. The draft that it has there, if
 * it is another one, comes with the next hand-out.
 * @param {Entry | JobRecord} r
 * @returns {Step[]}
 */
export function takenBackElsewhere(r) {
  const draft = r.ending?.body.result ?? r.draft
  /** @type {Step} */
  const step = { news: { ...HELD, draft, unsent: false }, event: 'undone', detail: { draft } }
  if (!('job' in r)) return [step]
  return [{ ...step, own: { regain: true, due: true }, shown: true, news: { ...step.news, handout: r.handout } }]
}

/**
 * It can no longer be taken back: it is final, or the job is lost. Or something else refused.
 * @param {Entry | JobRecord} r
 * @param {IntrayError} error
 * @returns {Step[]}
 */
export function undoRefused(r, { lost: isLost, reason, jobState }) {
  const news = { undo: undefined }
  if (r.closing) return isLost ? [{ news }, ...final()] : [{ news, then: 'watch' }]
  return isLost && !r.ending ? [{ news }, ...lost(r, { reason, jobState, certain: true })] : [{ news }]
}

/**
 * Its time to be taken back is over.
 * @returns {Step[]}
 */
export function final() {
  return [{ news: { state: 'completed', closing: undefined }, then: 'drop' }]
}
