// A network that goes away and comes back.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { early, until } from '../world/until.js'
import { world } from '../world/world.js'

test('drafts typed offline are sent when the network is back', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png')
  const ann = await w.open()
  await ann.shows('cat.png')
  await ann.type('it is')
  await ann.hears('saved')
  await ann.offline(true)
  await ann.type(' a cat')
  const patient = async () => (await ann.heard('retrying')).findLast(({ delay }) => delay > 5_000)
  const { delay } = await until('it tries ever more seldom', patient)
  assert.equal(await ann.get('state'), 'held')
  const saved = (await ann.heard('saved')).length
  await ann.offline(false)
  const online = Date.now()
  await ann.hears('saved', saved + 1)
  early(online, delay)
  assert.deepEqual(w.wire.calls('extend').at(-1).body.draft, { text: 'it is a cat' })
  assert.equal(await w.state(id), 'reserved')
})

test('work after an offline expiry is completed late', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png', { lease_ms: 2_000 })
  const ann = await w.open()
  await ann.shows('cat.png')
  await ann.offline(true)
  await ann.type('cat')
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
  const id = await w.enqueue('cat.png', { lease_ms: 3_000 })
  const ann = await w.open()
  await ann.shows('cat.png')
  const reservation = await ann.get('reservation')
  await ann.offline(true)
  // The same person keeps it on another machine.
  await w.service.call('POST', '/jobs/extend', { reservation, lease_ms: 300_000 })
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
