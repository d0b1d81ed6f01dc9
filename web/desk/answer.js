// The answer to a request: by a form, or to approve or reject it.

import { drawForm } from '../client/form/draw.js'
import { make } from '../client/form/elements.js'
import { isObject } from '../client/form/json.js'
import { visible } from '../client/form/shown.js'
import { readExact } from '../client/json_text.js'
import { drawArguments } from './arguments.js'
import { memberOf, partsOf, twiceIn } from './request.js'
import { SAY, WORDS_OF_PAGE } from './words.js'

/** A call that an agent wants to make: always the desk's own Approve and Reject. */
export function isCall(nodes) {
  const tool = memberOf(nodes, 'tool')
  return tool?.kind === 'string' && tool.value.trim() !== '' && memberOf(nodes, 'args') !== undefined
}

/** The form that a job brings along; one that cannot be drawn is an ordinary member. */
function formOf(payload, nodes) {
  const form = isObject(payload) && memberOf(nodes, 'form') ? payload.form : undefined
  const isForm = isObject(form) && form.type === 'object' && isObject(form.properties)
  return isForm && !isCall(nodes) ? form : undefined
}

const TEXTS = new Set(['title', 'description', 'default', 'enum', 'const', 'examples', '$id', '$comment'])

/** What a form says besides its rules: they have few words, and are checked. */
const textsIn = (schema) => Object.entries(schema).flatMap(([name, value]) => {
  if (TEXTS.has(name)) return scalarsIn(value)
  const inner = name === 'properties' || name === '$defs' ? Object.values(value) : [value].flat()
  return inner.filter(isObject).flatMap(textsIn)
})

const scalarsIn = (value) => (Array.isArray(value) ? value.flatMap(scalarsIn)
  : isObject(value) ? Object.entries(value).flatMap(([name, inner]) => [name, ...scalarsIn(inner)]) : [String(value)])

/** A form says more than is drawn of it: a comment, an example, the title of what has another one. */
function isAllDrawn(schema, element) {
  const boxes = [...element.querySelectorAll('input, textarea')].map(({ value }) => value)
  const drawn = [element.textContent, ...boxes].join('\n')
  return textsIn(schema).every((text) => drawn.includes(visible(text, ({ text: mark }) => mark)))
}

/** What was typed can still be read and copied. */
function freezeBoxes(element, isFrozen) {
  for (const box of element.querySelectorAll('input, textarea, select, button')) {
    const isTyped = box.matches('textarea, input:not([type=radio], [type=checkbox])')
    box[isTyped ? 'readOnly' : 'disabled'] = isFrozen
  }
}

/** Throws when the form cannot be drawn. */
function formAnswer(schema, from, draft, { changed, keys }) {
  const form = drawForm(schema, { value: isObject(draft) ? draft : null, onchange: changed, from, keys })
  const mark = (found) => {
    const faults = form.errors(found)
    if (faults.length) form.focus()
    return faults.length === 0
  }
  return {
    element: form.element, placed: from === 'job' && isAllDrawn(schema, form.element) ? ['form'] : [],
    actions: ['send'], value: () => form.value(),
    result: () => (mark() ? { value: form.value() } : undefined),
    refuse: mark,
    freeze: (isFrozen) => freezeBoxes(form.element, isFrozen),
    press: (event) => form.press(event),
  }
}

const ARGS = new Set(['args'])

/** The arguments as they were sent. @param {string} payload */
const argsIn = (payload) => readExact(payload, ARGS).args.text

/** More than a person would read and a browser could draw as boxes. */
const MAX_ARGUMENTS = 1_000

/** To approve or to reject, with a reason; and with the arguments of a call, which may be corrected. */
function decision(payload, nodes, draft, { changed }) {
  if (isCall(nodes) && partsOf(memberOf(nodes, 'args')) > MAX_ARGUMENTS) return noAnswer(SAY.manyArguments)
  const typed = isObject(draft) ? draft : {}
  const reason = make('textarea', { id: 'reason', rows: 3, maxLength: 2_000, dir: 'auto' })
  reason.setAttribute('aria-describedby', 'reads')
  reason.value = typeof typed.reason === 'string' ? typed.reason : ''
  const fields = isCall(nodes) ? drawArguments(memberOf(nodes, 'args'), typed.args ?? undefined, changed) : undefined
  reason.addEventListener('input', changed)
  const element = make('div', { className: 'reason' }, [
    make('label', { htmlFor: 'reason', textContent: WORDS_OF_PAGE.reason }), reason,
    make('small', { id: 'reads', textContent: WORDS_OF_PAGE.reads }),
  ])
  return {
    element, editor: fields?.element, placed: fields ? ['args'] : [], actions: ['approve', 'reject'],
    value: () => ({ approved: null, args: fields?.isChanged() ? fields.value() : null, reason: reason.value }),
    result: (action) => {
      const approved = action === 'approve'
      const wrong = approved && fields?.wrong()
      if (wrong) return void wrong.focus()
      const text = approved && fields ? (fields.isChanged() ? fields.text() : argsIn(payload)) : 'null'
      const why = JSON.stringify(reason.value.trim() || null)
      const exact = `{"approved":${approved},"args":${text},"reason":${why}}`
      return { value: JSON.parse(exact), exact }
    },
    refuse: () => false,
    freeze: (isFrozen) => {
      freezeBoxes(element, isFrozen)
      if (fields) freezeBoxes(fields.element, isFrozen)
    },
    press: () => false,
  }
}

/** What can only be given back. */
export function noAnswer(why) {
  return {
    element: make('p', { className: 'notice over', textContent: why }), placed: [], actions: [],
    value: () => null, result: () => undefined, refuse: () => false, freeze: () => {}, press: () => false,
  }
}

/**
 * By the queue's form, else the job's own, else to approve or reject. `placed` are the members that the answer shows:
 * the request shows all others.
 */
export function answerTo(job, nodes, { schema, draft, ...how }) {
  const twice = twiceIn(nodes)
  if (twice) return noAnswer(SAY.twice(twice))
  const approval = () => decision(job.exact.payload, nodes, draft, how)
  const form = schema ?? formOf(job.payload, nodes)
  if (!form) return approval()
  try {
    return formAnswer(form, schema ? 'queue' : 'job', draft, how)
  } catch {
    return schema ? noAnswer(SAY.noForm) : approval()
  }
}
