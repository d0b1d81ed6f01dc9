// The overview, and the dead jobs of all queues: what is wrong comes first.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { confirm, fits, shown, stage } from '../world/stage.js'
import { becomes, reads } from '../world/until.js'

const on = stage(begin)

const row = (page, text) => page.locator('[data-row]', { hasText: text })
const names = (page) => page.locator('[data-row] td.name > a').allInnerTexts()
const fill = (queue, n) =>
  on.service.call('POST', '/jobs', Array.from({ length: n }, (_, at) => ({ queue, payload: { n: at } })))

async function die(queue, texts) {
  await on.service.set(queue, { max_attempts: 1, worker_limit: 0 })
  await fill(queue, texts.length)
  for (const text of texts) await on.service.fail(await on.service.reserve(queue, 'ann'), text)
}

/** One queue of each kind; their names are in the order of the alphabet, which is not that of trouble. */
async function begin() {
  await on.service.enqueue('a-calm', 1, { delay_ms: 600_000 })
  await on.service.enqueue('b-idle', 1)
  await on.service.set('c-paused', { paused: true })
  await on.service.enqueue('c-paused', 1)
  await die('d-dead', ['ink', 'page 17 is torn', 'page 4 is torn', 'ink', 'ink'])
  await die('e-dead', ['ink'])
  await fill('f-busy', 2)
  await on.service.reserve('f-busy', 'bob')
}

const TROUBLE = ['d-dead', 'e-dead', 'b-idle', 'c-paused', 'f-busy', 'a-calm']

test('queues_are_sorted_by_trouble_and_as_the_address_says', async () => {
  const page = await on.open()
  await becomes(() => names(page), TROUBLE)
  await reads(row(page, 'b-idle'), /no one at work/)
  await page.getByRole('button', { name: 'Sort by Queue' }).click()
  await becomes(() => names(page), TROUBLE.toSorted())
  await page.getByRole('button', { name: 'Sort by Dead' }).click()
  await becomes(async () => (await names(page)).slice(0, 2), ['d-dead', 'e-dead'])
  const other = await on.open(page.url().slice(on.url.length))
  await becomes(async () => (await names(other)).slice(2), ['a-calm', 'b-idle', 'c-paused', 'f-busy'])
  await page.getByLabel('Search').fill('dead')
  await becomes(() => names(page), ['d-dead', 'e-dead'])
  await page.reload()
  await becomes(() => names(page), ['d-dead', 'e-dead'])
  assert.equal(await page.getByLabel('Search').inputValue(), 'dead')
  await page.getByLabel('Search').fill('')
  await page.goBack()
  await becomes(() => names(page), TROUBLE.toSorted())
  await page.goBack()
  await becomes(() => names(page), TROUBLE)
})

test('queues_with_overdue_jobs_are_marked', async () => {
  const page = await on.open()
  await becomes(() => names(page), TROUBLE)
  on.wire.rule = async ({ path }) => {
    if (!path.startsWith('/queues?') && path !== '/queues') return null
    const { status, ...body } = await on.service.call('GET', path)
    Object.assign(body.queues.find(({ name }) => name === 'f-busy').reservations, { overdue: 2 })
    return { status, type: 'application/json', body }
  }
  await becomes(() => names(page), ['d-dead', 'e-dead', 'f-busy', 'b-idle', 'c-paused', 'a-calm'])
  await reads(row(page, 'f-busy'), /2 overdue/)
})

test('rows_of_the_overview_have_no_zeros_and_its_totals_say_0', async () => {
  const page = await on.open()
  await becomes(() => names(page), TROUBLE)
  // The rates are known by then.
  await page.waitForFunction(() => !document.querySelector('figcaption').innerText.includes('–'))
  const zeros = await page.locator('[data-row] td:not(.name), .total small').evaluateAll((all) =>
    all.map((one) => one.innerText).filter((text) => /^[0.–-]+$/.test(text.trim())))
  assert.deepEqual(zeros, [])
  assert.deepEqual(await page.locator('.total b, figcaption b').evaluateAll((all) => all.filter((one) => !/^[\d,.]+$/.test(one.innerText))), [])
  await reads(page.locator('.total', { hasText: 'Completed' }), /Completed\s*0/)
  assert.equal(await row(page, 'a-calm').locator('td.dead').innerText(), '')
  assert.equal(await row(page, 'd-dead').locator('td.dead').innerText(), '5')
})

