// Jobs that an operator makes by hand, and those that run again with another payload.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { confirm, fits, shown, stage } from '../world/stage.js'
import { becomes, reads } from '../world/until.js'

const on = stage()

const count = async (queue, state) => (await on.service.queue(queue)).counts[state]
const jobs = async (queue, state) => (await on.service.call('GET', `/queues/${queue}/jobs?state=${state}`)).jobs
const dialog = (page) => page.getByRole('dialog')
const payload = (page) => page.getByLabel('Payload, as JSON')
const text = async (id) => (await (await fetch(`${on.service.url}/jobs/${id}`)).text()).replace(/\s+/g, '')

async function dead(queue, more, sent = { n: 1 }) {
  await on.service.set(queue, { max_attempts: 1 })
  const id = await on.service.enqueue(queue, sent, more)
  await on.service.fail(await on.service.reserve(queue, 'ann'), 'ink')
  return id
}

test('jobs_are_added_by_hand', async () => {
  const page = await on.open()
  await page.getByRole('button', { name: 'Add a job' }).click()
  await page.getByLabel('Queue').fill('by-hand')
  await payload(page).fill('{"photo": 17}')
  // A page with a queue adds to that; here the name is typed, and may be wrong.
  await page.getByLabel('Make it if').uncheck()
  await confirm(page, 'Add the job')
  await reads(dialog(page).getByRole('alert'), /there is no queue by-hand/)
  assert.equal((await fetch(`${on.service.url}/queues/by-hand`)).status, 404)
  await page.getByLabel('Make it if').check()
  await confirm(page, 'Add the job')
  await shown(page, 'is added.')
  await page.goto(`${on.url}/console/#/q/by-hand/waiting`)
  await page.locator('[data-row]').waitFor()
  await page.keyboard.press('A')
  await payload(page).waitFor()
  await page.keyboard.type('{"big": 12345678901234567890}')
  await page.getByLabel('Priority').fill('3')
  await page.getByLabel('Client, may').fill('acme')
  await confirm(page, 'Add the job')
  await becomes(() => count('by-hand', 'waiting'), 2)
  const [first, second] = await jobs('by-hand', 'waiting')
  assert.deepEqual([first.priority, first.client, second.priority, second.client], [3, 'acme', 50, null])
  assert.match(await text(first.id), /"payload":\{"big":12345678901234567890\}/)
})

test('change_of_a_queue_that_is_gone_asks_before_it_makes_one', async () => {
  const gone = async (name) => {
    on.wire.rule = null
    await on.service.set(name, { lease_ms: 60_000 })
    const page = await on.open(`/console/#/q/${name}/settings`)
    await page.getByLabel('Lease', { exact: true }).waitFor()
    // The page does not learn of it.
    on.wire.rule = ({ method, path }) => (method === 'GET' && !path.startsWith('/queues/') ? 'cut' : null)
    await on.service.call('DELETE', `/queues/${name}?forget=true`)
    return page
  }
  const page = await gone('drained')
  await page.getByLabel('Lease', { exact: true }).fill('2 min')
  await page.getByRole('button', { name: 'Save 1 change' }).click()
  await shown(page, 'Make the queue drained?')
  await dialog(page).getByRole('button', { name: 'Cancel' }).click()
  assert.equal((await fetch(`${on.service.url}/queues/drained`)).status, 404)
  await page.getByRole('button', { name: 'Save 1 change' }).click()
  await confirm(page, 'Make the queue')
  await shown(page, 'drained was not there, so it was made.')
  await becomes(async () => (await on.service.queue('drained')).settings.lease_ms, 120_000)
  const paused = await gone('paused')
  await paused.getByRole('button', { name: 'Pause paused' }).click()
  await confirm(paused, 'Make the queue')
  await becomes(async () => (await on.service.queue('paused')).settings.paused, true)
})

