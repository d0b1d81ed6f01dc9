// What was handed in at the moderation desk is taken back: with the mouse, by keys, after a reload, and without a network.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { UNDO_MS, fits, shown, stage, undoSlowly, withClock } from '../world/stage.js'
import { becomes, reads, until } from '../world/until.js'

const on = stage(null, withClock)
undoSlowly(on)

const QUEUE = 'moderation'
const axe = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')
const post = (text) => ({ kind: 'post', community: 'Test', author: { name: 'Ann Other' }, text, reports: [{ reason: 'Spam' }] })

async function only(...texts) {
  await on.service.call('DELETE', `/queues/${QUEUE}?state=all&force=true`)
  await on.service.set(QUEUE, { lease_ms: 120_000 })
  const ids = []
  for (const text of texts) ids.push(await on.service.enqueue(QUEUE, post(text), { dedupe: false }))
  return ids
}

async function sit(name, options) {
  const page = await on.open('/demo/', options)
  await page.getByLabel('Your name').fill(name)
  await page.keyboard.press('Enter')
  return page
}

const undoButton = (page) => page.getByRole('button', { name: 'Undo' })
const finalAt = async (id) => (await on.service.job(id)).reserved?.final_at

/** Hands in the post with a rule and a note, by keys. */
async function remove(page, note = 'as yesterday') {
  await page.keyboard.press('3')
  await page.keyboard.press('e')
  await page.getByLabel('Note').fill(note)
  await page.keyboard.press('Escape')
  await page.keyboard.press('Enter')
  await undoButton(page).waitFor()
}

/** The button is there before the answer: the page counts the seconds once it has that. */
const isAnswered = (page) => reads(page.locator('#undo-left'), /^\(\d+ s\)$/)

/** It was taken back: until then the page may show the post as it was when it was handed in. */
async function isTakenBack(page, text) {
  await shown(page, 'Taken back')
  await isBack(page, text)
}

/** The post is in hand with what was decided. */
async function isBack(page, text) {
  await becomes(() => page.locator('#undo').isVisible(), false)
  await reads(page.locator('#text'), new RegExp(text))
  const isChecked = (value) => page.locator(`input[value=${value}]`).isChecked()
  const form = async () => [await isChecked('remove'), await isChecked('privacy'), await page.getByLabel('Note').inputValue()]
  await becomes(form, [true, true, 'as yesterday'])
}

test('toast_counts_down_and_takes_back_by_a_click', async () => {
  const [id] = await only('The wrong button')
  const page = await sit('ann')
  await shown(page, 'The wrong button')
  await remove(page)
  await reads(page.locator('#undo-box'), /^Removed\s+Undo\s+\((2\d|30) s\)/)
  const status = page.locator('#undo-status[role=status]')
  await becomes(() => status.textContent(), 'Removed. Undo within 30 seconds: press U.')
  const left = async () => Number(/^\((\d+) s\)$/.exec(await page.locator('#undo-left').innerText())?.[1])
  const before = await until('it counts', left)
  await until('it counts down', async () => (await left()) < before)
  assert.match(await status.textContent(), /within 30 seconds/, 'it is announced once')
  assert.equal(await page.locator('#done').innerText(), '1')
  assert.ok(await finalAt(id))
  await undoButton(page).click()
  await isTakenBack(page, 'The wrong button')
  assert.equal(await status.textContent(), '')
  assert.equal(await page.locator('#done').innerText(), '0')
  assert.equal(await finalAt(id), null)
  // And decided again.
  await page.keyboard.press('1')
  await page.keyboard.press('Enter')
  await isAnswered(page)
  await on.clock.advance(UNDO_MS)
  await becomes(() => on.service.state(id), 'completed')
  assert.equal((await on.service.job(id)).result.verdict, 'keep')
  await becomes(() => page.locator('#undo').isVisible(), false)
})

test('undo_takes_back_by_keys', async () => {
  const [id] = await only('By keys')
  const page = await sit('bea')
  await shown(page, 'By keys')
  await remove(page)
  await isAnswered(page)
  await page.keyboard.press('u')
  await isTakenBack(page, 'By keys')
  // Also with Tab and Enter; and in a text field it is a letter.
  await page.getByLabel('Note').focus()
  await page.keyboard.press('u')
  assert.match(await page.getByLabel('Note').inputValue(), /u/)
  await page.keyboard.press('Control+Enter')
  await undoButton(page).waitFor()
  // Tab reaches it; looking for it key by key would take longer than the toast lasts on a busy machine.
  assert.equal(await undoButton(page).evaluate((button) => button.tabIndex), 0)
  await undoButton(page).focus()
  await page.keyboard.press('Enter')
  await reads(page.locator('#text'), /By keys/)
  await becomes(() => finalAt(id), null)
  // A key that comes later does nothing.
  await page.keyboard.press('u')
  assert.equal(await on.service.state(id), 'reserved')
})

