// Approvals at the desk: an agent asks, a person approves, rejects or corrects the arguments, and a request that expires says so.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atDesk } from '../world/at_desk.js'
import { fits, hearsClicks, later, shown } from '../world/stage.js'
import { becomes, reads } from '../world/until.js'

const on = atDesk()
const { view, button, press, result } = on

const QUEUE = 'approvals'
const SOON_MS = 50_000
const refund = (args = { order: 'A-1', eur: 180 }) => ({ agent: 'Support agent', tool: 'refund', args, why: 'The lamp arrived broken.' })
const holding = (name, payload = refund(), more) => on.holding(QUEUE, name, payload, more)

/** A request that expires soon is made when its page is there, however long that took. */
async function holdingBriefly(name) {
  await on.service.call('DELETE', `/queues/${QUEUE}?state=all&force=true`)
  const page = await on.sit(QUEUE, name)
  await view(page, 'wait')
  const id = await on.ask(QUEUE, refund(), { expires_ms: SOON_MS })
  await view(page, 'work')
  return { id, page }
}

test('approval_hands_in_the_arguments_as_they_were_asked', async () => {
  const { id, page } = await holding('ada')
  await shown(page, 'The lamp arrived broken.')
  await press(page, 'Approve')
  assert.deepEqual(await result(id), { approved: true, args: { order: 'A-1', eur: 180 }, reason: null })
  await view(page, 'wait')
  await becomes(() => page.locator('#done').innerText(), '1')
})

test('rejection_hands_in_its_reason_and_no_arguments', async () => {
  const { id, page } = await holding('ben')
  await page.getByLabel('Eur').fill('one')
  await page.getByLabel('Reason').fill(' not without a photo ')
  await press(page, 'Reject')
  assert.deepEqual(await result(id), { approved: false, args: null, reason: 'not without a photo' })
})

test('edited_arguments_are_shown_as_changes_and_handed_in', async () => {
  const { id, page } = await holding('cem', refund({ order: 'A-1', eur: 180, express: true, to: { name: 'Ann', lines: ['x', 2, null] } }))
  await page.getByLabel('Eur').fill('50.5')
  await page.getByLabel('Express').selectOption('No')
  await page.getByRole('group', { name: 'To' }).getByLabel('Name').fill('Bob')
  for (const asked of ['Asked for: 180', 'Asked for: true', 'Asked for: Ann']) await shown(page, asked)
  await shown(page, 'Draft saved')
  await page.reload()
  await shown(page, 'You are back where you were.')
  await shown(page, 'Asked for: 180')
  assert.equal(await page.getByLabel('Eur').inputValue(), '50.5')
  await press(page, 'Approve')
  const args = { order: 'A-1', eur: 50.5, express: false, to: { name: 'Bob', lines: ['x', 2, null] } }
  assert.deepEqual(await result(id), { approved: true, args, reason: null })
})

test('edited_argument_is_put_back', async () => {
  const { id, page } = await holding('dea')
  await page.getByLabel('Eur').fill('')
  await press(page, 'Put back')
  assert.equal(await page.getByLabel('Eur').inputValue(), '180')
  assert.equal(await button(page, 'Put back').isVisible(), false)
  await press(page, 'Approve')
  assert.deepEqual((await result(id)).args, refund().args)
})

test('wrong_number_is_named_at_its_field_and_not_approved', async () => {
  const { id, page } = await holding('eli')
  const field = page.getByLabel('Eur')
  for (const [typed, mistake] of [['fifty', 'This is not a number.'], ['', 'This is not a number.'], ['9007199254740993', 'cannot hold']]) {
    await field.fill(typed)
    await shown(page, mistake)
    assert.equal(await field.getAttribute('aria-invalid'), 'true')
    await press(page, 'Approve')
    await becomes(() => field.evaluate((box) => box === document.activeElement))
  }
  assert.equal(on.wire.calls('complete').length, 0)
  await field.fill('50')
  await becomes(() => field.getAttribute('aria-invalid'), 'false')
  await press(page, 'Approve')
  assert.equal((await result(id)).args.eur, 50)
})

test('arguments_that_are_untouched_go_back_as_they_were_sent', async () => {
  const args = '{"10":1.0, "2":9007199254740993,"text":"a\\u0041","eur":0.12345678901234567890123,"__proto__":[ ]}'
  const sent = () => /"args":(.*),"reason"/.exec(on.wire.calls('complete').at(-1).text)[1]
  const id = await on.askText(QUEUE, `{"tool":"pay","args":${args},"form":1}`)
  const page = await on.sit(QUEUE, 'fay')
  assert.equal(await page.getByLabel('Eur').inputValue(), '0.12345678901234567890123')
  await press(page, 'Approve')
  await becomes(() => on.wire.calls('complete').length, 1)
  assert.equal(sent(), args)
  await view(page, 'wait') // or the button would come up once more, and hear no click
  await press(page, 'Undo')
  await shown(page, 'Taken back')
  await view(page, 'work')
  await page.getByLabel('Text').fill('b')
  await press(page, 'Approve')
  await becomes(() => on.wire.calls('complete').length, 2)
  assert.equal(sent(), args.replace('"a\\u0041"', '"b"').replace('[ ]', '[]').replace(' ', ''))
  await result(id)
  const stored = await (await fetch(`${on.service.url}/jobs/${id}`)).text()
  assert.ok(stored.includes('"eur":0.12345678901234567890123') && stored.includes('"2":9007199254740993'), stored)
})

