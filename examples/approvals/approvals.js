// A desk for approvals on intray's browser module: an agent asks, a person approves, rejects or corrects the arguments.
// The result is {"approved": true | false, "args": … | null, "reason": "…" | null}, with the arguments as approved.

import { Intray } from '../../client.js'
import { differences, pretty, readArguments, readRequest } from './arguments.js'
import { PASSED, THANKS, linkToken, readLink, whyNot } from './link.js'
import { $, clock, notice, show, toast, view } from './page.js'
import { shown, visible } from './shown.js'
import { EXPIRED, LATE, LOST, SIGN_IN, UNSURE, WAITING } from './words.js'

// This runs only when the module is loaded.
$('unloaded').remove()
$('start').disabled = false

const say = (text) => { $('saved').textContent = text }

const api = new URL(document.querySelector('meta[name=intray-api]').content, document.baseURI)
const QUEUE = 'approvals'
const LEASE_MS = 300_000
/** A lease that is shorter than was asked for ends with the request. An answer may be underway for so long. */
const LEEWAY_MS = 5_000
const endsWithRequest = (expiresIn) => expiresIn < LEASE_MS - LEEWAY_MS
/** A second click on a button is for the request that was there before. */
const DOUBLE_CLICK_MS = 500
const LAST_MINUTE_MS = 60_000

const link = linkToken()
// `over`: null while the request is ours, 'late' when an answer may still count, 'gone' when not.
// `isCapped`: whether the time left ends with the request itself; null if that is not known yet.
let desk, job, over = null, isCapped = null, isIdle = false, shownAt = 0, done = 0
let original // the arguments as they were asked for, as text
let draft = { args: null, reason: '' } // `args` as typed; null while they are unchanged

// -- coming

$('name').value = sessionStorage.getItem('desk name') ?? ''
$('sign').addEventListener('submit', (event) => {
  event.preventDefault()
  const worker = $('name').value.trim()
  if (worker) sit(worker, $('token').value.trim() || undefined)
})
// A page that is loaded again goes on where it was.
if (link) byLink()
else if ($('name').value) sit($('name').value)
else $('name').focus()

function sit(worker, token, only) {
  sessionStorage.setItem(only ? 'desk request' : 'desk name', only ?? worker)
  $('me').textContent = worker
  show('me', true)
  desk?.close()
  desk = new Intray({ url: api, ...(only ? { job: only } : { queues: [QUEUE] }), worker, token, lease: LEASE_MS })
  listen()
  next()
}

/** The request is taken when the person asks for it, not when the page is opened. */
async function byLink() {
  try {
    const { worker, job: only } = await readLink(api, link)
    $('open').addEventListener('click', () => sit(worker, link, only))
    if (sessionStorage.getItem('desk request') === only) return sit(worker, link, only)
    view('link')
  } catch (error) {
    finish(error.message)
  }
}

/** Nothing is left to do on the page of a link. */
function finish(text) {
  desk?.close()
  $('why-done').textContent = text
  view('done')
}

/** What the desk says, of the request in hand or of itself. */
function listen() {
  const on = (type, does) => desk.addEventListener(type, ({ detail }) => {
    if (!detail.id || detail.id === job?.id) does(detail)
  })
  on('retrying', () => show('net', true))
  on('waiting', ({ reason }) => {
    show('net', false)
    $('why-wait').textContent = WAITING[reason]
    line()
    view('wait')
  })
  on('warning', () => { isIdle = true; tick() })
  on('extended', ({ expiresIn }) => {
    show('net', false)
    isCapped = endsWithRequest(expiresIn)
    isIdle = false
    over = null
    settle()
    tick()
  })
  on('saved', () => { show('net', false); say('Draft saved') })
  on('draft', ({ draft: other }) => { if (other) read(other) })
  on('lost', lost)
  on('ended', next) // in another tab
}

function line() {
  show('line', !link && desk.remaining !== null)
  $('left').textContent = desk.remaining
}

// -- one request after the other

async function next() {
  job = null
  show('net', false)
  // Most often there is one at once, and nothing flickers.
  const patience = setTimeout(() => view('wait'), 350)
  try {
    begin(await desk.next())
  } catch (error) {
    if (error.name !== 'AbortError') refused(error)
  } finally {
    clearTimeout(patience)
  }
}

function refused(error) {
  if (link) return finish(whyNot(error))
  const wantsToken = error.status === 401 || error.status === 403
  view('start')
  for (const part of document.querySelectorAll('.for-token')) part.hidden = !wantsToken
  $('refused').textContent = SIGN_IN[error.status] ?? error.message
  show('refused', true)
}

function begin(taken) {
  job = taken
  over = null
  isIdle = false
  isCapped = job.resumed ? null : endsWithRequest(job.expiresIn)
  shownAt = performance.now()
  const { known, rest } = readRequest(job.payload)
  const { tool, agent, why, args } = known
  shown($('agent'), `${agent ?? job.client ?? 'An agent'}${job.attempt > 1 ? ` · attempt ${job.attempt}` : ''}`)
  shown($('title'), tool ?? job.id)
  show('why', why !== undefined)
  shown($('why'), why)
  // What is no call of a tool is shown as the JSON that it is, and has no arguments to change.
  original = pretty(args)
  show('raw', rest !== undefined)
  shown($('raw'), pretty(rest) ?? '')
  show('editor', original !== undefined)
  show('seen', original !== undefined && visible(original) !== original)
  shown($('seen'), original ?? '')
  say(job.draft ? 'You are back where you were.' : '')
  read(job.draft)
  line()
  view('work')
  tick()
  $('title').focus({ preventScroll: true })
}

