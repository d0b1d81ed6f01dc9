// What needs no browser: reading streams, keeping payloads as they are, writing ages.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Exact, brief, pretty, read } from '../../../web/console/exact_json.js'
import {
  accessOf, age, bytes, changeText, countdown, duration, inUnits, number, readDuration, readId,
} from '../../../web/console/format.js'
import { HELP, HELP_TO_ACT } from '../../../web/console/keys.js'
import { columns, joined, load, sum, wholeSince } from '../../../web/console/history.js'
import { add, forget, history, ratesOf } from '../../../web/console/rates.js'
import { follow, parse } from '../../../web/console/sse.js'

const stream = (...chunks) => new ReadableStream({
  start(controller) {
    chunks.forEach((chunk) => controller.enqueue(typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk))
    controller.close()
  },
})

async function parsed(...chunks) {
  const messages = [], retries = []
  await parse(stream(...chunks), (message) => messages.push(message), (ms) => retries.push(ms))
  return { messages, retries }
}

test('numbers are short from a million on', () => {
  const numbers = [0, 1_000, 999_999, 1_000_000, 1_234_567, 2_500_000_000]
  assert.deepEqual(numbers.map(number), ['0', '1,000', '999,999', '1M', '1.2M', '2.5B'])
})

test('a payload stays the same, byte for byte', () => {
  const sent = '{"n":9007199254740993,"n":1e400,"10":1,"2":[ ],"text":"a\\u0041\\"}{ \\\\"}'
  const job = read(`{"id":"q-1","priority":50,"payload":${sent},"result":null,"late_results":[{"at":"x","result":[1, 2]}]}`)
  assert.equal(job.priority, 50)
  assert.equal(job.payload.text, sent)
  assert.equal(job.result.isNull, true)
  assert.equal(job.late_results[0].result.text, '[1, 2]')
  assert.equal(pretty(new Exact('{"a":[],"b":{},"c":[1,{"d":"x"}]}')), '{\n  "a": [],\n  "b": {},\n  "c": [\n    1,\n    {\n      "d": "x"\n    }\n  ]\n}')
  assert.match(pretty(job.payload), /"n": 9007199254740993,\n {2}"n": 1e400,\n {2}"10": 1,\n {2}"2": \[\],/)
})

test('deep, long and simple payloads are read', () => {
  const deep = '['.repeat(127) + ']'.repeat(127)
  assert.equal(read(`{"payload":${deep}}`).payload.text, deep)
  const long = JSON.stringify('x\\"'.repeat(200_000))
  assert.equal(read(`{"payload":${long}}`).payload.text, long)
  assert.ok(brief(new Exact(long)).length < 170)
  for (const text of ['1', 'true', 'null', '""', '"</script>"']) assert.equal(pretty(read(`{"payload":${text}}`).payload), text)
  assert.throws(() => read('{"payload":'))
  assert.throws(() => read('<html>'))
})

test('an access says whose key made the name of a worker', () => {
  const shown = (kind, key = null, issuer = null) => accessOf({ kind, key, issuer })
  assert.deepEqual([shown('token', 'site'), shown('token'), shown('key', 'desk')], ['by a token of key site', 'by a token', 'by key desk'])
  assert.deepEqual([shown('token', null, 'sso'), shown('open'), accessOf(null)], ['by a token of sso', '', ''])
})

test('bidirectional control characters are escaped', () => {
  assert.equal(pretty(new Exact('"a\u202eb\u200b"')), '"a\\u202eb\\u200b"')
})

test('a_queue_that_a_change_has_made_is_named', () => {
  assert.equal(changeText('valve', 'It is paused.')({ created: false }), 'It is paused.')
  assert.equal(changeText('valve', 'It is paused.')({ created: true }), 'valve was not there, so it was made. It is paused.')
})

test('limits_of_times_are_in_units', () => {
  assert.equal(inUnits('must be a whole number from 10000 to 2592000000'), 'must be from 10 s to 30 d')
  assert.equal(inUnits('must be a whole number from 0 to 86400000'), 'must be from 0 to 1 d')
})

