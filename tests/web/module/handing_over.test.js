// A job that goes on to a colleague, with a note and a draft; and jobs that need a skill.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { world } from '../world/world.js'
import { until } from '../world/until.js'

const note = (tab) => tab.run(() => window.job.note)

test('note_and_draft_go_with_the_job_to_the_next_person', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png')
  const ann = await w.open()
  await ann.shows('cat.png')
  assert.equal(await note(ann), null)
  const bob = await w.open({ worker: 'bob' }, { elsewhere: true, apart: true })
  await bob.hears('waiting')
  await ann.type('half a thou')
  const before = w.now()
  const ending = await ann.run(() => window.job.handOver('bob', { note: 'is it a cat?', fallback: 60_000 }))
  assert.deepEqual(ending, { sent: true, state: 'waiting', late: false, duplicate: false })
  await bob.shows('cat.png')
  const { text, from, at } = await note(bob)
  assert.deepEqual([text, from], ['is it a cat?', 'ann'])
  assert.ok(Date.parse(at) >= before && Date.parse(at) <= w.now(), at)
  assert.equal(await bob.draft, 'half a thou')
  assert.equal(await ann.get('state'), 'handed-over')
  const [{ action }] = await ann.hears('ended')
  assert.equal(action, 'hand-over')
  await bob.page.reload()
  await bob.shows('cat.png')
  assert.equal((await note(bob)).text, 'is it a cat?')
  await w.becomes(id, 'reserved')
})

test('skilled_job_is_given_to_the_page_that_has_the_skill', async (t) => {
  const w = await world(t)
  const ann = await w.open()
  await ann.hears('waiting')
  const bob = await w.open({ worker: 'bob', skills: ['fr', 'de'] }, { elsewhere: true, apart: true })
  await bob.hears('waiting')
  await w.enqueue('ein Kater', { skill: 'de' })
  await bob.shows('ein Kater')
  await w.enqueue('eine Katze', { skill: 'de' })
  const eve = await w.open({ worker: 'eve' }, { apart: true })
  assert.equal((await eve.hears('waiting'))[0].reason, 'ineligible')
  assert.equal(await ann.run(() => window.job), null)
  // What Bob cannot do, he hands to those who can do something else besides.
  await bob.run(() => window.job.handOver(null, { skill: 'senior', note: 'for a vet' }))
  const gil = await w.open({ worker: 'gil', skills: ['senior', 'de'] }, { apart: true })
  await gil.shows('ein Kater')
  assert.equal((await note(gil)).from, 'bob')
})

test('refused_hand_over_leaves_the_job_in_hand', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png', { excluded: ['carol'] })
  const ann = await w.open()
  await ann.shows('cat.png')
  const refusal = (to) => ann.run((to) => window.job.handOver(to).catch(({ status, type, problem, lost }) => [status, type, problem.rule, lost]), to)
  assert.deepEqual(await refusal('carol'), [409, '/problems/not-eligible', 'excluded', false])
  assert.equal((await refusal('ann'))[0], 422)
  assert.equal(await ann.get('state'), 'held')
  assert.equal((await ann.hears('refused', 2)).length, 2)
  assert.equal((await ann.run(() => window.job.complete('cat'))).sent, true)
  await w.becomes(id, 'completed')
})

test('hand_over_without_a_network_is_sent_by_the_next_page', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png')
  const ann = await w.open()
  await ann.shows('cat.png')
  w.wire.rule = ({ path }) => (path === '/jobs/hand-over' ? 'cut' : undefined)
  assert.equal((await ann.run(() => window.job.handOver('bob', { note: 'your cat' }))).sent, false)
  assert.equal((await w.job(id)).reserved.worker, 'ann')
  await ann.close()
  w.wire.rule = null
  const again = await w.open()
  await until('it is handed over', async () => (await w.job(id)).handed_to?.worker === 'bob')
  await again.hears('waiting')
  assert.equal((await w.bob()).note.text, 'your cat')
})