test('arguments_that_are_one_value_have_a_field', async () => {
  for (const [args, typed] of [['one text', 'another'], [7, 8], [['x'], ['y']]]) {
    const { id, page } = await holding('fox', refund(args))
    await page.locator('#arguments :is(input, textarea)').fill(String(typed))
    assert.ok(await page.getByLabel(Array.isArray(args) ? '1' : 'Arguments', { exact: true }).first().isVisible())
    await press(page, 'Approve')
    assert.deepEqual((await result(id)).args, typed)
    await page.close()
  }
})

test('number_that_a_browser_rounds_is_wrong_when_it_is_typed', async () => {
  const { page } = await holding('fin')
  await page.getByLabel('Eur').fill('0.12345678901234567890123')
  await shown(page, 'A browser cannot hold this number exactly.')
  await press(page, 'Approve')
  assert.equal(on.wire.calls('complete').length, 0)
})

test('time_left_ends_with_the_request', async () => {
  const { page } = await holding('flo', refund(), { expires_ms: 100_000 })
  await reads(page.locator('#time'), /^(0:\d\d|1:[0-4]\d)$/)
  await shown(page, 'until it expires')
  const { page: other } = await holding('gil', refund(), { expires_ms: 3_600_000 })
  await reads(other.locator('#time'), /^(4:\d\d|5:00)$/)
  await shown(other, 'yours while you are here')
})

test('expiry_while_held_is_reported_as_lost', async () => {
  const { id, page } = await holdingBriefly('hal')
  await shown(page, 'Less than a minute left.')
  await page.getByLabel('Reason').fill('let me thi')
  await on.clock.advance(SOON_MS)
  await page.evaluate(() => dispatchEvent(new Event('online'))) // it asks
  await shown(page, 'Lost: this request has expired.')
  await reads(page.locator('#time'), /^over$/)
  assert.equal((await on.service.job(id)).cancelled.reason, 'expired')
  for (const name of ['Approve', 'Reject', 'Skip']) assert.equal(await button(page, name).isVisible(), false)
  assert.equal(await page.getByLabel('Reason').inputValue(), 'let me thi')
  await press(page, 'Next request')
  await view(page, 'wait')
})

test('answer_after_the_expiry_does_not_count_and_is_kept', async () => {
  const { id, page } = await holdingBriefly('ian')
  on.wire.rule = ({ path }) => (path === '/jobs/extend' ? 'cut' : null)
  await on.clock.advance(SOON_MS)
  await later(page, SOON_MS)
  await shown(page, 'Its time is over, and there is no connection.')
  await becomes(() => on.service.state(id), 'cancelled')
  await press(page, 'Approve')
  await shown(page, 'Your answer came too late')
  const { state, late_results: late } = await on.service.job(id)
  assert.deepEqual([state, ...late.map((one) => one.result.approved)], ['cancelled', true])
})

test('withdrawn_request_is_reported_as_lost', async () => {
  const { id, page } = await holding('jon')
  await on.service.call('DELETE', `/jobs/${id}?force=true`)
  await page.getByLabel('Reason').fill('but')
  await shown(page, 'Lost: this request was withdrawn.')
})

test('letter_moves_the_focus_and_enter_approves', async () => {
  const { id, page } = await holding('kim')
  const focused = (name) => becomes(() => page.evaluate(() => document.activeElement.id), name)
  await focused('title')
  await page.keyboard.press('n')
  await focused('reason')
  await page.keyboard.type('a rare case')
  await page.keyboard.press('Escape')
  await focused('title')
  await page.keyboard.press('a')
  await focused('approve')
  assert.equal(await on.service.state(id), 'reserved')
  await hearsClicks(page)
  await page.keyboard.press('Enter')
  assert.equal((await result(id)).reason, 'a rare case')
})

test('single_keys_can_be_switched_off', async () => {
  const { page } = await holding('lou')
  await hearsClicks(page)
  await page.getByLabel('Single keys').uncheck()
  await page.locator('#title').focus()
  await page.keyboard.press('a')
  assert.equal(await page.evaluate(() => document.activeElement.id), 'title')
  await page.reload()
  await view(page, 'work')
  assert.equal(await page.getByLabel('Single keys').isChecked(), false)
})

