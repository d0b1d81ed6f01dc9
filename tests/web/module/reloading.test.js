// A page that is reloaded, closed, left and come back to.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../world/until.js'
import { sleeper, world } from '../world/world.js'

test('a reload keeps the job, the reservation and the draft', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png')
  const ann = await w.open()
  await ann.shows('cat.png')
  await ann.type('it is a cat')
  await ann.hears('saved')
  const reservation = await ann.get('reservation')
  assert.equal(await ann.get('resumed'), false)

  await ann.page.reload()
  await ann.shows('cat.png')
  assert.equal(await ann.draft, 'it is a cat')
  assert.deepEqual([await ann.get('id'), await ann.get('reservation')], [id, reservation])
  assert.equal(await ann.get('resumed'), true)
  await ann.hears('extended')
  const { counts, reserved } = await w.job(id)
  assert.deepEqual([counts.handed_out, reserved.worker], [1, 'ann'])
  assert.deepEqual(ann.errors, [])
})

test('an unsent draft survives a reload and is sent then', async (t) => {
  const w = await world(t)
  await w.enqueue('cat.png')
  const ann = await w.open({ grace: null })
  await ann.shows('cat.png')
  await ann.type('it is')
  await ann.hears('saved')
  w.wire.rule = ({ path }) => (path === '/jobs/extend' ? 'cut' : undefined)
  await ann.type(' a cat')
  assert.equal(
    await ann.run(() => window.job.save({ text: 'it is a cat' })),
    false,
    'this browser has it, the service has not',
  )
  await ann.page.reload()
  await ann.shows('cat.png')
  assert.equal(await ann.draft, 'it is a cat')
  w.wire.rule = null
  await ann.hears('saved')
  assert.deepEqual(w.wire.calls('extend').at(-1).body.draft, { text: 'it is a cat' })
})

test('a closed page gives its job back after 15 seconds', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png')
  const ann = await w.open()
  await ann.shows('cat.png')
  await ann.close()
  const { body, headers, at } = await until('a beacon was answered', () => w.wire.calls('abandon').find(({ status }) => status === 200))
  const answered = w.now()
  const ahead = answered - Date.now()
  assert.equal(body.grace_ms, 15_000)
  assert.equal(typeof body.resumes, 'number')
  assert.match(headers['content-type'], /^text\/plain/)
  assert.equal(headers.authorization, undefined)
  const ends = Date.parse((await w.job(id)).reserved.expires_at)
  const came = at + ahead
  assert.ok(ends >= came + 15_000 && ends <= answered + 15_000, `${ends - came} ms`)
  await w.advance(15_000)
  await w.becomes(id, 'waiting')
  const { counts } = await w.job(id)
  assert.deepEqual([counts.abandoned, counts.expired], [1, 0], 'this is not an attempt')
  assert.equal((await w.bob()).id, id)
})

test('a page that returns within the grace keeps the job', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png')
  const first = await w.open({ grace: 30_000 })
  await first.shows('cat.png')
  await first.type('it is a cat')
  await first.hears('saved')
  const reservation = await first.get('reservation')
  await first.close()
  await until('a beacon was answered', () => w.wire.calls('abandon')[0]?.status)
  const again = await w.open({ grace: 30_000 })
  await again.shows('cat.png')
  assert.equal(await again.get('reservation'), reservation)
  assert.equal(await again.draft, 'it is a cat')
  await w.hasLeft(id, 40_000)
  await w.passed(30_000) // longer than the grace
  assert.equal(await w.state(id), 'reserved')
  assert.deepEqual(await again.heard('lost'), [])
})

test('a last-moment draft is sent with the farewell', async (t) => {
  const w = await world(t)
  await w.enqueue('cat.png')
  const ann = await w.open()
  await ann.shows('cat.png')
  w.wire.rule = ({ path }) => (path === '/jobs/extend' ? 'cut' : undefined)
  await ann.type('cat')
  await ann.close()
  const { body } = await until('a beacon came', () => w.wire.calls('abandon')[0])
  assert.deepEqual(body.draft, { text: 'cat' })
})

test('without grace a closed page sends nothing', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png', { lease_ms: 60_000 })
  const first = await w.open({ grace: null })
  await first.shows('cat.png')
  const reservation = await first.get('reservation')
  await first.close()
  const second = await w.open({ grace: null })
  await second.shows('cat.png')
  assert.equal(await second.get('reservation'), reservation)
  await second.close()
  await until('nothing is on its way', () => w.wire.open === 0)
  await w.advance(60_000)
  await w.becomes(id, 'waiting')
  assert.equal((await w.job(id)).counts.expired, 1)
  assert.deepEqual(w.wire.calls('abandon'), [])
})

test('a page from the back-forward cache checks its job at once', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png')
  const ann = await w.open({ grace: 30_000, heartbeat: 600_000 }, { before: sleeper })
  await ann.shows('cat.png')
  await ann.type('cat')
  await ann.hears('saved')
  await ann.run(() => (window.sameDocument = true))
  await ann.page.goto(`${w.origin}/elsewhere`)
  const isAnswered = (n) => until('a beacon was answered', () => w.wire.calls('abandon')[n]?.status === 200)
  await isAnswered(0)
  const asked = w.wire.calls('extend').length
  await ann.page.goBack({ waitUntil: 'commit' })
  assert.equal(await ann.run(() => window.sameDocument), true, 'it is the same page')
  await until('it is extended', () => w.wire.calls('extend')[asked]?.status === 200)
  await w.passed(30_000)
  assert.equal(await w.state(id), 'reserved')
  assert.equal(await ann.draft, 'cat')

  await ann.run(() => addEventListener('pagehide', () => window.sleeps(30_000))) // it comes back after the grace
  await ann.page.goto(`${w.origin}/elsewhere`)
  await isAnswered(1)
  await w.advance(30_000)
  await w.becomes(id, 'waiting')
  await w.bob()
  await ann.page.goBack({ waitUntil: 'commit' })
  await ann.hears('lost')
  assert.equal(await ann.draft, 'cat')
})

test('a crashed page loses no work', async (t) => {
  const w = await world(t)
  await w.enqueue('cat.png')
  const ann = await w.open()
  await ann.shows('cat.png')
  const reservation = await ann.get('reservation')
  w.wire.rule = ({ path }) => (path === '/jobs/extend' ? 'cut' : undefined)
  await ann.type('cat')
  await ann.crash()
  w.wire.rule = null
  const again = await w.open()
  await again.shows('cat.png')
  assert.equal(await again.get('reservation'), reservation)
  assert.equal(await again.draft, 'cat')
})
