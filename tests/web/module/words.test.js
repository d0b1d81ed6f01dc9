// What is said about a job is cut to what the service takes, and where intray is must be an address.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { world } from '../world/world.js'
import { planOf } from '../../../web/client/plan.js'
import { ERROR_BYTES, REASON_BYTES, cut } from '../../../web/client/words.js'

const bytes = (text) => new TextEncoder().encode(text).length

test('texts_are_cut_at_a_character_border', () => {
  for (const max of [ERROR_BYTES, REASON_BYTES]) {
    for (const character of ['x', 'ä', '€', '😀', '\u0000', '\n', '"', '\ufeff']) {
      for (const before of ['', 'x', 'xx', 'xxx']) {
        const text = before + character.repeat(max)
        const short = cut(text, max)
        assert.ok(text.startsWith(short) && bytes(short) <= max && bytes(short) > max - bytes(character), `${before}${character}`)
      }
    }
    assert.equal(cut('x'.repeat(max), max).length, max)
  }
})

test('values_that_are_not_text_become_text', () => {
  const circle = {}
  circle.circle = circle
  const broken = new Error('x')
  Object.defineProperty(broken, 'message', { get: () => { throw new Error('no') } })
  const cases = [
    ['line \ud83d', 'line \ufffd'], ['\udc00x', '\ufffdx'], [{ code: 7 }, '{"code":7}'], [[1], '[1]'], [7, '7'], [0, '0'], [false, 'false'],
    [10n, '10'], [Symbol('s'), 'Symbol(s)'], [new Error('it'), 'it'], [new TypeError(''), 'TypeError'], [{ message: 'from a frame' }, 'from a frame'],
    [circle, '[object Object]'], [Object.create(null), '{}'], ['', ''], [null, undefined], [undefined, undefined], [{ n: 1n }, '[object Object]'],
    [broken, '[object Error]'], [new Error('\ud83d'), '\ufffd'], [new URL('http://x/'), '"http://x/"'],
  ]
  for (const [words, text] of cases) assert.equal(cut(words, 100), text)
})

test('texts_of_any_length_and_kind_settle_the_job', async (t) => {
  const w = await world(t)
  const short = ['ä'.repeat(600), 'line \ud83d', { code: 7 }, new Error('😀'.repeat(300)), null]
  const ann = await w.open({ grace: null })
  for (const [n, words] of short.entries()) {
    const isError = words instanceof Error
    const [failed, skipped] = [await w.enqueue(`f${n}`, { max_attempts: 1 }), await w.enqueue(`s${n}`)]
    const settle = (action) => ann.run(async ([action, words, isError]) => {
      const job = await window.desk.next()
      const given = isError ? new Error(words) : words
      return (await job[action](action === 'fail' ? given : { skip: true, reason: given })).state
    }, [action, isError ? words.message : words, isError])
    assert.equal(await settle('fail'), 'dead', `${n}`)
    assert.equal(await settle('abandon'), 'waiting', `${n}`)
    const { error } = (await w.job(failed)).errors[0]
    assert.equal(error, cut(words, 1_024) ?? '', `${n}`)
    await w.service.call('DELETE', `/jobs/${skipped}`)
  }
})

test('url_without_a_scheme_is_refused_with_a_reason', (t) => {
  globalThis.location = { href: 'https://page.example/desk/index.html?x#y' }
  t.after(() => delete globalThis.location)
  const plan = (url) => planOf({ url, worker: 'ann' }).url
  const wrong = [
    'queue.example', 'queue.example/intray', 'queue.example:7070', 'localhost:7070', '127.0.0.1:7070', '[::1]:7070', 'queue', '', ' ', undefined,
    null, 'undefined', 'ftp://queue.example', 'file:///x', 'javascript:1', 'data:,x', 'ws://queue.example', 'https:queue.example', 'https://',
    'http://:7070', 'https://ann:secret@queue.example', '?x', '#x', {}, 7, '//',
  ]
  for (const url of wrong) {
    assert.throws(() => plan(url), (error) => error instanceof TypeError && /url must begin with/.test(error.message), String(url))
    assert.throws(() => plan(url), ({ message }) => !message.includes('secret'))
  }
  const right = [
    ['https://queue.example', 'https://queue.example'], ['https://queue.example/', 'https://queue.example'],
    [' HTTP://queue.example:7070/a/ ', 'http://queue.example:7070/a'], [new URL('https://queue.example/a?b'), 'https://queue.example/a'],
    ['/', 'https://page.example'], ['/intray', 'https://page.example/intray'], ['/intray/', 'https://page.example/intray'],
    ['./intray', 'https://page.example/desk/intray'], ['../intray', 'https://page.example/intray'], ['..', 'https://page.example'],
    ['.', 'https://page.example/desk'], ['//queue.example/a', 'https://queue.example/a'], ['http://[::1]:7070', 'http://[::1]:7070'],
  ]
  for (const [url, address] of right) assert.equal(plan(url), address, String(url))
})

test('desk_is_for_queues_or_for_one_job', (t) => {
  globalThis.location = { href: 'https://page.example/' }
  t.after(() => delete globalThis.location)
  const of = (more) => planOf({ url: 'https://queue.example', worker: 'ann', ...more })
  assert.throws(() => of({ queues: ['reviews'], job: 'reviews-1' }), /for queues or for one job/)
  assert.deepEqual([of({}).queues, of({}).job, of({ job: 'reviews-1' }).job], [['default'], undefined, 'reviews-1'])
})

test('desk_needs_the_name_of_a_person', (t) => {
  globalThis.location = { href: 'https://page.example/' }
  t.after(() => delete globalThis.location)
  for (const worker of ['', undefined, null]) {
    assert.throws(() => planOf({ url: 'https://queue.example', worker }), /needs a worker/, String(worker))
  }
})
