// The approvals desk: an agent asks, a person approves, rejects or corrects the arguments, and a request that expires is said to have.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { fits, shown, stage } from '../world/stage.js'
import { becomes, reads } from '../world/until.js'

const on = stage()
const axe = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')

const QUEUE = 'approvals'
const refund = (args = { order: 'A-1', eur: 180 }) => ({ agent: 'Support agent', tool: 'refund', args, why: 'The lamp arrived broken.' })
const view = (page, name) => becomes(() => page.evaluate(() => document.body.dataset.view), name)
const button = (page, name) => page.getByRole('button', { name })
const result = async (id) => (await on.service.job(id)).result
/** As a person would: the buttons of a request that has just come do nothing for half a second. */
const press = async (page, name) => {
  await page.waitForTimeout(550)
  await button(page, name).click()
}

async function ask(payload = refund(), more = {}) {
  await on.service.call('DELETE', `/queues/${QUEUE}?state=all&force=true`)
  return on.service.enqueue(QUEUE, payload, { dedupe: false, expires_ms: 900_000, ...more })
}

async function sit(name, options) {
  const page = await on.open('/demo/approvals/', options)
  await page.getByLabel('Your name').fill(name)
  await page.keyboard.press('Enter')
  return page
}

async function holding(name, payload, more) {
  const id = await ask(payload, more)
  const page = await sit(name)
  await view(page, 'work')
  return { id, page }
}

/** A request that expires soon is made when its page is there, however long that took. */
async function holdingBriefly(name) {
  const page = await sit(name)
  await view(page, 'wait')
  const id = await ask(refund(), { expires_ms: 4_000 })
  await view(page, 'work')
  return { id, page }
}

test('approval_hands_in_the_arguments_as_they_were_asked', async () => {
  const { id, page } = await holding('ada')
  await shown(page, 'The lamp arrived broken.')
  await press(page, 'Approve')
  await becomes(() => on.service.state(id), 'completed')
  assert.deepEqual(await result(id), { approved: true, args: { order: 'A-1', eur: 180 }, reason: null })
  await view(page, 'wait')
  await becomes(() => page.locator('#done').innerText(), '1')
})

test('rejection_hands_in_its_reason_and_no_arguments', async () => {
  const { id, page } = await holding('ben')
  await page.getByLabel('Arguments').fill('{"eur": ')
  await page.getByLabel('Reason').fill(' not without a photo ')
  await press(page, 'Reject')
  await becomes(() => on.service.state(id), 'completed')
  assert.deepEqual(await result(id), { approved: false, args: null, reason: 'not without a photo' })
})

test('edited_arguments_are_shown_as_changes_and_handed_in', async () => {
  const { id, page } = await holding('cem')
  assert.equal(await page.locator('#changes').isVisible(), false)
  await page.getByLabel('Arguments').fill('{"order": "A-1", "eur": 50, "partial": true}')
  await reads(page.locator('#changed'), /^eur: 180 → 50\npartial: none → true$/)
  await shown(page, 'Draft saved')
  await page.reload()
  await shown(page, 'You are back where you were.')
  await reads(page.locator('#changed'), /eur: 180 → 50/)
  await press(page, 'Approve')
  await becomes(() => on.service.state(id), 'completed')
  assert.deepEqual(await result(id), { approved: true, args: { order: 'A-1', eur: 50, partial: true }, reason: null })
})

test('edited_arguments_are_put_back', async () => {
  const { id, page } = await holding('dea')
  await page.getByLabel('Arguments').fill('{}')
  await button(page, 'Put back').click()
  assert.deepEqual(JSON.parse(await page.getByLabel('Arguments').inputValue()), refund().args)
  assert.equal(await page.locator('#changes').isVisible(), false)
  await press(page, 'Approve')
  await becomes(() => on.service.state(id), 'completed')
  assert.deepEqual((await result(id)).args, refund().args)
})