test('a_phone_can_sort_queues', async () => {
  const page = await on.open('/console/', { width: 360, height: 740, touch: true })
  await becomes(() => names(page), TROUBLE)
  await page.getByLabel('Sort by', { exact: true }).selectOption('Held')
  await becomes(async () => (await names(page))[0], 'f-busy')
  assert.match(page.url(), /sort=held/)
  assert.equal(await row(page, 'a-calm').locator('td.n:visible').count(), 1)
  assert.ok(await fits(page))
  await page.goto(`${on.url}/console/#/dead`)
  await row(page, 'ink').first().waitFor()
  assert.ok(await fits(page), 'the dead')
  assert.ok(await page.getByRole('button', { name: 'Requeue' }).first().isVisible())
})

test('redis_memory_and_persistence_are_shown', async () => {
  const page = await on.open()
  const redis = page.locator('.redis')
  await reads(redis, /[\d.]+ (KiB|MiB) of [\d.]+ (MiB|GiB) used( \(\d+ %\))?\s*append-only file on/)
  const node = (more) => ({ used_bytes: 900 * 2 ** 20, max_bytes: 2 ** 30, append_only: true, last_write_ok: true, ...more })
  for (const [nodes, words] of [
    [[node()], /900 MiB of 1.0 GiB used \(88 %\)/],
    [[node({ max_bytes: null, append_only: false, last_write_ok: null })], /900 MiB used, no limit set\s+no append-only file: jobs are lost/],
    [[node({ last_write_ok: false })], /the append-only file cannot be written/],
    [[node({ append_only: null, last_write_ok: null }), node()], /Redis 1[^]*persistence unknown[^]*Redis 2/],
  ]) {
    on.wire.rule = ({ path }) => (path === '/redis' ? { status: 200, type: 'application/json', body: { nodes } } : null)
    await page.reload()
    await reads(redis, words)
  }
})

test('dead_jobs_of_all_queues_are_grouped_by_error', async () => {
  const page = await on.open()
  await page.getByRole('link', { name: /Dead/ }).first().click()
  const rows = page.locator('[data-row]')
  await becomes(async () => (await rows.allInnerTexts()).map((text) => text.split(/\s*[\t\n]\s*/).slice(0, 3).join(' | ')),
    ['ink | d-dead | 3', 'page # is torn | d-dead | 2', 'ink | e-dead | 1'])
  await row(page, 'page #').getByRole('button', { name: 'Requeue 2 jobs of d-dead' }).click()
  await reads(page.getByRole('dialog'), /Requeue 2 dead jobs of d-dead\?[^]*page # is torn/)
  await confirm(page, 'Requeue 2 jobs')
  await shown(page, '2 jobs in line again.')
  await becomes(() => rows.count(), 2)
  const { counts } = await on.service.queue('d-dead')
  assert.deepEqual([counts.dead, counts.waiting], [3, 2])
  await rows.first().getByRole('link', { name: 'ink' }).click()
  await becomes(() => page.url().endsWith('#/q/d-dead/dead?error=ink'))
  await page.getByRole('button', { name: 'Requeue 3 matching jobs' }).waitFor()
})

test('unread_dead_jobs_are_reported', async () => {
  on.wire.rule = async ({ path }) => {
    if (!path.includes('/queues/d-dead/jobs')) return null
    const { status, ...body } = await on.service.call('GET', path.replace(/&?after=[^&]*/, ''))
    return { status, type: 'application/json', body: { ...body, jobs: Array.from({ length: 100 }, (_, n) => ({ ...body.jobs[0], id: `d-dead-${n}` })), next: '1-0' } }
  }
  const page = await on.open('/console/#/dead')
  await reads(page.locator('.stale'), /first 1,000 dead jobs of a queue at most: 1,000 of \d in d-dead/)
})
