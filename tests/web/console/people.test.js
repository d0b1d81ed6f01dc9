// Who has done a job: a column, a filter, and a page per worker.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shown, stage } from '../world/stage.js'
import { becomes, reads } from '../world/until.js'

const ODD = 'J. Döe/50% #1?'
const NAMED = 'Zoë & son/100% #2?'
const on = stage()

async function reserve(queue, worker, payload, more) {
  await on.service.enqueue(queue, payload, { dedupe: false, ...more })
  return on.service.reserve(queue, worker)
}

async function done(queue, worker, payload) {
  await on.service.complete(await reserve(queue, worker, payload), { by: worker })
}

const rows = (page) => page.locator('.main [data-row]')
const whoOf = (page) => rows(page).locator('td.worker').allInnerTexts()
const table = (page, name) => page.getByRole('table', { name })

test('completed_and_dead_jobs_say_who_and_are_narrowed_to_one', async () => {
  await on.service.set('answers', { max_attempts: 1 })
  for (const worker of ['ann', ODD, 'ann', null]) await done('answers', worker ?? undefined, 'q')
  await on.service.batch('answers', { jobs: [{ payload: 'of a batch' }] })
  await on.service.complete(await on.service.reserve('answers', 'ann'), 1)
  await on.service.fail(await reserve('answers', ODD, 'bad'), 'no way')
  const page = await on.open('/console/#/q/answers/completed')
  await becomes(async () => (await whoOf(page)).join(), `ann,${ODD},ann,no name`)
  await page.getByLabel('Worker', { exact: true }).fill('ann')
  await page.keyboard.press('Enter')
  await becomes(async () => (await whoOf(page)).join(), 'ann,ann,ann')
  await shown(page, '5 looked at')
  assert.match(page.url(), /worker=ann/)
  await shown(page, 'of a batch')
  // The service takes no order for them, and so the page has no button for one.
  assert.equal(await page.getByRole('button', { name: /^Remove/ }).count(), 0)
  await page.goto(`${on.url}/console/#/q/answers/dead?worker=bob`)
  await shown(page, 'No jobs match these filters.')
  await page.goto(`${on.url}/console/#/q/answers/dead?worker=${encodeURIComponent(ODD)}`)
  await becomes(async () => (await whoOf(page)).join(), ODD)
  await page.goto(`${on.url}/console/#/q/answers/waiting?worker=ann`)
  await shown(page, 'Nothing is waiting')
  assert.equal(await page.getByLabel('Worker', { exact: true }).count(), 0, 'a waiting job has none')
})

test('a_name_leads_to_the_page_of_its_worker', async () => {
  await on.service.set('texts', { sheets: true, worker_limit: 0, max_attempts: 1 })
  await done('texts', NAMED, 'done')
  await on.service.fail(await reserve('texts', NAMED, 'failed'), 'cannot read it')
  const held = await reserve('texts', NAMED, 'in hand')
  await on.service.call('GET', '/queues/texts/sheets')
  const page = await on.open('/console/#/q/texts/completed')
  await rows(page).locator('td.worker a').first().click()
  await page.getByRole('heading', { name: NAMED, level: 1 }).waitFor()
  await becomes(() => page.title(), `${NAMED} · intray`)
  await reads(table(page, 'what the worker holds'), new RegExp(held.id.slice(-6)))
  const ended = table(page, 'what the worker handed in and gave back').locator('[data-row]')
  await becomes(async () => (await ended.locator('td.kind').allInnerTexts()).join(), 'failed,completed')
  await reads(ended.first(), /cannot read it/)
  await becomes(() => table(page, 'day sheets').locator('td.handed').innerText(), '3')
  await page.getByRole('link', { name: 'texts' }).last().click()
  await becomes(() => new URL(page.url()).hash, `#/q/texts/dead?worker=${encodeURIComponent(NAMED).replaceAll('%20', '+')}`)
  await page.goBack()
  await page.getByRole('heading', { name: NAMED, level: 1 }).waitFor()
  await ended.last().locator('td.id a').click()
  await page.locator('.panel').waitFor()
})

test('page_of_a_worker_whom_no_queue_knows_is_empty', async () => {
  const page = await on.open('/console/#/workers/zed%20of%20nowhere')
  await shown(page, 'Nothing lately.')
  await page.getByRole('heading', { name: 'zed of nowhere' }).waitFor()
  assert.equal(await page.getByRole('table').count(), 0)
  await page.goto(`${on.url}/console/#/workers`)
  await page.getByRole('heading', { name: 'At work' }).waitFor()
})

test('page_of_a_worker_goes_on_with_the_next_queues', async () => {
  for (let n = 0; n < 40; n += 1) await done(`p${String(n).padStart(2, '0')}`, 'pam', n)
  const page = await on.open('/console/#/workers/pam', { width: 360, height: 740, touch: true })
  const ended = table(page, 'what the worker handed in and gave back').locator('[data-row]')
  await becomes(async () => await ended.count() > 0)
  const before = await ended.count()
  assert.ok(before <= 32, `${before}`)
  await page.getByRole('button', { name: 'Next' }).click()
  await becomes(async () => before + await ended.count(), 40)
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)
  assert.equal(wide, false, 'it fits a phone')
})
