// Who works, on what, and then one request after the other; and signing out.

import { shown } from '../client/form/shown.js'
import { $, fillWords, reveal, view, viewed } from './page.js'
import { cameByLink, forgetPerson, hasLink, keepPerson, keepToken, keptName, keptRequest, keptToken } from './person.js'
import { linkToken, listenToTabs, readMe, tabMemory, tellTabs, whyNot, wordsFor } from './person.js'
import { askForCode, codeAfter, hasTokenUrl, notGiven } from './token.js'
import { leftOutQueues, nameQueues, namedQueues, offerQueues, tickedQueues } from './queues.js'
import { keys } from './keys.js'
import { answerWith, handOver, skip, takeBreak } from './acting.js'
import { keepDraft, next, signOut, sitDown, stopWork } from './work.js'
import { LINK_WORDS, SAY, SIGN_IN_WORDS, WORDS_OF_PAGE } from './words.js'

const api = new URL(document.querySelector('meta[name=intray-api]').content, document.baseURI)
// `me`: what the service knows of the person; null if it needs a code, undefined if it could not be asked.
let me, code = linkToken() ?? keptToken()
/** After so long without an answer of their site, a person may paste a code. */
const PATIENCE_MS = 350

fillWords()
$('skip-word').dataset.usual = $('skip-word').textContent
come()

// -- coming

export async function come() {
  if (history.state?.isSignedOut) {
    forgetPerson()
    return finish(SAY.signedOut)
  }
  // A person who is new here begins by a click, also when their site says who they are.
  const isBack = Boolean(code ?? keptName())
  let found
  try {
    found = await readPerson()
  } catch (error) {
    if (me) return
    me = error.needsCode ? null : undefined
    if (me === null) showStart()
    return refusedAtStart(wordsFor(error))
  }
  // By a code that was pasted meanwhile.
  if (me) return
  me = found
  if (me?.job) return byLink()
  if (!me && cameByLink()) return finish(LINK_WORDS.invalid)
  if (me) keepToken(code)
  $('name').value ||= keptName() ?? ''
  showStart()
  const worker = me && (me.worker ?? keptName())
  // A page that is loaded again continues where it was.
  if (worker && isBack && namedQueues().length && !leftOutQueues().length) {
    return sit(worker, namedQueues(), { isOnBreak: Boolean(tabMemory['desk break']) })
  }
  if (me && !namedQueues().length) await offer(worker)
  focusStart()
}

/** What the service knows of the person; without a code, or after one has ended, by the one that their site gives. */
async function readPerson() {
  const known = await readMe(api, code)
  if (known || !hasTokenUrl || cameByLink()) return known
  const patience = setTimeout(() => { me = null; showStart(); focusStart() }, PATIENCE_MS)
  try {
    const given = await codeAfter(code)
    const person = await readMe(api, given)
    if (!person) throw notGiven()
    if (!me) code = given
    return person
  } finally {
    clearTimeout(patience)
  }
}

/** A call with the person's code; and once more with the next one, if it has ended and their site gives another. */
async function asPerson(call) {
  const own = code
  try {
    return await call(own)
  } catch (error) {
    if (error.status !== 401 || !hasTokenUrl) throw error
    return call(await nextCode(own))
  }
}

/** For the browser module too, which has `refused` when a code has ended. */
async function nextCode(refused) {
  if (!refused || refused !== code) return code
  const given = await codeAfter(refused)
  // The person has left meanwhile, or pasted another one.
  if (refused !== code) return code
  code = given
  keepToken(code)
  return code
}

/** What has to be typed: a name, or the code that stands for one. */
function showStart() {
  reveal('for-token', !me)
  reveal('for-name', Boolean(me?.needsName))
  reveal('any-name', Boolean(me?.isOpen))
  reveal('which', false)
  reveal('left-out', leftOutQueues().length > 0)
  shown($('left-out'), SAY.leftOut(leftOutQueues()))
  if (me?.worker) showPerson(me.worker)
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
    return await asPerson((token) => offerQueues(api, { token, worker }))
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
  if (!typed && !hasTokenUrl) return $('token').focus()
  try {
    typed ||= await askForCode()
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

function sit(worker, queues, how) {
  keepPerson({ worker })
  nameQueues(queues)
  atWork(worker)
  const token = code && hasTokenUrl ? (about) => nextCode(about.refused) : code
  sitDown({ api, worker, token, asPerson, queues, keys, refused, leftElsewhere }, how)
}

function atWork(worker) {
  showPerson(worker)
  reveal('other-queues', !me.job)
}

const OF_PERSON = ['me', 'not-you', 'leave']

function showPerson(worker) {
  $('me').textContent = worker
  for (const id of OF_PERSON) reveal(id, true)
}

/** The request is taken when the person asks for it, not when the page is opened. */
function byLink() {
  const { worker, job } = me
  const open = () => {
    keepPerson({ job })
    atWork(worker)
    const refusedLink = (error) => finish(whyNot(error))
    const asLink = (call) => call(code)
    sitDown({ api, worker, token: code, asPerson: asLink, job, keys, refused: refusedLink, finish, leftElsewhere })
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
  if (error.needsCode || error.status === 401 || error.status === 403) me = null
  showStart()
  refusedAtStart(wordsFor(error))
}

// -- going

const whoIsHere = () => me?.worker ?? keptName()

listenToTabs(api, (left) => (me ? whoIsHere() === left : code) && leftElsewhere())

/** Said by the page and by the work of the other tab: a second reload would break off the first. */
function leftElsewhere() {
  if (!me && !code) return
  // Their site would say at once who they are.
  forgetPerson({ isSignedOut: hasTokenUrl })
  me = code = undefined
  location.reload()
}

/** What a request and its answer leave on the page. */
const TRACES = ['title', 'about', 'request', 'arguments', 'whole-text', 'answer', 'notice', 'handed-by', 'handed-note',
  'kept-list', 'undo-what', 'names-used', 'me', 'toast', 'saved', 'not-handed']

/** A page that is loaded again has nothing of the person; without a network it could not be loaded. */
async function leave() {
  const leaving = signOut({ url: api, worker: whoIsHere(), token: code, queues: namedQueues() })
  tellTabs(whoIsHere())
  forgetPerson()
  me = code = undefined
  for (const id of [...OF_PERSON, 'line', 'kept']) reveal(id, false)
  for (const id of TRACES) $(id).replaceChildren()
  for (const id of ['name', 'token', 'to', 'word', 'skip-reason']) $(id).value = ''
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
  me = code = undefined
  location.reload()
})

// -- buttons

const CLICKS = {
  send: () => answerWith('send'), approve: () => answerWith('approve'), reject: () => answerWith('reject'),
  skip, 'hand-over': handOver, break: takeBreak, next, back: next, leave, 'not-you': leave,
  'take-other': () => keepDraft(true), 'keep-own': () => keepDraft(false),
  'look-again': () => offer($('name').value.trim()),
}
for (const [id, click] of Object.entries(CLICKS)) $(id).addEventListener('click', click)
$('decision').addEventListener('submit', (event) => event.preventDefault())
