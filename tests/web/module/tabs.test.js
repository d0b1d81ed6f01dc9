// Two tabs of one person share one job.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../world/until.js'
import { world } from '../world/world.js'

test('two tabs share one job and one draft', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png')
  await w.enqueue('dog.png')
  const one = await w.open()
  await one.shows('cat.png')
  await one.type('it is')
  await one.hears('saved')
  const two = await w.open()
  await two.shows('cat.png')
  assert.equal(await two.get('reservation'), await one.get('reservation'))
  assert.equal(await two.draft, 'it is')
  await two.type(' a cat')
  await until('the other shows it', async () => (await one.draft) === 'it is a cat')
  assert.equal(await one.get('draft').then(({ text }) => text), 'it is a cat')
  await two.click('complete')
  await one.hears('ended')
  assert.equal(await one.get('state'), 'completed')
  const { counts, result } = await w.job(id)
  assert.deepEqual([counts.handed_out, result], [1, { text: 'it is a cat' }])
  assert.equal(w.wire.calls('complete').length, 1)
})

test('tabs share a job without a worker limit', async (t) => {
  const w = await world(t)
  await w.service.call('PATCH', `/queues/${w.queue}`, { worker_limit: 0 })
  const id = await w.enqueue('cat.png')
  await w.enqueue('dog.png')
  const one = await w.open()
  await one.shows('cat.png')
  const two = await w.open()
  await two.shows('cat.png')
  await two.page.reload()
  await two.shows('cat.png')
  assert.equal(await two.get('id'), id)
  assert.equal((await w.service.call('GET', `/queues/${w.queue}`)).counts.reserved, 1)
})

for (const [which, closes] of [
  ['the first', 0],
  ['the second', 1],
]) {
  test(`closing ${which} of two tabs does not give the job back, closing both does`, async (t) => {
    const w = await world(t)
    const id = await w.enqueue('cat.png')
    const tabs = [await w.open()]
    await tabs[0].shows('cat.png')
    tabs.push(await w.open())
    await tabs[1].shows('cat.png')
    const stays = tabs[1 - closes]
    const farewells = () => w.wire.calls('abandon').filter(({ status }) => status === 200).length
    await tabs[closes].close()
    if (closes === 1) await until('the farewell of the one that led has come', farewells)
    else await sleep(3_000)
    await w.hasLeft(id, 20_000)
    await w.passed(15_000)
    assert.equal(await w.state(id), 'reserved')
    assert.deepEqual(await stays.heard('lost'), [])
    await stays.page.bringToFront()
    await stays.type('cat')
    await stays.hears('saved')
    const before = farewells()
    await stays.close()
    await until('the last farewell has come', () => farewells() > before)
    await w.advance(15_000)
    await w.becomes(id, 'waiting')
    assert.equal((await w.job(id)).counts.abandoned, 1)
  })
}

test('a new leader keeps the job despite a late farewell', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png')
  const before = () => {
    // A tab that waits in line never gets the lock: the tab has to take it.
    const request = navigator.locks.request.bind(navigator.locks)
    navigator.locks.request = (name, how, run) => (how.steal ? request(name, how, run) : new Promise(() => {}))
  }
  const one = await w.open({ grace: 1_500 }, { before })
  await one.shows('cat.png')
  const two = await w.open({ grace: 1_500 })
  await two.shows('cat.png')
  w.wire.rule = ({ path }) => (path === '/jobs/abandon' ? sleep(1_000) : null)
  await two.close()
  await one.page.bringToFront()
  await one.page.mouse.move(5, 5)
  await until('the farewell came', () => w.wire.calls('abandon')[0]?.status)
  await sleep(2_500)
  assert.equal(await w.state(id), 'reserved')
  assert.deepEqual(await one.heard('lost'), [])
})