test('undo_comes_before_the_next_post', async () => {
  const [first, second] = await only('First post', 'Second post')
  const page = await sit('cem')
  await shown(page, 'First post')
  await remove(page)
  await shown(page, 'Second post')
  await page.keyboard.press('4')
  await page.getByLabel('Note').fill('half a thou')
  await page.keyboard.press('Escape')
  await page.keyboard.press('u')
  await isTakenBack(page, 'First post')
  for (const id of [first, second]) assert.equal((await on.service.job(id)).reserved.worker, 'cem')
  await page.keyboard.press('1')
  await page.keyboard.press('Enter')
  await shown(page, 'Second post')
  assert.equal(await page.getByLabel('Note').inputValue(), 'half a thou')
  assert.equal(await page.locator('input[value=escalate]').isChecked(), true)
})

test('toast_is_there_again_after_a_reload', async () => {
  let id, page
  // Once more if the page took longer to load than there was time.
  do {
    [id] = await only('Loaded again')
    page ??= await sit('dee') // after the post, or another one that is back in line would be there first
    await shown(page, 'Loaded again')
    await remove(page)
    await page.reload()
    await until('it is there or too late', async () => await undoButton(page).isVisible() || (await on.service.job(id)).state === 'completed')
  } while (!(await undoButton(page).isVisible()))
  await undoButton(page).click()
  await isTakenBack(page, 'Loaded again')
  await becomes(() => finalAt(id), null)
  // And after another one, the post is still in hand.
  await page.reload()
  await isBack(page, 'Loaded again')
})

test('undo_without_a_network_waits_for_it', async () => {
  const [id] = await only('In a tunnel')
  const page = await sit('eli')
  await shown(page, 'In a tunnel')
  await remove(page)
  await isAnswered(page)
  on.wire.offline = true
  on.wire.cut()
  await undoButton(page).click()
  await until('it is tried', () => on.wire.calls('undo').length)
  on.wire.offline = false
  await isTakenBack(page, 'In a tunnel')
  await becomes(() => finalAt(id), null)
})

test('unsent_decision_is_taken_back_at_once', async () => {
  const [id] = await only('Never sent')
  const page = await sit('fay')
  await shown(page, 'Never sent')
  on.wire.offline = true
  on.wire.cut()
  await remove(page)
  await shown(page, 'it is sent when the network is back')
  await page.keyboard.press('u')
  await isTakenBack(page, 'Never sent')
  on.wire.offline = false
  await until('the service is asked', () => on.wire.calls('undo').some(({ status }) => status === 200))
  assert.equal(await on.service.state(id), 'reserved')
  assert.equal(on.wire.calls('complete').some(({ status }) => status), false)
})

test('undo_that_is_too_late_says_so', async () => {
  const [id] = await only('Too late')
  const page = await sit('gil')
  await shown(page, 'Too late')
  await remove(page)
  await isAnswered(page)
  on.wire.offline = true
  on.wire.cut()
  await page.keyboard.press('u')
  await on.clock.advance(UNDO_MS)
  await becomes(() => on.service.state(id), 'completed')
  on.wire.offline = false
  await shown(page, 'Too late: it is handed in')
  await becomes(() => page.locator('#undo').isVisible(), false)
})

test('toast_fits_a_phone_and_leaves_the_buttons_free', async () => {
  await only('On a phone', 'The next one')
  const page = await sit('han', { width: 360, height: 740, touch: true })
  await shown(page, 'On a phone')
  await page.locator('label.keep').tap()
  await page.getByRole('button', { name: 'Hand in' }).tap()
  await undoButton(page).waitFor()
  await shown(page, 'The next one')
  assert.ok(await fits(page))
  const box = await page.locator('#undo-box').boundingBox()
  const buttons = await page.locator('.decision .choices').boundingBox()
  assert.ok(box.y + box.height <= buttons.y, `${box.y} ${box.height} ${buttons.y}`)
  assert.ok(Math.round((await page.locator('#undo').boundingBox()).height) >= 44)
  await undoButton(page).tap()
  await shown(page, 'On a phone')
})

for (const [look, how] of [['light', {}], ['dark', { dark: true }]]) {
  test(`toast_can_be_read_${look}`, async () => {
    await only('To be read')
    const page = await sit('ida', how)
    await page.evaluate(axe)
    await shown(page, 'To be read')
    await remove(page)
    await page.evaluate(() => Promise.all(document.getElementById('undo-box').getAnimations().map((one) => one.finished.catch(() => {}))))
    const found = await page.evaluate(() => globalThis.axe.run('#undo-box, #undo-status', { resultTypes: ['violations'] }))
    assert.deepEqual(found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`), [])
  })
}
