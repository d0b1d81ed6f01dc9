// What the page says of a request: words do not push each other away, and nothing is said that is not so.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atDesk } from '../world/at_desk.js'
import { hearsClicks, later, shown } from '../world/stage.js'
import { becomes, until } from '../world/until.js'

const on = atDesk()
const { view, button, press, result } = on
const QUEUE = 'telling'

const call = (eur) => ({ tool: `refund ${eur}`, args: { eur } })
const more = (payload) => on.service.enqueue(QUEUE, payload, { dedupe: false, expires_ms: 900_000 })
const heading = (page) => page.locator('#title').innerText()
const formOf = (title) => ({ type: 'object', properties: { note: { title, type: 'string' } } })
const refusal = (errors = []) => ({ status: 422, body: { type: '/problems/invalid-result', title: 'x', status: 422, detail: 'x', errors } })
const never = () => new Promise(() => {})

/** No call of the page is waited for longer than five seconds. */
async function opened(path) {
  const page = await on.open('/desk/nowhere')
  await page.addInitScript(() => {
    const within = AbortSignal.timeout.bind(AbortSignal)
    AbortSignal.timeout = (ms) => within(Math.min(ms, 5_000))
  })
  await page.goto(on.url + path)
  return page
}

test('call_without_an_answer_is_given_up_with_a_word', async () => {
  await on.ask(QUEUE, call(5))
  for (const path of ['/me', '/me/queues']) {
    on.wire.rule = (asked) => (asked.path === path ? never() : null)
    const page = await opened('/desk/')
    await shown(page, 'There is no connection to the service.')
    on.wire.rule = null
    await page.close()
  }
})

test('form_that_never_comes_is_asked_for_again', async () => {
  await on.ask(QUEUE, call(5))
  let asked = 0
  on.wire.rule = ({ path }) => (path.endsWith('/form') && (asked += 1) === 1 ? never() : null)
  const page = await opened(`/desk/?queue=${QUEUE}`)
  await page.getByLabel('Your name').fill('ada')
  await page.keyboard.press('Enter')
  await shown(page, 'One has come, and its form is on its way.')
  await view(page, 'work')
  assert.equal(asked, 2)
})

test('wrong_answer_is_marked_while_the_form_is_asked_for', async () => {
  const queue = `${QUEUE}-marked`
  await on.service.set(queue, { result_schema: formOf('Note') })
  const { page } = await on.holding(queue, 'ben', { title: 'One?' })
  on.wire.rule = ({ path }) => (path === '/jobs/complete' ? refusal([{ pointer: '/note', detail: 'must be longer' }]) : path.endsWith('/form') ? never() : null)
  await press(page, 'Send')
  await shown(page, 'must be longer')
})

test('last_minute_and_another_word_stand_side_by_side', async () => {
  const queue = `${QUEUE}-minute`
  await on.service.set(queue, { result_schema: formOf('Note') })
  const { page } = await on.holding(queue, 'cem', { title: 'One?' }, { expires_ms: 200_000 })
  await on.clock.advance(145_000)
  await page.evaluate(() => dispatchEvent(new Event('online'))) // it asks
  await shown(page, 'Less than a minute left.')
  await on.service.set(queue, { result_schema: formOf('Another') })
  on.wire.rule = ({ path }) => (path === '/jobs/complete' ? refusal() : null)
  await press(page, 'Send')
  await shown(page, 'The form has changed in the meantime.')
  await page.waitForTimeout(600) // longer than from one look at the clock to the next
  for (const words of ['The form has changed in the meantime.', 'Less than a minute left.']) {
    assert.equal(await page.getByText(words).isVisible(), true, words)
  }
})

