// One request after the other. The browser module keeps the request ours while the person is active, keeps the draft,
// and reports changes; this file shows them.

import { Intray } from '../client.js'
import { readNodes } from '../client/json_text.js'
import { ring, showBell } from './bell.js'
import { answerTo, formOf } from './answer.js'
import { askToWhom, askWhySkip, isAsking, notHanded, stopAsking } from './dialogs.js'
import { drawKept, drawRequest, drawTime } from './seen.js'
import { $, notice, reveal, toast, view } from './page.js'
import { readQueueForm } from './queues.js'
import { ACTIONS, DONE_WORDS, LINK_WORDS, LOST_WORDS, SAY, WAITING_WORDS, WORDS_OF_PAGE } from './words.js'
import { UNDO_WITHIN, handedIn, watchUndo } from './undo.js'

const LEASE_MS = 300_000
/** A lease that is shorter than was asked for ends with the request. An answer may be underway for so long. */
const LEEWAY_MS = 5_000
const endsWithRequest = (expiresIn) => expiresIn < LEASE_MS - LEEWAY_MS
/** A second click on a button is for the request that was there before. */
const DOUBLE_CLICK_MS = 500
const FORM_RETRY_MS = 2_000

// `over`: null while the request is ours, 'late' when an answer may still count, 'gone' when not.
// `isCapped`: whether the time left ends with the request itself; null if that is not known yet.
let at, desk, job = null, answer, schema, over = null, isCapped = null, isIdle = false, shownAt = 0, done = 0
const had = new Set() // the ids of the requests that this page has had

const say = (words) => { $('saved').textContent = words }

/** `place`: the service, the person, their queues or the one job of a link, and what is called at the end. */
export function sitDown(place) {
  at = place
  desk?.close()
  const { api, worker, token, queues, job: only } = place
  desk = new Intray({ url: api, ...(only ? { job: only } : { queues }), worker, token, lease: LEASE_MS })
  listenToDesk()
  watchUndo(desk)
  next()
}

export async function signOut() {
  const leaving = desk
  job = null
  desk = undefined
  return leaving ? leaving.leave() : { sent: true, unsent: [] }
}

/** What the desk says, of the request in hand or of itself. */
function listenToDesk() {
  const own = desk
  const on = (type, does) => desk.addEventListener(type, ({ detail }) => {
    if (own === desk && (!detail?.id || detail.id === job?.id)) does(detail)
  })
  on('retrying', () => reveal('net', true))
  on('waiting', ({ reason }) => {
    reveal('net', false)
    $('why-wait').textContent = WAITING_WORDS[reason] ?? ''
    showLine()
    if (job) return
    document.title = WORDS_OF_PAGE.brand
    showBell()
    view('wait')
  })
  on('warning', () => { isIdle = true; tick() })
  on('extended', ({ expiresIn }) => {
    reveal('net', false)
    isCapped = endsWithRequest(expiresIn)
    isIdle = false
    over = null
    settle()
    tick()
  })
  on('saved', () => { reveal('net', false); say(SAY.saved) })
  on('draft', ({ draft }) => { if (draft) drawAnswer(draft) })
  on('lost', lost)
  on('ended', next) // in another tab
  on('change', () => drawKept(desk.kept(), job?.id, (id) => desk.forget(id)))
  desk.addEventListener('undone', () => { if (own === desk) next() })
  own.addEventListener('left', ({ detail }) => { if (!detail.here) at.leftElsewhere() })
}

function showLine() {
  reveal('line', !at.job && desk.remaining !== null)
  $('left').textContent = desk.remaining
}

export async function next() {
  job = null
  stopAsking()
  reveal('net', false)
  const asked = desk
  // Most often there is one at once, and nothing flickers.
  const patience = setTimeout(() => view('wait'), 350)
  try {
    const taken = await asked.next()
    if (asked === desk && taken !== job) await begin(taken)
  } catch (error) {
    if (asked === desk && error.name !== 'AbortError') at.refused(error)
  } finally {
    clearTimeout(patience)
  }
}

async function begin(taken) {
  job = taken
  over = null
  isIdle = false
  isCapped = job.resumed ? null : endsWithRequest(job.expiresIn)
  const form = await formFor(taken)
  if (job !== taken) return
  schema = form
  shownAt = performance.now()
  const isBack = job.resumed || had.has(job.id)
  had.add(job.id)
  const nodes = readNodes(job.exact.payload)
  drawRequest(job, nodes, { ownForm: schema ? undefined : formOf(job.payload, nodes), hasMany: at.queues?.length > 1 })
  drawAnswer(job.draft)
  reveal('other-draft', job.otherDraft !== undefined)
  say(!job.draft ? '' : isBack ? SAY.back : SAY.filled)
  notice(null)
  showLine()
  view('work')
  ring()
  tick()
  $('title').focus({ preventScroll: true })
}

/** The form of the job's queue. Without the network it is asked for again: an answer without it could be refused. */
async function formFor(taken) {
  for (;;) {
    const form = await readQueueForm(at.api, taken.queue, at.token)
    if (form !== undefined || job !== taken) return form
    reveal('net', true)
    await new Promise((wake) => setTimeout(wake, FORM_RETRY_MS))
  }
}

/** Draws what is decided, with what was typed before. */
function drawAnswer(draft) {
  reveal('editor', false)
  answer = answerTo(job, { schema, draft, changed, keys: at.keys })
  $('answer').replaceChildren(answer.element)
  for (const action of ACTIONS) reveal(action, answer.actions.includes(action))
  settle()
}