test('invalid_arguments_are_named_and_not_approved', async () => {
  const { id, page } = await holding('eli')
  const field = page.getByLabel('Arguments')
  for (const [text, mistake] of [['{"eur": 50', 'This is no JSON yet'], ['[50]', 'needs an object'], ['{"eur": 9007199254740993}', 'larger than']]) {
    await field.fill(text)
    await shown(page, mistake)
    assert.equal(await field.getAttribute('aria-invalid'), 'true')
    await press(page, 'Approve')
    await becomes(() => page.evaluate(() => document.activeElement.id), 'args')
  }
  assert.equal(on.wire.calls('complete').length, 0)
  await field.fill('{"eur": 50}')
  await becomes(() => field.getAttribute('aria-invalid'), 'false')
  await press(page, 'Approve')
  await becomes(() => on.service.state(id), 'completed')
  assert.deepEqual((await result(id)).args, { eur: 50 })
})

test('time_left_ends_with_the_request', async () => {
  const { page } = await holding('flo', refund(), { expires_ms: 100_000 })
  await reads(page.locator('#time'), /^1:3\d$/)
  await shown(page, 'until it expires')
  const { page: other } = await holding('gil', refund(), { expires_ms: 3_600_000 })
  await reads(other.locator('#time'), /^(4:5\d|5:00)$/)
  await shown(other, 'yours while you are here')
})

test('expiry_while_held_is_reported_as_lost', async () => {
  const { id, page } = await holdingBriefly('hal')
  await shown(page, 'Less than a minute left.')
  await page.getByLabel('Reason').fill('let me thi')
  await shown(page, 'Lost: this request has expired.')
  await reads(page.locator('#time'), /^over$/)
  assert.equal((await on.service.job(id)).cancelled.reason, 'expired')
  for (const name of ['Approve', 'Reject', 'Skip']) assert.equal(await button(page, name).isVisible(), false)
  assert.equal(await page.getByLabel('Reason').inputValue(), 'let me thi')
  await button(page, 'Next request').click()
  await view(page, 'wait')
})

test('answer_after_the_expiry_does_not_count_and_is_kept', async () => {
  const { id, page } = await holdingBriefly('ian')
  on.wire.rule = ({ path }) => (path === '/jobs/extend' ? 'cut' : null)
  await shown(page, 'Its time is over, and there is no connection.')
  await becomes(() => on.service.state(id), 'cancelled')
  await press(page, 'Approve')
  await shown(page, 'Your answer came too late')
  const { state, late_results: late } = await on.service.job(id)
  assert.equal(state, 'cancelled')
  assert.deepEqual(late.map((one) => one.result.approved), [true])
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
  await page.keyboard.press('e')
  await focused('args')
  await page.keyboard.press('Escape')
  await page.keyboard.press('a')
  await focused('approve')
  assert.equal(await on.service.state(id), 'reserved')
  await page.waitForTimeout(550)
  await page.keyboard.press('Enter')
  await becomes(() => on.service.state(id), 'completed')
  assert.equal((await result(id)).reason, 'a rare case')
})

test('second_click_of_a_double_click_approves_nothing', async () => {
  const { id, page } = await holding('lea')
  const next = await on.service.enqueue(QUEUE, refund({ eur: 9_000 }), { expires_ms: 900_000 })
  await page.waitForTimeout(550)
  // The second click comes as soon as the next request is there.
  await page.evaluate(() => new Promise((clicked) => {
    const [approve, field] = ['approve', 'args'].map((name) => document.getElementById(name))
    const again = () => (field.value.includes('9000') ? clicked(approve.click()) : requestAnimationFrame(again))
    approve.click()
    again()
  }))
  await becomes(() => on.service.state(id), 'completed')
  await page.waitForTimeout(300)
  assert.equal(await on.service.state(next), 'reserved')
  assert.equal(on.wire.calls('complete').length, 1)
})

test('skipped_request_goes_to_another_person', async () => {
  const { id, page } = await holding('max')
  await press(page, 'Skip')
  await view(page, 'wait')
  await becomes(() => on.service.state(id), 'waiting')
  await shown(await sit('nia'), 'The lamp arrived broken.')
})