test('an untouched tab keeps the job when the other closes', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png')
  const one = await w.open({ idleAfter: 1_000 })
  await one.shows('cat.png')
  const two = await w.open({ idleAfter: 1_000 })
  await two.shows('cat.png')
  await two.type('cat')
  await two.hears('saved')
  await sleep(1_500)
  await one.hide() // the person looks at a third tab
  await two.close()
  await until('the farewell has come', () => w.wire.calls('abandon')[0]?.status)
  await w.hasLeft(id, 20_000)
  await w.passed(15_000)
  assert.equal(await w.state(id), 'reserved')
})

test('one tab waits for work and both get it', async (t) => {
  const w = await world(t)
  const one = await w.open()
  const two = await w.open()
  await until('a call waits', () => w.wire.calls('reserve').length)
  await until('they do not take turns', async () => {
    const asked = w.wire.calls('reserve').length
    await sleep(2_000)
    return w.wire.calls('reserve').length === asked
  })
  const open = w.wire.calls('reserve').filter(({ status }) => status === undefined).length
  assert.ok(open <= 2, `${open} requests`)
  await w.enqueue('cat.png')
  await one.shows('cat.png')
  await two.shows('cat.png')
  assert.equal(await one.get('reservation'), await two.get('reservation'))
})

test('two machines of a person share one job', async (t) => {
  const w = await world(t)
  const here = await w.open({ heartbeat: 1_000 })
  const there = await w.open({ heartbeat: 1_000 }, { elsewhere: true })
  await until('both have waited', () => w.wire.calls('reserve').length >= 2)
  const id = await w.enqueue('cat.png')
  await there.shows('cat.png')
  await here.page.reload()
  await here.shows('cat.png')
  assert.equal(await here.get('reservation'), await there.get('reservation'))
  await here.click('complete')
  await here.hears('ended')
  await there.page.bringToFront()
  await there.page.mouse.move(5, 5)
  const [lost] = await there.hears('lost')
  assert.equal(lost.reason, 'completed')
  assert.equal((await w.job(id)).counts.handed_out, 1)
})

test('two people in one browser are separate', async (t) => {
  const w = await world(t)
  await w.enqueue('cat.png')
  await w.enqueue('dog.png')
  const ann = await w.open({ worker: 'ann' })
  await ann.shows('cat.png')
  await ann.type('cat')
  await ann.hears('saved')
  const other = await w.open({ worker: 'ann b' })
  await other.shows('dog.png')
  assert.equal(await other.draft, '')
  await ann.page.bringToFront()
  await ann.page.reload()
  await ann.shows('cat.png')
})

test('a frozen tab does not block the visible one', async (t) => {
  const w = await world(t)
  await w.enqueue('cat.png')
  const one = await w.open({ heartbeat: 1_000 })
  await one.shows('cat.png')
  const two = await w.open({ heartbeat: 1_000 })
  await two.shows('cat.png')
  await one.type('c')
  await one.hears('saved')
  await two.page.bringToFront()
  await one.freeze()
  await two.type('at')
  const { length: before } = await two.heard('extended')
  await two.hears('extended', before + 4)
  await one.page.bringToFront()
  await until('it knows what happened meanwhile', async () => (await one.draft) === 'cat')
  assert.deepEqual([await one.heard('lost'), await two.heard('lost')], [[], []])
})

test('a page over plain http works without locks', async (t) => {
  const w = await world(t, { from: 'plain' })
  const id = await w.enqueue('cat.png')
  const one = await w.open({ grace: 1_000 })
  await one.shows('cat.png')
  assert.equal(await one.run(() => Boolean(navigator.locks)), false)
  const two = await w.open({ grace: 1_000 })
  await two.shows('cat.png')
  await two.type('cat')
  await until('the other shows it', async () => (await one.draft) === 'cat')
  await two.close()
  await sleep(2_500)
  assert.equal(await w.state(id), 'reserved', 'no tab knows whether it was the last: the lease decides')
  assert.deepEqual(w.wire.calls('abandon'), [])
})