/** Of two drafts that were typed on two machines, the person keeps one. */
export function keepDraft(isOther) {
  if (!job) return
  if (isOther) drawAnswer(job.otherDraft)
  changed()
}

function changed() {
  settle()
  reveal('other-draft', false)
  if (!job) return
  say(over ? SAY.keptHere : SAY.saving)
  job.save(answer.value()).then((isThere) => isThere && say(SAY.saved), (error) => say(error.message))
}

/** What may be done now. */
function settle() {
  const isGone = over === 'gone'
  reveal('choices', !isGone)
  reveal('next', isGone)
  reveal('hand-over', over === null)
  reveal('break', over === null && !at.job)
  $('skip-word').textContent = over ? SAY.takeAgain : $('skip-word').dataset.usual
  answer?.freeze(isGone)
}

export function tick() {
  if (job) drawTime({ left: job.expiresIn, over, isCapped, isIdle, count: (desk.remaining ?? 0) + 1 })
}
setInterval(tick, 250)

function lost({ reason, jobState, certain }) {
  stopAsking()
  const isExpired = reason === 'expired' && jobState === 'cancelled'
  over = !isExpired && ['expired', 'abandoned'].includes(reason) ? 'late' : 'gone'
  const late = certain ? LOST_WORDS.late : LOST_WORDS.unsure
  endWith(isExpired ? LOST_WORDS.expiredRequest : over === 'late' ? late : LOST_WORDS[reason] ?? LOST_WORDS.other)
}

/** Says why the request is not ours. The focus does not stay on a button that goes. */
function endWith(words) {
  const hadFocus = $('choices').contains(document.activeElement)
  settle()
  notice(words, 'over')
  say(job.draft ? SAY.keptHere : '')
  tick()
  if (hadFocus && over === 'gone') $('next').focus()
}

const isTooEarly = () => performance.now() - shownAt < DOUBLE_CLICK_MS

export async function answerWith(action) {
  if (!job || over === 'gone' || isTooEarly() || !answer.actions.includes(action)) return
  const result = answer.result(action)
  if (!result) return void say(SAY.formError)
  const mine = job
  job = null
  try {
    const how = { exact: result.exact, undo: at.job ? undefined : UNDO_WITHIN }
    const { sent, late, final } = await mine.complete(result.value, how)
    $('done').textContent = done += 1
    const what = `${DONE_WORDS[action]}${sent ? (late ? SAY.lateButInTime : '') : SAY.sentLater}`
    if (at.job) return at.finish(LINK_WORDS.thanks)
    if (final) toast(what)
    else handedIn(what)
    next()
  } catch (error) {
    job = mine
    refusedAnswer(error)
  }
}

async function refusedAnswer(error) {
  if (error.type === '/problems/invalid-result') return correct(error.problem.errors)
  if (!error.lost) return say(error.message)
  over = 'gone'
  const isExpired = error.jobState === 'cancelled' && error.reason === 'expired'
  endWith(isExpired ? `${LOST_WORDS.expiredRequest} ${LOST_WORDS.tooLateForExpired}` : LOST_WORDS.tooLate)
}

/** The service found something wrong: the form may be another by now. */
async function correct(errors) {
  const mine = job
  const form = await readQueueForm(at.api, job.queue, at.token).catch(() => undefined)
  if (job !== mine) return
  if (form !== undefined && JSON.stringify(form) !== JSON.stringify(schema)) {
    schema = form
    drawAnswer(answer.value())
    notice(SAY.newForm, 'warn')
  }
  if (!answer.refuse(errors)) say(SAY.formError)
}

/** When its time is over it is asked for once more. */
export function skip() {
  if (!job || isTooEarly()) return
  if (over) return void next()
  askWhySkip((reason) => giveBack({ skip: true, reason }, () => {
    if (at.job) return at.finish(LINK_WORDS.passed)
    toast(SAY.skipped)
    next()
  }))
}

export function takeBreak() {
  if (job && over === null && !isTooEarly()) giveBack({ reason: 'a break' }, () => { view('break'); $('back').focus() })
}

function giveBack(how, then) {
  const send = (mine) => (mine.state === 'held' ? mine.abandon(how) : {})
  return passOn(send, then, (error) => {
    if (!error.lost) return say(error.message)
    job = null
    then()
  })
}

export function handOver() {
  if (job && over === null && !isTooEarly()) askToWhom(handTo)
}

function handTo(to, how) {
  const arrived = ({ sent }) => {
    stopAsking()
    if (at.job) return at.finish(LINK_WORDS.passed)
    toast(SAY.getsIt(to, sent))
    next()
  }
  return passOn((mine) => mine.handOver(to, how), arrived, (error) => {
    if (error.lost) lost({ reason: error.reason, jobState: error.jobState, certain: true })
    else notHanded(error, to)
  })
}

/** While it is underway nothing else is done with the request; refused, it is in hand again. */
async function passOn(send, then, refused) {
  const mine = job
  if (!mine) return
  job = null
  let ending
  try {
    ending = await send(mine)
  } catch (error) {
    job = mine
    return refused(error)
  }
  then(ending)
}

/** A key that chooses, from the heading too. */
export const pressed = (event) => Boolean(job) && over !== 'gone' && !isAsking() && answer.press(event)
export const isAtWork = () => Boolean(job)
