// Completions that are taken back: in time and too late, from another page and another tab, with a next job in hand.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { handIn, inDrawer, inHand, refusal, seated, undo } from '../world/undoing.js'
import { until } from '../world/until.js'
import { world } from '../world/world.js'

test('undo_in_time_brings_the_job_back_with_what_was_handed_in', async (t) => {
  const { w, id, ann } = await seated(t)
  const from = Date.now()
  const { finalIn, ...rest } = await handIn(ann, { text: 'dog' })
  assert.deepEqual(rest, { sent: true, state: 'reserved', final: false })
  assert.ok(finalIn > 55_000 && finalIn <= 60_000, `${finalIn}`)
  const { undo_ms, resumes } = w.wire.calls('complete')[0].body
  assert.deepEqual([undo_ms, resumes], [60_000, 0])
  assert.equal(await ann.get('state'), 'closing')
  assert.equal(await inHand(ann), null)
  assert.equal((await ann.hears('ended'))[0].final, false)
  const shown = await ann.run(() => [window.desk.closing.id, window.desk.closing.finalIn])
  assert.equal(shown[0], id)
  assert.ok(shown[1] >= finalIn - (Date.now() - from) && shown[1] <= finalIn)
  assert.deepEqual(await undo(ann), { id, state: 'held', draft: { text: 'dog' } })
  await ann.hears('undone')
  assert.equal(await ann.draft, 'dog')
  assert.equal(await ann.run(() => window.desk.closing), null)
  // It is kept as any job in hand, and handed in for good.
  assert.equal(await ann.run(() => window.job.save({ text: 'cat' })), true)
  const done = await ann.run(() => window.job.complete({ text: 'cat' }, { undo: 0 }))
  assert.deepEqual([done.sent, done.state, done.final, done.finalIn], [true, 'completed', true, null])
  assert.equal(w.wire.calls('complete').at(-1).body.resumes, undefined)
  assert.deepEqual((await w.job(id)).result, { text: 'cat' })
  assert.equal(await inDrawer(ann), 0)
})

test('undo_after_its_time_is_refused', async (t) => {
  const { w, id, ann } = await seated(t)
  await handIn(ann, 'cat', 1_000)
  await until('the page knows that it is final', async () => (await ann.get('state')) === 'completed')
  await w.becomes(id, 'completed')
  assert.deepEqual(await refusal(ann), ['IntrayError', true, 'completed'])
  assert.equal(await ann.run(() => window.desk.closing), null)
  assert.equal(await inDrawer(ann), 0)
  // One without `undo` is final at once, and one that was given back was not handed in.
  await w.enqueue('dog.png')
  await ann.click('next')
  await ann.shows('dog.png')
  await handIn(ann, 'dog', 0)
  assert.deepEqual(await refusal(ann), ['IntrayError', true, 'completed'])
})

test('next_job_comes_and_waits_after_the_one_taken_back', async (t) => {
  const w = await world(t)
  const [cat, dog] = [await w.enqueue('cat.png'), await w.enqueue('dog.png')]
  const ann = await w.open({ lease: 60_000, heartbeat: 1_000 })
  await ann.shows('cat.png')
  await handIn(ann, { text: 'cat' })
  await ann.click('next')
  await ann.shows('dog.png')
  await ann.type('a dog')
  await undo(ann)
  await ann.shows('cat.png')
  assert.equal(await inHand(ann), 'cat.png')
  await w.keeps(cat, dog)
  const held = async (id) => (await w.job(id)).reserved?.worker
  assert.deepEqual([await held(cat), await held(dog)], ['ann', 'ann'])
  await handIn(ann, { text: 'a cat' }, 0)
  await ann.click('next')
  await ann.shows('dog.png')
  assert.equal(await ann.draft, 'a dog')
  assert.equal((await w.job(dog)).counts.handed_out, 1)
  await handIn(ann, { text: 'a dog' }, 0)
  await w.becomes(dog, 'completed')
  assert.equal(await inDrawer(ann), 0)
  assert.deepEqual(await ann.heard('lost'), [])
})

test('undo_ends_the_wait_for_the_next_job', async (t) => {
  const { w, ann } = await seated(t)
  await handIn(ann, 'cat')
  await ann.run(() => void (window.waiting = window.desk.next()))
  await until('it waits', () => w.wire.calls('reserve').some(({ body }) => body.wait_ms > 0))
  await undo(ann)
  const quick = Promise.race([sleep(20_000), ann.run(() => window.waiting.then(({ payload }) => payload))])
  assert.equal(await quick, 'cat.png', 'the wait, of 25 s, does not run on')
  // What comes then is the next person's, or hers when she is done.
  await w.enqueue('dog.png')
  assert.equal((await w.bob())?.payload, 'dog.png')
})

