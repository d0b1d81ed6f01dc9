// One request after the other. The browser module keeps the request ours while the person is active, keeps the draft,
// and reports changes; this file shows them.

import { Intray } from './client.js'
import { ring, showBell } from './bell.js'
import { stopAsking } from './dialogs.js'
import { draw, drawKept, drawTime } from './seen.js'
import { $, notice, reveal, toast, view } from './page.js'
import { tabMemory } from './person.js'
import { readQueueForm } from './queues.js'
import { LOST_WORDS, SAY, WAITING_WORDS } from './words.js'
import { draftOf, watchUndo } from './undo.js'

const LEASE_MS = 300_000
/** A lease that is shorter than was asked for ends with the request. An answer may be underway for so long. */
const LEEWAY_MS = 20_000
const endsWithRequest = (expiresIn) => expiresIn < LEASE_MS - LEEWAY_MS
const FORM_RETRY_MS = 2_000

/**
 * The request on the page, made when it is drawn:
 * `at`: the place it was taken at; `schema`: the form of its queue; `answer`: what is drawn for it; `shownAt`: when it
 * was painted.
 * `over`: null while it is ours, 'late' when an answer may still count, 'gone' when not.
 * `isCapped`: whether the time left ends with the request itself; null if that is not known yet.
 * `isIdle`: the person may be away. `isUnderway`: what ends it is on its way; `later`: what a link says when that has
 * arrived, while it waits for the network.
 */
let current = null
let at, desk
// Counts the askings for a request: only the last one draws.
let round = 0
// The requests that this page has had: by id, `isCapped` as it was known last.
const had = new Map()
// By id, why what was sent later is refused.
const refusals = new Map()

export const say = (words) => { $('saved').textContent = words }
/** The request that the person can do something with. */
export const inHand = () => (current && !current.isUnderway ? current : null)
export const isOnPage = (request) => current === request

/**
 * `place`: the service, the person with their code, their queues or the one job of a link, and what is called at the
 * end. `asPerson` makes a call with the code of that moment.
 */
export function sitDown(place, { isOnBreak = false } = {}) {
  at = place
  desk?.close()
  const { api, worker, token, queues, job: only } = place
  desk = new Intray({ url: api, ...(only ? { job: only } : { queues }), worker, token, lease: LEASE_MS })
  listenToDesk()
  watchUndo(desk)
  if (isOnBreak) goOnBreak()
  else next()
}

/** None is asked for until the person goes on, also when the page is loaded again. */
export function goOnBreak() {
  current = null
  tabMemory['desk break'] = 'on'
  view('break')
  $('back').focus()
}

/** `person`: where they work, if they have not begun: what they left in this browser goes too. */
export async function signOut(person) {
  const leaving = desk ?? new Intray(person)
  round += 1
  current = null
  desk = undefined
  return leaving.leave()
}

/** Nothing is asked for by this page from now on. */
export function stopWork() {
  round += 1
  current = null
  desk?.close()
  desk = undefined
}

/** What the desk says, of the request in hand or of itself. */
function listenToDesk() {
  const own = desk
  const always = (type, does) => own.addEventListener(type, ({ detail }) => own === desk && does(detail))
  const on = (type, does) => always(type, (detail) => {
    if (!detail?.id || detail.id === inHand()?.job.id) does(detail)
  })
  on('retrying', () => reveal('net', true))
  on('waiting', waits)
  on('warning', () => { current.isIdle = true; tick() })
  on('extended', extended)
  on('saved', () => { reveal('net', false); say(SAY.saved) })
  on('draft', ({ draft }) => { if (draft) redraw(draft) })
  on('lost', lost)
  // In another tab.
  on('ended', () => next())
  on('change', () => drawKept(own.kept(), current?.job.id, (id) => own.forget(id)))
  always('undone', () => next())
  always('ended', ({ id }) => { if (current?.later && current.job.id === id) at.finish(current.later) })
  always('refused', refusedLater)
  own.addEventListener('left', ({ detail }) => { if (!detail.here) at.leftElsewhere() })
}

function waits({ reason }) {
  reveal('net', false)
  $('why-wait').textContent = WAITING_WORDS[reason] ?? ''
  showLine()
  if (inHand()) return
  showBell()
  view('wait')
}

function extended({ expiresIn }) {
  reveal('net', false)
  if (current.over) notice(null)
  const isCapped = endsWithRequest(expiresIn)
  had.set(current.job.id, isCapped)
  Object.assign(current, { over: null, isIdle: false, isCapped })
  settle()
  tick()
}

/** What was kept without a network is refused: it is said, and marked when the request is back. */
function refusedLater({ id, problem }) {
  // The one who sends it says so.
  if (current?.job.id === id && !current.later) return
  const words = SAY.refusedLater(problem?.detail ?? '')
  refusals.set(id, { words, errors: problem?.errors ?? [] })
  if (at.job && !desk.job) at.finish(words)
  else if (current?.later) next()
  else if (inHand()?.over === null) notice(words, 'warn')
  else toast(words)
}

function showLine() {
  reveal('line', !at.job && desk.remaining !== null)
  $('left').textContent = desk.remaining
}

