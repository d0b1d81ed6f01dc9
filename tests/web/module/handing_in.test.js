// Completing, abandoning and failing, over networks and services that break.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../world/until.js'
import { world } from '../world/world.js'

const isComplete = ({ path }) => path === '/jobs/complete'

test('a completed job is followed by the next one', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png')
  const ann = await w.open()
  await ann.shows('cat.png')
  assert.deepEqual(await ann.run(() => window.job.complete({ cat: true }).then(({ undo, ...ending }) => ending)), {
    sent: true,
    state: 'completed',
    late: false,
    duplicate: false,
    final: true,
    finalIn: null,
  })
  assert.deepEqual((await w.job(id)).result, { cat: true })
  assert.equal(await ann.get('state'), 'completed')
  assert.equal(await ann.run(() => localStorage.length), 0, 'nothing is left behind')
  const twice = await ann.run(() => window.job.complete(1).catch(({ name }) => name))
  assert.equal(twice, 'InvalidStateError')
  const next = ann.click('next')
  await w.enqueue('dog.png')
  await next
  await ann.shows('dog.png')
})

test('a job is abandoned or failed', async (t) => {
  const w = await world(t)
  const skipped = await w.enqueue('cat.png')
  const ann = await w.open()
  await ann.shows('cat.png')
  await ann.run(() => window.job.abandon({ skip: true, reason: 'not my language', delay: 60_000 }))
  const { body } = w.wire.calls('abandon')[0]
  assert.deepEqual([body.skip, body.reason, body.delay_ms], [true, 'not my language', 60_000])
  assert.equal(await w.state(skipped), 'delayed')

  const failed = await w.enqueue('dog.png', { max_attempts: 1 })
  await ann.click('next')
  await ann.shows('dog.png')
  const { state } = await ann.run(() => window.job.fail(new Error('the picture does not load')))
  assert.equal(state, 'dead')
  assert.equal((await w.job(failed)).errors[0].error, 'the picture does not load')
})

test('an unsent completion is sent once, before the next job', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png')
  const ann = await w.open()
  await ann.shows('cat.png')
  w.wire.offline = true
  await ann.type('cat')
  await ann.click('complete')
  await ann.shows('kept here until it can be sent')
  await ann.page.reload()
  await ann.hears('retrying')
  await w.enqueue('dog.png')
  assert.equal(await w.state(id), 'reserved')
  w.wire.offline = false
  await ann.shows('dog.png')
  const [ended] = await ann.hears('ended')
  assert.deepEqual([ended.id, ended.action], [id, 'complete'])
  const { result, counts } = await w.job(id)
  assert.deepEqual([result, counts.handed_out], [{ text: 'cat' }, 1])
  assert.deepEqual(await ann.run(() => window.desk.kept()), [])
})

test('a completion whose answer was lost counts once', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png')
  const ann = await w.open()
  await ann.shows('cat.png')
  let lost = 0
  w.wire.rule = (call) => (isComplete(call) && lost++ < 3 ? 'lose' : undefined) // the browser itself tries twice
  assert.equal((await ann.run(() => window.job.complete('cat'))).sent, false)
  await ann.hears('ended')
  assert.equal(w.wire.calls('complete').at(-1).answer.duplicate, true)
  const { result, late_results } = await w.job(id)
  assert.deepEqual([result, late_results], ['cat', []])
})

test('a completion survives closing the page at once', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png')
  const ann = await w.open()
  await ann.shows('cat.png')
  await ann.run(() => void window.job.complete('cat'))
  await ann.close()
  await w.becomes(id, 'completed')
  assert.deepEqual(w.wire.calls('abandon'), [], 'it is not given back')
})

test('a pending completion is sent when the page is closed', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png')
  const ann = await w.open()
  await ann.shows('cat.png')
  w.wire.rule = (call) =>
    isComplete(call) ? { status: 503, body: { type: '/problems/unavailable', retry_after_ms: 60_000 } } : undefined
  assert.equal((await ann.run(() => window.job.complete('cat'))).sent, false)
  w.wire.rule = null
  await ann.close()
  await w.becomes(id, 'completed')
  const again = await w.open()
  await again.hears('ended')
  await sleep(500)
  assert.equal((await w.job(id)).result, 'cat')
  assert.equal(await again.run(() => localStorage.length), 0)
})

