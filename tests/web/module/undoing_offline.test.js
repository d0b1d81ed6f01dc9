// Completions that are taken back before they are sent, while they are on their way, and without a network.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { handIn, inDrawer, refusal, seated, undo } from '../world/undoing.js'
import { until } from '../world/until.js'

const isComplete = ({ path }) => path === '/jobs/complete'

test('undo_of_an_unsent_completion_wins', async (t) => {
  const { w, id, ann } = await seated(t)
  w.wire.offline = true
  const { sent, final, finalIn } = await handIn(ann, { text: 'cat' }, 1_000)
  assert.deepEqual([sent, final, finalIn], [false, false, null])
  assert.equal(await ann.run(() => window.desk.closing.finalIn), null)
  assert.deepEqual(await undo(ann), { id, state: 'held', draft: { text: 'cat' } })
  await ann.shows('cat.png')
  await ann.type('!')
  w.wire.offline = false
  await until('the service is asked', () => w.wire.calls('undo').some(({ status }) => status === 200))
  await until('it has the draft', async () => (await ann.heard('saved')).length)
  await sleep(2_000)
  assert.equal(await w.state(id), 'reserved')
  assert.equal(w.wire.calls('complete').some(({ status }) => status), false)
  await ann.page.reload()
  await ann.shows('cat.png')
  assert.match(await ann.draft, /!/)
  await ann.run(() => window.job.complete('cat'))
  await w.becomes(id, 'completed')
})

test('undo_of_a_completion_whose_answer_was_lost_wins', async (t) => {
  const { w, id, ann } = await seated(t)
  w.wire.rule = (call) => (isComplete(call) ? 'lose' : undefined)
  assert.equal((await handIn(ann, { text: 'cat' })).sent, false)
  assert.ok((await w.job(id)).reserved.final_at, 'the service has it')
  await undo(ann)
  await until('it is held again', async () => (await w.job(id)).reserved.final_at === null)
  assert.equal(await ann.get('state'), 'held')
  w.wire.rule = null
  await handIn(ann, { text: 'dog' })
  assert.equal(w.wire.calls('complete').at(-1).body.resumes, 1)
  assert.equal(w.wire.calls('complete').at(-1).status, 200)
})

test('undo_while_the_completion_is_on_its_way_waits_for_it_and_wins', async (t) => {
  const { w, id, ann } = await seated(t)
  let arrive
  const arrived = new Promise((resolve) => (arrive = resolve))
  w.wire.rule = (call) => (isComplete(call) ? arrived.then(() => undefined) : undefined)
  const done = ann.run(() => window.job.complete('cat', { undo: 60_000 }).then(({ sent, final }) => [sent, final]))
  await until('it is on its way', () => w.wire.calls('complete').length)
  await ann.run(() => window.desk.closing.undo())
  assert.equal(await ann.get('state'), 'held')
  assert.equal(w.wire.calls('undo').length, 0)
  await ann.run(() => {
    window.states = new Set()
    window.desk.addEventListener('change', () => window.states.add(window.job.state))
  })
  arrive()
  assert.deepEqual(await done, [true, false])
  await until('it is taken back', () => w.wire.calls('undo').some(({ answer }) => answer?.duplicate === false))
  await until('the page knows', () => ann.run(() => window.states.size))
  assert.deepEqual(await ann.run(() => [...window.states]), ['held'], 'it was in hand all the time')
  const { reserved, result } = await w.job(id)
  assert.deepEqual([reserved.worker, reserved.final_at, result], ['ann', null, null])
})

test('undo_of_the_next_completion_while_that_is_on_its_way_wins_too', async (t) => {
  const { w, id, ann } = await seated(t)
  const arrive = []
  w.wire.rule = (call) => (isComplete(call) ? new Promise((go) => arrive.push(() => go())) : undefined)
  await ann.run(() => void window.job.complete('cat', { undo: 60_000 }))
  await until('it is on its way', () => arrive.length === 1)
  await ann.run(() => window.desk.closing.undo())
  await ann.run(() => void window.job.complete({ text: 'dog' }, { undo: 60_000 }))
  arrive[0]()
  await until('the next is on its way', () => arrive.length === 2)
  await ann.run(() => window.desk.closing.undo())
  assert.equal(await ann.get('state'), 'held')
  arrive[1]()
  const undone = () => w.wire.calls('undo').filter(({ answer }) => answer?.duplicate === false)
  await until('both are taken back', () => undone().length === 2)
  assert.equal((await w.job(id)).reserved.final_at, null)
  assert.deepEqual([await ann.get('state'), await ann.draft], ['held', 'dog'])
})

