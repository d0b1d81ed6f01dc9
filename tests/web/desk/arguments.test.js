// The arguments of a call at the desk: all of each is in sight, also after it was put back, and can be read when the call is lost.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atDesk } from '../world/at_desk.js'
import { shown } from '../world/stage.js'
import { becomes } from '../world/until.js'

const on = atDesk()
const { view, button, press, result } = on
const QUEUE = 'calls'
const LONG = 'A line of a letter that is long.\n'.repeat(40)

const call = (args) => ({ tool: 'send', args })
const box = (page, name) => page.getByLabel(name, { exact: true })
const isWhole = (page, name) => box(page, name).evaluate((one) => one.scrollHeight <= one.clientHeight)

/** A browser that makes no box as high as its text. */
const age = (page) => page.addInitScript(() => {
  CSS.supports = () => false
  document.addEventListener('DOMContentLoaded', () => {
    for (const sheet of document.styleSheets) for (const rule of sheet.cssRules) rule.style?.removeProperty('field-sizing')
  })
})

test('argument_that_is_put_back_is_in_sight_to_its_end', async () => {
  for (const [name, isOld] of [['ada', false], ['ben', true]]) {
    await on.ask(QUEUE, call({ text: LONG }))
    const page = await on.open('/desk/nowhere')
    if (isOld) await age(page)
    await page.goto(`${on.url}/desk/?queue=${QUEUE}`)
    await page.getByLabel('Your name').fill(name)
    await page.keyboard.press('Enter')
    await view(page, 'work')
    await becomes(() => isWhole(page, 'Text'), true)
    await box(page, 'Text').fill('short')
    await press(page, 'Put back')
    assert.equal(await box(page, 'Text').inputValue(), LONG)
    await becomes(() => isWhole(page, 'Text'), true)
    await page.close()
  }
})

test('blank_lines_of_an_argument_leave_the_next_one_in_sight', async () => {
  const args = { first: `ok${'\n'.repeat(5_000)}x`, second: 900_000 }
  const { id, page } = await on.holding(QUEUE, 'cem', call(args))
  await shown(page, 'As it was sent: okU+000A ×5000x')
  const [first, second] = await Promise.all(['First', 'Second'].map((name) => box(page, name).boundingBox()))
  assert.ok(second.y - first.y < 600, `${second.y - first.y} px`)
  await press(page, 'Approve')
  assert.deepEqual((await result(id)).args, args)
})

test('argument_is_described_by_what_is_seen_beside_it', async () => {
  const { page } = await on.holding(QUEUE, 'dea', call({ eur: 5, to: 'ann\u200b' }))
  const described = (name) => box(page, name).evaluate((one) => (
    (one.getAttribute('aria-describedby') ?? '').split(' ').filter(Boolean).map((id) => document.getElementById(id).textContent)))
  assert.deepEqual(await described('Eur'), [])
  assert.deepEqual(await described('To'), ['As it was sent: annU+200B'])
  await box(page, 'Eur').fill('six')
  assert.deepEqual(await described('Eur'), ['Asked for: 5 Put back', 'This is not a number.'])
  await press(page, 'Put back')
  assert.deepEqual(await described('Eur'), [])
})

test('arguments_of_a_call_that_is_lost_can_be_read_and_copied', async () => {
  const { id, page } = await on.holding(QUEUE, 'eli', call({ text: 'dear', loud: true }))
  await box(page, 'Text').fill('dear Ann')
  await shown(page, 'Draft saved')
  await on.service.call('DELETE', `/jobs/${id}?force=true`)
  await box(page, 'Text').press('End')
  await page.keyboard.type('!')
  await shown(page, 'Lost: this request was withdrawn.')
  assert.equal(await box(page, 'Text').isDisabled(), false, 'its text can be picked')
  assert.equal(await box(page, 'Text').isEditable(), false)
  assert.equal(await box(page, 'Loud').isDisabled(), true)
  assert.equal(await box(page, 'Text').inputValue(), 'dear Ann!')
})