test('request_that_is_no_call_is_shown_as_text', async () => {
  const { id, page } = await holding('oto', { question: '<img src=x onerror="globalThis.owned=1">' })
  await shown(page, '<img src=x onerror')
  assert.equal(await page.getByLabel('Arguments').isVisible(), false)
  await press(page, 'Approve')
  await becomes(() => on.service.state(id), 'completed')
  assert.deepEqual(await result(id), { approved: true, args: null, reason: null })
  assert.equal(await page.evaluate(() => globalThis.owned), undefined)
})

test('phone_never_scrolls_sideways_and_axe_finds_nothing', async () => {
  for (const dark of [false, true]) {
    await ask({ ...refund({ text: `${'word '.repeat(60)}${'x'.repeat(300)}` }), tool: 't'.repeat(90) })
    const page = await sit(`p${'q'.repeat(50)}`, { width: 360, height: 740, touch: true, dark })
    await view(page, 'work')
    await page.getByLabel('Arguments').fill(`{"text": "${'y'.repeat(300)}"}`)
    await page.locator('#changed').waitFor()
    assert.ok(await fits(page))
    await page.evaluate(axe)
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }))
    assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`), [])
    await page.close()
  }
})

test('both_desks_are_linked_and_keep_the_name', async () => {
  const { page } = await holding('pam')
  await page.getByRole('link', { name: 'Moderation desk' }).click()
  await shown(page, 'All clear.')
  await page.getByRole('link', { name: 'Approvals' }).click()
  await view(page, 'work')
  assert.equal(await page.locator('#me').innerText(), 'pam')
})

test('seed_fills_both_queues_once', async () => {
  await ask()
  const script = fileURLToPath(new URL('../../../web/demo/seed.sh', import.meta.url))
  const run = () => execFileSync('sh', [script, on.service.url], { encoding: 'utf8' })
  assert.match(run(), /10 requests are new in the queue approvals/)
  assert.match(run(), /\n0 requests are new/)
})

test('request_shows_what_is_not_seen_and_all_that_is_decided_about', async () => {
  const payload = {
    agent: 'Ann\u200b', tool: 'transfer\u202eknab_', args: { iban: 'DE\u202e0123' }, why: 'a\u2066b', account: 'ACME', environment: 'production',
  }
  const { page } = await holding('hal', payload)
  for (const text of ['AnnU+200B', 'transferU+202Eknab_', 'aU+2066b', 'DEU+202E0123', '"account": "ACME"', '"environment": "production"']) {
    await shown(page, text)
  }
})

test('known_member_of_another_type_shows_the_whole_payload', async () => {
  for (const tool of [{ name: 'delete_all' }, '', ' ', 7]) {
    const { page } = await holding('ivy', { tool, args: { table: 'users' } })
    await shown(page, JSON.stringify({ tool }, null, 2).slice(1, -1).trim())
    await page.close()
  }
  const { page } = await holding('joe', { tool: 'refund', agent: { name: 'Bot' }, args: { eur: 180 } })
  await shown(page, '"name": "Bot"')
})

test('draft_of_another_page_does_not_stop_an_answer', async () => {
  const id = await ask()
  const { reservation } = (await on.service.call('POST', '/jobs/reserve', { queues: [QUEUE], worker: 'ken' })).jobs[0]
  await on.service.set(QUEUE, { share_drafts: true })
  await on.service.call('POST', '/jobs/hand-over', { reservation, to: 'lea', draft: { reason: 5, args: {} } })
  const page = await sit('lea')
  await view(page, 'work')
  await press(page, 'Approve')
  await becomes(() => on.service.state(id), 'completed')
  assert.deepEqual(await result(id), { approved: true, args: { order: 'A-1', eur: 180 }, reason: null })
})

test('copy_whose_module_does_not_load_says_so', async () => {
  const page = await on.open('/demo/approvals/')
  await page.route('**/client.js', (route) => route.abort())
  await page.reload()
  await page.getByText('The module of intray is not loaded.').waitFor()
  assert.equal(await button(page, 'Start').isDisabled(), true)
})