test('job_held_after_one_taken_back_takes_nothing_until_in_hand', async (t) => {
  for (const isLost of [false, true]) {
    const w = await world(t)
    const [cat, dog] = [await w.enqueue('cat.png'), await w.enqueue('dog.png')]
    const ann = await w.open()
    await ann.shows('cat.png')
    await handIn(ann, { text: 'cat' })
    await ann.click('next')
    await ann.shows('dog.png')
    await ann.run(() => void (window.dog = window.job))
    if (isLost) {
      await w.service.call('POST', '/jobs/release', { id: dog })
      await ann.run(() => window.dog.save({ text: 'a dog' }))
      await ann.hears('lost')
    }
    await undo(ann)
    await ann.shows('cat.png')
    // What is done on a screen that shows the cat must not be stored with the dog.
    for (const [call, ...more] of [['save', 'x'], ['complete', 'x'], ['abandon'], ['fail', 'x'], ['handOver', 'bob']]) {
      const refused = await ann.run(([call, ...more]) => window.dog[call](...more).catch(({ name, message }) => [name, message]), [call, ...more])
      assert.equal(refused?.[0], 'InvalidStateError', call)
      assert.match(refused[1], /desk\.job/, call)
    }
    assert.deepEqual(w.wire.calls('complete').filter(({ body }) => body.result === 'x'), [])
    await ann.run(() => window.job.complete({ text: 'a cat' }))
    await w.becomes(cat, 'completed')
    assert.deepEqual((await w.job(cat)).result, { text: 'a cat' })
    await ann.click('next')
    await ann.shows('dog.png')
    assert.equal(await ann.run(() => window.job.complete({ text: 'a dog' }).then(({ sent }) => sent)), true)
    assert.deepEqual((await w.job(dog)).result, { text: 'a dog' })
  }
})

test('job_held_after_one_taken_back_survives_a_reload', async (t) => {
  const w = await world(t)
  const [, dog] = [await w.enqueue('cat.png'), await w.enqueue('dog.png')]
  const ann = await w.open()
  await ann.shows('cat.png')
  await handIn(ann, { text: 'cat' })
  await ann.click('next')
  await ann.shows('dog.png')
  await ann.type('a dog')
  await undo(ann)
  await ann.page.reload()
  await ann.shows('cat.png')
  assert.equal(await ann.draft, 'cat')
  assert.deepEqual(await ann.run(() => window.desk.kept()), [])
  await handIn(ann, { text: 'cat' }, 0)
  await ann.click('next')
  await ann.shows('dog.png')
  assert.equal(await ann.draft, 'a dog')
  assert.equal((await w.job(dog)).counts.handed_out, 1)
})

test('page_that_is_loaded_again_takes_it_back', async (t) => {
  const { w, id, ann } = await seated(t)
  const from = Date.now()
  await handIn(ann, { text: 'cat' })
  await w.enqueue('dog.png')
  await ann.page.reload()
  await ann.shows('dog.png')
  const { closing } = await ann.run(() => ({ closing: { id: window.desk.closing.id, finalIn: window.desk.closing.finalIn } }))
  assert.equal(closing.id, id)
  assert.ok(closing.finalIn >= 60_000 - (Date.now() - from) && closing.finalIn <= 60_000)
  assert.equal(await ann.run(() => window.desk.closing.undo().then(({ payload }) => payload)), 'cat.png')
  await ann.shows('cat.png')
  assert.equal(await ann.draft, 'cat')
  await ann.run(() => window.job.complete('cat'))
  await w.becomes(id, 'completed')
  await ann.click('next')
  await ann.shows('dog.png')
})

test('undo_is_seen_in_all_tabs', async (t) => {
  const w = await world(t)
  await w.enqueue('cat.png')
  await w.enqueue('dog.png')
  const ann = await w.open()
  await ann.shows('cat.png')
  const other = await w.open()
  await other.shows('cat.png')
  await handIn(ann, { text: 'cat' })
  await until('the other tab knows', async () => (await other.get('state')) === 'closing')
  await ann.click('next')
  await ann.shows('dog.png')
  await other.click('next')
  await other.shows('dog.png')
  await other.run(() => window.desk.closing.undo())
  for (const tab of [other, ann]) {
    await tab.shows('cat.png')
    assert.equal(await tab.draft, 'cat')
    assert.equal(await inHand(tab), 'cat.png')
  }
  await ann.run(() => window.job.complete('cat'))
  for (const tab of [ann, other]) {
    await tab.click('next')
    await tab.shows('dog.png')
  }
})

test('page_without_a_storage_takes_back_too', async (t) => {
  const { ann } = await seated(t, { storage: 'none' })
  await handIn(ann, { text: 'cat' })
  assert.equal((await undo(ann)).state, 'held')
  assert.equal(await ann.draft, 'cat')
})

test('only_a_completion_can_be_taken_back', async (t) => {
  const { ann } = await seated(t)
  const wrong = await ann.run(() => window.job.complete('cat', { undo: 60_001 }).catch(({ status }) => status))
  assert.equal(wrong, 422)
  assert.equal(await ann.get('state'), 'held')
  await handIn(ann, 'cat')
  for (const call of ['save', 'complete', 'abandon', 'fail']) {
    const name = await ann.run((call) => window.job[call]('x').catch(({ name }) => name), call)
    assert.equal(name, 'InvalidStateError', call)
  }
  await undo(ann)
  assert.equal(await ann.run(() => window.done.undo().catch(({ name }) => name)), 'InvalidStateError')
})

test('own_completion_that_can_be_taken_back_is_not_in_other_hands', async (t) => {
  const { ann } = await seated(t)
  await handIn(ann, { text: 'cat' }, 15_000)
  await ann.run(() => void window.desk.next())
  const reasons = async () => (await ann.heard('waiting')).map(({ reason }) => reason)
  await until('it says why', async () => (await reasons()).includes('closing'))
  await until('it is final, and nothing is there', async () => (await reasons()).at(-1) === 'empty')
  assert.ok(!(await reasons()).includes('reserved'))
})