/** The page shows the request before until this one is drawn, and nothing can be done with either. */
export async function next() {
  if (!desk) return
  const own = (round += 1)
  const isStill = () => own === round
  current = null
  delete tabMemory['desk break']
  stopAsking()
  reveal('net', false)
  $('why-wait').textContent = ''
  // Most often there is one at once, and nothing flickers.
  const patience = setTimeout(() => isStill() && view('wait'), 350)
  // How long the lease of a job that is held already could be is not known.
  const isHeld = Boolean(desk.job)
  let job, isCapped, schema
  try {
    job = await desk.next()
    isCapped = had.get(job.id) ?? (isHeld || job.resumed ? null : endsWithRequest(job.expiresIn))
    schema = await formFor(job, isStill)
  } catch (error) {
    if (isStill() && error.name !== 'AbortError') at.refused(error)
    return
  } finally {
    clearTimeout(patience)
  }
  if (!isStill()) return
  if (job.state === 'held') begin({ job, schema, isCapped })
  // Lost before it was seen.
  else next()
}

/** The form of the job's queue. Without the network it is asked for again: an answer without it could be refused. */
async function formFor(job, isStill) {
  $('why-wait').textContent = SAY.formComes
  while (isStill() && job.state === 'held') {
    const form = await at.asPerson((code) => readQueueForm(at.api, job.queue, code))
    if (form !== undefined) return form
    if (isStill()) reveal('net', true)
    await new Promise((wake) => setTimeout(wake, FORM_RETRY_MS))
  }
}

function begin({ job, schema, isCapped }) {
  const isBack = job.resumed || had.has(job.id)
  had.set(job.id, isCapped)
  const request = { job, at, schema, over: null, isIdle: false, isCapped }
  const draft = draftOf(job)
  request.answer = draw(job, howOf(request, draft))
  current = request
  paint(request)
  settle()
  reveal('other-draft', job.otherDraft !== undefined)
  reveal('net', false)
  say(!job.draft ? '' : isBack ? SAY.back : SAY.filled)
  notice(null)
  showLine()
  view('work')
  // A request begins at its heading, wherever the one before was left.
  scrollTo(0, 0)
  $('decision').scrollTop = 0
  ring()
  tick()
  $('title').focus({ preventScroll: true })
  tellRefusal(job.id)
  if (draft !== job.draft) job.save(draft).catch((error) => say(error.message))
}

/** Drawing takes a while: what is clicked meanwhile is meant for what stood there before. */
function paint(request) {
  request.shownAt = Infinity
  requestAnimationFrame(() => setTimeout(() => { request.shownAt = performance.now() }))
}

function tellRefusal(id) {
  const refusal = refusals.get(id)
  if (!refusal) return
  refusals.delete(id)
  notice(refusal.words, 'warn')
  current.answer.refuse(refusal.errors)
}

const howOf = ({ schema }, draft) => ({ schema, draft, changed, keys: at.keys, queues: at.queues })

/** Draws what is decided once more, with what was typed. */
function redraw(draft) {
  current.answer = draw(current.job, howOf(current, draft), current.answer)
  paint(current)
  settle()
}

/** After a refusal the form of the queue may be another one. */
export function redrawBy(schema) {
  current.schema = schema
  redraw(current.answer.value())
}

/** The person keeps one of two drafts that were typed on two machines. */
export function keepDraft(isOther) {
  if (!inHand()) return
  if (isOther) redraw(current.job.otherDraft)
  // What can only be given back has no draft of its own.
  if (current.answer.actions.length) changed()
  else reveal('other-draft', false)
}

export function changed() {
  const request = inHand()
  if (!request) return
  settle()
  reveal('other-draft', false)
  say(request.over ? SAY.keptHere : SAY.saving)
  const isSaved = (isThere) => isThere && isOnPage(request) && say(SAY.saved)
  request.job.save(request.answer.value()).then(isSaved, (error) => say(error.message))
}

/** What may be done now. */
function settle() {
  const { over, answer } = current
  const isGone = over === 'gone'
  reveal('choices', !isGone)
  reveal('next', isGone)
  reveal('hand-over', over === null)
  reveal('break', over === null && !at.job)
  $('skip-word').textContent = over ? SAY.takeAgain : $('skip-word').dataset.usual
  answer.freeze(isGone)
}

export function tick() {
  const request = inHand()
  if (request) drawTime({ ...request, left: request.job.expiresIn, count: (desk.remaining ?? 0) + 1 })
}
setInterval(tick, 250)

export function lost({ reason, jobState, certain }) {
  stopAsking()
  const isExpired = reason === 'expired' && jobState === 'cancelled'
  const over = !isExpired && ['expired', 'abandoned'].includes(reason) ? 'late' : 'gone'
  const late = certain ? LOST_WORDS.late : LOST_WORDS.unsure
  endWith(over, isExpired ? LOST_WORDS.expiredRequest : over === 'late' ? late : LOST_WORDS[reason] ?? LOST_WORDS.other)
}

/** Says why the request is not ours. The focus does not stay on a button that goes. */
export function endWith(over, words) {
  current.over = over
  const focused = document.activeElement
  settle()
  notice(words, 'over')
  say(current.job.draft ? SAY.keptHere : '')
  tick()
  if (over === 'gone' && (focused.disabled || $('choices').contains(focused))) $('next').focus()
}
