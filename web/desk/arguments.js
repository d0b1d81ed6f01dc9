// The arguments of a call that a person may correct: a field for each value, by its JSON type. What was not touched
// goes back as it came.

import { describe, grow, make, tell } from '../client/form/elements.js'
import { isHeld } from '../client/form/formats.js'
import { isObject } from '../client/form/json.js'
import { labelsOf } from '../client/form/labels.js'
import { visible } from '../client/form/shown.js'
import { SAY, WORDS_OF_PAGE } from './words.js'

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
/** Letters in a line on a phone. */
const LINE = 30

// An id is that of one element.
let drawnArguments = 0

/**
 * @param node what was asked for
 * @param typed what was typed before: each part that fits is kept
 * @param changed is called after each change
 */
export function drawArguments(node, typed, changed) {
  const leaves = []
  const root = drawPart(node, typed, { leaves, changed, path: [] })
  return {
    element: root.element,
    /** For the draft: a number that is wrong is what was typed, and no other number. */
    value: () => JSON.parse(root.text(true)),
    /** As JSON: what was not touched is as it was sent, to the last digit. */
    text: () => root.text(false),
    isChanged: () => leaves.some((leaf) => leaf.isChanged()),
    /** The first field that is wrong, which it marks. */
    wrong: () => leaves.filter((leaf) => leaf.check())[0],
  }
}

function drawPart(node, typed, context) {
  if (node.kind === 'object') {
    const labels = labelsOf(node.members)
    const parts = node.members.map(({ name, value }, n) => [name, drawPart(
      value, isObject(typed) && Object.hasOwn(typed, name) ? typed[name] : undefined, inside(context, labels[n]))])
    return group(parts.map(([, part]) => part), context, SAY.emptyObject, (isDraft) => (
      `{${parts.map(([name, part]) => `${JSON.stringify(name)}:${part.text(isDraft)}`).join()}}`))
  }
  if (node.kind === 'array') {
    const parts = node.items.map((item, n) => drawPart(
      item, Array.isArray(typed) ? typed[n] : undefined, inside(context, String(n + 1))))
    return group(parts, context, SAY.emptyList, (isDraft) => (
      `[${parts.map((part) => part.text(isDraft)).join()}]`))
  }
  return field(node, typed, context)
}

const inside = (context, label) => ({ ...context, path: [...context.path, label || SAY.empty] })

function group(parts, { path }, empty, text) {
  const none = make('p', { className: 'literal', textContent: empty })
  const inner = parts.length ? parts.map(({ element }) => element) : [none]
  if (path.length === 0) return { element: make('div', { className: 'arguments' }, inner), text }
  const legend = make('legend', {}, [tell(make('span'), path.at(-1))])
  return { element: make('fieldset', { className: 'arguments' }, [legend, ...inner]), text }
}

/** All of it is in sight: a box of one line would show how a long address begins, and not where it leads. */
function boxOf(text, properties) {
  const lines = text.split('\n').map((line) => Math.max(1, Math.ceil((line.length + wideIn(line)) / LINE)))
  const box = make('textarea', { ...properties, rows: lines.reduce((sum, count) => sum + count) })
  grow(box)
  return box
}

/** Letters that are as wide as two. */
const wideIn = (text) => text.match(/[\u1100-\u115f\u2e80-\uffef]/g)?.length ?? 0

function controlOf(node, id) {
  if (node.kind === 'word' && node.text === 'null') return undefined
  if (node.kind === 'word') {
    const yes = make('option', { value: 'true', textContent: SAY.yes })
    const select = make('select', { id }, [yes, make('option', { value: 'false', textContent: SAY.no })])
    const fits = (value) => typeof value === 'boolean'
    return { box: select, sent: node.text, read: (text) => text === 'true', fits }
  }
  if (node.kind === 'number') {
    return {
      box: boxOf(node.text, { id, inputMode: 'decimal' }), sent: node.text, read: Number,
      fits: (value) => ['number', 'string'].includes(typeof value),
      mistake: (text) => (!NUMBER.test(text) ? SAY.notANumber : isHeld(text) ? undefined : SAY.notHeld),
    }
  }
  return { box: boxOf(node.value, { id }), sent: node.value, read: String, fits: (value) => typeof value === 'string' }
}

/** A null, which nothing can be typed for. */
function literal(label) {
  const element = make('div', { className: 'argument' }, [
    tell(make('span', { className: 'label' }), label), make('span', { className: 'literal', textContent: 'null' })])
  return { element, text: () => 'null' }
}

function field(node, typed, { leaves, changed, path }) {
  const id = `argument-${(drawnArguments += 1)}`
  const label = path.at(-1) ?? WORDS_OF_PAGE.arguments
  const control = controlOf(node, id)
  if (!control) return literal(label)
  const { box, sent, read, fits, mistake } = control
  box.value = sent
  // A box has its own line breaks.
  const unchanged = box.value
  if (fits(typed) && typed !== read(sent)) box.value = String(typed)
  describe(box, { dir: 'auto', autocomplete: 'off', spellcheck: 'false' })
  const asSent = visible(sent) === sent.replaceAll('\r\n', '\n') ? [] : [
    tell(make('p', { id: `${id}-sent`, className: 'as-sent' }), SAY.asSent(sent))]
  // All of it stands below: lines in which nothing is seen push nothing else out of sight.
  if (asSent.length) box.style.maxHeight = '60vh'
  const asked = tell(make('span'), SAY.asked(sent === '' ? SAY.empty : sent))
  const back = make('button', { type: 'button', className: 'button small', textContent: SAY.putBack })
  const note = make('p', { id: `${id}-note`, className: 'was', hidden: true }, [asked, ' ', back])
  const error = make('p', { id: `${id}-error`, className: 'mistake', hidden: true })
  const isChanged = () => box.value !== unchanged
  const current = () => (isChanged() ? mistake?.(box.value.trim()) : undefined)
  const settle = () => {
    note.hidden = !isChanged()
    const wrong = current() ?? ''
    error.hidden = wrong === ''
    error.textContent = wrong
    // What is hidden would be read all the same.
    const seen = [...asSent, note, error].filter(({ hidden }) => !hidden)
    describe(box, { 'aria-invalid': wrong !== '', 'aria-describedby': seen.map((one) => one.id).join(' ') })
    return wrong !== ''
  }
  box.addEventListener('input', () => (settle(), changed()))
  back.addEventListener('click', () => {
    box.value = unchanged
    box.dispatchEvent(new Event('input'))
    box.focus()
  })
  leaves.push({ isChanged, check: settle, focus: () => box.focus() })
  settle()
  const name = tell(make('label', { htmlFor: id, className: 'label' }), label)
  return {
    element: make('div', { className: 'argument' }, [name, box, ...asSent, note, error]),
    text: (isDraft) => {
      if (!isChanged()) return node.text
      if (isDraft && current()) return JSON.stringify(box.value)
      return JSON.stringify(read(mistake ? box.value.trim() : box.value))
    },
  }
}
