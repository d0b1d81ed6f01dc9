// The request on the page: what it is, who asks, how much time is left, what was kept.

import { make, tell } from '../client/form/elements.js'
import { inWords, labelsOf } from '../client/form/labels.js'
import { shown, visible } from '../client/form/shown.js'
import { readNodes } from '../client/json_text.js'
import { answerTo, isCall, noAnswer } from './answer.js'
import { $, notice, reveal, timeOf, toast } from './page.js'
import { drawMembers, drawNode, memberOf } from './request.js'
import { ACTIONS, SAY, WORDS_OF_PAGE } from './words.js'

const LAST_MINUTE_MS = 60_000
let exactText = ''

/**
 * Draws a request and its answer, which is answered. What cannot be drawn can only be given back.
 * @param before the answer that is on the page, if it is one to this request
 */
export function draw(job, { queues, ...how }, before) {
  try {
    const nodes = readNodes(job.exact.payload)
    const answer = answerTo(job, nodes, how)
    if (before?.placed?.join() !== answer.placed.join()) drawRequest(job, nodes, answer, queues)
    return place(answer)
  } catch {
    return undrawn(job)
  }
}

/** What is left when something has thrown: it calls nothing of that again. */
function undrawn(job) {
  exactText = job.exact.payload
  for (const [id, text] of [['title', job.queue], ['about', ''], ['whole-text', exactText]]) $(id).textContent = text
  $('request').replaceChildren()
  reveal('handed', false)
  $('whole').open = true
  return place({ ...noAnswer(SAY.notDrawn), placed: undefined })
}

function place(answer) {
  reveal('editor', Boolean(answer.editor))
  $('arguments').replaceChildren(...(answer.editor ? [answer.editor] : []))
  $('editor-title').textContent = SAY.argumentsOf($('arguments').querySelectorAll('.argument').length)
  $('answer').replaceChildren(answer.element)
  for (const action of ACTIONS) reveal(action, answer.actions.includes(action))
  return answer
}

/** All of it but what the answer shows. */
function drawRequest(job, nodes, answer, queues) {
  const placed = new Set(answer.placed)
  drawSurroundings(job, headingOf(job, nodes, placed), queues)
  const isObject = nodes.kind === 'object'
  const isAll = isObject && nodes.members.length > 0 && nodes.members.every(({ name }) => placed.has(name))
  const drawn = isObject ? drawMembers(nodes.members, placed) : drawNode(nodes)
  $('request').replaceChildren(...(isAll ? [] : [drawn]))
}

function drawSurroundings(job, heading, queues) {
  exactText = job.exact.payload
  shown($('title'), heading)
  const about = [queueOf(job, queues), job.client, job.attempt > 1 && SAY.attempt(job.attempt)].filter(Boolean)
  // Each has a box of its own, which no text can draw.
  $('about').replaceChildren(...about.flatMap((text) => [tell(make('span'), text), ' ']))
  shown($('whole-text'), exactText)
  $('whole').open = false
  drawNote(job.note)
}

/** Where a person works in many, by a name that is that of one alone. */
function queueOf({ queue }, queues = []) {
  return queues.length > 1 && labelsOf(queues.map((name) => ({ name })))[queues.indexOf(queue)]
}

/** A title, or the tool that is called; what stands there is not repeated. */
function headingOf(job, nodes, placed) {
  const name = isCall(nodes) ? 'tool' : 'title'
  const node = memberOf(nodes, name)
  if (node?.kind !== 'string' || node.value.trim() === '' || node.value.length > 300) return inWords(job.queue)
  placed.add(name)
  return node.value
}

/** The word of the person who handed it over. */
function drawNote(note) {
  reveal('handed', note !== null)
  if (note === null) return
  const date = new Date(note.at)
  shown($('handed-by'), note.from ?? SAY.anotherPerson)
  $('handed-at').dateTime = note.at
  const isToday = date.toDateString() === new Date().toDateString()
  const day = isToday ? '' : `${date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })}, `
  $('handed-at').textContent = day + date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
  shown($('handed-note'), note.text)
}

/** `count`: how many requests there are, with this one. */
export function drawTime({ left, over, isCapped, isIdle, count }) {
  $('time').textContent = over ? SAY.over : timeOf(left)
  $('until').textContent = over ? '' : isCapped === null ? SAY.left : isCapped ? SAY.untilExpires : SAY.whileHere
  const isShort = !over && (isIdle || (isCapped && left < LAST_MINUTE_MS))
  $('clock').className = `clock ${over ? 'over' : isShort ? 'warn' : ''}`
  const begin = over ? `${SAY.timeOver} · ` : isShort ? `${SAY.timeLeft(timeOf(left))} · ` : ''
  document.title = begin + SAY.titleOf(count, WORDS_OF_PAGE.brand)
  notice(!isShort ? null : isCapped ? SAY.lastMinute : SAY.stillThere, 'warn', 'hurry')
}

let keptOnPage

/** What was typed for requests that went to others. Drawn only when it is another, or the focus would be lost. */
export function drawKept(kept, own, forget) {
  const others = kept.filter(({ id }) => id !== own)
  if (JSON.stringify(others) === keptOnPage) return
  keptOnPage = JSON.stringify(others)
  reveal('kept', others.length > 0)
  $('kept-list').replaceChildren(...others.map(({ id, draft, result, words }) => {
    const button = make('button', { type: 'button', className: 'button small', textContent: WORDS_OF_PAGE.forget })
    button.addEventListener('click', () => forget(id))
    const answer = result ?? draft
    const typed = [
      ...(answer === null ? [] : [drawNode(readNodes(JSON.stringify(answer)))]),
      ...(words === null ? [] : [tell(make('p'), words)]),
    ]
    button.setAttribute('aria-label', `${WORDS_OF_PAGE.forget}: ${visible(id)}`)
    return make('li', {}, [make('code', { textContent: id }), ...typed, button])
  }))
}

// There is none without TLS.
reveal('copy', Boolean(navigator.clipboard))
$('copy').addEventListener('click', () => navigator.clipboard.writeText(exactText).then(() => toast(SAY.copied)))
