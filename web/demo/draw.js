// What the desk shows. Posts are what anybody has written: everything goes through textContent.

import { shown } from '../form.js'

export const element = (id) => document.getElementById(id)
const make = (name, parts) => Object.assign(document.createElement(name), parts)

export const VERDICTS = [
  { value: 'keep', title: 'Keep', about: 'within the rules', key: '1', done: 'Kept' },
  { value: 'limit', title: 'Limit', about: 'stays, is not recommended', key: '2', done: 'Limited' },
  { value: 'remove', title: 'Remove', about: 'breaks a rule', key: '3', done: 'Removed', needs: 'rule' },
  {
    value: 'escalate', title: 'Escalate', about: 'another person should decide', key: '4', done: 'Escalated',
    needs: 'note',
  },
]

export const RULES = [
  { value: 'spam', title: 'Spam or scam', key: 'q' },
  { value: 'harassment', title: 'Harassment', key: 'w' },
  { value: 'privacy', title: 'Private data', key: 'e' },
  { value: 'misleading', title: 'Misleading', key: 'r' },
  { value: 'dangerous', title: 'Dangerous', key: 't' },
  { value: 'off-topic', title: 'Off topic', key: 'y' },
]

export const EXCUSES = [
  { reason: 'not my language', key: '1' }, { reason: 'I know the people', key: '2' },
  { reason: 'too upsetting', key: '3' }, { reason: 'I am not sure enough', key: '4' },
]

export const WAITING = {
  closing: 'You can still take back your last decision. The next post comes here by itself.',
  empty: 'Nothing is in line. The next post comes here by itself.',
  reserved: 'Others are working on everything that is left. The next post comes here by itself.',
  skipped: 'Only posts that you skipped are left; they go to others.',
  ineligible: 'The rest is for other moderators. The next post for you comes here by itself.',
  delayed: 'The rest is due a little later, and then comes here by itself.',
  blocked: 'The rest has to wait for what others are working on.',
  paused: 'An operator has paused the queue. It continues here by itself.',
}

const SIGN_IN = {
  401: 'This queue is for people who are signed in. Paste the token that you were given, or ask for another one.',
  403: 'This token is another person’s, or for other queues. Type the name that it was made for, or ask for another.',
}

export const LOST = {
  expired: 'Your time for this post is over.',
  released: 'An operator took this post back.',
  cancelled: 'This post was withdrawn.',
  completed: 'This post was handed in elsewhere.',
  abandoned: 'This post went back into the line.',
  'handed-over': 'You handed this post over elsewhere.',
}

export const show = (id, visible) => { element(id).hidden = !visible }

export function view(name) {
  if (document.body.dataset.view === name) return
  document.body.dataset.view = name
  scrollTo(0, 0)
}

export function clock(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1_000))
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

let whole = 1

export function showTime(left, isLost) {
  whole = Math.max(whole, left)
  element('time').textContent = isLost ? 'over' : clock(left)
  element('ring').style.strokeDashoffset = String(isLost ? 100 : 100 - (100 * left) / whole)
  document.title = isLost ? 'Time is over · desk' : left < 60_000 ? `${clock(left)} left · desk` : 'Moderation desk'
}

/** Shows the note of the moderator who handed the post over. */
function showNote(note) {
  show('handed', note !== null)
  if (note === null) return
  const at = new Date(note.at)
  const isToday = at.toDateString() === new Date().toDateString()
  const day = isToday ? '' : `${at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })}, `
  shown(element('handed-by'), note.from ?? 'Another moderator')
  element('handed-at').dateTime = note.at
  element('handed-at').textContent = day + at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
  shown(element('handed-note'), note.text)
  show('handed-note', note.text !== '')
}

const isText = (value) => typeof value === 'string'
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
const mayBe = (is) => (value) => value === undefined || value === null || is(value)
const isWord = mayBe((value) => isText(value) || Number.isFinite(value))
const isReport = (value) => isObject(value) && isText(value.reason) && [value.count, value.note].every(isWord)
const isBy = (value) => isObject(value) && ['name', 'since', 'posts', 'strikes'].every((name) => isWord(value[name]))

/** Whether it is a post as the seed makes them. */
function isPost(payload) {
  if (!isObject(payload) || !isText(payload.text)) return false
  const { author, reports, context } = payload
  const isContext = (value) => isObject(value) && isText(value.text) && isWord(value.author)
  return mayBe(isBy)(author) && mayBe(isContext)(context)
    && mayBe((value) => Array.isArray(value) && value.every(isReport))(reports)
    && ['kind', 'community', 'posted', 'language'].every((name) => isWord(payload[name]))
}

