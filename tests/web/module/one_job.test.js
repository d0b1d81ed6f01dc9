// A desk for one job: that of a link, or one that the person chose from a list.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { world } from '../world/world.js'

const next = (tab) => tab.run(async () => {
  try {
    return (window.job = await window.desk.next()).payload
  } catch (error) {
    return `${error.name}: ${error.type} ${error.jobState}`
  }
})

test('desk_for_one_job_takes_that_job_and_no_other', async (t) => {
  const w = await world(t)
  await w.enqueue('first')
  const job = await w.enqueue('chosen')
  await w.enqueue('last')
  const tab = await w.open({ job })
  assert.equal(await next(tab), 'chosen')
  assert.equal(await tab.run(() => window.job.complete('done').then(({ state }) => state)), 'completed')
  assert.equal(await next(tab), 'IntrayError: /problems/wrong-state completed')
  assert.equal((await w.service.queue(w.queue)).counts.waiting, 2)
})

test('desk_for_one_job_keeps_it_through_a_reload', async (t) => {
  const w = await world(t)
  await w.enqueue('first')
  const job = await w.enqueue('chosen')
  const tab = await w.open({ job })
  await next(tab)
  await tab.run(() => window.job.save({ note: 'typed' }))
  await tab.page.reload()
  assert.equal(await next(tab), 'chosen')
  assert.deepEqual(await tab.run(() => window.job.draft), { note: 'typed' })
  assert.equal((await w.job(job)).counts.handed_out, 1)
})

test('desk_for_one_job_says_why_it_has_none', async (t) => {
  const w = await world(t)
  const job = await w.enqueue('chosen')
  await w.bob()
  assert.equal(await next(await w.open({ job })), 'IntrayError: /problems/wrong-state reserved')
  const unknown = `${job.slice(0, -26)}01KAJ3V7Q2M8Z4R6T9XW5YB1CD`
  assert.equal(await next(await w.open({ job: unknown })), 'IntrayError: /problems/unknown-job undefined')
})

test('desks_for_one_job_and_for_queues_do_not_share_their_jobs', async (t) => {
  const w = await world(t)
  await w.service.set(w.queue, { worker_limit: 2 })
  await w.enqueue('first')
  const job = await w.enqueue('chosen')
  const line = await w.open({})
  assert.equal(await next(line), 'first')
  const link = await w.open({ job })
  assert.equal(await next(link), 'chosen')
  assert.equal(await line.run(() => window.desk.job.payload), 'first')
  assert.equal(await link.run(() => window.desk.job.payload), 'chosen')
})
