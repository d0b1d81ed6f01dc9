// The page of webhooks: how each is, what has failed, and that it is sent again.
// What the service answers for webhooks is a stub (world/webhooks.js); all other calls are real.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { confirm, fits, shown, stage } from '../world/stage.js'
import { becomes } from '../world/until.js'
import { deliveryId, stubWebhooks } from '../world/webhooks.js'

const on = stage(begin)

async function begin({ service }) {
  for (const queue of ['reviews', 'reviews-late', 'other']) await service.enqueue(queue, { queue })
}

const rows = (page, n) => becomes(() => page.locator('[data-row]').count(), n)
const row = (page, text) => page.locator('[data-row]', { hasText: text })
const act = (page, name) => page.getByRole('button', { name })

test('failed_delivery_is_seen_and_sent_again', async () => {
  const hooks = stubWebhooks(on)
  const page = await on.open()
  await page.locator('.brand').waitFor()
  await page.keyboard.press('W')
  await row(page, 'shop').getByText('failing').waitFor()
  assert.match((await row(page, 'shop').innerText()).replace(/\s+/g, ' '), /shop failing shop\.example reviews\*: completed, dead 3 2 503/)
  await row(page, 'shop').click()
  await rows(page, 3)
  await shown(page, 'Only the oldest delivery is tried')
  await row(page, 'connection refused').getByRole('button').click()
  await rows(page, 2)
  await shown(page, 'is due now')
  assert.deepEqual(hooks.calls, [['/webhooks/shop/redeliver', { queue: 'reviews', webhook_id: deliveryId(0) }]])
  await page.getByLabel('Show').selectOption('waiting')
  await row(page, 'connection refused').getByText('due').waitFor()
  assert.equal(await act(page, /again/).count(), 0)
  assert.match(page.url(), /#\/webhooks\/shop\?queue=reviews&state=waiting$/)
})

test('all_failed_deliveries_of_a_queue_are_sent_again', async () => {
  const hooks = stubWebhooks(on, { failed: 60, state: 'gone' })
  const page = await on.open('/console/#/webhooks/shop')
  await rows(page, 50)
  await shown(page, 'answered 410')
  await page.keyboard.press('n')
  await rows(page, 10)
  await page.keyboard.press('U')
  await confirm(page, 'Send all again')
  await shown(page, '60 deliveries due now.')
  await page.locator('h1 + .state.ok').waitFor()
  assert.deepEqual(hooks.calls, [['/webhooks/shop/redeliver', { queue: 'reviews' }]])
})

test('test_of_a_webhook_shows_what_came_back', async () => {
  for (const [status, words, kind] of [[204, 'The receiver answers 204 after 12 ms.', 'good'], [500, 'The receiver answers 500', 'bad'], [null, 'There was no answer: no answer within 15 s', 'bad']]) {
    stubWebhooks(on, { status })
    const page = await on.open('/console/#/webhooks')
    await row(page, 'shop').getByRole('button', { name: 'Send a test to shop' }).click()
    await page.locator(`.messages p.${kind}`, { hasText: words }).waitFor()
  }
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
  for (const dark of [false, true]) {
    stubWebhooks(on)
    const page = await on.open('/console/#/webhooks', { width: 360, height: 740, touch: true, dark })
    await row(page, 'shop').waitFor()
    assert.ok(await fits(page), 'all webhooks')
    await row(page, 'shop').getByText('shop.example').tap()
    await rows(page, 3)
    assert.ok(await fits(page), 'one webhook')
    await row(page, 'connection refused').getByRole('button', { name: 'again' }).tap()
    await rows(page, 2)
  }
})

test('service_without_webhooks_says_how_to_make_one', async () => {
  on.wire.rule = ({ path }) => (path === '/webhooks' ? { status: 200, type: 'application/json', body: { webhooks: [] } } : null)
  const page = await on.open('/console/#/webhooks')
  await shown(page, 'No webhooks')
  assert.equal(await page.getByRole('link', { name: 'how' }).evaluate((link) => link.href), `${on.url}/docs/webhooks`)
})
