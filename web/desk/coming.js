// Who works, on what, and then one request after the other; and signing out.

import { $, fillWords, reveal, view, viewed } from './page.js'
import { cameByLink, forgetPerson, hasLink, keepPerson, keepToken, keptName, keptRequest, keptToken } from './person.js'
import { linkToken, listenToTabs, readMe, tellTabs, whyNot, wordsFor } from './person.js'
import { nameQueues, namedQueues, offerQueues, tickedQueues } from './queues.js'
import { isAsking } from './dialogs.js'
import { answerWith, handOver, pressed, skip, takeBreak } from './acting.js'
import { isAtWork, keepDraft, next, signOut, sitDown, stopWork } from './work.js'
import { LINK_WORDS, SAY, SIGN_IN_WORDS, WORDS_OF_PAGE } from './words.js'

const api = new URL(document.querySelector('meta[name=intray-api]').content, document.baseURI)
// `me`: what the service knows of the person; null if it needs a code, undefined if it could not be asked.
let me, code = linkToken() ?? keptToken()
const keys = () => $('keys').checked

fillWords()
$('skip-word').dataset.usual = $('skip-word').textContent
$('keys').checked = sessionStorage.getItem('desk keys') !== 'off'
showKeys()
come()

// -- coming

export async function come() {
  if (history.state?.isSignedOut) {
    forgetPerson()
    return finish(SAY.signedOut)
  }
  try {
    me = await readMe(api, code)
  } catch (error) {
    me = error.needsCode ? null : undefined
    if (me === null) showStart()
    return refusedAtStart(wordsFor(error))
  }
  if (me?.job) return byLink()
  if (!me && cameByLink()) return finish(LINK_WORDS.invalid)
  if (me) keepToken(code)
  $('name').value ||= keptName() ?? ''
  showStart()
  const worker = me && (me.worker ?? keptName())
  // A page that is loaded again goes on where it was.
  if (worker && namedQueues().length) return sit(worker, namedQueues())
  if (me && !namedQueues().length) await offer(worker)
  focusStart()
}

/** What has to be typed: a name, or the code that stands for one. */
function showStart() {
  reveal('for-token', !me)
  reveal('for-name', Boolean(me?.needsName))
  reveal('any-name', Boolean(me?.isOpen))
  reveal('which', false)
  view('start')
}

function focusStart() {
  const first = me ? (me.needsName ? $('name') : $('start')) : $('token')
  first.focus()
}

function refusedAtStart(words) {
  if (viewed() !== 'start') view('start')
  $('refused').textContent = words
  reveal('refused', true)
}

async function offer(worker) {
  try {
    return await offerQueues(api, { token: code, worker })
  } catch (error) {
    refusedAtStart(wordsFor(error))
    return []
  }
}

$('sign').addEventListener('submit', async (event) => {
  event.preventDefault()
  reveal('refused', false)
  if (me === undefined) return come()
  if (!me) return withCode($('token').value.trim())
  const worker = me.worker ?? $('name').value.trim()
  if (!worker) return $('name').focus()
  const named = namedQueues()
  if (named.length) return sit(worker, named)
  // They could not be asked for, or there was none.
  if ($('which').hidden || !$('queue-list').children.length) return void offer(worker)
  const ticked = tickedQueues()
  if (!ticked) return refusedAtStart(SIGN_IN_WORDS.someQueue)
  return sit(worker, ticked)
})

async function withCode(typed) {
  if (!typed) return $('token').focus()
  try {
    me = await readMe(api, typed)
  } catch (error) {
    return refusedAtStart(wordsFor(error))
  }
  if (!me) return refusedAtStart(SIGN_IN_WORDS[401])
  code = typed
  $('token').value = ''
  if (me.job) return byLink()
  keepToken(code)
  showStart()
  if (me.worker && namedQueues().length) return sit(me.worker, namedQueues())
  const queues = namedQueues().length ? [] : await offer(me.worker)
  if (me.worker && queues.length === 1) return sit(me.worker, queues)
  return focusStart()
}

function sit(worker, queues) {
  keepPerson({ worker })
  nameQueues(queues)
  atWork(worker)
  sitDown({ api, worker, token: code, queues, keys, refused, leftElsewhere })
}

function atWork(worker) {
  $('me').textContent = worker
  for (const id of ['me', 'leave']) reveal(id, true)
  reveal('other-queues', !me.job)
}

