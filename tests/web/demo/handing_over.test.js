// Who may have a post: for one moderator, for all but its author, handed over with a note, and for everybody when that one does not come.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fits, shown, stage, withClock } from '../world/stage.js'
import { UNHINTED, becomes, early, reads } from '../world/until.js'

const QUEUE = 'moderation'
const QUARTER = 900_000
const axe = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')

const on = stage(undefined, withClock)

const post = (text) => ({ kind: 'post', community: 'Test', author: { name: 'Pat Other' }, posted: 'today', language: 'en', text, reports: [{ reason: 'Spam' }] })
const view = (page, name) => becomes(() => page.evaluate(() => document.body.dataset.view), name)
const button = (page, name) => page.getByRole('button', { name })

async function sit(name, options) {
  const page = await on.open('/demo/', options)
  await page.getByLabel('Your name').fill(name)
  await page.keyboard.press('Enter')
  return page
}

async function only(text, more) {
  await on.service.call('DELETE', `/queues/${QUEUE}?state=all&force=true`)
  await on.service.set(QUEUE, { lease_ms: 3_600_000 })
  return on.service.enqueue(QUEUE, post(text), { dedupe: false, ...more })
}

/** Time passes, and the service looks what it has brought about. */
async function pass(ms) {
  await on.clock.advance(ms)
  await on.service.call('POST', `/queues/${QUEUE}/sweep`, {})
}

/** By keyboard alone. */
async function hand(page, to, note = '') {
  await page.keyboard.press('h')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.type(to)
  if (note) {
    await page.keyboard.press('Tab')
    await page.keyboard.type(note)
    await page.keyboard.press('Control+Enter')
  } else await page.keyboard.press('Enter')
}

test('handed_over_post_reaches_a_waiting_page_at_once', async () => {
  const id = await only('Only Bob knows them')
  const ann = await sit('ann')
  await shown(ann, 'Only Bob knows them')
  const bob = await sit('bob')
  await shown(bob, 'Others are working on everything that is left.')
  await ann.keyboard.press('3')
  await ann.keyboard.press('e')
  await ann.getByLabel('Note', { exact: false }).first().fill('looks like an address')
  await ann.keyboard.press('Escape')
  await ann.keyboard.press('h')
  await ann.getByRole('dialog').waitFor()
  await ann.keyboard.type('bob')
  await ann.keyboard.press('Tab')
  await ann.keyboard.type('Is this her street?')
  await ann.keyboard.press('Control+Enter')
  await shown(bob, 'Is this her street?')
  const { body, answer } = on.wire.calls('reserve').find(({ body, answer }) => body.worker === 'bob' && answer?.jobs?.length)
  assert.ok(body.wait_ms > 0 && answer.jobs[0].id === id, 'a call that waited has it')
  early(Date.parse(answer.jobs[0].note.at), UNHINTED, Date.parse((await on.service.job(id)).reserved.reserved_at))
  await reads(bob.locator('#handed'), /^ann handed this over, \d\d:\d\d\s+Is this her street\?$/)
  await shown(bob, 'What was typed before is filled in.')
  assert.equal(await bob.locator('#note').inputValue(), 'looks like an address')
  assert.equal(await bob.locator('input[value=privacy]').isChecked(), true)
  await shown(ann, 'bob gets it')
  await view(ann, 'wait')
  const job = await on.service.job(id)
  assert.deepEqual([job.state, job.reserved.worker, job.attempts, job.counts.handed_out], ['reserved', 'bob', 0, 2])
  // The draft is Bob's now, and so is the decision.
  await bob.reload()
  await shown(bob, 'You are back where you were.')
  await shown(bob, 'Is this her street?')
  await bob.keyboard.press('Enter')
  await becomes(() => on.service.state(id), 'completed')
  assert.deepEqual((await on.service.job(id)).result, { verdict: 'remove', rule: 'privacy', note: 'looks like an address' })
})

test('assigned_post_is_given_to_its_assignee_alone', async () => {
  const id = await only('This is for bea', { assignees: ['bea'] })
  const other = await sit('cal')
  await shown(other, 'The rest is for other moderators.')
  const page = await sit('bea')
  await shown(page, 'This is for bea')
  assert.equal(await page.locator('#handed').isVisible(), false)
  await page.keyboard.press('1')
  await page.keyboard.press('Enter')
  await becomes(() => on.service.state(id), 'completed')
})

test('author_is_kept_out_and_is_no_name_to_hand_it_to', async () => {
  const id = await only('Written by carol', { excluded: ['carol'] })
  const carol = await sit('carol')
  await shown(carol, 'The rest is for other moderators.')
  const page = await sit('dee')
  await shown(page, 'Written by carol')
  await hand(page, 'carol')
  await shown(page, 'Not handed to carol. This post is kept from them.')
  await page.getByLabel('Their name').fill('dee')
  await page.keyboard.press('Enter')
  await reads(page.locator('#not-handed'), /^Not handed to dee\. (?!This post is kept)/)
  assert.equal((await on.service.job(id)).reserved.worker, 'dee')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  await page.keyboard.press('1')
  await page.keyboard.press('Enter')
  await becomes(() => on.service.state(id), 'completed')
})

