// A person who is idle or elsewhere, an operator who takes a job, a clock that is wrong.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../world/until.js'
import { world } from '../world/world.js'

test('the lease is extended only while the person is present', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png', { lease_ms: 60_000 })
  const ann = await w.open({ heartbeat: 1_000, idleAfter: 3_000 }, { moved: true })
  await ann.shows('cat.png')
  const extends_ = () => w.wire.calls('extend').length
  for (let i = 0; i < 5; i++) {
    await ann.page.mouse.move(10 * i, 10)
    await w.pass(1_000)
  }
  const busy = extends_()
  assert.ok(busy >= 3 && busy <= 9, `${busy} in 5 s`)
  assert.deepEqual(await ann.heard('warning'), [])
  await w.pass(3_500)
  const idle = extends_()
  const [warning] = await until('she is warned', async () => {
    await w.pass(2_000, 2_000) // in few steps: each takes a while of the lease
    const heard = await ann.heard('warning')
    return heard.length > 0 && heard
  })
  assert.equal(extends_(), idle, 'nobody is here')
  assert.ok(warning.expiresIn > 0 && warning.expiresIn <= 30_000)
  assert.equal(await w.state(id), 'reserved')

  await ann.page.mouse.move(1, 1)
  await w.pass(1_000)
  await until('the person is present again', () => extends_() > idle)
  await ann.hears('extended')
  assert.equal(await w.state(id), 'reserved')
})

test('an idle page loses its job but can complete it late', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png', { lease_ms: 3_000 })
  const ann = await w.open({ idleAfter: 500 })
  await ann.shows('cat.png')
  await ann.type('cat')
  await ann.hears('warning')
  // If the service takes its time, the page thinks so before it is told.
  const confirmed = async () => (await ann.heard('lost')).find(({ certain }) => certain)
  assert.equal((await until('the loss is confirmed', confirmed)).reason, 'expired')
  assert.equal(await w.state(id), 'waiting')
  await ann.shows('You no longer have this job (expired)')
  assert.equal(await ann.draft, 'cat')
  assert.equal(await ann.get('expiresIn'), 0)
  const { sent, late } = await ann.run(() => window.job.complete(window.job.draft))
  assert.deepEqual([sent, late], [true, true])
  assert.deepEqual((await w.job(id)).result, { text: 'cat' })
  assert.equal(await ann.run(() => localStorage.length), 0)
})

test('a lost job that is still free returns with its draft', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png', { lease_ms: 2_000 })
  const ann = await w.open({ idleAfter: 500 })
  await ann.shows('cat.png')
  await w.enqueue('urgent.png', { priority: 1 })
  await ann.type('cat')
  await ann.hears('lost')
  await ann.click('next')
  await until('it is held again', async () => (await ann.get('attempt')) === 2)
  assert.equal(await ann.get('id'), id)
  assert.equal(await ann.draft, 'cat')
})

test('a hidden page keeps its job and checks it when shown', async (t) => {
  const w = await world(t)
  await w.enqueue('cat.png')
  const ann = await w.open({ heartbeat: 1_000, idleAfter: 4_000 })
  await ann.shows('cat.png')
  await ann.run(() => document.addEventListener('visibilitychange', () => { window.hiddenAt = Date.now() }, { once: true }))
  await ann.hide()
  const isExtended = () => window.heard.some(({ type, at }) => type === 'extended' && at > window.hiddenAt)
  await until('it extends', () => ann.run(isExtended))
  await sleep(5_000)
  const idle = w.wire.calls('extend').length
  await sleep(3_000)
  assert.equal(w.wire.calls('extend').length, idle)
  await ann.show()
  await until('it asks', () => w.wire.calls('extend').length > idle)
})

test('a released job is lost and its draft kept until forgotten', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png')
  const next = await w.enqueue('dog.png')
  const ann = await w.open({ heartbeat: 1_000 })
  await ann.shows('cat.png')
  await ann.type('cat')
  await ann.hears('saved')
  await w.service.call('POST', '/jobs/release', { id })
  assert.equal((await w.bob()).id, id)
  await ann.page.mouse.move(1, 1)
  const [lost] = await ann.hears('lost')
  assert.equal(lost.reason, 'released')
  assert.equal(await ann.draft, 'cat')
  await ann.click('next')
  await ann.shows('dog.png')
  assert.equal(await ann.get('id'), next)
  await ann.page.reload()
  await ann.shows('dog.png')
  const [kept] = await ann.run(() => window.desk.kept())
  assert.deepEqual([kept.id, kept.draft, kept.reason], [id, { text: 'cat' }, 'released'])
  await ann.run((id) => window.desk.forget(id), id)
  assert.deepEqual(await ann.run(() => window.desk.kept()), [])
})

test('wrong and jumping clocks lose no job', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png', { lease_ms: 60_000 })
  const before = () => {
    const now = Date.now
    window.off = 86_400_000
    Date.now = () => now() + window.off
    // The page looks at its clock when the story says so, and not before an answer has come.
    window.setInterval = (look) => { window.look = look }
  }
  const ann = await w.open({}, { before })
  await ann.shows('cat.png')
  const left = await ann.get('expiresIn')
  assert.ok(left > 0 && left <= 60_000, `${left} ms`)
  for (const [off, isForward] of [[90_000_000, true], [-1, false], [500_000, true]]) {
    const asked = (await ann.heard('extended')).length
    await ann.run((off) => {
      window.off = off
      window.look()
    }, off)
    if (isForward) await ann.hears('extended', asked + 1)
    await ann.run(() => window.look())
    assert.equal(await ann.get('state'), 'held')
    const left = await ann.get('expiresIn')
    assert.ok(left > 0 && left <= 60_000, `${left} ms`)
  }
  assert.equal(await w.state(id), 'reserved')
  assert.deepEqual(await ann.heard('lost'), [])
})
