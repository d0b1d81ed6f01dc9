// What the desk shows. Posts are what anybody has written: everything goes through textContent.

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
  empty: 'Nothing is in line. The next post comes here by itself.',
  reserved: 'Others are at work on all that is left. The next post comes here by itself.',
  skipped: 'What is left are posts that you have skipped; they go to others.',
  ineligible: 'What is left is for other moderators. The next post for you comes here by itself.',
  delayed: 'What is left comes back a little later, and then here by itself.',
  blocked: 'What is left has to wait for what others are at work on.',
  paused: 'An operator has paused the queue. It goes on here by itself.',
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

/** Of the moderator who handed the post over. */
function showNote(note) {
  show('handed', note !== null)
  if (note === null) return
  const at = new Date(note.at)
  const isToday = at.toDateString() === new Date().toDateString()
  const day = isToday ? '' : `${at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })}, `
  element('handed-by').textContent = note.from ?? 'Another moderator'
  element('handed-at').dateTime = note.at
  element('handed-at').textContent = day + at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
  element('handed-note').textContent = note.text
  show('handed-note', note.text !== '')
}

/** A post as the seed makes them; anything else is shown as the JSON that it is. */
export function showPost(job) {
  whole = Math.max(job.expiresIn, 1)
  showNote(job.note)
  const { payload } = job
  const isPost = typeof payload?.text === 'string'
  const { author = {}, kind, community, text, context, reports = [], posted, language } = isPost ? payload : {}
  const name = author.name ?? 'Unknown'
  element('author').textContent = isPost ? name : job.id
  element('face').textContent = isPost ? initials(name) : '{ }'
  element('face').style.setProperty('--hue', String(hue(name)))
  const strikes = author.strikes ? many(author.strikes, 'strike') : null
  const posts = author.posts !== undefined && many(author.posts, 'post')
  fill('about', [author.since && `here since ${author.since}`, posts, strikes])
  element('about').lastElementChild?.classList.toggle('strikes', Boolean(strikes))
  fill('where', [kind, community, posted, nameOf(language), job.attempt > 1 && `attempt ${job.attempt}`])
  element('text').textContent = isPost ? text : JSON.stringify(payload, null, 2)
  element('text').lang = language ?? ''
  element('text').classList.toggle('raw', !isPost)
  element('text').classList.toggle('short', isPost && text.length < 200)
  show('context', Boolean(context))
  element('context').textContent = context ? `${context.author}: ${context.text}` : ''
  const total = reports.reduce((sum, { count = 1 }) => sum + count, 0)
  const times = total === 1 ? 'Reported once' : `Reported ${total} times`
  element('reported').textContent = total ? times : 'Not reported by anybody: picked by a filter'
  element('reports').replaceChildren(...reports.map(report))
}

function nameOf(language) {
  try {
    return language && new Intl.DisplayNames('en', { type: 'language' }).of(language)
  } catch {
    return language
  }
}

function report({ reason, count = 1, note }) {
  const item = document.createElement('li')
  item.append(make('b', { textContent: count > 1 ? `${reason} × ${count}` : reason }))
  if (note) item.append(make('q', { textContent: note }))
  return item
}

function fill(id, parts) {
  element(id).replaceChildren(...parts.filter(Boolean).map((part) => make('span', { textContent: part })))
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
  box.textContent = text
  box.classList.add('shown')
  clearTimeout(fading)
  fading = setTimeout(() => box.classList.remove('shown'), 2_600)
}

export function refused(error) {
  const wantsToken = error.status === 401 || error.status === 403
  view('start')
  document.querySelectorAll('.for-token').forEach((part) => { part.hidden = !wantsToken })
  element('refused').textContent = error.message
  show('refused', true)
}

export function notice(text, kind) {
  show('notice', Boolean(text))
  element('notice').textContent = text ?? ''
  element('notice').className = `notice ${kind ?? ''}`
  element('clock').className = `clock ${kind ?? ''}`
}

export function say(text) { element('saved').textContent = text }