test('post_handed_to_one_who_is_away_falls_back_to_a_waiting_page', async () => {
  const id = await only('Bob is at lunch')
  const ann = await sit('ann')
  await shown(ann, 'Bob is at lunch')
  await hand(ann, 'gus', 'before noon, please')
  await shown(ann, 'The rest is for other moderators.')
  assert.deepEqual((await on.service.job(id)).handed_to.worker, 'gus')
  await pass(QUARTER - 300_000)
  assert.equal(await on.service.state(id), 'waiting')
  const other = await sit('hal')
  await shown(other, 'The rest is for other moderators.')
  await ann.close()
  // Or the wire would take the post for her, who is gone.
  await becomes(() => on.wire.open, 1)
  await pass(300_000)
  await shown(other, 'Bob is at lunch')
  assert.equal((await on.service.job(id)).handed_to, null)
})

test('fallback_leaves_the_post_with_the_assignee_who_has_it', async () => {
  const id = await only('For ivy, then for all', { assignees: ['ivy'], fallback_ms: 600_000 })
  const page = await sit('ivy')
  await shown(page, 'For ivy, then for all')
  await page.keyboard.press('4')
  await page.locator('#note').fill('still reading')
  await shown(page, 'Draft saved')
  const other = await sit('jon')
  await shown(other, 'Others are working on everything that is left.')
  await pass(600_000)
  await becomes(async () => (await on.service.job(id)).assignees, null)
  assert.equal((await on.service.job(id)).reserved.worker, 'ivy')
  await page.keyboard.press('Escape')
  await page.keyboard.press('b')
  await shown(other, 'For ivy, then for all')
})

test('reload_during_a_hand_over_loses_nothing', async () => {
  const id = await only('On a bad line')
  const ann = await sit('ann')
  await shown(ann, 'On a bad line')
  await ann.keyboard.press('4')
  await ann.locator('#note').fill('half a thou')
  await shown(ann, 'Draft saved')
  await ann.keyboard.press('Escape')
  // The call is on its way when the page goes; whether it arrived, the page never hears.
  const calls = []
  on.wire.rule = ({ path, body }) => {
    if (path !== '/jobs/hand-over') return undefined
    calls.push(body)
    return calls.length === 1 ? new Promise((turn) => { setTimeout(turn, 400, 'lose') }) : undefined
  }
  await hand(ann, 'kim', 'please')
  await becomes(() => calls.length > 0)
  await ann.reload()
  const { state, handed_to: to, reserved } = await becomesSettled(id)
  assert.ok(state === 'reserved' ? reserved.worker === 'ann' : to.worker === 'kim', JSON.stringify({ state, to, reserved }))
  await becomes(async () => (await on.service.job(id)).handed_to?.worker, 'kim')
  const kim = await sit('kim')
  await shown(kim, 'On a bad line')
  assert.equal(await kim.locator('#note').inputValue(), 'half a thou')
  await reads(kim.locator('#handed'), /please/)
  assert.deepEqual((await on.service.job(id)).counts, { handed_out: 2, expired: 0, failed: 0, abandoned: 0, released: 0 })
})

/** Held or handed over, and nothing between: looked at as often as it can be. */
async function becomesSettled(id) {
  for (let n = 0; n < 20; n += 1) {
    const { state, reserved, handed_to: to } = await on.service.job(id)
    assert.ok(state === 'reserved' ? reserved.worker === 'ann' : state === 'waiting' && to?.worker === 'kim', `${state} ${to?.worker}`)
  }
  return on.service.job(id)
}

test('hand_over_elsewhere_is_reported_and_the_text_stays', async () => {
  const id = await only('On two machines')
  const page = await sit('lea')
  await shown(page, 'On two machines')
  const { reservation } = (await on.service.call('POST', '/jobs/reserve', { queues: [QUEUE], worker: 'lea' })).jobs[0]
  await on.service.call('POST', '/jobs/hand-over', { reservation, to: 'max' })
  await page.locator('#note').fill('my words')
  await shown(page, 'You handed this post over elsewhere.')
  assert.equal(await page.locator('#note').inputValue(), 'my words')
  assert.equal(await button(page, 'Hand to').isVisible(), false)
  assert.equal((await on.service.job(id)).handed_to.worker, 'max')
})

for (const [how, options] of [['light', {}], ['dark', { dark: true }], ['on_a_phone', { width: 360, height: 740, touch: true }]]) {
  test(`hand_over_form_and_note_can_be_read_${how}`, async () => {
    await only('For two')
    const page = await sit('nia', options)
    await shown(page, 'For two')
    await button(page, 'Hand to').click()
    await page.getByLabel('Their name').fill('o'.repeat(60))
    await page.getByLabel('A word to them').fill(`${'x'.repeat(300)} <b>`)
    assert.deepEqual(await violations(page), [])
    assert.ok(await fits(page))
    await page.getByRole('dialog').getByRole('button', { name: 'Hand it over' }).click()
    const other = await sit('o'.repeat(60), options)
    await shown(other, '<b>')
    assert.equal(await other.locator('#handed b b').count(), 0)
    assert.deepEqual(await violations(other), [])
    assert.ok(await fits(other))
  })
}

async function violations(page) {
  await page.evaluate(axe)
  await page.evaluate(() => Promise.all(document.getAnimations().map((one) => one.finished.catch(() => {}))))
  const { violations } = await page.evaluate(() => globalThis.axe.run({ resultTypes: ['violations'] }))
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}