for (const [what, fate] of [
  [
    'a Redis that is away',
    { status: 503, body: { type: '/problems/unavailable', applied: 'unknown', retry_after_ms: 300 } },
  ],
  ['a Redis that is full', { status: 507, body: { type: '/problems/storage-full' } }],
  ['a gateway in between', { status: 502, body: '<h1>Bad Gateway</h1>', type: 'text/html' }],
  ['a gateway that knows no intray', { status: 404, body: '<h1>Not Found</h1>', type: 'text/html' }],
  ["a hotel's wireless that answers itself", { status: 200, body: '<h1>Welcome, dear guest</h1>', type: 'text/html' }],
  ['a silent peer', 'cut'],
]) {
  test(`a completion gets past ${what}`, async (t) => {
    const w = await world(t)
    const id = await w.enqueue('cat.png')
    const ann = await w.open()
    await ann.shows('cat.png')
    let met = 0
    w.wire.rule = (call) => (isComplete(call) && met++ < 2 ? fate : undefined)
    assert.equal((await ann.run(() => window.job.complete('cat'))).sent, false)
    await ann.hears('ended')
    assert.equal((await w.job(id)).result, 'cat')
    assert.ok(met >= 3)
  })
}

test('an invalid result leaves the job reserved', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png')
  const ann = await w.open()
  await ann.shows('cat.png')
  const refusal = await ann.run(() =>
    window.job.complete('x'.repeat(300_000)).catch(({ status, type }) => [status, type]),
  )
  assert.deepEqual(refusal, [413, '/problems/too-large'])
  assert.equal(await ann.get('state'), 'held')
  assert.equal((await ann.run(() => window.job.complete('x'))).sent, true)
  assert.equal((await w.job(id)).result, 'x')
})

test('an invalid draft is kept locally and keeps the job', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png')
  const ann = await w.open({ heartbeat: 1_000 })
  await ann.shows('cat.png')
  w.wire.rule = ({ path, body }) =>
    path === '/jobs/extend' && body.draft?.text.length > 1_000
      ? { status: 413, body: { type: '/problems/too-large' } }
      : undefined
  const refusal = await ann.run(() => window.job.save({ text: 'x'.repeat(2_000) }).catch(({ status }) => status))
  assert.equal(refusal, 413)
  const extended = () => w.wire.calls('extend').filter(({ status, body }) => status === 200 && body.draft === undefined)
  const before = extended().length
  await until('the heartbeat goes on', () => extended().length >= before + 2)
  assert.equal(await w.state(id), 'reserved')
  await ann.page.reload()
  await ann.shows('cat.png')
  assert.equal((await ann.draft).length, 2_000)
  // Not at once while the long one is being tried.
  await until('the short one is saved', () => ann.run(() => window.job.save({ text: 'short' })))
})

test('a late result is refused and kept on both sides', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png', { lease_ms: 1_500 })
  const ann = await w.open({ idleAfter: 100 })
  await ann.shows('cat.png')
  await ann.hears('lost')
  const bob = await w.bob()
  assert.equal((await w.completes(bob, 'dog')).state, 'completed')
  const refusal = await ann.run(() =>
    window.job.complete('cat').catch(({ lost, reason, jobState }) => [lost, reason, jobState]),
  )
  assert.deepEqual(refusal, [true, 'expired', 'completed'])
  const { result, late_results } = await w.job(id)
  assert.deepEqual([result, late_results[0].result], ['dog', 'cat'])
  await ann.page.reload()
  const kept = await ann.run(() => window.desk.kept())
  assert.deepEqual(
    kept.map(({ id, result, reason }) => [id, result, reason]),
    [[id, 'cat', 'expired']],
  )
})

test('without storage everything works until the page closes', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png')
  const ann = await w.open({ storage: 'none' })
  await ann.shows('cat.png')
  w.wire.offline = true
  await ann.type('cat')
  await ann.click('complete')
  await ann.shows('kept here until it can be sent')
  w.wire.offline = false
  await ann.hears('ended')
  assert.deepEqual((await w.job(id)).result, { text: 'cat' })
  await w.enqueue('dog.png')
  await ann.click('next')
  await ann.shows('dog.png')
  await ann.page.reload()
  await ann.shows('dog.png')
})