test('an event stream is parsed at any chunk border', async () => {
  const text = ': hello\r\n\r\nid: q@1-0-0\r\nevent: reserved\ndata: {"a":\ndata: "é"}\n\ndata\n\nretry: 700\r\rid: 2\rdata: x\r\r'
  const bytes = new TextEncoder().encode(text)
  const whole = await parsed(bytes)
  assert.deepEqual(whole.messages, [
    { id: 'q@1-0-0', event: 'reserved', data: '{"a":\n"é"}' }, { id: 'q@1-0-0', event: 'message', data: '' }, { id: '2', event: 'message', data: 'x' },
  ])
  assert.deepEqual(whole.retries, [700])
  for (let at = 1; at < bytes.length; at += 1) {
    const cut = await parsed(bytes.slice(0, at), bytes.slice(at))
    assert.deepEqual(cut, whole, `cut at ${at}`)
  }
})

test('a cut stream resumes with the last id', async (t) => {
  const asked = []
  const answers = [stream('id: 7\ndata: {}\n\nretry: 1\n\n'), stream('id: 8\ndata: {}\n\n')]
  const end = new AbortController()
  t.mock.method(globalThis, 'fetch', async (_, { headers }) => {
    asked.push(headers['last-event-id'])
    const body = answers.shift()
    if (!body) { end.abort(); throw new TypeError('away') }
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  })
  await follow({ url: 'http://x/', headers: (more) => more, signal: end.signal, tell: () => {}, report: () => {} })
  assert.deepEqual(asked, [undefined, '7', '8'])
})

test('rates do not depend on the polling interval', () => {
  for (const every of [300, 1_000, 2_000, 15_000]) {
    forget()
    for (let at = 0; at <= 120_000; at += every) {
      add([{ name: 'q', totals: { enqueued: at / 100, handed_out: 0, completed: 0, expired: 0, failed: 0 } }], at)
    }
    assert.ok(Math.abs(ratesOf('q').enqueued - 600) < 1, `every ${every} ms`)
    const [seconds, rates] = history('q', ['enqueued'])
    assert.ok(seconds.length > Math.min(50, 120_000 / every - 3), `${seconds.length} points when asked every ${every} ms`)
    assert.ok(rates.every((rate) => Math.abs(rate - 600) < 1))
  }
  forget()
  const totals = { enqueued: 0, handed_out: 0, completed: 0, expired: 0, failed: 0 }
  const many = Array.from({ length: 1_000 }, (_, n) => ({ name: `q${n}`, totals }))
  for (let at = 0; at <= 300_000; at += 2_000) {
    totals.enqueued = at / 100
    add(many, at)
  }
  assert.ok(Math.abs(ratesOf('q7').enqueued - 600) < 1)
  assert.ok(history('q7', ['enqueued'])[0].length <= 51, 'of many queues fewer samples each')
  assert.ok(history('', ['enqueued'])[0].length > 140, 'and of all together as many')
})

test('ages are readable', () => {
  assert.deepEqual([0, 999, 12_000, 180_000, 7_500_000, 200_000_000].map(age), ['< 1 s', '< 1 s', '12 s', '3 min', '2 h 5 min', '2 d 7 h'])
  assert.deepEqual([0, 9_000, 252_000, 3_753_000].map(countdown), ['0:00', '0:09', '4:12', '1:02:33'])
  for (const ms of [0, 1, 90_000, 300_000, 5_400_000, 86_400_000, 2_592_000_000]) assert.equal(readDuration(duration(ms)), ms)
  const good = {
    '10 s': 10_000, '90s': 90_000, ' 5 min ': 300_000, '5m': 300_000, '2 h': 7_200_000, '1.5 h': 5_400_000, '30 d': 2_592_000_000,
    '1 h 30 min': 5_400_000, '1h30m': 5_400_000, '2 days': 172_800_000, '1 Day': 86_400_000, '3 hours': 10_800_000, '1 minute': 60_000,
    '45 Seconds': 45_000, '20 sec': 20_000, '250 ms': 250, 0: 0, '0 s': 0, '0.5 s': 500,
  }
  for (const [text, ms] of Object.entries(good)) assert.equal(readDuration(text), ms, text)
  const bad = [
    '', ' ', 'soon', '5 parsecs', '-1', '-1 s', '300000', '30', '1.5', '1,5 h', '5 min 30', 's', 's 5', '5 s later', '1:30', '1e3 s', '5 constructor',
    '5 .5 s', '٣ s',
  ]
  for (const text of bad) assert.ok(Number.isNaN(readDuration(text)), text)
})

