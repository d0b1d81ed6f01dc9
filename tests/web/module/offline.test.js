// A network that goes away and comes back.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../world/until.js'
import { sleeper, world } from '../world/world.js'

/** Pauses take so many times as long. */
function pace() {
  const timeout = AbortSignal.timeout.bind(AbortSignal)
  AbortSignal.timeout = (ms) => timeout(ms * (window.pace ?? 1))
}

test('drafts typed offline are sent when the network is back', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png')
  const ann = await w.open({}, { before: pace })
  await ann.shows('cat.png')
  await ann.type('it is')
  await ann.hears('saved')
  await ann.offline(true)
  await ann.type(' a cat')
  await ann.run(() => { window.pace = 0.2 })
  const pauses = async () => (await ann.heard('retrying')).filter(({ delay }) => delay > 5_000).length
  await until('it tries ever more seldom', pauses)
  const before = await ann.run(() => {
    window.pace = 100
    return window.heard.filter(({ type, delay }) => type === 'retrying' && delay > 5_000).length
  })
  await until('it does for long', async () => (await pauses()) > before)
  assert.equal(await ann.get('state'), 'held')
  const saved = (await ann.heard('saved')).length
  await ann.offline(false)
  await ann.hears('saved', saved + 1) // much earlier than the pause would have ended
  assert.deepEqual(w.wire.calls('extend').at(-1).body.draft, { text: 'it is a cat' })
  assert.equal(await w.state(id), 'reserved')
})

test('work after an offline expiry is completed late', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png', { lease_ms: 60_000 })
  const ann = await w.open({}, { before: sleeper })
  await ann.shows('cat.png')
  await ann.offline(true)
  await ann.type('cat')
  await w.advance(60_000)
  await ann.sleeps(60_000)
  const [doubt] = await ann.hears('lost')
  assert.equal(doubt.certain, false)
  await ann.click('complete')
  await ann.shows('kept here until it can be sent')
  await ann.offline(false)
  const [ended] = await ann.hears('ended')
  assert.equal(ended.late, true)
  assert.deepEqual((await w.job(id)).result, { text: 'cat' })
})

test('a job presumed lost offline is held again', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png', { lease_ms: 60_000 })
  const ann = await w.open({}, { before: sleeper })
  await ann.shows('cat.png')
  const reservation = await ann.get('reservation')
  await ann.offline(true)
  // The same person keeps it on another machine.
  await w.service.call('POST', '/jobs/extend', { reservation, lease_ms: 300_000 })
  await w.advance(60_000)
  await ann.sleeps(60_000)
  await ann.hears('lost')
  await ann.offline(false)
  await until('it is held', async () => (await ann.get('state')) === 'held')
  assert.equal(await w.state(id), 'reserved')
})

test('drafts of two machines never overwrite each other', async (t) => {
  const w = await world(t)
  await w.enqueue('cat.png')
  const ann = await w.open({ grace: null })
  await ann.shows('cat.png')
  await ann.type('one')
  await ann.hears('saved')
  const reservation = await ann.get('reservation')
  w.wire.rule = ({ path, headers }) => (path === '/jobs/extend' && headers.origin ? 'cut' : undefined)
  await ann.type(' here')
  await fetch(`${w.wire.url}/jobs/extend`, {
    method: 'POST',
    body: JSON.stringify({ reservation, draft: { text: 'two' } }),
  })
  await ann.page.reload()
  await ann.shows('cat.png')
  w.wire.rule = null
  assert.equal(await ann.draft, 'one here')
  assert.deepEqual(await ann.get('otherDraft'), { text: 'two' })
  await ann.hears('extended')
  assert.equal(w.wire.calls('extend').at(-1).body.draft, undefined, 'nothing is sent until the person decides')
  await ann.type('!')
  await ann.hears('saved')
  assert.deepEqual(w.wire.calls('extend').at(-1).body.draft, { text: await ann.draft })
})
