// Answers by a form at the desk: the queue's, or the job's own, which is the asker's and never pretends to be the desk.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atDesk } from '../world/at_desk.js'
import { fits, hearsClicks, shown } from '../world/stage.js'
import { becomes } from '../world/until.js'

const on = atDesk()
const { view, button, press, result } = on

const QUEUE = 'reviews'
const verdict = {
  type: 'object',
  properties: {
    verdict: { title: 'Verdict', enum: ['fine', 'spam', 'rude'] },
    note: { title: 'Note', type: 'string', maxLength: 500 },
  },
  required: ['verdict'],
  additionalProperties: false,
}
const holding = (name, payload, more, options) => on.holding(QUEUE, name, payload, more, options)
const withForm = (form, more = {}) => ({ title: 'Is this fine?', text: 'buy now', ...more, form })
/** As a person would: the choices of a request that has just come do nothing for half a second. */
const choose = async (page, name) => {
  await hearsClicks(page)
  await page.getByRole('radio', { name }).check()
}
/** The service answers so for the form of the queue. */
const queueForm = (schema) => {
  on.wire.rule = ({ path }) => (path.endsWith('/form') ? { status: 200, type: 'application/json', body: { result_schema: schema.now ?? null } } : null)
}

test('jobs_own_form_is_drawn_with_its_author_and_handed_in', async () => {
  const { id, page } = await holding('ada', withForm(verdict))
  await shown(page, 'This form was written by')
  assert.equal(await button(page, 'Approve').isVisible(), false)
  assert.equal(await page.locator('#request').getByText('properties').count(), 0, 'the form is not shown as data')
  await choose(page, 'spam')
  await page.getByLabel('Note').fill('seen before')
  await press(page, 'Send')
  assert.deepEqual(await result(id), { verdict: 'spam', note: 'seen before' })
})

test('digit_chooses_from_the_heading_and_sends_nothing', async () => {
  const { id, page } = await holding('ben', withForm(verdict))
  assert.equal(await page.evaluate(() => document.activeElement.id), 'title')
  await hearsClicks(page)
  await page.keyboard.press('2')
  await becomes(() => page.getByRole('radio', { name: 'spam' }).isChecked())
  await page.keyboard.press('Enter')
  await page.getByLabel('Note').fill('line')
  await page.keyboard.press('3')
  await page.keyboard.press('Enter')
  await page.waitForTimeout(300)
  assert.equal(on.wire.calls('complete').length, 0)
  await page.keyboard.press('Control+Enter')
  assert.deepEqual(await result(id), { verdict: 'spam', note: 'line3\n' })
})

test('missing_answer_is_marked_and_focused_and_then_corrected', async () => {
  const { id, page } = await holding('cem', withForm(verdict))
  await press(page, 'Send')
  await shown(page, 'This is required.')
  assert.equal(on.wire.calls('complete').length, 0)
  assert.equal(await page.evaluate(() => document.activeElement.type), 'radio')
  await page.keyboard.press('1')
  await press(page, 'Send')
  assert.deepEqual(await result(id), { verdict: 'fine' })
})

test('draft_of_a_form_survives_a_reload_and_an_undo', async () => {
  const { id, page } = await holding('dea', withForm(verdict))
  await choose(page, 'rude')
  await page.getByLabel('Note').fill('half')
  await shown(page, 'Draft saved')
  await page.reload()
  await shown(page, 'You are back where you were.')
  assert.equal(await page.getByRole('radio', { name: 'rude' }).isChecked(), true)
  assert.equal(await page.getByLabel('Note').inputValue(), 'half')
  await press(page, 'Send')
  await view(page, 'wait') // or the button would come up once more, and hear no click
  await press(page, 'Undo')
  await shown(page, 'Taken back')
  await view(page, 'work')
  await becomes(() => page.getByLabel('Note').inputValue(), 'half')
  await page.getByLabel('Note').fill('whole')
  await press(page, 'Send')
  assert.deepEqual(await result(id), { verdict: 'rude', note: 'whole' })
})

test('call_of_a_tool_has_approve_and_reject_whatever_form_it_brings', async () => {
  const trap = { type: 'object', properties: { approve: { type: 'boolean', title: 'Reject' } } }
  const { page } = await holding('eli', { tool: 'refund', args: { eur: 1 }, form: trap })
  await button(page, 'Approve').waitFor()
  assert.equal(await button(page, 'Send').isVisible(), false)
  await shown(page, 'properties')
})

