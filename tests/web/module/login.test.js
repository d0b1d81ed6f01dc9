// A page whose function for tokens gives none: the person is no longer logged in.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../world/until.js'
import { world } from '../world/world.js'

/** What token() does: a script of the page, and what next() rejects with. */
const ENDS = [
  ['throws', "() => { throw new Error('log in') }", 'Error: log in'],
  ['rejects', "async () => { throw new Error('log in') }", 'Error: log in'],
  ['rejects with no error', "() => Promise.reject({ status: 401 })", '[object Object]'],
  ['rejects with nothing', "() => Promise.reject()", 'undefined'],
  ['rejects with a mistake', "() => Promise.reject(new RangeError('log in'))", 'RangeError: log in'],
  ['reads a page as JSON', "async () => JSON.parse('<h1>Log in</h1>')", 'SyntaxError'],
  ['gives undefined', '() => undefined', 'TypeError: intray: what token() gave is missing'],
  ['gives an empty text', "async () => ''", 'TypeError: intray: what token() gave is missing'],
  ['gives blanks', "async () => ' '", 'TypeError: intray: what token() gave is not a token'],
  ['gives null', 'async () => null', 'TypeError: intray: what token() gave is missing'],
  ['gives an object', "async () => ({ token: 'x' })", 'TypeError: intray: what token() gave is not a token'],
  ['gives a page', "async () => '<h1>\\nLog in</h1>'", 'TypeError: intray: what token() gave is not a token'],
  ['gives what no header carries', "async () => 'ключ'", 'TypeError: intray: what token() gave is not a token'],
]

/** A page on which `begin(token)` makes a desk and `next()` answers a payload, or why there is none. */
async function page(w, how) {
  const ann = await w.open({ url: 'http://127.0.0.1:1' }, how)
  await ann.run(async ([url, queue]) => {
    window.desk.close()
    const { Intray } = await import(`${url}/client.js`)
    window.begin = (token) => {
      window.asked = 0
      window.token = (0, eval)(token)
      const ask = (about) => (window.asked++, window.token(about))
      const settings = { url, worker: 'ann', queues: [queue], storage: null, grace: null, heartbeat: 600_000, token: typeof window.token === 'string' ? window.token : ask }
      window.desk = new Intray(settings)
    }
    window.next = () => window.desk.next().then((job) => job.payload, (error) => String(error))
  }, [w.wire.url, w.queue])
  ann.begin = (token) => ann.run((token) => window.begin(token), token)
  ann.next = () => ann.run(() => window.next())
  ann.asked = () => ann.run(() => window.asked)
  return ann
}

const refuses = (token) => ({ path, method, headers }) =>
  path === '/jobs/reserve' && method === 'POST' && headers.authorization === `Bearer ${token}`
    ? { status: 401, body: { type: '/problems/unauthorized' } }
    : null

test('failing_token_rejects_and_sends_no_more_calls', async (t) => {
  const w = await world(t)
  const ann = await page(w)
  for (const [what, script, message] of ENDS) {
    await ann.begin(script)
    assert.ok((await ann.next()).startsWith(message), what)
    assert.equal(await ann.asked(), 1, what)
  }
  await sleep(1_200)
  assert.equal(await ann.asked(), 1)
  assert.equal(w.wire.calls('reserve').length, 0)
  await w.enqueue('cat.png')
  assert.equal(await ann.run(() => {
    window.token = async () => 'good\n'
    return window.next()
  }), 'cat.png')
  assert.equal(w.wire.calls('reserve')[0].headers.authorization, 'Bearer good')
})

test('token_that_cannot_be_renewed_rejects_with_its_error', async (t) => {
  const w = await world(t)
  await w.enqueue('cat.png')
  const ann = await page(w)
  w.wire.rule = refuses('old')
  await ann.begin("({ refused }) => { if (refused) throw new Error(`log in after ${refused}`); return 'old' }")
  assert.equal(await ann.next(), 'Error: log in after old')
  assert.deepEqual([await ann.asked(), w.wire.calls('reserve').length], [2, 1])
  assert.equal(await ann.next(), 'Error: log in after old')
  assert.deepEqual([await ann.asked(), w.wire.calls('reserve').length], [3, 1])
})