/** The request is taken when the person asks for it, not when the page is opened. */
function byLink() {
  const { worker, job } = me
  const open = () => {
    keepPerson({ job })
    atWork(worker)
    const refusedLink = (error) => finish(whyNot(error))
    sitDown({ api, worker, token: code, job, keys, refused: refusedLink, finish, leftElsewhere })
  }
  if (keptRequest() === job) return open()
  $('open').addEventListener('click', open, { once: true })
  return view('link')
}

/** Nothing is left to do on the page of a link, unless something could not be sent yet. */
function finish(words, isAll = true) {
  $('done-title').textContent = isAll ? WORDS_OF_PAGE.nothingLeft : SAY.notSentYet
  $('why-done').textContent = words
  view('done')
}

function refused(error) {
  if (error.status === 401) me = null
  showStart()
  refusedAtStart(wordsFor(error))
}

// -- going

const whoIsHere = () => me?.worker ?? keptName()

listenToTabs(api, (left) => (me ? whoIsHere() === left : code) && leftElsewhere())

function leftElsewhere() {
  forgetPerson()
  code = undefined
  location.reload()
}

/** What a request and its answer leave on the page. */
const TRACES = ['title', 'about', 'request', 'arguments', 'whole-text', 'answer', 'notice', 'handed-by', 'handed-note',
  'kept-list', 'undo-what', 'names-used', 'me', 'toast', 'saved', 'not-handed']

/** A page that is loaded again has nothing of the person; without a network it could not be loaded. */
async function leave() {
  const leaving = signOut()
  tellTabs(whoIsHere())
  forgetPerson()
  me = code = undefined
  for (const id of ['me', 'leave', 'line', 'kept']) reveal(id, false)
  for (const id of TRACES) $(id).replaceChildren()
  for (const id of ['name', 'to', 'word', 'skip-reason']) $(id).value = ''
  finish(SAY.signedOut)
  const { sent, unsent } = await leaving
  if (unsent.length) return finish(SAY.unsent(unsent.length))
  if (!sent) return
  forgetPerson({ isSignedOut: true })
  location.reload()
}

addEventListener('hashchange', () => {
  if (!hasLink()) return
  linkToken()
  location.reload()
})
// A page that the browser has kept may be that of a person who has left.
addEventListener('pageshow', ({ persisted }) => {
  if (!persisted) return
  stopWork()
  location.reload()
})

// -- buttons and keys

const CLICKS = {
  send: (event) => answerWith('send', event), approve: (event) => answerWith('approve', event),
  reject: (event) => answerWith('reject', event),
  skip, 'hand-over': handOver, break: takeBreak, next, back: next, leave,
  'take-other': () => keepDraft(true), 'keep-own': () => keepDraft(false),
  'look-again': () => offer($('name').value.trim()),
}
for (const [id, click] of Object.entries(CLICKS)) $(id).addEventListener('click', click)
$('decision').addEventListener('submit', (event) => event.preventDefault())
$('keys').addEventListener('change', () => {
  sessionStorage.setItem('desk keys', keys() ? 'on' : 'off')
  showKeys()
})

function showKeys() {
  document.body.dataset.keys = keys() ? 'on' : 'off'
}

/** A letter only moves the focus: it takes a second key to answer, so that no slip of a finger answers anything. */
const LETTERS = { a: 'approve', r: 'reject', s: 'skip', h: 'hand-over', b: 'break', n: 'reason' }
const TYPED_IN = 'textarea, select, input:not([type=radio], [type=checkbox])'

document.addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.isComposing || isAsking()) return
  if (event.ctrlKey || event.metaKey || event.altKey) {
    if (event.key === 'Enter' && !event.altKey && !event.repeat) answerWith('send', event)
    return
  }
  if (event.target.matches(TYPED_IN)) {
    if (event.key === 'Escape' && isAtWork()) $('title').focus({ preventScroll: true })
    return
  }
  if (!keys()) return
  if (event.key === 'u' && !$('undo').disabled) return void $('undo').click()
  if (!isAtWork() || pressed(event) || !Object.hasOwn(LETTERS, event.key)) return
  const place = $(LETTERS[event.key])
  if (!place || place.closest('[hidden]')) return
  event.preventDefault()
  place.focus()
})