test('member_that_is_no_form_is_ordinary_data', async () => {
  for (const form of ['round', { type: 'object' }, { type: 'object', properties: { a: { type: 'string', pattern: 'x' } } }]) {
    const { page } = await holding('fay', withForm(form))
    await button(page, 'Approve').waitFor()
    await page.locator('#request').getByText('Form', { exact: true }).waitFor()
    await page.close()
  }
})

test('form_of_the_queue_is_drawn_and_the_jobs_own_is_data', async () => {
  const schema = { now: { type: 'object', properties: { score: { title: 'Score', type: 'integer', minimum: 1, maximum: 5 } }, required: ['score'] } }
  const id = await on.ask(QUEUE, withForm(verdict))
  queueForm(schema)
  const page = await on.sit(QUEUE, 'gil')
  await view(page, 'work')
  await choose(page, '4')
  await shown(page, 'Additional properties')
  assert.equal(await page.getByText('This form was written by').count(), 0)
  await press(page, 'Send')
  assert.deepEqual(await result(id), { score: 4 })
})

test('form_that_changes_while_the_request_is_in_hand_is_drawn_after_the_refusal', async () => {
  const queue = 'reviews-with-a-form'
  const changed = { ...verdict, properties: { ...verdict.properties, why: { title: 'Why', type: 'string' } }, required: ['verdict', 'why'] }
  await on.service.set(queue, { result_schema: verdict })
  const { id, page } = await on.holding(queue, 'kai', { title: 'Is this fine?' })
  await choose(page, 'spam')
  await page.getByLabel('Note').fill('kept')
  await on.service.set(queue, { result_schema: changed })
  await on.clock.advance(2_100)
  await page.waitForTimeout(2_100)
  await press(page, 'Send')
  await shown(page, 'The form has changed in the meantime.')
  assert.equal(await on.service.state(id), 'reserved')
  await page.getByLabel('Why', { exact: true }).fill('because')
  await press(page, 'Send')
  assert.deepEqual(await result(id), { verdict: 'spam', note: 'kept', why: 'because' })
})

test('refused_result_marks_its_fields_and_a_new_form_keeps_what_fits', async () => {
  const schema = { now: verdict }
  const id = await on.ask(QUEUE, { title: 'Is this fine?' })
  queueForm(schema)
  const page = await on.sit(QUEUE, 'hal')
  await view(page, 'work')
  await choose(page, 'spam')
  await page.getByLabel('Note').fill('kept')
  const changed = { ...verdict, properties: { ...verdict.properties, why: { title: 'Why', type: 'string' } }, required: ['verdict', 'why'] }
  const form = on.wire.rule
  on.wire.rule = (call) => (call.path !== '/jobs/complete' ? form(call) : {
    status: 422, body: { type: '/problems/invalid-result', title: 'x', status: 422, detail: 'refused', errors: [{ pointer: '/why', detail: 'is required' }] },
  })
  schema.now = changed
  await press(page, 'Send')
  await shown(page, 'The form has changed in the meantime.')
  await shown(page, 'is required')
  assert.equal(await on.service.state(id), 'reserved')
  assert.equal(await page.getByLabel('Note').inputValue(), 'kept')
  assert.equal(await page.getByRole('radio', { name: 'spam' }).isChecked(), true)
  await page.getByLabel('Why', { exact: true }).fill('because')
  on.wire.rule = form
  await press(page, 'Send')
  assert.deepEqual(await result(id), { verdict: 'spam', note: 'kept', why: 'because' })
})

test('form_that_cannot_be_asked_for_is_waited_for', async () => {
  await on.ask(QUEUE, { title: 'Is this fine?' })
  let isAway = true
  on.wire.rule = ({ path }) => (path.endsWith('/form') && isAway ? 'cut' : null)
  const page = await on.sit(QUEUE, 'ian')
  await shown(page, 'No connection, trying again')
  assert.equal(await button(page, 'Approve').isVisible(), false)
  isAway = false
  await button(page, 'Approve').waitFor()
})

test('person_whose_code_has_ended_is_asked_for_another_and_keeps_the_request', async () => {
  const id = await on.ask(QUEUE, { title: 'Is this fine?' })
  on.wire.rule = ({ path }) => (path.endsWith('/form') ? { status: 401, body: { type: '/problems/unauthorized', status: 401, detail: 'x' } } : null)
  const page = await on.sit(QUEUE, 'lou')
  await page.getByLabel('Your code').waitFor()
  await shown(page, 'This code is not valid')
  assert.equal(await on.service.state(id), 'reserved')
  on.wire.rule = null
  await page.reload()
  await button(page, 'Approve').waitFor()
})

