// The person logs out on a machine that others use too: the job goes back now, and nothing of theirs stays, in any tab.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { handIn } from '../world/undoing.js'
import { becomes, until } from '../world/until.js'
import { world } from '../world/world.js'

const stored = (tab) => tab.run(() => Object.entries(localStorage).filter(([key]) => !key.startsWith('other')).length)
const leave = (tab) => tab.run(() => window.desk.leave())

test('leaving_gives_the_job_back_now_and_removes_all_of_the_worker', async (t) => {
  const w = await world(t)
  const [lost, id] = [await w.enqueue('cat.png'), await w.enqueue('dog.png')]
  const ann = await w.open({ grace: 60_000 })
  await ann.shows('cat.png')
  await ann.type('kept')
  await w.service.call('POST', '/jobs/release', { id: lost })
  await w.bob()
  await ann.type(' more')
  await ann.hears('lost')
  await ann.click('next')
  await ann.shows('dog.png')
  await ann.type('private')
  assert.equal(await ann.run(() => window.desk.kept().length), 1)
  await ann.run(() => localStorage.setItem('other', 'of the page'))
  assert.deepEqual(await leave(ann), { sent: true, unsent: [] })
  assert.equal(await w.state(id), 'waiting')
  assert.equal(await stored(ann), 0)
  assert.equal(await ann.run(() => localStorage.getItem('other')), 'of the page')
  assert.equal(await inHand(ann), null)
  assert.deepEqual((await ann.heard('left')).length, 1)
  assert.match(await ann.run(() => window.desk.next().catch(String)), /AbortError: the person has left/)
  assert.match(await ann.run(() => window.job.save({ text: 'x' }).catch(String)), /the job is abandoned/)
  const asked = w.wire.calls('reserve').length
  await sleep(1_000)
  assert.equal(w.wire.calls('reserve').length, asked, 'it asks for none')
  await ann.page.reload()
  await ann.shows('dog.png')
  assert.equal(await ann.draft, 'private', 'what the service has comes back with the job, to her alone')
})

test('leaving_ends_all_tabs_of_the_worker_and_no_others', async (t) => {
  const w = await world(t)
  const elsewhere = `${w.queue}-b`
  const [cat, dog] = [await w.enqueue('cat.png'), await w.service.enqueue(elsewhere, 'dog.png')]
  const [ann, same, other] = [await w.open(), await w.open(), await w.open({ queues: [elsewhere] })]
  await ann.shows('cat.png')
  await same.shows('cat.png')
  await other.shows('dog.png')
  await other.type('in another queue')
  const eve = await w.open({ worker: 'eve' })
  await leave(ann)
  for (const tab of [same, other]) {
    await tab.hears('left')
    assert.equal(await inHand(tab), null)
  }
  await w.becomes(cat, 'reserved') // Eve waited
  await becomes(async () => (await w.job(cat)).reserved?.worker, 'eve')
  await w.becomes(dog, 'waiting')
  await eve.shows('cat.png')
  await eve.type('by eve')
  assert.deepEqual(await eve.heard('left'), [])
  // What another tab still types is not kept.
  for (const tab of [same, other]) await tab.run(() => window.job.save({ text: 'late' }).catch(() => {}))
  assert.deepEqual(await ann.run(() => Object.keys(localStorage).filter((key) => !key.includes(' eve '))), [])
  assert.equal(w.wire.calls('abandon').filter(({ status }) => status === 200).length, 2)
})

test('leaving_without_a_network_removes_all_and_tells_what_is_unsent', async (t) => {
  const w = await world(t)
  const [cat, dog] = [await w.enqueue('cat.png'), await w.enqueue('dog.png')]
  const ann = await w.open()
  await ann.shows('cat.png')
  w.wire.rule = ({ path }) => (path === '/jobs/complete' ? 'cut' : null)
  assert.equal((await ann.run(() => window.job.complete({ text: 'a cat' }))).sent, false)
  await ann.click('next')
  await ann.shows('dog.png')
  w.wire.offline = true
  await ann.type('a dog')
  const [answer, left] = await ann.run(() => {
    const leaving = window.desk.leave()
    const left = localStorage.length
    return leaving.then((answer) => [answer, left])
  })
  assert.equal(left, 0, 'at once')
  assert.equal(answer.sent, false)
  const work = answer.unsent.map(({ id, draft, result }) => [id, draft, result]).sort()
  assert.deepEqual(work, [[cat, null, { text: 'a cat' }], [dog, { text: 'a dog' }, null]].sort())
  w.wire.offline = false
  await sleep(1_500)
  assert.equal(await stored(ann), 0)
})

test('leaving_sends_what_is_unsent_and_leaves_what_can_be_taken_back', async (t) => {
  const w = await world(t)
  const [cat, dog] = [await w.enqueue('cat.png'), await w.enqueue('dog.png')]
  const ann = await w.open()
  await ann.shows('cat.png')
  await handIn(ann, { text: 'a cat' })
  await ann.click('next')
  await ann.shows('dog.png')
  w.wire.rule = ({ path }) => (path === '/jobs/complete' ? 'cut' : null)
  await ann.run(() => window.job.complete({ text: 'a dog' }))
  w.wire.rule = null
  assert.deepEqual(await leave(ann), { sent: true, unsent: [] })
  await w.becomes(dog, 'completed')
  assert.equal(await stored(ann), 0)
  assert.equal(await ann.run(() => window.desk.closing), null)
  await w.advance(31_000)
  await w.becomes(cat, 'completed')
  assert.deepEqual((await w.job(cat)).result, { text: 'a cat' })
})

test('leaving_gives_back_what_is_held_after_one_that_was_taken_back', async (t) => {
  const w = await world(t)
  const all = [await w.enqueue('cat.png'), await w.enqueue('dog.png')]
  const ann = await w.open()
  await ann.shows('cat.png')
  await handIn(ann, { text: 'a cat' })
  await ann.click('next')
  await ann.shows('dog.png')
  await ann.run(() => window.desk.closing.undo().then(() => {}))
  await ann.shows('cat.png')
  assert.equal((await leave(ann)).sent, true)
  for (const id of all) assert.equal(await w.state(id), 'waiting')
})

test('another_person_works_after_one_has_left_on_the_same_page', async (t) => {
  const w = await world(t)
  await w.enqueue('cat.png')
  const ann = await w.open({}, {})
  await ann.shows('cat.png')
  await ann.type('private')
  await leave(ann)
  const seen = await ann.run(async ([url, queue]) => {
    const { Intray } = await import(`${url}/client.js`)
    const desk = new Intray({ url, worker: 'bob', queues: [queue] })
    const job = await desk.next()
    return [job.payload, job.draft, await job.complete('done').then(({ sent }) => sent)]
  }, [w.wire.url, w.queue])
  assert.deepEqual(seen, ['cat.png', null, true])
})

function inHand(tab) {
  return tab.run(() => window.desk.job?.payload ?? null)
}
