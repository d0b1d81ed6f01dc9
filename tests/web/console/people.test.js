// Who has done a job: a column, a filter, and a page per worker.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { confirm, fits, shown, stage } from '../world/stage.js'
import { becomes, reads } from '../world/until.js'

const ODD = 'J. Döe/50% #1?'
const LEAVER = 'Léa & co/9% #3?'
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
  await shown(page, 'Nothing in the queues of this page.') // Other queues may have what the worker holds.
  await page.getByRole('button', { name: 'Next' }).click()
  await becomes(async () => before + await ended.count(), 40)
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)
  assert.equal(wide, false, 'it fits a phone')
})

const dialog = (page) => page.getByRole('dialog')
const alert = (page) => dialog(page).getByRole('alert')
const erasures = () => on.wire.log.filter(({ method }) => method === 'DELETE').length
const erase = (page) => page.getByRole('button', { name: 'Erase the name…' }).click()

test('name_of_a_leaver_is_erased_step_by_step', async () => {
  await on.service.set('leavers', { sheets: true })
  await done('leavers', LEAVER, 'done')
  await on.service.call('GET', '/queues/leavers/sheets')
  const page = await on.open(`/console/#/workers/${encodeURIComponent(LEAVER)}`)
  await erase(page)
  await reads(dialog(page), /Results, times and counts stay/)
  assert.equal(await dialog(page).getByRole('link', { name: 'What is removed, and what stays' }).getAttribute('href'), '../docs/personal-data')
  const go = dialog(page).getByRole('button', { name: 'Erase the name' })
  assert.equal(await go.isDisabled(), true, 'the name is typed first')
  // The service says once that there is more, and once that it is called too often.
  const first = [
    { status: 200, type: 'application/json', body: { removed: 1, jobs: 20, deliveries: 3, more: true } },
    { status: 429, type: 'application/problem+json', body: { type: '/problems/rate-limited', title: 'x', status: 429 }, more: { 'retry-after': '1' } },
  ]
  on.wire.rule = ({ method }) => (method === 'DELETE' ? first.shift() : null)
  await confirm(page, 'Erase the name', LEAVER)
  await shown(page, 'The service limits the calls per second.')
  const taken = /21 jobs, 2 lines of day sheets and 3 deliveries no longer name Léa & co\/9% #3\?\./
  await reads(page.getByRole('region', { name: 'When someone leaves' }), taken)
  assert.equal(erasures(), 3)
  const { jobs: [job] } = await on.service.call('GET', '/queues/leavers/jobs?state=completed')
  assert.equal(job.completed.worker, null)
})

test('name_of_a_worker_with_jobs_in_hand_is_not_erased_and_they_are_named', async () => {
  const held = await reserve('in-hand', 'hal', 'held')
  const { id, reservation } = await reserve('in-hand-too', 'hal', 'closing')
  await on.service.call('POST', '/jobs/complete', { reservation, result: 1, undo_ms: 60_000 })
  const page = await on.open('/console/#/workers/hal', { width: 360, height: 740, touch: true })
  await erase(page)
  await confirm(page, 'Erase the name', 'hal')
  await reads(alert(page), /the worker holds a job in the queue in-hand: release it first/)
  const links = alert(page).getByRole('link')
  await becomes(() => links.allInnerTexts(), [`in-hand ${held.id.slice(-8)}`, `in-hand-too ${id.slice(-8)}`])
  await reads(alert(page).getByRole('listitem').last(), /can be taken back/)
  assert.ok(await fits(page))
  await links.first().click()
  await page.locator('.panel').getByRole('button', { name: 'Release' }).waitFor()
  assert.equal(await dialog(page).count(), 0)
})

test('erasing_is_stopped_and_says_that_there_is_more', async () => {
  await done('stopped', 'stan', 1)
  const page = await on.open('/console/#/workers/stan')
  const body = { removed: 0, jobs: 5, deliveries: 0, more: true }
  const slow = async () => {
    await sleep(500)
    return { status: 200, type: 'application/json', body }
  }
  on.wire.rule = ({ method }) => (method === 'DELETE' ? slow() : null)
  await erase(page)
  await confirm(page, 'Erase the name', 'stan')
  await reads(dialog(page), /Erase the name [\d,]+ jobs…/)
  await dialog(page).getByRole('button', { name: 'Stop' }).click()
  await shown(page, 'Stopped.')
  await becomes(() => on.wire.open, 1)
  const before = erasures()
  on.wire.rule = null
  await reads(page.getByRole('region', { name: 'When someone leaves' }), /There is more: erase the name again\./)
  await erase(page)
  await confirm(page, 'Erase the name', 'stan')
  await shown(page, '1 job, 0 lines of day sheets')
  assert.equal(erasures(), before + 1)
})

test('name_that_no_one_can_type_is_erased_and_a_viewer_erases_none', async () => {
  const hidden = 'za\u202ek'
  await done('odd-names', hidden, 1)
  const page = await on.open(`/console/#/workers/${encodeURIComponent(hidden)}`)
  await erase(page)
  await confirm(page, 'Erase the name', 'erase')
  await shown(page, '1 job, 0 lines of day sheets')
  const me = { role: 'viewer', name: 'viewer', worker: null, queues: ['*'], until: null }
  on.wire.rule = ({ path }) => (path === '/me' ? { status: 200, type: 'application/json', body: me } : null)
  const other = await on.open('/console/#/workers/hal')
  await other.getByRole('heading', { name: 'Holds now' }).waitFor()
  assert.equal(await other.getByRole('button', { name: /Erase/ }).count(), 0)
})