test('token_without_network_is_retried_five_times', async (t) => {
  const w = await world(t)
  await w.enqueue('cat.png')
  const ann = await page(w, { before: () => {
    const timeout = AbortSignal.timeout.bind(AbortSignal)
    AbortSignal.timeout = (ms) => timeout(ms / 20)
  } })
  for (const thrown of ["new TypeError('Failed to fetch')", "new DOMException('', 'TimeoutError')", "new DOMException('', 'AbortError')"]) {
    await ann.begin(`async () => { throw ${thrown} }`)
    await ann.next()
    assert.equal(await ann.asked(), 5, thrown)
  }
  await ann.begin("async () => { if (window.asked < 3) throw new TypeError('Failed to fetch'); return 'good' }")
  assert.equal(await ann.next(), 'cat.png')
  await ann.run(() => window.job?.abandon())
  await ann.begin('async () => { if (window.asked < 2) await new Promise(() => {}); return `good` }')
  assert.equal(await ann.next(), 'cat.png', 'one that never answers is asked again')
})

test('token_invalid_in_a_header_rejects', async (t) => {
  const w = await world(t)
  const ann = await page(w)
  await ann.begin('`line one\\nline two`')
  assert.match(await ann.next(), /is not a token/)
  assert.equal(w.wire.calls('reserve').length, 0)
})

test('token_failure_after_a_reload_keeps_the_job', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png')
  const ann = await page(w)
  await ann.begin("() => { if (window.asked > 1) throw new Error('log in'); return 'good' }")
  assert.equal(await ann.next(), 'cat.png')
  w.wire.rule = refuses('good')
  const extended = () => w.wire.calls('extend').filter(({ status }) => status === 200).length
  const before = extended()
  await ann.run(() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })))
  await until('it is extended', () => extended() > before)
  assert.equal(await w.state(id), 'reserved')
})

test('token_that_ends_during_a_wait_is_renewed_again_and_again', async (t) => {
  const w = await world(t)
  const ann = await page(w, { before: () => {
    const timeout = AbortSignal.timeout.bind(AbortSignal)
    window.timeouts = []
    AbortSignal.timeout = (ms) => (window.timeouts.push(ms), timeout(ms))
  } })
  // As a service that answers a wait when its token ends, later than at once.
  let first
  w.wire.rule = async ({ path, method, body, headers }) => {
    if (path !== '/jobs/reserve' || method !== 'POST' || !body.wait_ms) return null
    first ??= headers.authorization
    await sleep(1_100)
    const ended = w.wire.calls('reserve').filter(({ body }) => body.wait_ms).length <= 3
    return ended ? { status: 401, body: { type: '/problems/unauthorized' } } : null
  }
  await ann.begin('async () => `token-${window.asked}`')
  await ann.run(() => {
    window.sad = []
    window.desk.addEventListener('retrying', ({ detail }) => window.sad.push(String(detail.error)))
    window.given = window.next()
  })
  await until('it waits a fourth time', () => w.wire.calls('reserve').filter(({ body }) => body.wait_ms).length === 4)
  await w.enqueue('cat.png')
  assert.equal(await ann.run(() => window.given), 'cat.png')
  assert.deepEqual(await ann.run(() => window.sad), [], 'there is a connection')
  const waits = w.wire.calls('reserve').filter(({ body }) => body.wait_ms)
  assert.equal(new Set(waits.map(({ headers }) => headers.authorization)).size, 4)
  // Each try has its whole time.
  const times = await ann.run(() => window.timeouts.filter((ms) => ms >= 40_000).length)
  assert.ok(times >= 4, `${times}`)
})

test('token_that_is_refused_after_it_ended_in_a_wait_rejects', async (t) => {
  const w = await world(t)
  const ann = await page(w)
  w.wire.rule = async ({ path, method, body, headers }) => {
    if (path !== '/jobs/reserve' || method !== 'POST' || headers.authorization === 'Bearer token-1' && !body.wait_ms) return null
    return { status: 401, body: { type: '/problems/unauthorized', detail: 'the token is not valid' } }
  }
  await ann.begin('async () => `token-${window.asked}`')
  assert.match(await ann.next(), /the token is not valid/)
  assert.ok((await ann.asked()) <= 4)
})