test('queue_without_jobs_is_removed', async () => {
  const id = await on.service.enqueue('over', 1)
  const page = await on.open('/console/#/q/over/settings')
  const remove = async () => {
    await page.getByRole('button', { name: 'Remove the queue…' }).click()
    await dialog(page).getByRole('textbox').fill('over')
    await confirm(page, 'Remove the queue')
  }
  await remove()
  await reads(dialog(page).getByRole('alert'), /the queue has jobs/)
  await dialog(page).getByRole('button', { name: 'Cancel' }).click()
  await on.service.call('DELETE', `/jobs/${id}`)
  await on.service.call('DELETE', '/queues/over?state=all')
  await remove()
  await shown(page, 'over is removed.')
  await page.waitForURL(/#\/$/)
  assert.equal((await fetch(`${on.service.url}/queues/over`)).status, 404)
})

test('invalid_json_payload_is_refused_before_sending', async () => {
  await on.service.enqueue('strict', { n: 1 })
  const page = await on.open('/console/#/q/strict/waiting')
  await page.getByRole('button', { name: 'Add a job' }).click()
  for (const wrong of ["{'n': 2}", '{"n": 2', '{"n": 2},"queue":"other"', 'yes', '{"n": 2,}', 'NaN']) {
    await payload(page).fill(wrong)
    await confirm(page, 'Add the job')
    await reads(dialog(page).getByRole('alert'), /not JSON/)
  }
  assert.equal(on.wire.log.filter(({ method }) => method === 'POST').length, 0)
  await payload(page).fill(' "yes" ')
  await confirm(page, 'Add the job')
  await becomes(() => count('strict', 'waiting'), 2)
})

test('equal_job_is_added_only_if_chosen', async () => {
  await on.service.enqueue('twins', { n: 1 })
  const page = await on.open('/console/#/q/twins/waiting')
  await page.getByRole('button', { name: 'Add a job' }).click()
  await payload(page).fill('{"n": 1}')
  await confirm(page, 'Add the job')
  await reads(dialog(page).getByRole('alert'), /Nothing was added/)
  await page.getByLabel('Add it even if').check()
  await confirm(page, 'Add the job')
  await becomes(() => count('twins', 'waiting'), 2)
})

test('lost_answer_makes_no_second_job', async () => {
  await on.service.enqueue('lossy', 0)
  const page = await on.open('/console/#/q/lossy/waiting')
  await page.getByRole('button', { name: 'Add a job' }).click()
  await payload(page).fill('{"n": 1}')
  on.wire.rule = ({ method }) => (method === 'POST' ? 'lose' : null)
  await confirm(page, 'Add the job')
  await reads(dialog(page).getByRole('alert'), /does not answer/)
  // What was typed outlives the dialog.
  on.wire.rule = null
  await confirm(page, 'Add the job')
  await shown(page, 'is added.')
  assert.equal(await count('lossy', 'waiting'), 2)
})

test('closed_dialog_keeps_its_text', async () => {
  await on.service.enqueue('typed', 0)
  const page = await on.open('/console/#/q/typed/waiting')
  await page.locator('[data-row]').waitFor()
  await page.keyboard.press('A')
  await payload(page).fill('{"long": "text"}')
  await page.keyboard.press('Escape')
  await page.locator('dialog').waitFor({ state: 'detached' })
  await page.keyboard.press('A')
  assert.equal(await payload(page).inputValue(), '{"long": "text"}')
  await confirm(page, 'Add the job')
  await page.locator('dialog').waitFor({ state: 'detached' })
  await page.keyboard.press('A')
  assert.equal(await payload(page).inputValue(), '')
})

test('dead_job_is_edited_and_run_again_as_a_new_one', async () => {
  const backoff = { type: 'fixed', delay_ms: 1_000 }
  const more = { client: 'acme', priority: 7, locks: ['desk'], lease_ms: 60_000, max_attempts: 1, backoff }
  const id = await dead('again', more, { n: 1, text: 'a\u200bb' })
  const page = await on.open(`/console/#/q/again/dead/${id}`)
  await page.getByRole('button', { name: 'Edit and run again' }).click()
  await reads(dialog(page), /makes a new job with an id of its own/)
  assert.deepEqual(JSON.parse(await payload(page).inputValue()), { n: 1, text: 'a\u200bb' })
  await payload(page).fill('{"n": 2}')
  await confirm(page, 'Add the new job')
  await page.locator('.panel').getByText('"n": 2').waitFor()
  const [made] = await jobs('again', 'waiting')
  assert.notEqual(made.id, id)
  const { client, priority, locks, lease_ms, max_attempts } = made
  assert.deepEqual({ client, priority, locks, lease_ms, max_attempts, backoff: made.backoff.delay_ms }, { ...more, backoff: 1_000 })
  assert.equal(await on.service.state(id), 'dead')
})

test('old_job_is_withdrawn_if_chosen', async () => {
  const id = await dead('instead', {})
  const page = await on.open(`/console/#/q/instead/dead/${id}`)
  await page.locator('.panel').getByText('ink').waitFor()
  await page.keyboard.press('E')
  await payload(page).fill('{"n": 2}')
  await page.getByLabel('Withdraw the old job').check()
  await confirm(page, 'Add the new job')
  await shown(page, `Job ${id.slice(-8)} is withdrawn.`)
  assert.deepEqual([await on.service.state(id), await count('instead', 'waiting')], ['cancelled', 1])
})

test('a_completed_job_is_run_again_and_stays', async () => {
  const id = await on.service.enqueue('done', { n: 1 })
  await on.service.complete(await on.service.reserve('done', 'ann'), { fine: true })
  const page = await on.open(`/console/#/q/done/completed/${id}`, { width: 360, height: 740, touch: true })
  await page.getByRole('button', { name: 'Edit and run again' }).tap()
  await payload(page).waitFor()
  assert.ok(await fits(page))
  assert.equal(await page.getByLabel('Withdraw the old job').count(), 0)
  await confirm(page, 'Add the new job')
  await becomes(() => count('done', 'waiting'), 1)
  assert.equal(await on.service.state(id), 'completed')
})
