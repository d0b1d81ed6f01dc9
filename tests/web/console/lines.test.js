// Whom jobs wait for: the lines of a queue, the jobs of one, what a job says of it, and what a leaver leaves.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startClock } from '../world/clock.js'
import { confirm, fits, shown, stage } from '../world/stage.js'
import { becomes, reads } from '../world/until.js'

const on = stage(undefined, async (on) => {
  const clock = await startClock()
  on.advance = clock.advance
  return clock
})

const row = (page, text) => page.locator('[data-row]', { hasText: text })
const tail = (id) => id.slice(-8)
const button = (page, name) => page.getByRole('button', { name })
const lines = async (queue) => (await on.service.queue(queue)).lines.map(({ line, waiting }) => [line, waiting])

async function fill(queue, n, more) {
  const jobs = Array.from({ length: n }, (_, at) => ({ queue, payload: { n: at }, dedupe: false, ...more(at) }))
  await on.service.call('POST', '/jobs', jobs)
}

test('line_has_its_count_its_age_and_its_jobs', async () => {
  await fill('mixed', 3, () => ({ assignees: ['bob'] }))
  await on.advance(3_661_000)
  await fill('mixed', 2, () => ({ skill: 'de', priority: 10 }))
  await fill('mixed', 4, () => ({}))
  const page = await on.open('/console/#/q/mixed/lines')
  await reads(row(page, '@bob'), /@bob\s+a worker\s+3\s+1 h 1 min Over an hour/)
  await reads(row(page, '+de'), /\+de\s+a skill\s+2\s+\d+ s\s+Reassign/)
  await page.getByRole('link', { name: '+de' }).click()
  await becomes(() => page.locator('[data-row]').count(), 2)
  assert.equal(await page.getByRole('searchbox', { name: 'For whom' }).inputValue(), '+de')
  await reads(page.locator('[data-row]').first(), /\+de/)
  // By a line the service finds jobs, and changes none.
  assert.equal(await button(page, /^Remove/).count(), 0)
  await page.getByRole('searchbox', { name: 'For whom' }).fill('bob')
  await page.getByRole('searchbox', { name: 'For whom' }).press('Enter')
  await shown(page, 'Write @ and a name, or + and a skill.')
  await page.getByRole('searchbox', { name: 'For whom' }).fill('@bob')
  await page.getByRole('searchbox', { name: 'For whom' }).press('Enter')
  await becomes(() => page.locator('[data-row]').count(), 3)
  await button(page, 'Clear').click()
  await becomes(() => page.locator('[data-row]').count(), 9)
})

test('jobs_of_a_leaver_are_reassigned_in_steps', async () => {
  await fill('leaving', 140, (n) => ({ assignees: n < 20 ? ['bob', 'ann'] : ['bob'], excluded: n === 21 ? ['cleo'] : undefined }))
  const page = await on.open('/console/#/q/leaving/lines')
  await row(page, '@bob').getByRole('button', { name: 'Reassign' }).click()
  const dialog = page.getByRole('dialog')
  await reads(dialog, /Reassign what waits for bob\?[\s\S]*What bob holds stays/)
  await confirm(page, 'Reassign')
  await shown(page, 'Type a name, or tick the box below.')
  await dialog.getByRole('combobox', { name: 'To whom' }).fill(' cleo ,,cleo')
  await confirm(page, 'Reassign')
  await reads(dialog.getByRole('alert'), /No one called “cleo” has worked here lately\./)
  assert.equal(on.wire.calls('reassign').length, 0)
  await confirm(page, 'Reassign anyway')
  await shown(page, '139 jobs reassigned; 1 job left, because the new names are excluded from them.')
  assert.deepEqual(await lines('leaving'), [['@ann', 20], ['@bob', 1], ['@cleo', 139]])
  await reads(row(page, '@cleo'), /139/)
  assert.equal(on.wire.calls('reassign').length >= 2, true)
})

test('jobs_of_a_leaver_are_given_to_everybody', async () => {
  await fill('shared', 40, () => ({ assignees: ['bob'] }))
  const page = await on.open('/console/#/q/shared/waiting?line=%40bob')
  await becomes(() => page.locator('[data-row]').count(), 40)
  await page.keyboard.press('R')
  await page.getByRole('dialog').getByRole('checkbox').check()
  await confirm(page, 'Reassign')
  await shown(page, '40 jobs reassigned.')
  await shown(page, 'No jobs match these filters.')
  assert.deepEqual(await lines('shared'), [])
  assert.equal((await on.service.reserve('shared', 'dan')).payload.n, 0)
})

