// Refusals that are not intray's: a proxy's filter, a captive portal, a page for logging in. What the person typed is kept, and
// the next job comes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../world/until.js'
import { world } from '../world/world.js'

const html = (status) => ({ status, body: '<h1>No</h1>', type: 'text/html' })
const FATES = [
  ['a filter', html(403)],
  ['a limit of a body', html(413)],
  ['a law', html(451)],
  ['a network with a login', html(511)],
  ['a captive portal', html(200)],
  ['a proxy without a page', { status: 200 }],
  ['a gateway with JSON of its own', { status: 403, body: { message: 'Forbidden' }, type: 'application/json' }],
  ['a gateway with a problem of its own', { status: 403, body: { type: 'about:blank', title: 'Forbidden' } }],
  ['a page of JSON', { status: 200, body: [1], type: 'application/json' }],
  ['a redirect to a login', { status: 302, more: { location: '/login' } }, 200],
]

/** Time passes twenty times as fast for what the page waits for, but for answers. */
function quick() {
  const timeout = AbortSignal.timeout.bind(AbortSignal)
  AbortSignal.timeout = (ms) => timeout([15_000, 35_000].includes(ms) ? ms : ms / 20)
}
const quickly = { before: quick }
const settings = { wait: 20_000, grace: null }
const hasBad = ({ method, body }) => method === 'POST' && JSON.stringify(body).includes('DROP TABLE')
const typed = { note: "he wrote: '; DROP TABLE users" }

const next = (tab) => tab.run(async () => (window.job = await window.desk.next()).payload)
const kept = (tab) => tab.run(() => window.desk.kept())

for (const action of ['complete', 'fail', 'abandon']) {
  test(`${action}_refused_by_a_proxy_is_kept_and_the_next_job_comes`, async (t) => {
    const w = await world(t)
    const jobs = []
    for (const [what] of [...FATES, ['the last']]) jobs.push(await w.enqueue(what))
    const ann = await w.open(settings, quickly)
    for (const [n, [what, fate, status = fate.status]] of FATES.entries()) {
      await ann.shows(what)
      w.wire.rule = (call) => (call.path === '/login' ? html(200) : hasBad(call) ? fate : null)
      const sent = await ann.run(async ([action, typed]) => {
        const values = { complete: typed, fail: typed.note, abandon: { reason: typed.note } }
        return (await window.job[action](values[action])).sent
      }, [action, typed])
      assert.equal(sent, false, what)
      const refused = (await ann.hears('refused', n + 1).catch(() => assert.fail(what))).at(-1)
      assert.deepEqual([refused.id, refused.action, refused.status], [jobs[n], action, status], what)
      const { result, words, reason } = (await kept(ann)).find(({ id }) => id === jobs[n])
      assert.deepEqual([result ?? words, reason], [action === 'complete' ? typed : typed.note, 'refused'], what)
      assert.equal(await w.state(jobs[n]), 'reserved', `${what}: until its person goes on`)
      await ann.click('next')
    }
    await ann.shows('the last')
    for (const id of jobs.slice(0, -1)) await w.becomes(id, 'waiting')
    assert.equal((await ann.heard('refused')).length, FATES.length)
  })
}

test('hand_in_refused_by_a_proxy_can_be_corrected', async (t) => {
  const w = await world(t)
  const id = await w.enqueue('cat.png')
  const ann = await w.open(settings, quickly)
  await ann.shows('cat.png')
  w.wire.rule = (call) => (hasBad(call) ? html(403) : null)
  await ann.run((typed) => window.job.complete(typed), typed)
  await ann.hears('refused')
  assert.equal((await ann.run(() => window.job.complete('he wrote it'))).sent, true)
  assert.equal((await w.job(id)).result, 'he wrote it')
  assert.deepEqual(await kept(ann), [])
})

