// How long a page waits because an answer says so: bounded by its sender, whatever it says, and over as soon as calls
// succeed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../world/until.js'
import { world } from '../world/world.js'
import { Calls } from '../../../web/client/calls.js'
import { IntrayError } from '../../../web/client/http.js'

const HEADERS = ['3600', '99999999999999', '1e400', '-5', '0', '', 'NaN', '0.5', '0x7fffffff', 'Fri, 31 Dec 9999 23:59:59 GMT', 'soon']
const FIELDS = [3_600_000, 1e18, 2 ** 31, Number.MAX_VALUE, -5, 0, null, '60000', 'soon', {}, [], true]
const OWN = '/problems/unavailable'
const PLAN = { url: 'http://queue.example', worker: 'ann', queues: ['default'] }
const LIFE = new AbortController().signal

/** What the three calls that may wait have in common: each is made with `fetch`, and fails as `answer` says. */
async function pauses(t, { status = 503, header, problem }) {
  const headers = header === undefined ? {} : { 'retry-after': header }
  const body = JSON.stringify(problem) ?? '<h1>We will be back</h1>'
  const { mock } = t.mock.method(globalThis, 'fetch', async () => new Response(body, { status, headers }))
  const delays = []
  const calls = new Calls(PLAN, undefined, LIFE, ({ delay }) => delays.push(delay))
  for (const call of [calls.reserve({ key: 'x', wait: 0, stop: LIFE }), calls.resume('x'), calls.extend('x', 1), calls.settle('fail', {})]) {
    await call.then(() => assert.fail('it was answered'), (error) => calls.retry(error, 0))
  }
  mock.restore()
  return delays
}

test('proxy_pause_is_a_minute_at_most', async (t) => {
  for (const status of [503, 429]) {
    for (const header of HEADERS) {
      for (const delay of await pauses(t, { status, header })) assert.ok(delay > 0 && delay <= 60_000, `${header}: ${delay}`)
    }
    for (const ms of FIELDS) {
      const problem = { type: 'about:blank', retry_after_ms: ms }
      for (const delay of await pauses(t, { status, problem })) assert.ok(delay > 0 && delay <= 60_000, `${ms}: ${delay}`)
    }
  }
  for (const delay of await pauses(t, { header: '20' })) assert.ok(delay >= 20_000 && delay <= 30_000, `${delay}`)
})

test('intray_pause_is_five_minutes_at_most', async (t) => {
  for (const ms of FIELDS) {
    const problem = { type: OWN, retry_after_ms: ms }
    for (const delay of await pauses(t, { problem })) assert.ok(delay > 0 && delay <= 300_000, `${ms}: ${delay}`)
  }
  const problem = { type: OWN, retry_after_ms: 120_000 }
  for (const delay of await pauses(t, { problem })) assert.ok(delay >= 120_000, `${delay}`)
})

test('timer_of_any_length_never_ends_early_or_throws', async () => {
  const calls = new Calls(PLAN, undefined, LIFE, () => {})
  for (const ms of [2 ** 31, 2 ** 53, Number.MAX_VALUE, Infinity]) {
    const over = calls.pause(ms).then(() => 'over')
    assert.equal(await Promise.race([over, sleep(20)]), undefined, `${ms}`)
  }
  for (const ms of [-1, NaN, 0, undefined]) {
    assert.equal(await Promise.race([calls.pause(ms).then(() => 'over'), sleep(1_000)]), 'over', `${ms}`)
  }
})

test('absurd_pause_of_an_empty_answer_is_ignored', async (t) => {
  const w = await world(t)
  const absurd = [-1, 0, 1e18, 'soon', null, {}]
  w.wire.rule = ({ path, method }) => {
    if (path !== '/jobs/reserve' || method !== 'POST' || !absurd.length) return null
    return { status: 200, body: { jobs: [], remaining: 0, reason: 'empty', retry_after_ms: absurd.shift() } }
  }
  const ann = await w.open({ wait: 25_000 })
  await until('all but the huge one are over', () => absurd.length <= 3)
  absurd.length = 0
  const asked = w.wire.calls('reserve').length
  await until('it asks again', async () => {
    await ann.run(() => document.dispatchEvent(new Event('visibilitychange')))
    return w.wire.calls('reserve').length > asked
  })
  await w.enqueue('cat.png')
  await ann.shows('cat.png')
  assert.ok(w.wire.calls('reserve').length < 8)
})

test('proxy_pause_ends_when_another_call_succeeds', async (t) => {
  t.mock.method(globalThis, 'fetch', async () => new Response('{"state":"completed"}'))
  const ends = async (type) => {
    const calls = new Calls(PLAN, undefined, LIFE, () => {})
    const over = calls.pauseAfter(new IntrayError(503, { type }, 50_000), 0).then(() => true)
    assert.equal(await Promise.race([over, sleep(700)]), undefined, 'it waits')
    await calls.settle('complete', {})
    return (await Promise.race([over, sleep(200)])) ?? false
  }
  assert.equal(await ends('about:blank'), true)
  assert.equal(await ends(OWN), false, 'what intray itself asks for is obeyed')
})
