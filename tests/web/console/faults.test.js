// Keys, refusals, and a service that goes away.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { confirm, shown, stage } from '../world/stage.js'
import { becomes, reads } from '../world/until.js'

const on = stage(({ service }) => service.enqueue('work', { n: 1 }))

const KEY = 'op_4f9c1d2e7a'
const refusal = (status, slug, detail, more) => ({ status, body: { type: `/problems/${slug}`, title: slug, status, detail, ...more } })
/** Every call must bear this key. */
const wants = (key) => ({ headers }) => (headers.authorization === `Bearer ${key}` ? null : refusal(401, 'unauthorized', 'the key is not known'))
const down = () => { on.wire.offline = true; on.wire.cut() }
const up = () => { on.wire.offline = false }
const link = (page) => page.locator('.link').innerText()

test('a missing key is asked for and kept in memory only', async () => {
  on.wire.rule = wants(KEY)
  const page = await on.open()
  const field = page.getByLabel('Your key')
  assert.equal(await field.evaluate((input) => input.autocorrect || input.getAttribute('autocorrect') === 'on'), false, 'a phone corrects no key')
  await field.fill('wrong')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await shown(page, 'the key is not known')
  const sent = []
  page.on('request', (request) => sent.push(request))
  await field.fill(KEY)
  await page.keyboard.press('Enter')
  await page.locator('[data-row]', { hasText: 'work' }).waitFor()
  await becomes(() => link(page), 'Live')
  assert.ok(sent.some((request) => request.url().includes('/events') && request.headers().authorization === `Bearer ${KEY}`))
  assert.ok(sent.every((request) => !request.url().includes(KEY)))
  const kept = await page.evaluate(async () => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state,
    await indexedDB.databases(), await caches.keys(), document.documentElement.outerHTML, Object.keys(globalThis).map((name) => String(globalThis[name]))]))
  assert.ok(!kept.includes(KEY))
  await page.getByRole('button', { name: 'Sign out' }).click()
  await field.waitFor()
  assert.ok(!(await page.content()).includes('data-row'))
  await field.fill(KEY)
  await page.keyboard.press('Enter')
  await page.locator('[data-row]').first().waitFor()
  await page.reload()
  await field.waitFor()
})

test('a key is kept for the tab if asked, until sign-out', async () => {
  on.wire.rule = wants(KEY)
  const page = await on.open()
  const field = page.getByLabel('Your key')
  const kept = () => page.evaluate(() => [JSON.stringify({ ...sessionStorage }), JSON.stringify({ ...localStorage }), document.cookie])
  const enter = async () => {
    await field.fill(KEY)
    await page.getByLabel('Keep the key while this tab is open').check()
    await page.keyboard.press('Enter')
    await page.locator('[data-row]').first().waitFor()
  }
  await field.waitFor()
  await field.fill('wrong')
  await page.getByLabel('Keep the key while this tab is open').check()
  await page.getByRole('button', { name: 'Sign in' }).click()
  await shown(page, 'the key is not known')
  assert.deepEqual(await kept(), ['{}', '{}', ''])
  await enter()
  assert.deepEqual(await kept(), [`{"intray-key":"${KEY}"}`, '{}', ''])
  await page.reload()
  await page.locator('[data-row]').first().waitFor()
  const other = await page.context().newPage()
  await other.goto(page.url())
  await other.getByLabel('Your key').waitFor()
  await other.close()
  // What is remembered of exports names members of payloads.
  await page.evaluate(() => sessionStorage.setItem('intray-console-exports', '[]'))
  await page.getByRole('button', { name: 'Sign out' }).click()
  await field.waitFor()
  assert.deepEqual(await kept(), ['{}', '{}', ''])
  await enter()
  on.wire.rule = wants('another')
  await field.waitFor()
  assert.deepEqual(await kept(), ['{}', '{}', ''])
})

test('a revoked key signs the user out', async () => {
  on.wire.rule = wants(KEY)
  const page = await on.open()
  await page.getByLabel('Your key').fill(KEY)
  await page.keyboard.press('Enter')
  await page.locator('[data-row]').first().waitFor()
  on.wire.rule = wants('another')
  await page.getByLabel('Your key').waitFor()
})