function lost({ reason, jobState, certain }) {
  const isExpired = reason === 'expired' && jobState === 'cancelled'
  over = !isExpired && ['expired', 'abandoned'].includes(reason) ? 'late' : 'gone'
  const other = over === 'late' ? (certain ? LATE : UNSURE) : LOST[reason]
  end(isExpired ? EXPIRED : other ?? 'Lost: this request is not yours any more.')
}

/** Says why the request is not ours. The focus does not stay on a button that goes. */
function end(text) {
  const hadFocus = $('choices').contains(document.activeElement)
  settle()
  notice(text, 'over')
  tick()
  if (hadFocus && over === 'gone') $('next').focus()
}

// -- the time that is left

function tick() {
  if (!job) return
  const left = job.expiresIn
  $('time').textContent = over ? 'over' : clock(left)
  const until = isCapped === null ? 'left' : isCapped ? 'until it expires' : 'yours while you are here'
  $('until').textContent = over ? '' : until
  const isShort = !over && (isIdle || (isCapped && left < LAST_MINUTE_MS))
  $('clock').className = `clock ${over ? 'over' : isShort ? 'warn' : ''}`
  document.title = `${over ? 'Time is over · ' : isShort ? `${clock(left)} left · ` : ''}Approvals`
  if (over) return
  if (!isShort) notice(null)
  else if (isCapped) notice('Less than a minute left. Without an answer this request expires.', 'warn')
  else notice('Are you still there? Move, or press a key, to keep this request.', 'warn')
}
setInterval(tick, 250)

// -- what is decided

function read(saved) {
  // A draft may come from another page of the queue, in a hand-over.
  const textOf = (value) => (typeof value === 'string' ? value : null)
  draft = { args: textOf(saved?.args), reason: textOf(saved?.reason) ?? '' }
  $('args').value = draft.args ?? original ?? ''
  $('reason').value = draft.reason
  settle()
}

function change(part) {
  draft = { ...draft, ...part }
  settle()
  if (!job) return
  say(over ? 'Kept in this browser' : 'Saving …')
  job.save(draft).catch((error) => say(error.message))
}

/** Shows what may be done now, and what was changed. */
function settle() {
  const isGone = over === 'gone'
  show('choices', !isGone)
  show('next', isGone)
  for (const id of ['args', 'reason']) $(id).readOnly = isGone
  $('skip').firstChild.data = over ? 'Take it again ' : 'Skip '
  const { value, mistake } = edited()
  const isWrong = Boolean(mistake) && !isGone
  $('args').setAttribute('aria-invalid', String(isWrong))
  show('mistake', isWrong)
  $('mistake').textContent = mistake ?? ''
  show('changes', draft.args !== null && !isGone)
  shown($('changed'), mistake ? '' : differences(job?.payload?.args, value).join('\n'))
}

/** The arguments as they would be approved, or what is wrong with them. */
const edited = () => readArguments(job?.payload, draft.args)

async function answer(approved) {
  if (!job || over === 'gone' || performance.now() - shownAt < DOUBLE_CLICK_MS) return
  const { value, mistake } = edited()
  if (approved && mistake) return $(original === undefined ? 'raw' : 'args').focus()
  const mine = job
  job = null
  try {
    const result = { approved, args: approved ? value : null, reason: draft.reason.trim() || null }
    const { sent, late } = await mine.complete(result)
    $('done').textContent = done += 1
    const how = sent ? (late ? ', late but in time' : '') : '; it is sent when the network is back'
    toast(`${approved ? 'Approved' : 'Rejected'}${how}`)
    if (link) finish(THANKS)
    else next()
  } catch (error) {
    job = mine
    if (!error.lost) return say(error.message)
    over = 'gone'
    end(error.jobState === 'cancelled' && error.reason === 'expired'
      ? `${EXPIRED} Your answer came too late; it is kept with the request, and does not count.`
      : 'Lost: your answer came too late. It is kept with the request, and does not count.')
  }
}

/** Gives it to others; or, when its time is over, asks for it once more. */
async function skip() {
  if (!job) return
  const mine = job
  job = null
  try {
    const isHeld = mine.state === 'held'
    if (isHeld) await mine.abandon({ skip: true })
    if (link && isHeld) finish(PASSED)
    else next()
  } catch (error) {
    if (error.lost) return next()
    job = mine
    say(error.message)
  }
}

$('args').addEventListener('input', () => change({ args: $('args').value === original ? null : $('args').value }))
$('reason').addEventListener('input', () => change({ reason: $('reason').value }))
$('restore').addEventListener('click', () => { change({ args: null }); read(draft); $('args').focus() })
$('decision').addEventListener('submit', (event) => event.preventDefault())
$('approve').addEventListener('click', () => answer(true))
$('reject').addEventListener('click', () => answer(false))
$('skip').addEventListener('click', skip)
$('next').addEventListener('click', next)

/** A letter only moves the focus: approving takes a second key, so that no slip of a finger approves anything. */
const PLACES = { a: 'approve', r: 'reject', s: 'skip', e: 'args', n: 'reason' }
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !job) return
  if (event.target.matches('textarea, input')) {
    if (event.key === 'Escape') $('title').focus({ preventScroll: true })
    return
  }
  if (event.key === 'Enter' && over === 'gone' && !event.target.matches('button, a')) return $('next').click()
  if (!Object.hasOwn(PLACES, event.key)) return
  event.preventDefault()
  $(PLACES[event.key]).focus()
})
