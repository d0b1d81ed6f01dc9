// What a person does with the request in hand: answers it, skips it, hands it over, or takes a break.

import { askToWhom, askWhySkip, handedTo, isAsking, notHanded } from './dialogs.js'
import { $, DOUBLE_CLICK_MS, notice, toast } from './page.js'
import { readQueueForm } from './queues.js'
import { UNDO_WITHIN, handedIn, keepTyped } from './undo.js'
import { DONE_WORDS, LINK_WORDS, LOST_WORDS, SAY } from './words.js'
import { changed, endWith, goOnBreak, inHand, isOnPage, lost, next, redrawBy, say } from './work.js'

let done = 0

/** Whether a click or a key is for what was there before: it counts when it was made, not when it is heard. */
export const isTooEarly = ({ timeStamp }) => timeStamp - (inHand()?.shownAt ?? -Infinity) < DOUBLE_CLICK_MS

/** Such a click does nothing: no button, no choice, no link. */
document.querySelector('[data-for=work]').addEventListener('click', (event) => {
  if (!isTooEarly(event)) return
  event.preventDefault()
  event.stopPropagation()
}, true)

const mayGo = (request) => request?.over === null

/** While it is underway nothing else is done with the request; refused, it is in hand again. */
async function send(request, call, then, refused) {
  request.isUnderway = true
  const typed = () => JSON.stringify(request.answer.value())
  const before = typed()
  say(SAY.sending)
  let ending
  try {
    ending = await call(request.job)
  } catch (error) {
    if (!isOnPage(request)) return
    request.isUnderway = false
    if (typed() !== before) changed()
    say('')
    return refused(error)
  }
  if (isOnPage(request)) then(ending)
}

export async function answerWith(action) {
  const request = inHand()
  if (!request || request.over === 'gone' || !request.answer.actions.includes(action)) return
  const result = request.answer.result(action)
  if (!result) return void say(SAY.formError)
  const { at } = request
  keepTyped(request)
  const how = { exact: result.exact, undo: at.job ? undefined : UNDO_WITHIN }
  await send(request, (job) => job.complete(result.value, how), ({ sent, late, final }) => {
    $('done').textContent = done += 1
    if (at.job) return finishLink(request, sent, LINK_WORDS.thanks)
    const what = `${DONE_WORDS[action]}${sent ? (late ? SAY.lateButInTime : '') : SAY.sentLater}`
    if (final) toast(what)
    else handedIn(what, request.job.id)
    next()
  }, (error) => refusedAnswer(request, error))
}

/** The one request of a link has gone, or goes when the network is back. */
function finishLink(request, sent, words) {
  request.later = sent ? undefined : words
  request.at.finish(sent ? words : LINK_WORDS.later, sent)
}

function refusedAnswer(request, error) {
  if (error.type === '/problems/invalid-result') return correct(request, error.problem.errors)
  if (!error.lost) return say(error.message)
  const isExpired = error.jobState === 'cancelled' && error.reason === 'expired'
  endWith('gone', isExpired ? `${LOST_WORDS.expiredRequest} ${LOST_WORDS.tooLateForExpired}` : LOST_WORDS.tooLate)
}

/** The service found something wrong: it is marked, and then the form is read, which may be another by now. */
async function correct(request, errors) {
  const { at, job, schema } = request
  markWrong(request, errors)
  const form = await at.asPerson((code) => readQueueForm(at.api, job.queue, code)).catch(() => undefined)
  if (inHand() !== request) return
  if (form !== undefined && JSON.stringify(form) !== JSON.stringify(schema)) {
    redrawBy(form)
    // Or over the word of its loss.
    if (request.over === null) notice(SAY.newForm, 'warn')
    markWrong(request, errors)
  }
}

const markWrong = ({ answer }, errors) => answer.refuse(errors) || say(SAY.formError)

/** When its time is over it is asked for once more. */
export function skip() {
  const request = inHand()
  if (request?.over) return void next()
  if (request) askWhySkip((reason) => giveBack(request, { skip: true, reason }, ({ sent }) => {
    if (request.at.job) return finishLink(request, sent, LINK_WORDS.passed)
    toast(SAY.skipped(sent))
    next()
  }))
}

export function takeBreak() {
  const request = inHand()
  if (!mayGo(request)) return
  giveBack(request, { reason: SAY.aBreak }, ({ sent }) => {
    goOnBreak()
    $('why-break').textContent = SAY.wentBack(sent)
  })
}

function giveBack(request, how, then) {
  if (inHand() !== request) return
  return send(request, (job) => job.abandon(how), then, (error) => {
    if (error.lost) lostBy(error)
    else say(error.message)
  })
}

const lostBy = ({ reason, jobState }) => lost({ reason, jobState, certain: true })

export function handOver() {
  const request = inHand()
  if (mayGo(request)) askToWhom((to, how) => inHand() === request && handTo(request, to, how))
}

function handTo(request, to, how) {
  const arrived = ({ sent }) => {
    handedTo(to)
    if (request.at.job) return finishLink(request, sent, LINK_WORDS.passed)
    toast(SAY.getsIt(to, sent))
    next()
  }
  return send(request, (job) => job.handOver(to, how), arrived, (error) => {
    if (error.lost) lostBy(error)
    else notHanded(error, to)
  })
}

/** A key that chooses, from the heading too. */
export function pressed(event) {
  const request = inHand()
  return Boolean(request) && request.over !== 'gone' && !isAsking() && request.answer.press(event)
}