test('word_of_a_loss_stays_when_the_form_has_changed', async () => {
  const queue = `${QUEUE}-over`
  await on.service.set(queue, { result_schema: formOf('Note') })
  const { page } = await on.holding(queue, 'cia', { title: 'One?' })
  await on.service.set(queue, { result_schema: formOf('Another') })
  on.wire.rule = ({ path }) => (path === '/jobs/extend' ? 'cut' : path === '/jobs/complete' ? refusal() : null)
  await later(page, 301_000)
  await shown(page, 'Its time is over, and there is no connection.')
  await press(page, 'Send')
  await page.getByRole('textbox', { name: 'Another' }).waitFor()
  assert.match(await page.locator('#notice').innerText(), /^Its time is over/)
})

test('time_of_a_request_whose_form_was_slow_is_not_its_end', async () => {
  let letGo
  const isFree = new Promise((free) => { letGo = free })
  on.wire.rule = async ({ path }) => (path === '/jobs/extend' ? 'cut' : path.endsWith('/form') ? void await isFree : null)
  const id = await on.ask(QUEUE, call(5))
  const page = await on.sit(QUEUE, 'dea')
  await becomes(() => on.service.state(id), 'reserved')
  await later(page, 30_000)
  letGo()
  await view(page, 'work')
  assert.equal(await page.locator('#until').innerText(), 'yours while you are here')
})

test('queues_have_names_of_their_own_beside_what_the_asker_says', async () => {
  await on.ask('pay-out', call(1))
  await on.ask('pay_out', call(5), { client: 'bob · attempt 3' })
  await on.service.call('DELETE', '/queues/pay-out?state=all&force=true')
  const page = await on.open('/desk/?queue=pay_out&queue=pay-out')
  await page.getByLabel('Your name').fill('eli')
  await page.keyboard.press('Enter')
  await view(page, 'work')
  assert.deepEqual(await page.locator('#about > *').allInnerTexts(), ['pay_out', 'bob · attempt 3'])
})

test('undo_names_the_answer_that_it_takes_back', async () => {
  const { page } = await on.holding(QUEUE, 'fay', call(5))
  for (const eur of [6, 7]) await more(call(eur))
  const other = await page.context().newPage()
  await other.goto(`${on.url}/desk/?queue=${QUEUE}`)
  await other.getByLabel('Your name').fill('fay')
  await other.keyboard.press('Enter')
  await becomes(() => heading(other), 'refund 5')
  await press(page, 'Approve')
  await becomes(() => page.locator('#undo-what').innerText(), 'Approved')
  await becomes(() => heading(other), 'refund 6')
  await press(other, 'Reject')
  await becomes(() => heading(page), 'refund 7')
  await becomes(() => page.locator('#undo-what').innerText(), 'Sent')
  assert.equal(await other.locator('#undo-what').innerText(), 'Rejected')
  await other.close()
})

test('second_click_of_a_double_click_takes_nothing_back', async () => {
  const { id, page } = await on.holding(QUEUE, 'gil', call(5))
  await hearsClicks(page)
  await page.evaluate(() => new Promise((clicked) => {
    const undo = document.getElementById('undo')
    new MutationObserver(() => {
      if (undo.disabled) return
      undo.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, detail: 2 }))
      clicked()
    }).observe(undo, { attributes: true, attributeFilter: ['disabled'] })
    document.getElementById('approve').click()
  }))
  assert.equal((await result(id)).approved, true)
})

test('words_that_are_typed_while_an_answer_is_sent_are_saved', async () => {
  const { page } = await on.holding(QUEUE, 'hal', call(5))
  let letGo
  const isFree = new Promise((free) => { letGo = free })
  on.wire.rule = async ({ path }) => (path === '/jobs/complete' ? (await isFree, refusal()) : null)
  await press(page, 'Approve')
  await shown(page, 'Sending …')
  await page.getByLabel('Reason').fill('typed meanwhile')
  letGo()
  await until('it is saved', () => on.wire.calls('extend').at(-1)?.body.draft?.reason === 'typed meanwhile')
  await button(page, 'Approve').waitFor()
})
