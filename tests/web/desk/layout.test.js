// Where things stand: what is decided about is beside the decision, and no button lies over it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atDesk } from '../world/at_desk.js'
import { fits } from '../world/stage.js'
import { becomes } from '../world/until.js'

const on = atDesk()
const { press } = on
const QUEUE = 'layout'
const PHONE = { width: 360, height: 740, touch: true }

const boxOf = (page, selector) => page.locator(selector).evaluate((element) => element.getBoundingClientRect().toJSON())

test('arguments_stand_below_the_heading_with_their_count', async () => {
  const why = `A routine refund.${'\nas always'.repeat(300)}`
  const { page } = await on.holding(QUEUE, 'ada', { tool: 'refund', why, Arguments: { eur: 5 }, args: { to: 'mallory', cc: ['a', 'b'], eur: 900_000 } }, {}, PHONE)
  const heading = page.getByRole('heading', { name: 'Arguments (4)' })
  assert.ok((await heading.boundingBox()).y < PHONE.height / 2)
  assert.ok((await boxOf(page, '#arguments')).bottom < (await boxOf(page, '#request')).top)
  await page.close()
  const { page: other } = await on.holding(QUEUE, 'ann', { tool: 'stop', args: {} })
  await other.getByRole('heading', { name: 'Arguments (0)' }).waitFor()
})

test('argument_below_many_levels_has_room', async () => {
  const nested = (depth) => (depth ? { a: nested(depth - 1) } : { to: 'mallory' })
  const { page } = await on.holding(QUEUE, 'ben', { tool: 'http', args: nested(100) }, {}, PHONE)
  assert.ok((await boxOf(page, '#arguments textarea')).width > 150)
  assert.ok(await fits(page))
})

test('field_with_the_focus_is_not_below_the_buttons', async () => {
  const fields = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`f${n}`, { type: 'string', maxLength: 100 }]))
  for (const [name, options] of [['cem', PHONE], ['cia', { width: 1280, height: 700 }]]) {
    const { page } = await on.holding(QUEUE, name, { title: 'All?', form: { type: 'object', properties: fields } }, {}, options)
    await page.locator('#answer :is(input, textarea)').first().focus()
    for (let n = 0; n < 25; n += 1) {
      await page.keyboard.press('Tab')
      const [bottom, top] = await page.evaluate(() => [document.activeElement, document.getElementById('choices')].map((element) => element.getBoundingClientRect())
        .map(({ top, bottom }, n) => (n ? top : bottom)))
      assert.ok(bottom <= top, `field ${n + 1} ends at ${bottom}, and the buttons begin at ${top}`)
    }
    await page.close()
  }
})

test('undo_does_not_lie_over_the_buttons', async () => {
  for (const [name, width] of [['dea', 870], ['deb', 1_000], ['den', 1_900]]) {
    const { page } = await on.holding(QUEUE, name, { tool: 'refund', args: { eur: 5 }, why: 'x\n'.repeat(60) }, {}, { width, height: 500 })
    await on.service.enqueue(QUEUE, { tool: 'next', args: { eur: 5 }, why: 'x\n'.repeat(60) }, { dedupe: false })
    await press(page, 'Approve')
    await becomes(() => page.locator('#title').innerText(), 'next')
    await page.locator('#undo-box.shown').waitFor()
    const [undo, panel] = [await boxOf(page, '#undo-box'), await boxOf(page, '#decision')]
    assert.ok(undo.left >= 0 && undo.right <= panel.left, `${undo.left} to ${undo.right}, the panel from ${panel.left}`)
    await page.close()
  }
})
