// Slips of a hand: nothing is answered, chosen or opened by a click or a key that was not meant for what is on the page.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { atDesk } from '../world/at_desk.js'
import { hearsClicks } from '../world/stage.js'
import { becomes } from '../world/until.js'

const on = atDesk()
const { press, result } = on
const QUEUE = 'slips'
const PHONE = { width: 360, height: 740, touch: true }

const call = (eur) => ({ tool: `refund ${eur}`, args: { eur } })
const heading = (page) => page.locator('#title').innerText()
const lines = (count) => Array.from({ length: count }, (_, n) => `line ${n}`).join('\n')

async function holdingTwo(name, first, second, options) {
  const { id, page } = await on.holding(QUEUE, name, first, {}, options)
  const next = await on.service.enqueue(QUEUE, second, { dedupe: false, expires_ms: 900_000 })
  return { id, next, page }
}

test('next_request_begins_at_its_heading', async () => {
  const long = (title) => ({ title, text: lines(200) })
  for (const [name, options] of [['ada', PHONE], ['ann', { width: 1280, height: 700 }]]) {
    const { page } = await holdingTwo(name, long('One?'), long('Two?'), options)
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight))
    await press(page, 'Approve')
    await becomes(() => heading(page), 'Two?')
    await becomes(() => page.locator('#title').evaluate((title) => title.getBoundingClientRect().top >= 0))
    await page.close()
  }
})

test('next_form_begins_at_its_first_field', async () => {
  const fields = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`f${n}`, { type: 'string' }]))
  const asking = (title) => ({ title, form: { type: 'object', properties: fields } })
  const { page } = await holdingTwo('amy', asking('One?'), asking('Two?'))
  await page.locator('#decision').evaluate((form) => { form.scrollTop = form.scrollHeight })
  await press(page, 'Send')
  await becomes(() => heading(page), 'Two?')
  await becomes(() => page.locator('#decision').evaluate((form) => form.scrollTop), 0)
})

test('words_that_are_typed_outside_of_a_box_answer_nothing', async () => {
  const { id, page } = await on.holding(QUEUE, 'ben', call(5))
  await hearsClicks(page)
  await page.keyboard.type('a refund is not due')
  assert.equal(await page.getByLabel('Reason').inputValue(), 'd is not due')
  for (const letter of ['a', 'r', 's', 'h', 'b']) {
    await page.locator('#title').focus()
    await page.keyboard.type(`${letter} `)
  }
  await sleep(300)
  assert.deepEqual(['complete', 'abandon'].map((action) => on.wire.calls(action).length), [0, 0])
  assert.equal(await page.getByRole('dialog').count(), 0)
  // By Tab it is a button as on every page.
  await page.locator('#reject').focus()
  await page.keyboard.press('Shift+Tab')
  await page.keyboard.press('Space')
  assert.equal((await result(id)).approved, true)
})

test('second_click_of_a_double_click_chooses_and_opens_nothing', async () => {
  const form = { type: 'object', properties: { pay: { title: 'Pay?', type: 'boolean' } } }
  const { next, page } = await holdingTwo('cem', call(5), { title: 'Two?', at: 'https://shop.example/', form })
  await hearsClicks(page)
  // The second click comes as soon as the next request is there.
  const isPrevented = await page.evaluate(() => new Promise((clicked) => {
    const click = (place) => !document.querySelector(place).dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true }))
    const again = () => {
      if (!document.querySelector('#answer [type=radio]')) return requestAnimationFrame(again)
      clicked(['#answer [type=radio]', '#request a', '#whole summary'].map(click))
    }
    click('#approve')
    again()
  }))
  assert.deepEqual(isPrevented, [true, true, true])
  assert.equal(await page.getByRole('radio', { checked: true }).count(), 0)
  assert.equal(await page.locator('#whole').getAttribute('open'), null)
  await hearsClicks(page)
  await page.getByRole('radio', { name: 'No' }).check()
  await press(page, 'Send')
  assert.deepEqual(await result(next), { pay: false })
})
