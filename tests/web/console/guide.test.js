// The pages to read, where it counts: a search over all of them, and what copies a block.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shown, stage } from '../world/stage.js'
import { becomes } from '../world/until.js'

const on = stage()

test('search finds a section and leads to it', async () => {
  const page = await on.open('/docs/tour')
  const asked = []
  page.on('request', (request) => asked.push(new URL(request.url()).origin))
  await page.keyboard.press('/')
  await page.keyboard.type('restore roll')
  await shown(page, 'Backup, restore, upgrade, rollback')
  await page.locator('.found').getByText('No section').waitFor({ state: 'hidden' })
  await page.keyboard.type(' zzzz')
  await shown(page, 'No section has these words')
  await page.keyboard.press('Escape')
  await page.keyboard.press('/')
  await page.keyboard.type('what a restore means')
  await page.locator('.found a').first().waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL('**/docs/backup#what-a-restore-means')
  assert.deepEqual([...new Set(asked)], [on.url], 'no other host is asked')
})

test('search shows its text without markup', async () => {
  const page = await on.open('/docs/')
  await page.locator('.search input').fill('<img src=x> .*+?^${}()|[]\\')
  await shown(page, 'No section has these words')
  await page.locator('.search input').fill('a&b <b> (')
  await becomes(() => page.locator('.found img').count(), 0)
})

test('a button copies the block beside it', async () => {
  const page = await on.open('/docs/backup')
  const block = page.locator('.block').first()
  await block.hover()
  const isCopied = block.getByRole('button', { name: 'Copied' }).waitFor() // it says so for two seconds
  await block.getByRole('button', { name: 'Copy' }).click()
  await isCopied
  const copied = await page.evaluate(() => navigator.clipboard.readText())
  assert.equal(copied.trim(), (await block.locator('code').textContent()).trim())
})

test('a phone shows the text first and never scrolls sideways', async () => {
  const page = await on.open('/docs/backup', { width: 390, height: 844, touch: true })
  const top = await page.locator('h1').evaluate((title) => title.getBoundingClientRect().top)
  assert.ok(top < 200, `${top} px down`)
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390)
  await page.getByRole('link', { name: 'All pages' }).click()
  await becomes(() => page.locator('nav').evaluate((nav) => Math.round(nav.getBoundingClientRect().top) < 200), true)
})