test('an id is found in pasted text', () => {
  const id = 'my-queue.eu-01KAJ3V7Q2M8Z4R6T9XW5YB1CD'
  for (const text of [id, ` ${id} `, `https://queue.example/jobs/${id}`, `${id}.5G2C8N4K7VQXE1M9RBTZ3WHD6J`]) {
    assert.deepEqual(readId(text), { id, queue: 'my-queue.eu', tail: '01KAJ3V7Q2M8Z4R6T9XW5YB1CD', isBatch: false })
  }
  assert.equal(readId('q-01KAJ3V7Q2M8Z4R6T9XW5Y0000').isBatch, true)
  assert.equal(readId('my-queue'), null)
})

test('charts join the stored and the live history', async () => {
  const begin = Date.parse('2026-11-21T09:00:00Z')
  const minute = (n, enqueued) => ({ at: new Date(begin + n * 60_000).toISOString(), gained: { enqueued } })
  const asked = []
  const past = { a: [minute(-1, 9), minute(1, 4), minute(60, 2)], b: [minute(1, 6)] }
  const all = await load(['a', 'b'], 'hour', begin + 3_630_000, (name, query) => { asked.push(query); return { spans: past[name] } })
  assert.deepEqual(asked[0], { step: 'minute', after: '2026-11-21T08:59:30.000Z', limit: 2_160 })
  const drawn = columns(all, 'hour', ['enqueued'], begin + 3_630_000)
  assert.deepEqual(drawn[1], [0, 10, ...new Array(58).fill(0), 4], 'two in half a minute are four in a minute')
  assert.deepEqual([drawn[0][1], drawn[0][60]], [begin / 1_000 + 120, begin / 1_000 + 3_630], 'each at its end')
  assert.equal(sum(all, 'hour', 'enqueued', begin + 3_630_000), 12)
  const seconds = (...all) => all.map((n) => begin / 1_000 + n)
  const shown = joined(drawn, [seconds(100, 105), [7, 8]])
  assert.deepEqual(shown, [seconds(60, 80, 100, 105), [0, 10, 7, 8]], 'what the minute of the first sample had before it stays')
  assert.deepEqual(joined(drawn, [[], []]), drawn)
  assert.equal(await load(new Array(51).fill('q'), 'hour', begin, () => assert.fail('too many')), null)
})

test('charts begin where the history begins', async () => {
  const begin = Date.parse('2026-11-21T09:00:00Z'), now = begin + 3_600_000
  const at = (n) => new Date(begin + n * 60_000).toISOString()
  const past = {
    a: { since: at(20), spans: [19, 20, 59].map((n) => ({ at: at(n), gained: { enqueued: 3 } })) },
    b: { since: at(-600), spans: [{ at: at(1), gained: { enqueued: 7 } }, { at: at(30), gained: { enqueued: 5 } }] },
    c: { since: null, spans: [] },
  }
  const drawn = async (...names) => {
    const all = await load(names, 'hour', now, (name) => past[name])
    return [wholeSince(all, 'hour', now), sum(all, 'hour', 'enqueued', now), columns(all, 'hour', ['enqueued'], now)[1]]
  }
  const [since, total, line] = await drawn('a', 'b', 'c')
  assert.deepEqual([since, total], [begin + 20 * 60_000, 11])
  assert.deepEqual(line.slice(0, 22), [...new Array(20).fill(null), 3, 0])
  const [whole, both, longer] = await drawn('b', 'c')
  assert.deepEqual([whole, both, longer[0], longer[1]], [null, 12, 0, 7])
})

test('each key has one action', () => {
  const keys = [...HELP, ...HELP_TO_ACT].flatMap(([, rows]) => rows.flatMap(([keys]) => keys.split('  ')))
  assert.deepEqual(keys.filter((key, at) => keys.indexOf(key) < at), [])
})

test('bytes_are_written_in_the_largest_unit_that_fits', () => {
  const sizes = [0, 1, 1023, 1024, 1536, 10 * 1024, 900 * 2 ** 20, 2 ** 30, 2 ** 50]
  assert.deepEqual(sizes.map(bytes), ['0 bytes', '1 bytes', '1023 bytes', '1.0 KiB', '1.5 KiB', '10 KiB', '900 MiB', '1.0 GiB', '1024 TiB'])
})
