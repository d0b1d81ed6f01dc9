// A small moderation desk on intray's browser module: take a post, decide, hand it in. The module keeps the post ours
// while the person is active, keeps the draft, and reports changes; this file shows them.

import { Intray } from '../client.js'
import {
  EXCUSES, LOST, RULES, VERDICTS, WAITING, choice, element as $, excuse, notice, refused, say, show, showPost, showTime,
  toast, view,
} from './draw.js'
import { listenToKeys } from './keys.js'
import { count, uncount } from './pace.js'
import { askToWhom, notHanded, stopAsking } from './to_whom.js'
import { UNDO_WITHIN, handedIn, handingIn, watchUndo } from './undo.js'

const api = new URL(document.querySelector('meta[name=intray-api]').content, document.baseURI)
const QUEUE = 'moderation'
const IDLE = 45_000 // after which nobody is here; short, so that one can see what happens then

// `over`: null while the post is ours, 'late' when it may still be handed in, 'gone' when not.
let desk, job, started, over = null
let draft = { verdict: null, rule: null, note: '' }
const had = new Set() // the ids of the posts that this page has had

// -- coming

$('name').value = sessionStorage.getItem('desk name') ?? ''
$('sign').addEventListener('submit', (event) => {
  event.preventDefault()
  const worker = $('name').value.trim()
  if (worker) sit(worker, $('token').value.trim() || undefined)
})
// A page that is loaded again continues where it was.
if ($('name').value) sit($('name').value)
else $('name').focus()

function sit(worker, token) {
  sessionStorage.setItem('desk name', worker)
  $('me').textContent = worker
  show('me', true)
  desk?.close()
  desk = new Intray({ url: api, queues: [QUEUE], worker, token, idleAfter: IDLE })
  listen()
  watchUndo(desk)
  next()
}

/** What the desk says, of the post in hand or of itself. */
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
  on('warning', () => notice('Are you still there? Move, or press a key, to keep this post.', 'warn'))
  on('extended', () => { show('net', false); over = null; notice(null); settle() })
  on('saved', () => { show('net', false); say('Draft saved') })
  on('draft', ({ draft: other }) => { if (other) read(other) })
  on('lost', ({ reason }) => lost(reason))
  on('ended', () => { show('net', false); next() }) // in another tab
  desk.addEventListener('undone', undone)
}

// -- one post after the other

async function next() {
  job = null
  // Most often there is one at once, and nothing flickers.
  const patience = setTimeout(() => view('wait'), 350)
  try {
    const taken = await desk.next()
    if (taken !== job) begin(taken)
  } catch (error) {
    if (error.name === 'AbortError') return
    refused(error)
  } finally {
    clearTimeout(patience)
  }
}

function begin(taken) {
  job = taken
  over = null
  started = performance.now()
  show('net', false)
  showPost(job)
  read(job.draft)
  notice(null)
  // The next key is a decision again, not a letter of the last note.
  if (document.activeElement?.closest('#decision')) document.activeElement.blur()
  const isBack = job.resumed || had.has(job.id)
  had.add(job.id)
  say(!job.draft ? '' : isBack ? 'You are back where you were.' : 'What was typed before is filled in.')
  line()
  view('work')
  tick()
}

function line() {
  show('line', desk.remaining !== null)
  $('left').textContent = desk.remaining
}

function lost(reason) {
  stopAsking()
  over = ['expired', 'abandoned'].includes(reason) ? 'late' : 'gone'
  const what = LOST[reason] ?? 'This post is no longer yours.'
  notice(`${what} ${over === 'late'
    ? 'What you typed is kept. Hand it in, or take the post again, if no one else has.'
    : 'What you typed is kept below.'}`, 'over')
  settle()
}

function tick() {
  if (job) showTime(job.expiresIn, over !== null)
}
setInterval(tick, 250)

// -- what is decided