test("a refusal shows the service's reason in the dialog", async () => {
  const id = await on.service.enqueue('work', { n: 'refused' })
  const page = await on.open(`/console/#/q/work/waiting/${id}`)
  on.wire.rule = ({ method }) => (method === 'GET' ? null : refusal(503, 'unavailable', 'Redis did not answer within two seconds', { applied: 'unknown' }))
  await page.locator('.panel').getByRole('button', { name: 'Withdraw' }).click()
  await confirm(page, 'Withdraw the job')
  await page.getByRole('dialog').getByText('Redis did not answer within two seconds').waitFor()
  on.wire.rule = null
  await confirm(page, 'Withdraw the job')
  await becomes(() => on.service.state(id), 'cancelled')
})

test('a forbidden action is reported', async () => {
  const id = await on.service.enqueue('work', { n: 'done already' })
  const page = await on.open(`/console/#/q/work/waiting/${id}`)
  await page.locator('.panel').getByRole('button', { name: 'Withdraw' }).click()
  for (let job = await on.service.reserve('work', 'kim'); job; job = await on.service.reserve('work', 'kim')) await on.service.complete(job)
  await confirm(page, 'Withdraw the job')
  await page.getByRole('dialog').getByRole('alert').waitFor()
  await reads(page.getByRole('dialog').getByRole('alert'), /completed/)
})

test('an outage keeps old data and shows its age', async () => {
  const page = await on.open()
  await page.locator('[data-row]', { hasText: 'work' }).waitFor()
  await becomes(() => link(page), 'Live')
  down()
  await shown(page, 'The service does not answer.')
  assert.equal(await link(page), 'Offline')
  await reads(page.locator('.offline'), /What you see is \d+ s old/)
  await becomes(() => page.locator('[data-row]', { hasText: 'work' }).count(), 1)
  up()
  await becomes(() => link(page), 'Live')
  await page.locator('.offline').waitFor({ state: 'detached' })
})

test('a rate-limited service does not count as an outage', async () => {
  const page = await on.open()
  await page.locator('[data-row]', { hasText: 'work' }).waitFor()
  await becomes(() => link(page), 'Live')
  let asked = 0
  const look = () => document.dispatchEvent(new Event('visibilitychange'))
  on.wire.rule = ({ path }) => (path.startsWith('/queues') && ++asked < 4 ? refusal(429, 'rate-limited', 'too many calls', { retry_after_ms: 50 }) : null)
  // However long these looks take, no time goes by.
  await page.evaluate(() => { const now = Date.now(); Date.now = () => now })
  await page.evaluate(look)
  await becomes(async () => { assert.equal(await link(page), 'Live'); return asked > 3 }, true)
  on.wire.rule = ({ path }) => (path.startsWith('/queues') ? refusal(429, 'rate-limited', 'too many calls') : null)
  // A minute goes by at each look: an answer may still have been on its way.
  const later = () => page.evaluate(() => { const { now } = Date; Date.now = () => now() + 60_000 })
  await becomes(async () => { await later(); await page.evaluate(look); return link(page) }, 'Offline')
  await shown(page, 'too many calls')
})

test('a console opened during an outage starts after it', async () => {
  down()
  const page = await on.open('/console/#/q/work/waiting')
  await shown(page, 'The service does not answer.')
  up()
  await page.getByRole('heading', { name: 'work' }).waitFor()
})

test('without an event stream the console polls', async () => {
  on.wire.rule = ({ path }) => (path.startsWith('/events') ? refusal(404, 'not-found', '/events is not a route of this service') : null)
  const page = await on.open('/console/#/q/polled/waiting')
  await on.service.enqueue('polled', { n: 'first' })
  await page.locator('[data-row]', { hasText: '"first"' }).waitFor()
  assert.equal(await link(page), 'Every 2 s')
  await on.service.enqueue('polled', { n: 'second' })
  await page.locator('[data-row]', { hasText: '"second"' }).waitFor()
  on.wire.rule = null
  await becomes(() => link(page), 'Live')
})

test('a broken stream resumes', async () => {
  const page = await on.open('/console/#/q/work/activity')
  const ids = []
  page.on('request', (request) => { if (new URL(request.url()).pathname === '/events') ids.push(request.headers()['last-event-id']) })
  await becomes(() => link(page), 'Live')
  const seen = await on.service.enqueue('work', { n: 'seen' })
  await page.locator('[data-row]', { hasText: seen.slice(-8) }).waitFor()
  const before = await page.locator('[data-row]').count()
  down()
  await on.service.enqueue('work', { n: 'missed' })
  await becomes(() => link(page), 'Offline')
  up()
  await becomes(() => page.locator('[data-row]').count(), before + 1)
  await becomes(() => ids.at(-1)?.includes('work@'))
})