test('unanswered_completion_does_not_hold_up_the_next_job', async (t) => {
  const w = await world(t)
  const cat = await w.enqueue('cat.png')
  const dog = await w.enqueue('dog.png')
  const ann = await w.open(settings, quickly)
  await ann.shows('cat.png')
  w.wire.rule = (call) => (hasBad(call) ? 'cut' : null)
  assert.equal((await ann.run((typed) => window.job.complete(typed), typed)).sent, false)
  assert.equal(await next(ann), 'dog.png')
  assert.equal(await w.state(cat), 'waiting', 'others have it')
  assert.equal((await ann.run(() => window.job.complete('dog'))).sent, true, 'it does not wait for the one before')
  assert.equal((await w.job(dog)).result, 'dog')
  w.wire.rule = null
  await ann.hears('refused')
  assert.deepEqual((await kept(ann)).map(({ id, result }) => [id, result]), [[cat, typed]])
  assert.deepEqual((await w.job(cat)).late_results[0].result, typed)
})

for (const [what, fate] of [['a_proxy', html(403)], ['no_answer', 'cut'], ['a_gateway', html(502)]]) {
  test(`job_is_kept_while_its_draft_meets_${what}`, async (t) => {
    const w = await world(t)
    const id = await w.enqueue('cat.png', { lease_ms: 60_000 })
    const ann = await w.open({ ...settings, heartbeat: 500 })
    await ann.shows('cat.png')
    w.wire.rule = (call) => (hasBad(call) ? fate : null)
    const saved = ann.run((draft) => window.job.save(draft).catch(({ status }) => status), { text: typed.note })
    const inVain = () => w.wire.calls('extend').filter(hasBad).length
    await until('it is tried', () => inVain() >= 3)
    await w.keeps(id)
    assert.equal(await w.state(id), 'reserved')
    assert.equal((await w.job(id)).counts.handed_out, 1)
    assert.equal(await ann.get('state'), 'held')
    // Not at once while the long one is being tried.
    await until('the short one is saved', () => ann.run(() => window.job.save({ text: 'short' })))
    await saved
    await ann.run((draft) => void window.job.save(draft).catch(() => {}), { text: typed.note })
    await ann.page.reload()
    await ann.shows('cat.png')
    assert.equal(await ann.draft, typed.note)
  })
}

test('draft_refused_by_a_proxy_rejects_after_five_tries', async (t) => {
  const w = await world(t)
  await w.enqueue('cat.png')
  const ann = await w.open(settings, quickly)
  await ann.shows('cat.png')
  w.wire.rule = (call) => (hasBad(call) ? html(413) : null)
  const save = (draft) => ann.run((draft) => window.job.save(draft).catch(({ status }) => status), draft)
  assert.equal(await save(typed), 413)
  assert.equal(w.wire.calls('extend').filter(hasBad).length, 5)
  assert.equal(await save({ text: 'short' }), true)
  assert.equal(await ann.get('state'), 'held')
})

test('next_refused_by_a_proxy_rejects_and_can_be_asked_again', async (t) => {
  const w = await world(t)
  w.wire.rule = ({ path, method }) => (path === '/jobs/reserve' && method === 'POST' ? html(403) : null)
  const ann = await w.open(settings, quickly)
  await ann.shows('IntrayError')
  assert.equal(w.wire.calls('reserve').length, 5)
  assert.equal(await ann.run(() => window.desk.next().catch(({ status }) => status)), 403)
  w.wire.rule = null
  await w.enqueue('cat.png')
  assert.equal(await next(ann), 'cat.png')
})

test('refused_resume_does_not_hold_up_the_next_job', async (t) => {
  const w = await world(t)
  await w.enqueue('cat.png')
  const ann = await w.open(settings, quickly)
  await ann.shows('cat.png')
  w.wire.rule = ({ path, body }) => (path === '/jobs/reserve' && body.id ? html(403) : null)
  await ann.page.reload()
  await ann.shows('cat.png')
  assert.equal(await ann.get('resumed'), true)
})

test('job_returns_when_no_settle_call_succeeds', async (t) => {
  const w = await world(t)
  await w.enqueue('cat.png')
  const ann = await w.open(settings, quickly)
  await ann.shows('cat.png')
  w.wire.rule = ({ path }) => (path === '/jobs/complete' || path === '/jobs/abandon' ? 'cut' : null)
  await ann.run((typed) => window.job.complete(typed), typed)
  assert.equal(await next(ann), 'cat.png')
  w.wire.rule = null
  assert.equal((await ann.run(() => window.job.complete('cat'))).sent, true)
})