function read(saved) {
  // A draft may come from another page of the queue, in a hand-over.
  const note = typeof saved?.note === 'string' ? saved.note : ''
  draft = { verdict: saved?.verdict ?? null, rule: saved?.rule ?? null, note }
  for (const group of ['verdict', 'rule']) {
    for (const input of document.querySelectorAll(`input[name=${group}]`)) input.checked = input.value === draft[group]
  }
  $('note').value = draft.note
  settle()
}

function change(part) {
  draft = { ...draft, ...part }
  settle()
  if (!job) return
  say(over ? 'Kept in this browser' : 'Saving …')
  job.save(draft).catch((error) => say(error.message))
}

/** What is still to be said before this can be handed in. */
function settle() {
  const needs = VERDICTS.find(({ value }) => value === draft.verdict)?.needs
  show('rules', needs === 'rule')
  $('why').textContent = needs === 'note' ? 'for who decides' : ''
  $('skip').firstChild.data = over === 'late' ? 'Take it again ' : 'Skip '
  show('skip', over !== 'gone')
  show('hand-to', over === null)
  $('hand').firstChild.data = { late: 'Hand in late ', gone: 'Next post ' }[over] ?? 'Hand in '
  const has = { rule: draft.rule, note: draft.note.trim() }
  $('hand').disabled = over !== 'gone' && (!draft.verdict || (needs && !has[needs]))
}

async function handIn() {
  if (!job) return
  if (over === 'gone') return next()
  if ($('hand').disabled) return
  const mine = job
  const { verdict, rule, note } = draft
  const result = { verdict, rule: verdict === 'remove' ? rule : null, note: note.trim() || null }
  job = null
  const { done } = VERDICTS.find(({ value }) => value === verdict)
  handingIn(done)
  try {
    const { sent, late, final } = await mine.complete(result, { undo: UNDO_WITHIN })
    count(performance.now() - started)
    const what = `${done}${late ? ', late but in time' : ''}${sent ? '' : '; it is sent when the network is back'}`
    if (final) toast(what)
    else handedIn(what)
    next()
  } catch (error) {
    job = mine
    over = 'gone'
    notice(error.lost
      ? 'Another moderator has this post by now. What you decided is kept with it, for the operators.'
      : error.message, 'over')
    settle()
  }
}

/** It is in hand again, and the post that came meanwhile waits after it. */
function undone() {
  uncount()
  stopAsking()
  $('why-skip').close()
  if (desk.job) begin(desk.job)
}

async function giveBack(how, then) {
  const mine = job
  if (!mine) return
  job = null
  try {
    if (mine.state === 'held') await mine.abandon(how)
    then()
  } catch (error) {
    if (error.lost) return then()
    job = mine
    notice(error.message, 'over')
  }
}

function skip(reason) {
  $('why-skip').close()
  giveBack({ skip: true, reason }, () => { toast('Skipped: another moderator gets it'); next() })
}

async function handTo(to, how) {
  const mine = job
  if (!mine) return
  job = null
  try {
    const { sent } = await mine.handOver(to, how)
    stopAsking()
    toast(`${to} gets it${sent ? '' : ' when the network is back'}`)
    next()
  } catch (error) {
    job = mine
    if (error.lost) return lost(error.reason)
    notHanded(error, to)
  }
}

function pause() {
  giveBack({ reason: 'a break' }, () => { view('break'); $('back').focus() })
}

// -- the form

for (const one of VERDICTS) $('verdicts').append(choice('verdict', one, change))
for (const one of RULES) $('rules').append(choice('rule', one, change))
for (const one of EXCUSES) $('excuses').append(excuse(one, skip))

$('note').addEventListener('input', () => change({ note: $('note').value }))
$('decision').addEventListener('submit', (event) => { event.preventDefault(); handIn() })
$('skip').addEventListener('click', () => (over ? next() : $('why-skip').showModal()))
$('stay').addEventListener('click', () => $('why-skip').close())
$('hand-to').addEventListener('click', () => askToWhom(handTo))
$('pause').addEventListener('click', pause)
$('back').addEventListener('click', next)
listenToKeys({ hasJob: () => Boolean(job), handIn })
