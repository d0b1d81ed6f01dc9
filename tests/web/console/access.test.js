// Whom a page keeps out: every one of them, as axe-core reads it; in light and in dark, wide and narrow.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { stage } from '../world/stage.js'
import { stubWebhooks } from '../world/webhooks.js'

const TABS = ['waiting', 'held', 'blocked', 'delayed', 'dead', 'completed', 'cancelled', 'locks', 'batches', 'activity', 'settings']
const axe = await readFile(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')
const on = stage(begin)

/** Something in every list, and a job with a history. */
async function begin({ service }) {
  const queue = 'all'
  await service.set(queue, { max_attempts: 1, worker_limit: 9 })
  const dead = await service.enqueue(queue, { n: 'dead' })
  await service.fail(await service.reserve(queue, 'ann'), 'it broke')
  await service.enqueue(queue, { n: 'done' }, { client: 'acme' })
  await service.complete(await service.reserve(queue, 'ann'), { fine: true })
  await service.call('DELETE', `/jobs/${await service.enqueue(queue, { n: 'off' })}`)
  await service.enqueue(queue, { n: 'a' }, { locks: ['customer 7'], priority: 1 })
  await service.enqueue(queue, { n: 'b' }, { locks: ['customer 7'], priority: 1 })
  await service.reserve(queue, 'bob')
  await service.reserve(queue, 'cleo')
  await service.enqueue(queue, { n: 'later' }, { delay_ms: 3_600_000 })
  await service.batch(queue, { client: 'press', jobs: [{ payload: 1 }, { payload: 2 }], sealed: false })
  await service.enqueue(queue, { n: 'usual' }, { client: 'acme' })
  await service.enqueue('reviews', { n: 'of a webhook' })
  const { id } = await service.batch('judged', { overlap: 3, job: { payload: { text: 'is it fine?' } } })
  for (const worker of ['ann', 'bob']) await service.complete(await service.reserve('judged', worker), { verdict: worker })
  on.judged = id
  const properties = { fine: { type: 'boolean' }, note: { type: 'string' }, topic: { type: 'string', enum: ['a', 'b'] } }
  await service.set(queue, { result_schema: { type: 'object', properties } })
  on.dead = dead
}

/** Violations of accessibility rules, by rule and place. */
async function found(page, where) {
  // The page's policy lets no script in; the debugger does.
  if (!await page.evaluate(() => 'axe' in globalThis)) await page.evaluate(axe)
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }))
  return violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${where}: ${id}: ${nodes.slice(0, 2).map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(' | ')}`)
}

const tab = (name) => async (page) => {
  await page.goto(`${on.url}/console/#/q/all/${name}`)
  await page.locator('[data-row], .empty, .settings').first().waitFor()
}

/** Each goes on from the one before. */
const PAGES = {
  'all queues': (page) => page.locator('[data-row]').first().waitFor(),
  ...Object.fromEntries(TABS.map((name) => [name, tab(name)])),
  async opinions(page) {
    await page.goto(`${on.url}/console/#/q/judged/batches/${on.judged}`)
    await page.locator('.panel').getByText('no two agree').waitFor()
  },
  async 'the dead by error'(page) {
    await page.goto(`${on.url}/console/#/dead`)
    await page.locator('[data-row]').first().waitFor()
  },
  async 'one worker'(page) {
    await page.goto(`${on.url}/console/#/workers/ann`)
    await page.locator('[data-row]').first().waitFor()
  },
  async webhooks(page) {
    stubWebhooks(on)
    await page.goto(`${on.url}/console/#/webhooks`)
    await page.locator('[data-row]').first().waitFor()
  },
  async 'the deliveries of one'(page) {
    await page.goto(`${on.url}/console/#/webhooks/shop`)
    await page.locator('[data-row]').first().waitFor()
  },
  async 'a job that is made'(page) {
    await tab('waiting')(page)
    await page.keyboard.press('A')
    await page.getByRole('dialog').waitFor()
  },
  async 'no match'(page) {
    await page.goto(`${on.url}/console/#/q/all/waiting?client=none&error=x`)
    await page.getByText('No jobs match these filters.').waitFor()
  },
  async 'a job and its story'(page) {
    await page.goto(`${on.url}/console/#/q/all/dead/${on.dead}`)
    await page.locator('.panel').getByText('it broke').first().waitFor()
    await page.keyboard.press('h')
    await page.locator('.panel .story li').first().waitFor()
  },
  async 'what is picked'(page) {
    await tab('dead')(page)
    await page.getByRole('checkbox', { name: 'Pick job' }).first().click()
    await page.getByRole('button', { name: 'More filters' }).click()
    await page.keyboard.press('Escape')
  },
  async 'a question'(page) {
    await page.keyboard.press('e')
    await page.getByRole('dialog').waitFor()
  },
  async 'the keys'(page) {
    await page.keyboard.press('Escape')
    await page.keyboard.press('?')
    await page.getByRole('dialog').waitFor()
  },
  async 'the root'(page) {
    await page.goto(`${on.url}/`)
    await page.locator('h1').waitFor()
  },
}

/** In dark the colours are others, and on a phone a row is a card. */
const WAYS = [
  ['in light', {}, Object.keys(PAGES)],
  ['in dark', { dark: true }, ['all queues', 'dead', 'the dead by error', 'activity', 'webhooks', 'the deliveries of one', 'a job that is made', 'no match', 'a job and its story', 'what is picked', 'a question', 'the root']],
  ['on a phone', { width: 360, height: 740, touch: true }, ['all queues', 'held', 'batches', 'opinions', 'activity', 'the dead by error', 'webhooks', 'the deliveries of one', 'a job that is made', 'a job and its story', 'the root']],
]

for (const [name, how, pages] of WAYS) {
  test(`no page keeps anybody out, ${name}`, async () => {
    const page = await on.open('/console/', how)
    const wrong = []
    for (const where of pages) {
      await PAGES[where](page)
      wrong.push(...await found(page, where))
    }
    assert.deepEqual(wrong, [])
  })
}

test('the sign-in form is accessible', async () => {
  on.wire.rule = () => ({ status: 401, body: { type: '/problems/unauthorized', status: 401, title: 'a key', detail: 'a key' } })
  const page = await on.open()
  await page.getByLabel('Your key').waitFor()
  assert.deepEqual(await found(page, 'sign in'), [])
})