test('completion_that_arrives_after_its_undo_is_taken_back', async (t) => {
  const { w, id, ann } = await seated(t)
  w.wire.offline = true
  await handIn(ann, 'cat', 20_000)
  const { body } = w.wire.calls('complete')[0]
  await undo(ann)
  w.wire.offline = false
  await until('the service is asked', () => w.wire.calls('undo').some(({ answer }) => answer?.duplicate))
  assert.equal((await w.service.call('POST', '/jobs/complete', body)).final, false)
  await until('it is asked again', () => w.wire.calls('undo').some(({ answer }) => answer?.duplicate === false))
  await w.passed(20_000)
  assert.equal(await w.state(id), 'reserved')
  assert.equal(await ann.get('state'), 'held')
})

test('undo_without_a_network_is_tried_until_it_is_answered', async (t) => {
  const { w, id, ann } = await seated(t)
  await handIn(ann, { text: 'cat' })
  w.wire.offline = true
  const undone = undo(ann)
  await until('it is tried', () => w.wire.calls('undo').length > 1)
  assert.equal(await ann.get('state'), 'closing')
  w.wire.offline = false
  assert.equal((await undone).state, 'held')
  // And also by the next page, when this one is gone.
  await handIn(ann, { text: 'dog' })
  w.wire.offline = true
  await ann.run(() => void window.done.undo())
  await until('it is tried', () => w.wire.calls('undo').length > 4)
  await ann.page.reload()
  w.wire.offline = false
  await ann.shows('cat.png')
  assert.equal(await ann.draft, 'dog')
  assert.equal((await w.job(id)).reserved.final_at, null)
})

test('undo_that_comes_too_late_for_the_network_is_refused', async (t) => {
  const { w, id, ann } = await seated(t)
  await handIn(ann, 'cat')
  w.wire.offline = true
  const refused = refusal(ann)
  await until('it is tried', () => w.wire.calls('undo').length)
  await w.advance(60_000)
  await w.becomes(id, 'completed')
  w.wire.offline = false
  assert.deepEqual(await refused, ['IntrayError', true, 'completed'])
  assert.equal(await ann.get('state'), 'completed')
  assert.equal(await inDrawer(ann), 0)
})

test('undo_that_a_proxy_refuses_leaves_the_completion', async (t) => {
  const { w, id, ann } = await seated(t)
  await handIn(ann, 'cat')
  w.wire.rule = ({ path }) => (path === '/jobs/undo' ? { status: 403, body: '<h1>No</h1>', type: 'text/html' } : undefined)
  assert.deepEqual(await refusal(ann), ['IntrayError', false, undefined])
  assert.equal(w.wire.calls('undo').length, 5)
  assert.equal(await ann.get('state'), 'closing')
  w.wire.rule = null
  assert.equal((await undo(ann)).state, 'held')
  assert.equal((await w.job(id)).reserved.final_at, null)
})

test('unsent_completion_of_an_earlier_page_can_be_taken_back', async (t) => {
  const { w, id, ann } = await seated(t)
  w.wire.rule = (call) => (isComplete(call) ? 'cut' : undefined)
  await handIn(ann, { text: 'cat' })
  await ann.page.reload()
  await until('the new page knows it', () => ann.run(() => window.desk.closing?.finalIn === null))
  w.wire.rule = null
  await ann.hears('ended')
  const lasts = await ann.run(() => {
    const { at } = window.heard.find(({ type }) => type === 'ended')
    return window.desk.closing.finalIn + Date.now() - at
  })
  assert.ok(lasts > 50_000, 'its time begins when the service has it')
  await ann.run(() => window.desk.closing.undo())
  await ann.shows('cat.png')
  assert.equal(await ann.draft, 'cat')
  assert.equal((await w.job(id)).counts.handed_out, 1)
})

test('completion_that_was_taken_back_elsewhere_costs_nothing', async (t) => {
  const { w, id, ann } = await seated(t)
  w.wire.rule = (call) => (isComplete(call) ? 'lose' : undefined)
  await handIn(ann, { text: 'cat' })
  const { reservation } = w.wire.calls('complete')[0].body
  await w.service.call('POST', '/jobs/undo', { reservation })
  const extended = (await ann.heard('extended')).length
  w.wire.rule = null
  await ann.hears('undone')
  assert.equal(w.wire.calls('complete').at(-1).answer.type, '/problems/undone')
  await ann.shows('cat.png')
  assert.equal(await ann.draft, 'cat')
  assert.deepEqual(await ann.heard('refused'), [])
  await ann.hears('extended', extended + 1) // which it does once it knows the hand-out
  assert.equal((await w.job(id)).reserved.resumes, 2)
  const again = await handIn(ann, { text: 'dog' })
  assert.deepEqual([again.sent, again.final], [true, false])
})
