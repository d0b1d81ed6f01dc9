// What was there before the page was opened, and everybody who works.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { confirm, shown, stage } from '../world/stage.js'
import { becomes, reads } from '../world/until.js'

const on = stage()

const row = (page, text) => page.locator('[data-row]', { hasText: text })
const counted = (page) => page.locator('.ranges .dim').innerText()

test('a reload shows the stored history at once', async () => {
  for (let n = 0; n < 3; n += 1) await on.service.enqueue('past', { n })
  await on.service.complete(await on.service.reserve('past', 'ann'), { fine: true })
  const page = await on.open('/console/#/q/past/waiting')
  await shown(page, '3 added, 1 handed out, 1 completed in the last hour')
  await page.reload()
  await shown(page, '3 added, 1 handed out, 1 completed in the last hour')
  for (const [range, words] of [['Day', 'the last day'], ['90 days', 'the last 90 days'], ['Hour', 'the last hour']]) {
    await page.getByRole('button', { name: range, exact: true }).click()
    await becomes(() => counted(page), `3 added, 1 handed out, 1 completed in ${words}`)
  }
  const since = new Date(Date.now() - 40 * 86_400_000)
  on.wire.rule = async ({ path }) => {
    if (!path.includes('step=hour')) return null
    const { status, ...body } = await on.service.call('GET', path)
    return { status, type: 'application/json', body: { ...body, since } }
  }
  await page.getByRole('button', { name: '90 days', exact: true }).click()
  const day = since.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
  await becomes(() => counted(page), `3 added, 1 handed out, 1 completed since ${day}`)
  await on.service.enqueue('other', 'x')
  await page.goto(`${on.url}/console/`)
  await shown(page, '4 added, 1 handed out, 1 completed in the last hour')
})

test('a_line_of_the_chart_is_hidden_so_that_the_others_show', async () => {
  await on.service.call('POST', '/jobs', Array.from({ length: 900 }, (_, n) => ({ queue: 'flat', payload: { n } })))
  await on.service.complete(await on.service.reserve('flat', 'ann'), { fine: true })
  const page = await on.open('/console/#/q/flat/waiting')
  // What is written on the axis, from the first time that it is drawn.
  await page.addInitScript(() => {
    globalThis.drawn = []
    const draw = CanvasRenderingContext2D.prototype.fillText
    CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
      globalThis.drawn.push(text)
      return draw.call(this, text, ...at)
    }
  })
  await page.reload()
  await shown(page, '900 added, 1 handed out, 1 completed in the last hour')
  const highest = () => page.evaluate(() => Math.max(...globalThis.drawn.splice(0).filter((text) => /^[\d,]+$/.test(text))
    .map((text) => Number(text.replace(',', '')))))
  const key = page.locator('.chart').getByRole('button', { name: /^Added/ })
  await becomes(async () => (await highest()) >= 100, true)
  await key.click()
  assert.equal(await key.getAttribute('aria-pressed'), 'false')
  await becomes(async () => { const top = await highest(); return top > 0 && top < 100 }, true)
  await key.click()
  await becomes(async () => (await highest()) >= 100, true)
})

test('one page lists all workers, overdue and waiting', async () => {
  await on.service.enqueue('one', { n: 1 })
  await on.service.enqueue('two', { n: 2 })
  const late = await on.service.call('POST', '/jobs/reserve', { queues: ['two'], worker: 'late-lee', lease_ms: 120_000 })
  await on.service.reserve('one', 'early-eve')
  const gone = new AbortController()
  const body = JSON.stringify({ queues: ['nothing-here'], worker: 'idle-ida', wait_ms: 30_000 })
  const headers = { 'content-type': 'application/json' }
  const page = await on.open()
  fetch(`${on.service.url}/jobs/reserve`, { method: 'POST', headers, body, signal: gone.signal }).catch(() => {})
  await page.getByRole('link', { name: 'Workers' }).click()
  await row(page, 'late-lee').waitFor()
  const held = page.getByRole('table', { name: 'who holds what' }).locator('[data-row]')
  // Whose time is over soonest comes first.
  await reads(held.nth(0), /late-lee/)
  await reads(held.nth(1), /early-eve/)
  await row(page, 'idle-ida').waitFor()
  await reads(row(page, 'idle-ida'), /nothing-here/)
  gone.abort()
  await row(page, 'late-lee').getByRole('checkbox').click()
  await page.getByRole('button', { name: 'Release them…' }).click()
  await confirm(page, 'Release them')
  await row(page, 'late-lee').waitFor({ state: 'detached' })
  assert.equal(await on.service.state(late.jobs[0].id), 'waiting')
  await row(page, 'early-eve').getByRole('link').last().click()
  await page.locator('.panel').getByText('"n": 1').waitFor()
})
