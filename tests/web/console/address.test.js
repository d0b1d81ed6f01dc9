// What the address keeps of a page, and what leaving a page closes.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shown, stage } from '../world/stage.js'
import { becomes, reads } from '../world/until.js'

const on = stage()

const rows = (page, n) => becomes(() => page.locator('[data-row]').count(), n)
const fill = (queue, n, more = () => ({})) =>
  on.service.call('POST', '/jobs', Array.from({ length: n }, (_, at) => ({ queue, payload: { n: at }, ...more(at) })))
const value = (page, label) => page.getByLabel(label, { exact: true }).inputValue()

async function filter(page, label, text) {
  await page.getByLabel(label, { exact: true }).fill(text)
  await page.keyboard.press('Enter')
}

async function die(queue, texts) {
  await on.service.set(queue, { max_attempts: 1 })
  await fill(queue, texts.length, (n) => ({ client: n % 2 ? 'odd' : 'even' }))
  for (const [n, text] of texts.entries()) await on.service.fail(await on.service.reserve(queue, `w${n}`), text)
}

test('filters_of_a_list_are_in_the_address_and_restored', async () => {
  await die('kept', ['a / b?', 'a / b?', 'ink', 'ink', 'ink'])
  const page = await on.open('/console/#/q/kept/dead')
  await rows(page, 5)
  await filter(page, 'Client', 'odd')
  await rows(page, 2)
  await page.keyboard.press('Escape')
  await page.keyboard.press('F')
  await filter(page, 'Error', 'a / b?')
  await rows(page, 1)
  await filter(page, 'Older than', '0 s')
  await becomes(() => page.url().includes('enqueued_before='))
  await rows(page, 1)
  const other = await on.open(page.url().slice(on.url.length))
  await rows(other, 1)
  assert.deepEqual([await value(other, 'Client'), await value(other, 'Error')], ['odd', 'a / b?'])
  assert.match(await value(other, 'Older than'), /\d+ s/)
  await page.goBack()
  await page.goBack()
  await rows(page, 2)
  assert.deepEqual([await value(page, 'Client'), await value(page, 'Error')], ['odd', ''])
  await page.goBack()
  await rows(page, 5)
  await page.goForward()
  await rows(page, 2)
  await page.reload()
  await rows(page, 2)
  await page.locator('[data-row] td.id a').first().click()
  await page.locator('.panel h3').first().waitFor()
  assert.match(page.url(), /dead\/kept-[^?]+\?client=odd$/)
  await page.locator('.panel').getByRole('link', { name: 'Close' }).click()
  await rows(page, 2)
  await page.getByRole('link', { name: /^waiting/ }).click()
  await becomes(() => page.url().endsWith('/waiting'))
})

test('dialogs_close_when_the_page_is_left', async () => {
  await die('left', ['ink'])
  await fill('left', 1)
  const page = await on.open('/console/#/q/left/waiting')
  const questions = [
    () => page.keyboard.press('?'),
    () => page.locator('[data-row]').first().getByRole('button', { name: 'For whom' }).click(),
    () => page.getByRole('button', { name: 'Remove' }).click(),
    () => page.getByRole('button', { name: 'Export' }).click(),
  ]
  const ways = [
    () => page.goBack(),
    () => page.evaluate(() => { location.hash = '#/q/left/waiting?client=even' }),
    () => page.evaluate(() => { location.hash = '#/workers' }),
    () => page.evaluate(() => dispatchEvent(new Event('pagehide'))),
  ]
  for (const [n, ask] of questions.entries()) {
    for (const way of n === 1 ? ways : ways.slice(0, 1)) {
      await page.goto(`${on.url}/console/#/`)
      await page.goto(`${on.url}/console/#/q/left/waiting`)
      await page.locator('[data-row] td.do').first().waitFor()
      await ask()
      await page.getByRole('dialog').waitFor()
      await way()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
  }
  assert.equal((await on.service.queue('left')).counts.waiting, 1)
})

test('buttons_name_the_number_of_matching_jobs', async () => {
  await fill('many', 130, (n) => ({ client: n < 120 ? 'acme' : 'few' }))
  const page = await on.open('/console/#/q/many/waiting')
  const act = (name) => page.getByRole('button', { name })
  await act('Reorder all 130 jobs').waitFor()
  for (const [client, n] of [['acme', 120], ['few', 10]]) {
    await filter(page, 'Client', client)
    for (const name of ['Reorder', 'Remove']) await act(`${name} ${n} matching jobs`).waitFor()
  }
  await act('Remove 10 matching jobs').click()
  await reads(page.getByRole('dialog'), /Remove 10 matching jobs of many\?/)
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await filter(page, 'Client', 'none')
  await shown(page, 'No jobs match these filters.')
  assert.equal(await act(/Reorder|Remove|Requeue|Export/).count(), 0)
  await page.locator('.empty').getByRole('button', { name: 'Clear' }).click()
  await rows(page, 50)
  await filter(page, 'Client', 'few')
  await act('Remove 10 matching jobs').waitFor()
  await on.service.call('DELETE', '/queues/many?state=waiting&client=few')
  await shown(page, 'No jobs match these filters.')
  assert.equal(await act(/Reorder|Remove/).count(), 0)
})

test('expensive_counts_say_more_than', async () => {
  await fill('endless', 60, () => ({ client: 'acme' }))
  const page = await on.open('/console/#/q/endless/waiting')
  await rows(page, 50)
  on.wire.rule = async ({ path }) => {
    if (!path.includes('client=acme') || !path.includes('limit=100')) return null
    const { status, ...body } = await on.service.call('GET', path.replace(/after=[^&]*&?/, ''))
    return { status, type: 'application/json', body: { ...body, next: '1-0' } }
  }
  await filter(page, 'Client', 'acme')
  await page.getByRole('button', { name: 'Remove more than 1,200 matching jobs' }).waitFor()
})
