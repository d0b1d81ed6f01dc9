// Several people at one queue.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../world/until.js'
import { world } from '../world/world.js'

test('a skipped job goes to others and the page can say why', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png')
  const ann = await w.open({}, { apart: true })
  await ann.shows('cat.png')
  await ann.type('no idea')
  await ann.run(() => window.job.abandon({ skip: true, reason: 'not my language' }))
  await ann.click('next')
  const [{ reason }] = await ann.hears('waiting')
  assert.equal(reason, 'skipped')

  const bob = await w.open({ worker: 'bob' }, { apart: true })
  await bob.shows('cat.png')
  assert.equal(await bob.draft, '', 'what ann typed is hers')
  await bob.run(() => window.job.abandon())
  await ann.page.reload()
  assert.equal((await ann.hears('waiting'))[0].reason, 'skipped')
  assert.equal(await w.state(id), 'waiting')
  const next = await w.enqueue('dog.png')
  await ann.shows('dog.png')
  assert.equal(await ann.get('id'), next)
  await bob.click('next')
  await w.becomes(id, 'reserved')
  assert.equal((await w.job(id)).counts.handed_out, 3)
})

test('the reason for no job is reported at once', async (t) => {
  const w = await world(t)
  const { enqueue, reserve, set } = w.service
  for (const [reason, prepare] of [
    ['empty', () => {}],
    ['paused', async (queue) => (await enqueue(queue, 1), await set(queue, { paused: true }))],
    ['reserved', async (queue) => (await enqueue(queue, 1), await reserve(queue, 'bob'))],
    ['delayed', (queue) => enqueue(queue, 1, { delay_ms: 60_000 })],
    ['blocked', async (queue) => {
      for (const payload of [1, 2]) await enqueue(queue, payload, { locks: ['one at a time'] })
      await reserve(queue, 'bob')
    }],
  ]) {
    await prepare(reason)
    const ann = await w.open({ queues: [reason] })
    const [waiting] = await ann.hears('waiting')
    assert.equal(waiting.reason, reason)
    const waits = w.wire.calls('reserve').filter(({ body }) => body.queues[0] === reason && body.wait_ms > 0)
    assert.ok(waits.every(({ status }) => status === undefined), 'before a call that waits has ended')
    await ann.close()
  }
})

test('slow workers never share a job and complete each once', async (t) => {
  const w = await world(t)
  await w.enqueue('the first', { delay_ms: 86_400_000 }) // a queue to listen to
  const received = await listen(t, w)
  const people = ['ann', 'bob', 'cem', 'dee']
  const settings = { heartbeat: 300, idleAfter: 400 }
  const tabs = await Promise.all(people.map((worker) => w.open({ ...settings, worker }, { apart: true })))
  const ids = await Promise.all(Array.from({ length: 16 }, (_, n) => w.enqueue(`job ${n}`, { lease_ms: 1_000 })))
  const work = async () => {
    for (let n = 0; ; n++) {
      const job = (window.job = await window.desk.next())
      await job.save({ text: `${job.payload} by me` })
      await new Promise((done) => setTimeout(done, n % 3 === 1 ? 1_300 + 900 * Math.random() : 200 * Math.random()))
      await job.complete({ text: `${job.payload} by me` }).catch(() => {})
    }
  }
  for (const tab of tabs) await tab.run(`void (${work})()`)
  for (const id of ids) await w.becomes(id, 'completed')

  const holders = new Map()
  let slow = 0
  for (const { type, job, worker } of await received()) {
    if (type === 'reserved') assert.equal(holders.get(job), undefined, `${job} is in the hands of ${holders.get(job)}`)
    if (type === 'reserved') holders.set(job, worker)
    if (type === 'completed' && holders.has(job)) assert.equal(worker, holders.get(job))
    if (['completed', 'expired', 'abandoned', 'released', 'failed'].includes(type)) holders.delete(job)
    if (type === 'expired') slow++
  }
  assert.ok(slow > 0, 'at least one worker was too slow')
  // The service has completed a job before its answer comes by here.
  const accepted = () => w.wire.calls('complete').filter(({ status, answer }) => status === 200 && !answer.duplicate)
  await until('each has its answer', () => accepted().length >= ids.length)
  assert.deepEqual(accepted().map(({ answer }) => answer.id).sort(), [...ids].sort())
  // Late work is kept by its worker, unless the worker got the job again.
  const hands = new Map(w.wire.calls('reserve').flatMap(({ answer }) => (answer?.jobs ?? []).map((job) => [job.reservation, job])))
  const whose = ({ body }) => `${hands.get(body.reservation).worker} ${hands.get(body.reservation).id}`
  const won = accepted().map(whose)
  const late = w.wire.calls('complete').filter(({ status }) => status === 409)
  const lost = new Set(late.map(whose).filter((one) => !won.includes(one)))
  t.diagnostic(`${slow} expired, ${lost.size} came too late`)
  for (const one of lost) {
    const [worker, id] = one.split(' ')
    const tab = tabs[people.indexOf(worker)]
    // They may believe to have it again, until they hand in once more.
    const kept = () => tab.run((id) => window.desk.kept().find((kept) => kept.id === id && kept.result), id)
    const { result } = await until(`${worker} has kept the work on ${id}`, kept)
    assert.match(result.text, /by me$/)
  }
})

/** All events of the queue from now on. */
async function listen(t, { service, queue }) {
  const gone = new AbortController()
  t.after(() => gone.abort())
  const { body } = await fetch(`${service.url}/events?queue=${queue}`, { signal: gone.signal })
  let text = ''
  const reading = (async () => {
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) text += chunk
  })()
  reading.catch(() => {})
  const events = () => [...text.matchAll(/^data: ?(\{"type.*\})$/gm)].map(([, data]) => JSON.parse(data))
  return async () => {
    await until('the last is told', () => events().filter(({ type }) => type === 'completed').length >= 16)
    return events()
  }
}
