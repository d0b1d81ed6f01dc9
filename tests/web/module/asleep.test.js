// A machine that sleeps, a page that is frozen or hidden, while the lease runs out.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../world/until.js'
import { sleeper, world } from '../world/world.js'

const HOUR = 3_600_000

test('a laptop asleep past the lease can complete late', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png', { lease_ms: HOUR })
  const ann = await w.open({ heartbeat: HOUR / 3 }, { before: sleeper })
  await ann.shows('cat.png')
  await ann.type('cat')
  await ann.hears('saved')
  await ann.hide()
  await ann.freeze()
  await w.advance(HOUR)
  await w.becomes(id, 'waiting')
  await ann.sleeps(HOUR)
  await ann.thaw()
  await ann.show()
  await ann.hears('lost') // much earlier than the next heartbeat
  await ann.shows('You no longer have this job (expired)')
  assert.equal(await ann.draft, 'cat')
  await ann.click('complete')
  const [ended] = await ann.hears('ended')
  assert.equal(ended.late, true)
  assert.deepEqual((await w.job(id)).result, { text: 'cat' })
})

test('sleep is detected without any event', async (t) => {
  const w = await world(t, { sleeps: true })
  const id = await w.enqueue('cat.png', { lease_ms: HOUR })
  const ann = await w.open({ heartbeat: HOUR / 3 }, { before: sleeper, apart: true })
  await ann.shows('cat.png')
  await ann.type('cat')
  await until('all is saved', () => w.wire.calls('extend').some(({ status, body }) => status === 200 && body.draft?.text === 'cat'))
  await w.asleep(async () => {
    await w.advance(HOUR)
    await w.becomes(id, 'waiting')
  })
  await ann.sleeps(HOUR) // so much later it is when it wakes
  await ann.hears('lost') // much earlier than the next heartbeat
  assert.equal(await ann.draft, 'cat')
  await ann.click('complete')
  assert.equal((await ann.hears('ended'))[0].late, true)
})

test('sleep is detected without a network', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png', { lease_ms: HOUR })
  const ann = await w.open({ heartbeat: HOUR / 3 }, { before: sleeper })
  await ann.shows('cat.png')
  await ann.type('cat')
  await until('all is saved', () => w.wire.calls('extend').some(({ status, body }) => status === 200 && body.draft?.text === 'cat'))
  await ann.hide()
  await ann.freeze()
  w.wire.rule = () => new Promise(() => {}) // not even refused
  await w.advance(HOUR)
  await w.becomes(id, 'waiting')
  await ann.sleeps(HOUR)
  await ann.thaw()
  await ann.show()
  const [doubt] = await ann.hears('lost')
  assert.equal(doubt.certain, false)
  w.wire.rule = null
  await ann.run(() => window.dispatchEvent(new Event('online')))
  const [, sure] = await ann.hears('lost', 2)
  assert.deepEqual([sure.reason, sure.certain], ['expired', true])
  assert.equal(await ann.draft, 'cat')
})

test('a lease that ends while hidden is reported when shown', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png', { lease_ms: 60_000 })
  const ann = await w.open({ idleAfter: 1_000 })
  await ann.shows('cat.png')
  await ann.type('cat')
  await ann.hide()
  await w.advance(60_000)
  await w.becomes(id, 'waiting')
  const { reservation } = await w.bob()
  await ann.show()
  await ann.hears('lost')
  assert.equal(await ann.draft, 'cat')
  await ann.click('complete')
  await ann.hears('refused')
  assert.equal((await w.completes({ reservation }, 'bob was here')).state, 'completed')
  const { result, late_results } = await w.job(id)
  assert.equal(result, 'bob was here')
  assert.deepEqual(
    late_results.map(({ result }) => result),
    [{ text: 'cat' }],
  )
  const [kept] = await ann.run(() => window.desk.kept())
  assert.deepEqual([kept.id, kept.draft, kept.result], [id, { text: 'cat' }, { text: 'cat' }])
})
