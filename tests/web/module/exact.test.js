// The payload as it was sent, beside what JSON.parse makes of it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { world } from '../world/world.js'

const SENT = '{"title":"cat.png","n":9007199254740993,"10":1.0,"2":[ ],"2":"twice","text":"a\\u0041"}'

test('exact_payload_is_the_text_that_was_sent_in_each_tab_and_after_a_reload', async (t) => {
  const w = await world(t)
  const { id } = await w.service.call('POST', '/jobs', `{"queue":"${w.queue}","dedupe":false,"payload":${SENT}}`)
  const one = await w.open()
  await one.shows('cat.png')
  const exact = (tab) => tab.run(() => window.job.exact.payload)
  assert.equal(await exact(one), SENT)
  assert.equal(await one.run(() => window.job.payload[2]), 'twice')
  const other = await w.open()
  await other.shows('cat.png')
  assert.equal(await exact(other), SENT)
  await other.page.reload()
  await other.shows('cat.png')
  assert.deepEqual([await exact(other), await other.get('id')], [SENT, id])
})
