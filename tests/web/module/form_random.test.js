// What a form can produce fits at the service, and what it marks does not, over forms and values of a generator that knows neither. FORM_SEED
// runs others.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { checkText, readForm } from '../../../web/client/form.js'
import { random } from '../world/random.js'
import { formOf } from '../world/random_form.js'
import { HALF, inputsOf, leavesOf, resultOf } from '../world/random_result.js'
import { sharedBrowser, sharedService } from '../world/shared.js'

const SEED = Number(process.env.FORM_SEED ?? 7)
/** How many are taken; others are refused on both sides. */
const FORMS = 500
/** Results of each form. */
const RESULTS = 6
/** How often each form is drawn: as it is, and with drafts. */
const DRAWN = 3
const JOBS = 100
const MAX_FAULTS = 20

let service, queue, page
let enqueued = 0
const held = []
before(async () => {
  ({ service, queue } = await sharedService())
  const context = await (await sharedBrowser()).newContext()
  page = await context.newPage()
  await page.goto(`${service.url}/form.css`)
})

/** What the service says of these results, pointers by result: none, and the job is completed. */
async function ask(texts) {
  while (held.length < texts.length) {
    await service.call('POST', '/jobs', Array.from({ length: JOBS }, () => ({ queue, payload: (enqueued += 1) })))
    const { jobs } = await service.call('POST', '/jobs/reserve', { queues: [queue], limit: JOBS })
    assert.equal(jobs.length, JOBS)
    held.push(...jobs.map(({ reservation }) => reservation))
  }
  const own = held.splice(0, texts.length)
  const items = texts.map((text, n) => `{"reservation":"${own[n]}","result":${text}}`)
  const { jobs } = await service.call('POST', '/jobs/complete', `[${items}]`)
  return jobs.map(({ state, error }, n) => {
    if (state === 'completed') return []
    assert.equal(error?.type, '/problems/invalid-result', JSON.stringify(jobs[n]))
    held.push(own[n])
    return pointersOf(error.errors)
  })
}

const pointersOf = (faults) => (assert.ok(faults.length < MAX_FAULTS), [...new Set(faults.map(({ pointer }) => pointer))].sort())

/** What stands there in a value, if anything. */
const at = (value, pointer) => pointer.split('/').slice(1).reduce((node, step) => {
  const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
  return node !== null && typeof node === 'object' && Object.hasOwn(node, name) ? node[name] : undefined
}, value)

/** Draws a form, does to it what a person does, and says what comes of it. */
const drawn = (schema, people) => page.evaluate(async ([schema, people]) => {
  const { drawForm } = await import('/form.js')
  const press = (elements, places) => places.forEach((place) => elements[place % elements.length].click())
  const set = (box, value) => {
    box.value = value
    box.dispatchEvent(new Event('input', { bubbles: true }))
  }
  const fill = (field, { text, day, moment, places, isCleared }) => {
    if (text === undefined) return
    const all = (selector) => [...field.querySelectorAll(selector)]
    const [box] = all('textarea, input:not([type=search], [type=radio], [type=checkbox])')
    const [select] = all('select')
    if (box?.type === 'date') set(box, day)
    else if (box?.type === 'datetime-local') set(box, moment)
    else if (box) {
      box.focus()
      box.select()
      document.execCommand(text ? 'insertText' : 'delete', false, text)
    } else if (select) {
      select.selectedIndex = places[0] % select.options.length
      select.dispatchEvent(new Event('change', { bubbles: true }))
    } else press(all('input'), places)
    const [clear] = all('.form-clear:not([hidden])')
    if (isCleared) clear?.click()
  }
  return people.map(({ draft, inputs }) => {
    const form = drawForm(schema, { value: draft && JSON.parse(draft) })
    document.body.replaceChildren(form.element)
    ;[...form.element.querySelectorAll('.form-field')].forEach((field, n) => fill(field, inputs[n]))
    return { text: JSON.stringify(form.value()), marks: form.errors() }
  })
}, [schema, people])

const counts = {}
const count = (what) => (counts[what] = (counts[what] ?? 0) + 1)

/** What was drawn, typed and chosen: what is not marked fits, what is marked does not, unless it is no value and is not sent. */
function compareDrawn(text, marks, refused, leaves, patterned, inputs) {
  const value = JSON.parse(text)
  const marked = pointersOf(marks)
  for (const pointer of refused) {
    assert.ok(marked.includes(pointer) || patterned.has(pointer), `${pointer} is refused, and not marked`)
  }
  // The service reads no further than half a character.
  const isReadWhole = !text.includes(JSON.stringify(HALF).slice(1, -1))
  for (const pointer of marked.filter((one) => isReadWhole && !refused.includes(one))) {
    const field = leaves.findIndex((leaf) => leaf.pointer === pointer)
    const isNoValue = inputs[field]?.text && (at(value, pointer) ?? null) === null
    assert.ok(isNoValue, `${pointer} is marked, and not refused`)
    count('fields with what is no value')
  }
  if (!isReadWhole) count('forms drawn with half a character')
  count(marked.length ? 'forms drawn with marks' : 'forms drawn without')
}

