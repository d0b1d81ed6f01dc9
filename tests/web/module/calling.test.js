// What a page sends: how often, with what, and what it does with what comes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { UNHINTED, early, until } from '../world/until.js'
import { world } from '../world/world.js'

test('a day at the desk costs one preflight', async (t) => {
  const w = await world(t)
  const ann = await w.open({ heartbeat: 700, token: 'a token needs a header' })
  for (const payload of ['one', 'two', 'three', 'four']) {
    await w.enqueue(payload, { max_attempts: 1 })
    await ann.shows(payload)
    await ann.type(payload)
    await ann.hears('saved')
    if (payload === 'two') await ann.run(() => window.job.fail('no').then(() => window.desk.close()))
    else if (payload === 'three') await ann.run(() => window.job.abandon({ delay: 60_000 }))
    else await ann.click('complete')
    if (payload !== 'two') await ann.hears('ended')
    await ann.page.reload()
  }
  for (const action of ['reserve', 'extend', 'complete', 'abandon', 'fail']) {
    assert.ok(w.wire.calls(action).length > 0, action)
    assert.equal(w.wire.preflights(action).length, action === 'reserve' ? 1 : 0, action)
  }
  assert.equal(w.wire.preflights('reserve')[0].answered['access-control-max-age'], '7200')
})

test('a waiting call gets a job at once and repeats its wait', async (t) => {
  const w = await world(t)
  const ann = await w.open({ wait: 6_000 })
  await until('she waits again', () => w.wire.calls('reserve').length >= 3)
  await sleep(500)
  const id = await w.enqueue('cat.png')
  await ann.shows('cat.png')
  const { enqueued_at, reserved } = await w.job(id)
  early(Date.parse(enqueued_at), UNHINTED, Date.parse(reserved.reserved_at))
  const { body } = w.wire.calls('reserve').find(({ answer }) => answer?.jobs?.length)
  assert.ok(body.wait_ms > 0, 'a call that waited has it')
})

test('a broken service is retried with growing delays', async (t) => {
  const w = await world(t)
  w.wire.offline = true
  const ann = await w.open({}, { moved: true })
  const failures = await until('it tries again and again', async () => {
    await w.pass(1_000)
    const heard = await ann.heard('retrying')
    return heard.length >= 4 && heard
  })
  for (const [n, { delay, at }] of failures.slice(1).entries()) {
    const before = failures[n]
    assert.ok(delay > before.delay && at - before.at >= before.delay - 1, JSON.stringify(failures))
  }
  w.wire.offline = false
  await w.enqueue('cat.png')
  await until('it is shown', async () => {
    await w.pass(1_000)
    return (await ann.reads('payload')) === 'cat.png'
  })
})

test('an attack is shown as text', async (t) => {
  const w = await world(t, { queue: 'default' })
  const attacks = [
    '<img src=x onerror="window.hacked = 1"><script>window.hacked = 1</script>',
    { __proto__: null, text: '</script><svg onload=alert(1)>', constructor: { prototype: { hacked: 1 } } },
  ]
  const ann = await w.open()
  for (const attack of attacks) {
    await w.enqueue(attack)
    await ann.shows(typeof attack === 'string' ? attack : 'svg onload')
    await ann.type('<b>fine</b>')
    assert.equal(await ann.run(() => document.querySelectorAll('img, svg, b').length), 0)
    assert.equal(await ann.run(() => window.hacked ?? {}.hacked), undefined)
    await ann.click('complete')
    await ann.hears('ended')
    await ann.page.reload()
  }
  const id = (await w.service.call('POST', '/jobs', { payload: 1 })).id
  await ann.shows('1')
  await ann.run(() => window.job.save(JSON.parse('{"__proto__":{"hacked":1},"text":"x"}')))
  await ann.page.reload()
  await until('the draft is back', async () => (await ann.draft) === 'x')
  assert.equal(await ann.run(() => ({}).hacked), undefined)
  assert.equal(await w.state(id), 'reserved')
  assert.deepEqual(ann.errors, [])
})

test('only reserve sends a token, renewed after a refusal', async (t) => {
  const w = await world(t)
  await w.enqueue('cat.png')
  const page = await w.open({ url: 'http://127.0.0.1:1' })
  const bearers = []
  w.wire.rule = ({ path, method, headers }) => {
    if (path !== '/jobs/reserve' || method !== 'POST') return
    bearers.push(headers.authorization)
    if (headers.authorization !== 'Bearer token 2') return { status: 401, body: { type: '/problems/unauthorized' } }
  }
  const got = await page.run(async ([url, queue]) => {
    window.desk.close()
    const { Intray } = await import(`${url}/client.js`)
    const asked = []
    const token = async ({ refused }) => {
      asked.push(refused ?? null)
      return `token ${asked.length}`
    }
    const desk = (window.desk = new Intray({ url, worker: 'ann', queues: [queue], token }))
    const job = (window.job = await desk.next())
    await job.complete('cat')
    return { asked, payload: job.payload }
  }, [w.wire.url, w.queue])
  assert.deepEqual(got, { asked: [null, 'token 1'], payload: 'cat.png' })
  assert.deepEqual(bearers, ['Bearer token 1', 'Bearer token 2'])
  assert.equal(w.wire.calls('complete')[0].headers.authorization, undefined)

  const refused = await page.run(async (url) => {
    const { Intray, IntrayError } = await import(`${url}/client.js`)
    const desk = new Intray({ url, worker: 'bob', token: 'no good' })
    return desk.next().catch((error) => [error instanceof IntrayError, error.status, error.type])
  }, w.wire.url)
  assert.deepEqual(refused, [true, 401, '/problems/unauthorized'])
})

test('a signal ends a wait and close ends the desk', async (t) => {
  const w = await world(t)
  const ann = await w.open()
  await until('she waits', () => w.wire.calls('reserve').some(({ body }) => body.wait_ms > 0))
  const names = await ann.run(async () => {
    const stop = new AbortController()
    const waits = window.desk.next({ signal: stop.signal })
    stop.abort()
    const first = await waits.catch(({ name }) => name)
    const second = window.desk.next()
    window.desk.close()
    return [first, await second.catch(({ name }) => name), await window.desk.next().catch(({ name }) => name)]
  })
  assert.deepEqual(names, ['AbortError', 'AbortError', 'AbortError'])
  // Or what waits still at the service would get the job.
  await until('her call has ended at the service', () => w.wire.open === 0)
  const asked = w.wire.calls('reserve').length
  const id = await w.enqueue('cat.png')
  await sleep(2_000)
  assert.equal(w.wire.calls('reserve').length, asked)
  assert.equal(await w.state(id), 'waiting')
})

test('an invalid request is reported to the page', async (t) => {
  const w = await world(t)
  const ann = await w.open({ queues: ['no such name!'] })
  await ann.shows('IntrayError')
  assert.equal(w.wire.calls('reserve').length, 1)
})
