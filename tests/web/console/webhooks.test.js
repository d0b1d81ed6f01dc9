// The page of webhooks: how each is, what has failed, and that it is sent again, to a receiver that refuses until a story says otherwise.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { completeJob, failDeliveries, startReceiver } from '../world/receiver.js'
import { confirm, fits, shown, stage } from '../world/stage.js'
import { becomes, until } from '../world/until.js'
import { stubWebhooks } from '../world/webhooks.js'

const WEBHOOKS = {
  shop: ['reviews*', 'completed,dead'], audit: ['*', 'enqueued'], closed: ['none', 'completed'], busy: ['busy', 'completed'],
  stopped: ['stopped', 'completed'], small: ['small', 'completed'],
}
const on = stage(begin, async (on) => (on.receiver = await startReceiver(WEBHOOKS)))

async function begin({ service }) {
  for (const queue of ['reviews', 'reviews-late', 'other', 'busy', 'stopped', 'small']) await service.set(queue, { worker_limit: 1 })
}

const rows = (page, n) => becomes(() => page.locator('[data-row]').count(), n)
const row = (page, text) => page.locator('[data-row]', { hasText: text })
const act = (page, name) => page.getByRole('button', { name })
const fail = (name, queue, payloads) => failDeliveries(on.service, on.receiver, name, queue, payloads)
/** The payloads that came to a webhook under an id that has come before. */
const again = (name) => {
  const events = on.receiver.events.filter(({ to }) => to === name)
  return events.filter(({ id }, n) => events.findIndex((other) => other.id === id) < n).map(({ data }) => data.payload)
}

