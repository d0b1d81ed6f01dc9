// JSON as it was sent: what a person decides about is not what JSON.parse makes of it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Exact, readExact, readNodes } from '../../../web/client/json_text.js'

const number = (text) => ({ kind: 'number', text })

test('nodes_keep_the_order_the_digits_and_members_that_are_twice', () => {
  const text = '{"10": 9007199254740993, "2": 0.12345678901234567890123, "2": 1e400, "__proto__": {"a": [true, null, "x"]}}'
  assert.deepEqual(readNodes(text), { kind: 'object', members: [
    { name: '10', value: number('9007199254740993') },
    { name: '2', value: number('0.12345678901234567890123') },
    { name: '2', value: number('1e400') },
    { name: '__proto__', value: { kind: 'object', members: [{ name: 'a', value: { kind: 'array', items: [
      { kind: 'word', text: 'true' }, { kind: 'word', text: 'null' }, { kind: 'string', value: 'x', text: '"x"' },
    ] } }] } },
  ] })
})

test('nodes_of_blanks_quotes_and_empty_values_are_read', () => {
  assert.deepEqual(readNodes(' [ ] '), { kind: 'array', items: [] })
  assert.deepEqual(readNodes('\t{\n}'), { kind: 'object', members: [] })
  assert.deepEqual(readNodes('"a\\"}{[,:\\u202e\\\\"'), { kind: 'string', value: 'a"}{[,:\u202e\\', text: '"a\\"}{[,:\\u202e\\\\"' })
  assert.deepEqual(readNodes('-0'), number('-0'))
  const deep = 127
  let node = readNodes('['.repeat(deep) + ']'.repeat(deep))
  for (let n = 1; n < deep; n += 1) [node] = node.items
  assert.deepEqual(node.items, [])
})

test('named_members_keep_their_text_at_any_depth', () => {
  const payload = '{"n":1.0,"n":2, "payload":[1 ,2]}'
  const read = readExact(`{"jobs":[{"id":"a","payload":${payload},"draft":{"x":1}}],"remaining":3}`, new Set(['payload']))
  assert.ok(read.jobs[0].payload instanceof Exact)
  assert.equal(read.jobs[0].payload.text, payload)
  assert.deepEqual([read.jobs[0].draft, read.remaining], [{ x: 1 }, 3])
})