test('chosen_option_is_seen_in_forced_colours', async () => {
  const { page } = await holding('mia', withForm(verdict))
  await choose(page, 'rude')
  await page.emulateMedia({ forcedColors: 'active' })
  const [chosen, wanted] = await page.evaluate(() => {
    const probe = document.body.appendChild(document.createElement('p'))
    Object.assign(probe.style, { background: 'Highlight', forcedColorAdjust: 'none' })
    return [document.querySelector('.form-option:has(:checked)'), probe].map((one) => getComputedStyle(one).backgroundColor)
  })
  assert.equal(chosen, wanted)
})

test('form_on_a_phone_fits_and_axe_finds_nothing', async () => {
  for (const dark of [false, true]) {
    const many = { type: 'array', title: 'Labels', items: { enum: Array.from({ length: 12 }, (_, n) => `label ${n}`) } }
    const form = { ...verdict, properties: { ...verdict.properties, many, day: { type: 'string', format: 'date' }, ok: { type: 'boolean' } } }
    await on.ask(QUEUE, withForm(form))
    const page = await on.sit(QUEUE, 'jon', { width: 360, height: 740, touch: true, dark })
    await view(page, 'work')
    await press(page, 'Send')
    await shown(page, 'This is required.')
    assert.ok(await fits(page))
    await on.isAccessible(page)
    await page.close()
  }
})

test('what_a_jobs_form_says_is_on_the_page_though_it_is_not_drawn', async () => {
  const form = {
    type: 'object', $id: 'urn:shown-1', $comment: 'shown-2', examples: [{ 'shown-3 x': 'shown-4' }],
    properties: {
      ok: { $ref: '#/$defs/O', title: 'Fine?' }, tags: { type: 'array', items: { title: 'shown-5', description: 'shown-6', enum: ['a'] } },
      way: { enum: ['b', 'shown-7'], default: 'shown-7' }, old: { type: 'string', examples: ['shown-8'] },
    },
    $defs: { O: { type: 'boolean', title: 'shown-9', description: 'shown-10' } },
  }
  const { page } = await holding('kay', withForm(form))
  await shown(page, 'This form was written by')
  const text = await page.locator('.work').innerText()
  for (const n of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) assert.match(text, new RegExp(`shown-${n}\\b`, 'i'))
})

test('call_of_too_many_arguments_can_only_be_skipped', async () => {
  for (const [args, isDecided] of [[Array(900).fill(''), true], [Array(1_001).fill(''), false], [Array(1_001).fill([]), false]]) {
    const { page } = await holding('lou', { tool: 'wire', args })
    if (!isDecided) await shown(page, 'It can only be skipped.')
    assert.equal(await button(page, 'Approve').isVisible(), isDecided)
    assert.equal(await page.locator('#arguments textarea').count(), isDecided ? 900 : 0)
    assert.equal(await page.locator('#request li').count(), isDecided ? 0 : 1_001)
    await page.close()
  }
})

test('numbers_and_wide_letters_of_a_call_are_in_sight_to_their_end', async () => {
  const args = `{"eur":1.${'0'.repeat(100)}e6,"to":"${'支払先'.repeat(40)}"}`
  for (const isOld of [false, true]) {
    await on.askText(QUEUE, `{"tool":"pay","args":${args}}`)
    const page = await on.open('/desk/nowhere', { width: 360, height: 740 })
    // A browser that makes no box as high as its text.
    if (isOld) {
      await page.addInitScript(() => {
        CSS.supports = () => false
        document.addEventListener('DOMContentLoaded', () => {
          for (const sheet of document.styleSheets) for (const rule of sheet.cssRules) rule.style?.removeProperty('field-sizing')
        })
      })
    }
    await page.goto(`${on.url}/desk/?queue=${QUEUE}`)
    await page.getByLabel('Your name').fill('max')
    await page.keyboard.press('Enter')
    await view(page, 'work')
    for (const name of ['Eur', 'To']) {
      const box = page.getByLabel(name, { exact: true })
      await becomes(() => box.evaluate((one) => one.scrollHeight <= one.clientHeight && one.scrollWidth <= one.clientWidth), true)
    }
    await page.close()
  }
})