test('failed_delivery_is_seen_and_sent_again', async () => {
  await fail('shop', 'reviews', ['first', 'second'])
  const page = await on.open()
  await page.locator('.brand').waitFor()
  await page.keyboard.press('W')
  await becomes(() => row(page, 'shop').locator('.failed').innerText(), '2')
  await row(page, 'shop').getByText('reviews*: completed, dead').click()
  await rows(page, 2)
  await row(page, '503').first().getByText('10').waitFor()
  on.receiver.status = () => 204
  const before = again('shop').length
  await row(page, '503').first().getByRole('button', { name: 'Send again' }).click()
  await shown(page, 'is due now')
  await rows(page, 1)
  await becomes(() => again('shop').length, before + 1)
  await page.getByLabel('Show').selectOption('waiting')
  await shown(page, 'Nothing waits')
  assert.match(page.url(), /#\/webhooks\/shop\?queue=reviews&state=waiting$/)
  assert.equal(await act(page, /again/).count(), 0)
})

test('all_failed_deliveries_of_a_queue_are_sent_again', async () => {
  await fail('shop', 'reviews-late', ['third', 'fourth'])
  const page = await on.open('/console/#/webhooks/shop?queue=reviews-late')
  await rows(page, 2)
  on.receiver.status = () => 204
  const before = again('shop').length
  await page.keyboard.press('U')
  await confirm(page, 'Send all again')
  await shown(page, '2 deliveries due now.')
  await shown(page, 'Nothing has failed')
  await becomes(() => again('shop').slice(before).sort(), ['fourth', 'third'])
})

test('waiting_delivery_says_when_it_is_tried_next', async () => {
  on.receiver.status = () => 503
  await completeJob(on.service, 'busy', 'x')
  const page = await on.open('/console/#/webhooks/busy?state=waiting')
  await row(page, '503').getByText(/next: ([1-9] min|\d+ s|due)/).waitFor()
  for (const n of [1, 2, 3, 4]) await completeJob(on.service, 'busy', n)
  await page.locator('h1 + .state.failing').waitFor()
  await shown(page, 'One delivery is tried every 30 s')
})

test('stopped_webhook_is_started_again', async () => {
  on.receiver.status = () => 410
  await completeJob(on.service, 'stopped', 'x')
  const page = await on.open('/console/#/webhooks/stopped')
  await page.locator('h1 + .state.gone').waitFor()
  await shown(page, 'answered 410')
  on.receiver.status = () => 204
  await act(page, 'Send all again').click()
  await confirm(page, 'Send all again')
  await page.locator('h1 + .state.ok').waitFor()
})

test('test_of_a_webhook_shows_what_came_back', async () => {
  on.receiver.status = ({ to }) => ({ audit: 500, closed: 0 })[to] ?? 204
  const cases = [
    ['shop', /^The receiver answers 204 after \d+ ms\.$/, 'good'], ['audit', /^The receiver answers 500/, 'bad'], ['closed', /^There was no answer: .+/, 'bad'],
  ]
  for (const [name, words, kind] of cases) {
    const page = await on.open('/console/#/webhooks')
    await act(page, `Send a test to ${name}`).click()
    await page.locator(`.messages p.${kind}`).getByText(words).waitFor()
  }
  assert.deepEqual(on.receiver.events.filter(({ type }) => type === 'intray.test').map(({ to }) => to), ['shop', 'audit', 'closed'])
})

test('only_queues_of_the_webhook_can_be_chosen', async () => {
  stubWebhooks(on)
  const page = await on.open('/console/#/webhooks/shop?queue=other')
  await rows(page, 3)
  const queue = page.getByLabel('Queue')
  assert.deepEqual(await queue.locator('option').allInnerTexts(), ['reviews', 'reviews-late'])
  await queue.selectOption('reviews-late')
  await shown(page, 'Nothing has failed')
  await page.goBack()
  await rows(page, 3)
  await page.goto(`${on.url}/console/#/webhooks/nothing`)
  await shown(page, 'There is no webhook nothing')
})

test('many_deliveries_are_shown_page_by_page', async () => {
  stubWebhooks(on, { failed: 60 })
  const page = await on.open('/console/#/webhooks/shop')
  await rows(page, 50)
  await page.keyboard.press('n')
  await rows(page, 10)
})

test('viewer_sees_webhooks_without_their_buttons', async () => {
  const hooks = stubWebhooks(on, { role: 'viewer' })
  const page = await on.open('/console/#/webhooks')
  await row(page, 'shop').waitFor()
  assert.equal(await act(page, /test|again/i).count(), 0)
  await row(page, 'shop').click()
  await rows(page, 3)
  assert.equal(await act(page, /test|again/i).count(), 0)
  for (const key of ['T', 'U', 'j', 'u']) await page.keyboard.press(key)
  assert.deepEqual(hooks.calls, [])
})

test('webhooks_fit_on_a_phone_in_light_and_dark', async () => {
  await fail('small', 'small', ['light', 'dark'])
  on.receiver.status = () => 204
  for (const [dark, left] of [[false, 2], [true, 1]]) {
    const page = await on.open('/console/#/webhooks', { width: 360, height: 740, touch: true, dark })
    await becomes(() => row(page, 'small').locator('.failed').innerText(), `${left}`)
    assert.ok(await fits(page), 'all webhooks')
    await row(page, 'small').getByText('127.0.0.1').tap()
    await rows(page, left)
    assert.ok(await fits(page), 'one webhook')
    await row(page, '503').first().getByRole('button', { name: 'again' }).tap()
    await rows(page, left - 1)
  }
  await until('both are sent again', () => ['light', 'dark'].every((payload) => again('small').includes(payload)))
})

test('service_without_webhooks_says_how_to_make_one', async () => {
  on.wire.rule = ({ path }) => (path === '/webhooks' ? { status: 200, type: 'application/json', body: { webhooks: [] } } : null)
  const page = await on.open('/console/#/webhooks')
  await shown(page, 'No webhooks')
  assert.equal(await page.getByRole('link', { name: 'how' }).evaluate((link) => link.href), `${on.url}/docs/webhooks`)
})