test('second_click_of_a_double_click_approves_nothing', async () => {
  const { id, page } = await holding('lea')
  const next = await on.service.enqueue(QUEUE, refund({ eur: 9_000 }), { expires_ms: 900_000 })
  await hearsClicks(page)
  // The second click comes as soon as the next request is there.
  await page.evaluate(() => new Promise((clicked) => {
    const approve = document.getElementById('approve')
    const isNext = () => document.querySelector('#arguments textarea')?.value === '9000'
    const again = () => (isNext() ? clicked(approve.click()) : requestAnimationFrame(again))
    approve.click()
    again()
  }))
  await result(id)
  assert.equal(await on.service.state(next), 'reserved')
  assert.equal(on.wire.calls('complete').length, 1)
})

test('skipped_request_goes_to_another_person_with_the_reason', async () => {
  const { id, page } = await holding('max')
  await press(page, 'Skip')
  await page.getByLabel('A word on it').fill('not my language')
  await page.keyboard.press('Enter')
  await view(page, 'wait')
  await becomes(() => on.service.state(id), 'waiting')
  assert.equal(on.wire.calls('abandon').at(-1).body.reason, 'not my language')
  await shown(await on.sit(QUEUE, 'nia'), 'The lamp arrived broken.')
})

test('request_that_is_no_call_has_no_arguments', async () => {
  const { id, page } = await holding('oto', { question: '<img src=x onerror="globalThis.owned=1">' })
  await shown(page, '<img src=x onerror')
  assert.equal(await page.getByText('Arguments').isVisible(), false)
  await press(page, 'Approve')
  assert.deepEqual(await result(id), { approved: true, args: null, reason: null })
  assert.equal(await page.evaluate(() => globalThis.owned), undefined)
})

test('phone_never_scrolls_sideways_and_axe_finds_nothing', async () => {
  for (const dark of [false, true]) {
    const text = `${'word '.repeat(60)}${'x'.repeat(300)}`
    await on.ask(QUEUE, { ...refund({ text, ['n'.repeat(90)]: { deep: [[1]] } }), tool: 't'.repeat(90) })
    const page = await on.sit(QUEUE, `p${'q'.repeat(50)}`, { width: 360, height: 740, touch: true, dark })
    await view(page, 'work')
    await page.getByLabel('Text', { exact: true }).fill('y'.repeat(300))
    await shown(page, 'Asked for:')
    assert.ok(await fits(page))
    await on.isAccessible(page)
    await page.close()
  }
})

test('request_shows_what_is_not_seen_and_all_that_is_decided_about', async () => {
  const payload = {
    agent: 'Ann\u200b', tool: 'transfer\u202eknab_', args: { iban: 'DE\u202e0123' }, why: 'a\u2066b', account: 'ACME', amount: 100000, also: { environment: 'production' },
  }
  const { page } = await holding('hal', payload)
  for (const text of ['AnnU+200B', 'transferU+202Eknab_', 'aU+2066b', 'As it was sent: DEU+202E0123', 'ACME', '100000', 'production']) {
    await shown(page, text)
  }
})

test('known_member_of_another_type_shows_the_whole_payload', async () => {
  for (const tool of [{ name: 'delete_all' }, '', ' ', 7]) {
    const { page } = await holding('ivy', { tool, args: { table: 'users' } })
    await shown(page, tool.name ?? (tool === 7 ? '7' : 'Tool'))
    await shown(page, 'users')
    assert.equal(await page.getByLabel('Table').count(), 0, 'it is data, not a field')
    await page.close()
  }
  const { page } = await holding('joe', { tool: 'refund', agent: { name: 'Bot' }, args: { eur: 180 } })
  await shown(page, 'Bot')
})

test('draft_of_another_page_does_not_stop_an_answer', async () => {
  const id = await on.ask(QUEUE, refund())
  const { reservation } = (await on.service.call('POST', '/jobs/reserve', { queues: [QUEUE], worker: 'ken' })).jobs[0]
  await on.service.set(QUEUE, { share_drafts: true })
  await on.service.call('POST', '/jobs/hand-over', { reservation, to: 'lea', draft: { reason: 5, args: { eur: { a: 1 } } }, note: 'Look\u202e' })
  const page = await on.sit(QUEUE, 'lea')
  await view(page, 'work')
  await shown(page, 'LookU+202E')
  await press(page, 'Approve')
  assert.deepEqual(await result(id), { approved: true, args: { order: 'A-1', eur: 180 }, reason: null })
})

test('answer_is_taken_back_and_corrected', async () => {
  const { id, page } = await holding('mia')
  const next = await on.service.enqueue(QUEUE, refund({ eur: 9 }), { expires_ms: 900_000 })
  await page.getByLabel('Eur').fill('60')
  await press(page, 'Approve')
  await becomes(() => page.getByLabel('Eur').inputValue(), '9')
  await page.keyboard.press('u')
  await shown(page, 'Taken back')
  await becomes(() => page.getByLabel('Eur').inputValue(), '60')
  await page.getByLabel('Reason').fill('on second thought')
  await press(page, 'Reject')
  assert.deepEqual(await result(id), { approved: false, args: null, reason: 'on second thought' })
  await becomes(() => page.getByLabel('Eur').inputValue(), '9')
  assert.equal(await on.service.state(next), 'reserved')
})
