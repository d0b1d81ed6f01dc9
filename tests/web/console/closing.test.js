// A job that its worker has completed and may take back: the console says until when, and offers nothing that would end that.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shown, stage } from '../world/stage.js'
import { becomes, reads } from '../world/until.js'

const on = stage()

const row = (page, text) => page.locator('[data-row]', { hasText: text })
const post = (action, body) => on.service.call('POST', `/jobs/${action}`, body)

test('closing_job_says_when_it_is_final', async () => {
  await on.service.enqueue('slow', { n: 'one' })
  await on.service.enqueue('slow', { n: 'two' })
  const { id, reservation } = await on.service.reserve('slow', 'ann')
  await on.service.reserve('slow', 'bob')
  const page = await on.open(`/console/#/q/slow/held/${id}`)
  const panel = page.locator('.panel')
  await panel.getByRole('button', { name: 'Release' }).waitFor()
  await post('complete', { reservation, result: 'fine', undo_ms: 60_000 })
  await reads(panel.locator('.facts').first(), /closing in [1-5]\d s/)
  await reads(panel, /and can be taken back until/)
  assert.equal(await panel.getByRole('button', { name: 'Release' }).count(), 0)
  assert.equal(await panel.getByRole('button', { name: 'Withdraw' }).count(), 0)
  const closing = row(page, 'ann')
  await reads(closing.locator('td.lease'), /^closing in [1-5]\d s$/)
  await reads(closing.locator('td.what'), /one/)
  assert.equal(await closing.getByRole('checkbox').count(), 0)
  assert.equal(await row(page, 'bob').getByRole('checkbox').count(), 1)
  await page.keyboard.press('a')
  await shown(page, '1 picked')
  // It counts down.
  const before = await closing.locator('td.lease').innerText()
  await becomes(async () => (await closing.locator('td.lease').innerText()) !== before)

  // The list that knows of closing answers late: the job stands once all the same.
  let answer
  const late = new Promise((resolve) => { answer = resolve })
  on.wire.rule = ({ path }) => (path.startsWith('/queues/slow/jobs?') ? late : null)
  await post('undo', { reservation })
  await panel.getByRole('button', { name: 'Release' }).waitFor()
  await closing.getByRole('checkbox').waitFor()
  await reads(closing.locator('td.lease'), /^\d:\d\d$/)
  answer()
  await becomes(() => on.wire.open, 1)
  await reads(closing.locator('td.lease'), /^\d:\d\d$/)
})

test('events_tell_of_closing_and_undone', async () => {
  const id = await on.service.enqueue('taken-back', { n: 1 })
  const { reservation } = await on.service.reserve('taken-back', 'ann')
  await post('complete', { reservation, result: 'no', undo_ms: 10_000 })
  await post('undo', { reservation })
  await post('complete', { reservation, result: 'yes', resumes: 1, undo_ms: 1_000 })
  await becomes(() => on.service.state(id), 'completed')
  const page = await on.open('/console/#/q/taken-back/activity')
  await shown(page, 'undone')
  const kinds = await page.locator('.main tbody tr td.kind').allInnerTexts()
  assert.deepEqual(kinds, ['completed', 'closing', 'undone', 'closing', 'reserved', 'enqueued'])
  await reads(row(page, 'closing').nth(1).locator('td.why'), /^can be taken back for 10 s$/)
  await row(page, 'undone').click()
  await page.locator('.panel').getByRole('button', { name: 'Show what happened' }).click()
  await reads(page.locator('.story'), /can be taken back for 1 s/)
})