/** Whatever the payload is, the person sees it and can go on: what is no post is shown as the JSON that it is. */
export function showPost(job) {
  whole = Math.max(job.expiresIn, 1)
  showNote(job.note)
  const is = isPost(job.payload)
  const post = is ? job.payload : {}
  const { kind, community, text, context, posted, language } = post
  const [author, reports] = [post.author ?? {}, post.reports ?? []]
  const name = String(author.name ?? 'Unknown')
  shown(element('author'), is ? name : job.id)
  shown(element('face'), is ? initials(name) : '{ }')
  element('face').style.setProperty('--hue', String(hue(name)))
  const strikes = author.strikes ? many(author.strikes, 'strike') : null
  const posts = (author.posts ?? null) !== null && many(author.posts, 'post')
  fill('about', [author.since && `here since ${author.since}`, posts, strikes])
  element('about').lastElementChild?.classList.toggle('strikes', Boolean(strikes))
  fill('where', [kind, community, posted, nameOf(language), job.attempt > 1 && `attempt ${job.attempt}`])
  shown(element('text'), is ? text : JSON.stringify(job.payload, null, 2))
  element('text').lang = language ?? ''
  element('text').classList.toggle('raw', !is)
  element('text').classList.toggle('short', is && text.length < 200)
  show('context', Boolean(context))
  shown(element('context'), context ? `${context.author ?? 'Unknown'}: ${context.text}` : '')
  const total = reports.reduce((sum, { count }) => sum + Number(count ?? 1), 0)
  const times = total === 1 ? 'Reported once' : `Reported ${total} times`
  element('reported').textContent = !is ? 'This is no post. You can skip it: others see it, and operators read why.'
    : total ? times : 'Not reported by anybody: picked by a filter'
  element('reports').replaceChildren(...reports.map(report))
}

function nameOf(language) {
  try {
    return language && new Intl.DisplayNames('en', { type: 'language' }).of(language)
  } catch {
    return language
  }
}

function report({ reason, count, note }) {
  const item = document.createElement('li')
  item.append(withText('b', Number(count ?? 1) > 1 ? `${reason} × ${count}` : reason))
  if (note) item.append(withText('q', note))
  return item
}

function fill(id, parts) {
  element(id).replaceChildren(...parts.filter(Boolean).map((part) => withText('span', part)))
}

function withText(name, text) {
  const made = document.createElement(name)
  shown(made, text)
  return made
}

const many = (n, one) => `${n} ${one}${n === 1 ? '' : 's'}`
const words = (name) => name.split(/[\s._-]+/).filter(Boolean)
const initials = (name) => words(name).slice(0, 2).map((word) => [...word][0].toUpperCase()).join('')

/** A colour of their own, the same each time. */
const hue = (name) => [...name].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 360, 7)

/** One of a row of radio buttons. */
export function choice(name, { value, title, key, about }, change) {
  const label = make('label', { className: value })
  const input = make('input', { type: 'radio', name, value })
  input.setAttribute('aria-keyshortcuts', key)
  const words = make('span', { textContent: title })
  if (about) words.append(make('small', { textContent: about }))
  label.append(input, words, make('kbd', { textContent: key }))
  input.addEventListener('change', () => change({ [name]: value }))
  return label
}

export function excuse({ reason, key }, skip) {
  const text = `${reason[0].toUpperCase()}${reason.slice(1)} `
  const button = make('button', { type: 'button', className: 'button', textContent: text })
  button.append(make('kbd', { textContent: key }))
  button.setAttribute('aria-keyshortcuts', key)
  button.addEventListener('click', () => skip(reason))
  return button
}

let fading
export function toast(text) {
  const box = element('toast')
  shown(box, text)
  box.classList.add('shown')
  clearTimeout(fading)
  fading = setTimeout(() => box.classList.remove('shown'), 2_600)
}

export function refused(error) {
  const wantsToken = error.status === 401 || error.status === 403
  view('start')
  document.querySelectorAll('.for-token').forEach((part) => { part.hidden = !wantsToken })
  shown(element('refused'), SIGN_IN[error.status] ?? error.message)
  show('refused', true)
}

export function notice(text, kind) {
  show('notice', Boolean(text))
  shown(element('notice'), text)
  element('notice').className = `notice ${kind ?? ''}`
  element('clock').className = `clock ${kind ?? ''}`
}

export function say(text) { element('saved').textContent = text }