/** What stands for a field that was left alone and has no default. */
const untouched = ({ kind, isRequired, isNullable }) => (!isRequired ? undefined : isNullable ? null : kind === 'list' ? [] : undefined)
const PLAIN_TEXT = /^[!-~]+$/

/** What was typed is there as it was typed, and there is nothing of what was left alone. `inputs` are those of the fields in their order. */
function compareTyped(value, fields, inputs) {
  const left = [...inputs]
  for (const [name, field] of Object.entries(fields)) {
    const own = left.splice(0, leavesOf({ [name]: field }).length)
    const found = Object.hasOwn(value, name) ? value[name] : undefined
    const isLeft = own.every(({ text }) => text === undefined) && !isFilled(field)
    if (field.kind === 'group' && !(isLeft && (!field.isRequired || field.isNullable))) {
      if (found && !field.isFilled) compareTyped(found, field.fields, own)
    } else if (isLeft) {
      assert.deepEqual(found, untouched(field), `${name} was left alone`)
      count(field.kind === 'group' ? 'groups left alone' : 'fields left alone')
    } else if (field.kind === 'text' && PLAIN_TEXT.test(own[0].text ?? '')) {
      assert.equal(found, own[0].text, `${name} was typed`)
      count('texts as they were typed')
    }
  }
}

const isFilled = (field) => field.isFilled || Object.values(field.fields ?? {}).some(isFilled)

/** A page finds what the service finds, but for patterns. */
function compareChecked(found, refused, patterned) {
  assert.deepEqual(found.filter((pointer) => !refused.includes(pointer)), [], 'found by the page alone')
  const missed = refused.filter((pointer) => !found.includes(pointer) && !patterned.has(pointer))
  assert.deepEqual(missed, [], 'found by the service alone')
  count(refused.length ? 'results refused' : 'results taken')
}

async function compareForm(r, generated) {
  const { text: schema, fields, isMistaken } = generated
  const form = readForm(schema)
  const set = await service.call('PATCH', `/queues/${queue}`, `{"worker_limit":0,"result_schema":${schema}}`)
  if (form.faults || set.status >= 300) {
    if (set.errors?.every(({ detail }) => detail.endsWith("must match the form's `pattern`"))) return count('forms refused for a default')
    // One of them may name more that follows from the same mistake.
    const isShared = set.errors?.some((error) => form.faults?.some(({ pointer }) => error.pointer === `/result_schema${pointer}`))
    assert.ok(isShared, `refused for ${JSON.stringify(form.faults)} by the page, for ${JSON.stringify(set.errors)} by the service`)
    return count('forms refused')
  }
  count('forms taken')
  const leaves = leavesOf(fields)
  const patterned = new Set(leaves.filter((leaf) => leaf.schema.pattern).map(({ pointer }) => pointer))
  const people = r.times(isMistaken ? 0 : DRAWN, (n) => ({
    draft: n === 0 ? undefined : resultOf(r, generated), inputs: n === 2 ? leaves.map(() => ({})) : inputsOf(r, generated),
  }))
  const produced = await drawn(schema, people)
  const results = r.times(RESULTS, () => resultOf(r, generated))
  const refused = await ask([...produced.map(({ text }) => text), ...results])
  produced.forEach(({ text, marks }, n) => named(`${text}, ${JSON.stringify(marks)}, ${JSON.stringify(people[n])}`, () => {
    compareDrawn(text, marks, refused[n], leaves, patterned, people[n].inputs)
    if (!people[n].draft) compareTyped(JSON.parse(text), fields, people[n].inputs)
  }))
  results.forEach((text, n) => named(text, () => (
    compareChecked(pointersOf(checkText(form, text)), refused[produced.length + n], patterned))))
}

function named(what, compare) {
  try {
    compare()
  } catch (error) {
    error.message = `${error.message}: ${what}`
    throw error
  }
}

test('page_and_service_agree_on_random_forms_and_values', async (t) => {
  t.diagnostic(`FORM_SEED=${SEED}`)
  for (let n = 0; (counts['forms taken'] ?? 0) < FORMS; n += 1) {
    const r = random(SEED * 1_000_003 + n)
    const generated = formOf(r)
    try {
      await compareForm(r, generated)
    } catch (error) {
      error.message = `FORM_SEED=${SEED}, form ${n}: ${generated.text}: ${error.message}`
      throw error
    }
  }
  t.diagnostic(JSON.stringify(counts))
  const least = {
    'forms refused': 100, 'forms drawn with marks': 300, 'forms drawn without': 300, 'results refused': 1_000, 'results taken': 1_000,
    'fields with what is no value': 20, 'forms drawn with half a character': 5,
    'fields left alone': 100, 'groups left alone': 20, 'texts as they were typed': 10,
  }
  for (const [what, limit] of Object.entries(least)) assert.ok(counts[what] >= limit, `${what}: ${counts[what]}`)
})
