// The table of retries.json, which a test of each client reads: a desk asks a service that answers each case, and nothing waits.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { Acquirer } from '../../../web/client/acquire.js'
import { Calls } from '../../../web/client/calls.js'
import { TRIES } from '../../../web/client/http.js'

const { clients, cases } = JSON.parse(readFileSync(new URL('../../retries.json', import.meta.url)))
const { browser } = clients
/** What is sent again so often is sent for as long as the page is open. */
const ENOUGH = 2 * browser.tries

const FAILURES = {
  'no connection': null,
  'cut before the answer': (socket) => socket.destroy(),
  'cut within the answer': (socket) => socket.end('HTTP/1.1 200 x\r\ncontent-length: 99\r\n\r\n{'),
}

function reply({ failure, status, problem, retry_after, retry_after_ms }, response) {
  if (failure) return FAILURES[failure](response.socket)
  const body = problem ? JSON.stringify({ type: `/problems/${problem}`, status, retry_after_ms }) : '<h1>No</h1>'
  response.writeHead(status, retry_after ? { 'retry-after': retry_after } : {}).end(status === 204 ? '' : body)
}

/** What a desk of this token does: the tokens that it sent, the pauses before it asked again, and the error that ended it. */
async function asked(t, given, token) {
  const tokens = []
  const server = createServer((request, response) => {
    tokens.push(request.headers.authorization)
    reply(given, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${server.address().port}`
  if (given.failure === 'no connection') server.close()
  const timeout = AbortSignal.timeout.bind(AbortSignal)
  const { mock } = t.mock.method(AbortSignal, 'timeout', (ms) => (ms === 15_000 ? timeout(ms) : AbortSignal.abort()))
  const [life, pauses] = [new AbortController(), []]
  const plan = { url, worker: 'ann', queues: ['default'], wait: 20_000 }
  const calls = new Calls(plan, token, life.signal, ({ delay }) => pauses.push(delay) === ENOUGH && life.abort())
  const jobStore = { job: null, next: () => null }
  const [drawer, endings] = [{ again: () => null }, { settled: async () => {} }]
  const desk = new Acquirer({ plan, calls, drawer, endings, jobStore, mayAsk: () => true, tell: () => {} })
  const error = await desk.next(life.signal).then(() => assert.fail('it was answered'), (error) => error)
  mock.restore()
  server.close().closeAllConnections()
  return { tokens, pauses, error }
}

const isWithin = (ms, [from, to]) => ms >= from && ms <= to

const RULES = {
  async final(t, given) {
    const { pauses, error } = await asked(t, given, 'a')
    assert.deepEqual([pauses, error.status], [[], given.status])
  },
  async few(t, given) {
    const { pauses, error } = await asked(t, given, 'a')
    assert.deepEqual([pauses.length + 1, error.status], [browser.tries, given.status])
  },
  async again(t, given, { wait_ms = browser.pause_ms }) {
    const { pauses } = await asked(t, given, 'a')
    assert.equal(pauses.length, ENOUGH)
    assert.ok(isWithin(pauses[0], wait_ms), `${pauses[0]}`)
  },
  async 'new key'(t, given) {
    let n = 0
    const { tokens, pauses, error } = await asked(t, given, () => `token-${++n}`)
    assert.deepEqual([tokens, pauses, error.status], [['Bearer token-1', 'Bearer token-2'], [], given.status])
    await RULES.final(t, given)
  },
}
RULES.wait = RULES.again

for (const given of cases) {
  const { but, ...what } = given
  const rule = but?.browser ?? given
  test(`browser_follows_the_table_of_retries: ${JSON.stringify(what)}`, (t) => RULES[rule.do](t, given, rule))
}

test('browser_tries_and_waits_as_often_as_the_table_says', () => {
  assert.deepEqual([browser.tries, browser.patience_s], [TRIES, []])
})
