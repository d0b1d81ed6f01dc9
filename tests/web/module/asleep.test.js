// A machine that sleeps, a page that is frozen or hidden, while the lease runs out.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { early, until } from '../world/until.js'
import { world } from '../world/world.js'

/** The clock that is called monotonic stands still while a machine sleeps. */
const monotonic = () => {
  const now = performance.now.bind(performance)
  let slept = 0
  performance.now = () => now() - slept
  window.sleeps = (ms) => (slept += ms)
}

test('a laptop asleep past the lease can complete late', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png', { lease_ms: 8_000 })
  const ann = await w.open({ idleAfter: 60_000 }, { before: monotonic })
  await ann.shows('cat.png')
  await ann.type('cat')
  await ann.hears('saved')
  await ann.hide()
  await ann.freeze()
  const asleep = Date.now()
  await w.becomes(id, 'waiting')
  await ann.run((ms) => window.sleeps(ms), Date.now() - asleep)
  await ann.thaw()
  const awake = Date.now()
  await ann.show()
  await ann.hears('lost')
  early(awake, 8_000)
  await ann.shows('You no longer have this job (expired)')
  assert.equal(await ann.draft, 'cat')
  await ann.click('complete')
  const [ended] = await ann.hears('ended')
  assert.equal(ended.late, true)
  assert.deepEqual((await w.job(id)).result, { text: 'cat' })
})

test('sleep is detected without any event', async (t) => {
  const w = await world(t, { sleeps: true })
  const id = await w.enqueue('cat.png', { lease_ms: 6_000 })
  const ann = await w.open({}, { before: monotonic, apart: true })
  await ann.shows('cat.png')
  await ann.type('cat')
  await until('all is saved', () => w.wire.calls('extend').some(({ status, body }) => status === 200 && body.draft?.text === 'cat'))
  await ann.run(() => window.sleeps(7_000)) // as if it had stood still for so long when it wakes
  await w.asleep(() => w.becomes(id, 'waiting'))
  const awake = Date.now()
  await ann.hears('lost')
  early(awake, 6_000)
  assert.equal(await ann.draft, 'cat')
  await ann.click('complete')
  assert.equal((await ann.hears('ended'))[0].late, true)
})

test('sleep is detected without a network', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png', { lease_ms: 3_000 })
  const ann = await w.open()
  await ann.shows('cat.png')
  await ann.type('cat')
  await ann.hears('saved')
  await ann.hide()
  await ann.freeze()
  w.wire.rule = () => new Promise(() => {}) // not even refused
  await w.becomes(id, 'waiting')
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
  const id = await w.enqueue('cat.png', { lease_ms: 3_000 })
  const ann = await w.open({ idleAfter: 1_000 })
  await ann.shows('cat.png')
  await ann.type('cat')
  await ann.hide()
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