test('refused_name_leaves_the_question_open', async () => {
  await fill('wrong', 1, () => ({ assignees: ['bob'] }))
  const page = await on.open('/console/#/q/wrong/lines')
  await row(page, '@bob').getByRole('button', { name: 'Reassign' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('combobox', { name: 'To whom' }).fill('bob')
  await confirm(page, 'Reassign')
  await confirm(page, 'Reassign anyway')
  await reads(dialog.getByRole('alert'), /must be another worker than from/)
  assert.deepEqual(await lines('wrong'), [['@bob', 1]])
})

test('job_says_for_whom_it_is_and_what_comes_next', async () => {
  const id = await on.service.enqueue('whose', 1, { assignees: ['bob', 'eve'], excluded: ['carol'], skill: 'de', fallback_ms: 900_000 })
  const page = await on.open(`/console/#/q/whose/waiting/${id}`)
  const panel = page.locator('.panel')
  await reads(panel, /Only\s+bob\s+eve\s+Skill\s+de\s+Never\s+carol\s+Fallback\s+in 1[45]:\d\d, then for everybody but those\s+Waits in\s+@bob @eve/)
  const { jobs: [{ reservation }] } = await on.service.call('POST', '/jobs/reserve', { queues: ['whose'], worker: 'bob', skills: ['de'] })
  await on.service.call('POST', '/jobs/hand-over', { reservation, to: 'fay', fallback_ms: 300_000 })
  await reads(panel, /Handed to\s+@fay by bob\s+Until\s+in [45]:\d\d, then as before/)
  await reads(row(page, tail(id)), /@fay/)
  await panel.getByRole('link', { name: '@fay' }).click()
  await becomes(() => page.locator('[data-row]').count(), 1)
  await on.advance(901_000)
  await on.service.call('POST', '/queues/whose/sweep', {})
  await reads(panel, /For whom\s+Never\s+carol/)
  const plain = await on.service.enqueue('whose', 2)
  await page.goto(`${on.url}/console/#/q/whose/waiting/${plain}`)
  await reads(panel, /History\s+never handed out/)
  assert.equal(await panel.getByRole('heading', { name: 'For whom' }).count(), 0)
})

test('delayed_job_says_that_its_fallback_has_not_begun', async () => {
  const id = await on.service.enqueue('later', 1, { skill: 'senior', fallback_ms: 600_000, delay_ms: 60_000 })
  const page = await on.open(`/console/#/q/later/delayed/${id}`)
  await reads(page.locator('.panel'), /Skill\s+senior\s+Fallback\s+10 min after it is ready, then for everybody/)
})

test('batch_says_who_answered_what', async () => {
  const { id } = await on.service.batch('poll', { jobs: [{ payload: 1 }, { payload: 2 }] })
  for (const worker of ['ann', 'bob']) await on.service.complete(await on.service.reserve('poll', worker), { by: worker.toUpperCase() })
  const page = await on.open(`/console/#/q/poll/batches/${id}`)
  for (const worker of ['ann', 'bob']) await reads(row(page.locator('.panel'), worker), new RegExp(`${worker}\\s+\\{"by":"${worker.toUpperCase()}"\\}`))
})

test('viewer_sees_the_lines_and_no_button', async () => {
  await fill('watched', 1, () => ({ assignees: ['bob'] }))
  on.wire.rule = ({ path }) => (path === '/me' ? { status: 200, type: 'application/json', body: { role: 'viewer', name: 'v', queues: ['*'], worker: null } } : null)
  const page = await on.open('/console/#/q/watched/lines')
  await row(page, '@bob').waitFor()
  assert.equal(await button(page, 'Reassign').count(), 0)
  await page.goto(`${on.url}/console/#/q/watched/waiting?line=%40bob`)
  await becomes(() => page.locator('[data-row]').count(), 1)
  assert.equal(await button(page, 'Reassign').count(), 0)
})

test('lines_fit_on_a_phone', async () => {
  await fill('narrow', 2, (n) => ({ assignees: [`${n}${'w'.repeat(120)}`, 'b'], skill: undefined }))
  const page = await on.open('/console/#/q/narrow/lines', { width: 360, height: 740, touch: true })
  await row(page, '@b').waitFor()
  assert.ok(await fits(page))
  await row(page, '@b').getByRole('button', { name: 'Reassign' }).tap()
  await page.getByRole('dialog').waitFor()
  assert.ok(await fits(page))
  const empty = await on.open('/console/#/q/whose/lines')
  await shown(empty, "All that waits is everybody's")
})
