// What lasts and what goes: a break, what was kept, a name, a setting; and with the person, all that is theirs.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atDesk } from '../world/at_desk.js'
import { hearsClicks, shown } from '../world/stage.js'
import { becomes } from '../world/until.js'

const on = atDesk()
const { view, button, press, result } = on
const QUEUE = 'lasting'

const call = (eur) => ({ tool: `refund ${eur}`, args: { eur } })
const more = (payload) => on.service.enqueue(QUEUE, payload, { dedupe: false, expires_ms: 900_000 })
const heading = (page) => page.locator('#title').innerText()

async function handOver(page, to, note) {
  await press(page, 'Hand over')
  await page.getByLabel('Their name').fill(to)
  await page.getByLabel('A word to them').fill(note)
  await page.getByRole('dialog').getByRole('button', { name: 'Hand over' }).click()
}

test('note_and_answer_of_a_refused_hand_over_are_kept', async () => {
  const { id, page } = await on.holding(QUEUE, 'ada', call(5), { excluded: ['eli'] })
  await more(call(6))
  await page.getByLabel('Reason').fill('two hours of work')
  await shown(page, 'Draft saved')
  on.wire.rule = ({ path }) => (path === '/jobs/hand-over' ? 'cut' : null)
  await handOver(page, 'eli', 'please look')
  await shown(page, 'eli gets it when the network is back')
  await becomes(() => heading(page), 'refund 6')
  on.wire.rule = null
  await page.evaluate(() => dispatchEvent(new Event('online')))
  await shown(page, 'Kept from earlier requests')
  const kept = await page.locator('#kept-list').innerText()
  for (const text of [id, 'please look', 'two hours of work']) assert.ok(kept.includes(text), kept)
})

test('name_is_offered_once_a_hand_over_has_arrived', async () => {
  const { page } = await on.holding(QUEUE, 'ben', call(5), { excluded: ['gil'] })
  const offered = () => page.locator('#names-used option').evaluateAll((all) => all.map(({ value }) => value))
  await handOver(page, 'gil', '')
  await shown(page, 'Not handed to gil.')
  await page.keyboard.press('Escape')
  await press(page, 'Hand over')
  assert.deepEqual(await offered(), [])
  await page.keyboard.press('Escape')
  await handOver(page, 'zoe', '')
  await shown(page, 'zoe gets it')
  await view(page, 'wait')
  await more(call(6))
  await view(page, 'work')
  await press(page, 'Hand over')
  assert.deepEqual(await offered(), ['zoe'])
})

test('break_lasts_until_the_person_goes_on', async () => {
  const { id, page } = await on.holding(QUEUE, 'cem', call(5))
  await press(page, 'Break')
  await view(page, 'break')
  await becomes(() => on.service.state(id), 'waiting')
  await page.reload()
  await view(page, 'break')
  await page.waitForTimeout(500)
  assert.equal(await on.service.state(id), 'waiting')
  await button(page, 'Go on').click()
  await view(page, 'work')
  await page.reload()
  await view(page, 'work')
  // It is over for one who presses Start.
  await press(page, 'Break')
  await view(page, 'break')
  await page.getByRole('link', { name: 'Queues' }).click()
  await page.getByRole('checkbox', { name: new RegExp(`^${QUEUE}`) }).check()
  await button(page, 'Start').click()
  await view(page, 'work')
})

test('single_keys_stay_off_after_a_sign_out', async () => {
  const { page } = await on.holding(QUEUE, 'fay', call(5))
  await hearsClicks(page)
  await page.getByLabel('Single keys').uncheck()
  await Promise.all([page.waitForEvent('load'), button(page, 'Sign out').click()])
  await shown(page, 'Signed out.')
  await page.reload()
  await page.getByLabel('Your name').fill('fay')
  await page.keyboard.press('Enter')
  await view(page, 'work')
  assert.equal(await page.getByLabel('Single keys').isChecked(), false)
})

test('desk_works_where_the_browser_stores_nothing', async () => {
  const id = await on.ask(QUEUE, call(5))
  const page = await on.open('/desk/nowhere')
  await page.addInitScript(() => {
    for (const name of ['sessionStorage', 'localStorage']) {
      Object.defineProperty(globalThis, name, { get() { throw new DOMException('blocked', 'SecurityError') } })
    }
  })
  await page.goto(`${on.url}/desk/?queue=${QUEUE}`)
  await page.getByLabel('Your name').fill('gil')
  await page.keyboard.press('Enter')
  await view(page, 'work')
  await press(page, 'Approve')
  assert.equal((await result(id)).approved, true)
  await Promise.all([page.waitForEvent('load'), button(page, 'Sign out').click()])
  await shown(page, 'Signed out.')
})
