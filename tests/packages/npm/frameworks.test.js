// What the documents print for React and Vue, as it is built; also the hook, in a page that does to it what React does to
// components. And the compiler reads every other script that a page prints.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { becomes, until } from '../../web/world/until.js'
import { example, examples, shop, worksOffACat } from './shop.js'

const MODES = ['development', 'production']
/** The oldest React that the package is for. */
const OLDEST = ['react@18.3.1', 'react-dom@18.3.1']

/** Pages with scripts that are parts of a whole, each read by the compiler as a file. */
const PRINTED = { 'readme.ts': 'README.md', 'browser.ts': 'docs/browser.md', 'module.ts': 'web/client/README.md' }
/** What such a part takes for granted. */
const GRANTED = `
declare const token: string, desk: Intray, job: Job;
declare const title: HTMLElement, done: HTMLElement, button: HTMLElement, editor: HTMLTextAreaElement;
declare function say(text: string): void;
declare function show(job: Job): void;
declare function draw(what: { job: Job | null; draft: unknown; remaining: number | null }): void;
`

/** Each part in a scope of its own, which may declare what others declare; imports stand before. */
async function printed(page) {
  const parts = await examples('js', page)
  assert.ok(parts.length > 0, page)
  const own = parts.map((part) => `{\n${part.replace(/^import .*$/gm, '').replace('function show(job)', 'function show(job: Job)')}}\n`)
  return `import { Intray, type Job } from 'intray-client'\n${GRANTED}${own.join('')}`
}

const on = shop(async ({ folder, bring, run, write, service, wire }) => {
  await bring('page/')
  for (const [at, name] of ['Desk.tsx', 'main.tsx'].entries()) await write(name, await example('tsx', 'React', wire.url, at))
  await write('Desk.vue', await example('vue', 'Vue', wire.url))
  for (const [name, page] of Object.entries(PRINTED)) await write(name, await printed(page))
  await run('npm', 'ci', '--no-audit', '--no-fund', '--ignore-scripts')
  await run('npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', `${service.url}/client.tgz`)
  await run('node_modules/.bin/tsc', '-p', 'tsconfig.json')
  const build = (mode, name) => run(
    'env', `NODE_ENV=${mode}`, 'node_modules/.bin/vite', 'build', '--mode', mode, '--outDir', `built/${name}`, '--base', `/${name}/`,
  )
  for (const mode of MODES) await build(mode, mode)
  await run('npm', 'install', '--no-save', '--force', '--no-audit', '--no-fund', '--ignore-scripts', ...OLDEST)
  await build('development', 'oldest')
  return join(folder, 'built')
})

/** Each desk has a channel to the others of its person. */
function counted() {
  window.desks = 0
  const Channel = window.BroadcastChannel
  window.BroadcastChannel = function (name) {
    window.desks += 1
    return new Channel(name)
  }
}

let queues = 0
/** A page of StrictMode's, with a queue of its own in which a person may have any number of jobs. */
async function stage(t, settings = {}, build = 'development') {
  const queue = `q${++queues}`
  await on.service.enqueue(queue, 'first')
  await on.service.set(queue, { worker_limit: 0 })
  on.wire.log.length = 0
  on.wire.rule = null
  const all = { url: on.wire.url, worker: 'ann', queues: [queue], grace: 1_000, ...settings }
  const page = await on.open(t, `/${build}/mounts.html?settings=${encodeURIComponent(JSON.stringify(all))}`, counted)
  t.after(() => assert.deepEqual(page.wrong.filter((line) => !/status of (401|409)/.test(line)), []))
  const counts = async () => (await on.service.queue(queue)).counts
  return { page, queue, counts, shows: (name) => page.getByRole('heading', { name }).waitFor() }
}
const show = (page, scene) => page.evaluate((scene) => window.show(scene), scene)

for (const mode of [...MODES, 'oldest']) {
  test(`the page in the documents does what a desk has to do, in ${mode}`, async (t) => {
    on.wire.log.length = 0
    const enqueue = (title) => on.service.enqueue('reviews', { title })
    const [cat, dog] = [await enqueue('A cat'), await enqueue('A dog')]
    const page = await on.open(t, `/${mode}/`)
    const shows = (name) => page.getByRole('heading', { name }).waitFor()
    await shows('A cat')
    await page.getByText(/^(300|299|298) s left$/).waitFor()
    await page.getByLabel('Note').pressSequentially('it purrs')
    assert.equal(await page.getByLabel('Note').inputValue(), 'it purrs')
    await on.saved({ note: 'it purrs' })
    await page.reload()
    await shows('A cat')
    assert.equal(await page.getByLabel('Note').inputValue(), 'it purrs')
    await page.getByRole('button', { name: 'Done' }).click()
    await shows('A dog')
    await becomes(async () => (await on.service.job(cat)).result, { note: 'it purrs' })
    const { state, counts } = await on.service.job(cat)
    assert.deepEqual([state, counts.handed_out], ['completed', 1])
    assert.equal(await page.getByLabel('Note').inputValue(), '')
    await page.getByRole('button', { name: 'Skip' }).click()
    await page.getByText('Nothing to do: skipped').waitFor()
    await on.service.call('DELETE', `/jobs/${dog}`)
  })
}

for (const [build, version] of [['development', '19'], ['oldest', '18']]) {
  test(`StrictMode takes one job, with one desk, and gives nothing back, in ${build}`, async (t) => {
    const { page, counts, queue, shows } = await stage(t, {}, build)
    await on.service.enqueue(queue, 'second')
    await shows('first')
    await page.getByLabel('Text').pressSequentially('typed')
    await on.saved('typed')
    const { reserved, waiting } = await counts()
    assert.deepEqual({ reserved, waiting }, { reserved: 1, waiting: 1 })
    assert.equal(on.wire.calls('reserve').filter(({ answer }) => answer?.jobs?.length).length, 1)
    assert.deepEqual(on.wire.calls('abandon'), [])
    assert.equal(await page.evaluate(() => window.desks), 1)
    assert.equal((await page.evaluate(() => window.version)).split('.')[0], version)
  })
}

test('equal settings keep the desk and renew a token', async (t) => {
  const { page, shows } = await stage(t, { token: 'one' })
  await shows('first')
  const tokens = () => on.wire.calls('reserve').map(({ headers }) => headers.authorization)
  assert.deepEqual([...new Set(tokens())], ['Bearer one'])
  on.wire.log.length = 0
  const problem = { type: '/problems/unauthorized', title: 'no', status: 401, detail: 'no' }
  on.wire.rule = ({ method, path, headers }) =>
    method === 'POST' && path === '/jobs/reserve' && headers.authorization !== 'Bearer two'
      ? { status: 401, body: problem, type: 'application/problem+json' }
      : null
  const desk = await page.evaluateHandle(() => window.views.at(-1).desk)
  await show(page, { settings: { token: 'two' } })
  await page.evaluate(() => window.views.at(-1).complete('done'))
  await until('it is refused, and asks with the new one', () => tokens().length > 1)
  assert.deepEqual(tokens().slice(0, 2), ['Bearer one', 'Bearer two'])
  assert.equal(await page.evaluate((desk) => window.views.at(-1).desk === desk, desk), true)
})

test('undo_shows_the_job_again', async (t) => {
  const { page, counts, queue, shows } = await stage(t)
  await on.service.enqueue(queue, 'second')
  await shows('first')
  const complete = (undo) => page.evaluate((undo) => window.views.at(-1).complete('done', { undo }).then(({ final }) => final), undo)
  assert.equal(await complete(60_000), false)
  await shows('second')
  await page.getByLabel('Text').pressSequentially('typed')
  await page.getByText(/^closing (60|5\d)000$/).waitFor()
  await page.evaluate(() => window.views.at(-1).undo()).then((undone) => assert.equal(undone, true))
  await shows('first')
  assert.equal(await page.getByLabel('Text').inputValue(), 'done')
  await page.getByText('not closing').waitFor()
  assert.equal((await counts()).reserved, 2)
  assert.equal(await complete(0), true)
  await shows('second')
  assert.equal(await page.getByLabel('Text').inputValue(), 'typed')
  // When there is nothing to take back, it says so and throws nothing.
  assert.equal(await page.evaluate(() => window.views.at(-1).undo()), false)
  assert.equal(await complete(1_000), false)
  await page.getByText('not closing').waitFor()
})

test('an unmounted component gives its job back after the grace', async (t) => {
  const { page, counts, shows } = await stage(t)
  await shows('first')
  await page.getByLabel('Text').pressSequentially('typed')
  await on.saved('typed')
  await show(page, { shown: false })
  await until('it said farewell', () => on.wire.calls('abandon').length)
  await show(page, { shown: true })
  await shows('first')
  assert.equal(await page.getByLabel('Text').inputValue(), 'typed')
  assert.equal((await counts()).reserved, 1)
  await show(page, { settings: null })
  await becomes(async () => (await counts()).waiting, 1)
  await page.getByRole('heading', { name: 'no job' }).waitFor()
  assert.equal(await page.evaluate(() => window.views.at(-1).desk), null)
})

test('token_that_throws_ends_in_error_until_next_asks_again', async (t) => {
  on.wire.log.length = 0
  for (const [token, message] of [['throws', 'log in'], ['rejects', 'log in'], ['gives nothing', 'missing']]) {
    const { page, shows } = await stage(t, { token })
    await page.getByText(message).waitFor()
    const view = () => page.evaluate(() => {
      const { error, retrying, job } = window.views.at(-1)
      return { error: error instanceof Error, retrying, job }
    })
    await becomes(view, { error: true, retrying: false, job: null })
    assert.equal(await page.evaluate(() => window.tokens), 1, token)
    assert.deepEqual(on.wire.calls('reserve'), [], token)
    await page.evaluate(() => {
      window.isLoggedIn = true
      window.views.at(-1).next()
    })
    await shows('first')
    await becomes(view, { error: false, retrying: false, job: {} })
    await show(page, { settings: null })
    on.wire.log.length = 0
  }
})

test('draft_of_a_lost_job_is_in_kept_after_a_reload', async (t) => {
  const { page, queue, shows } = await stage(t)
  await shows('first')
  const id = await page.evaluate(() => window.views.at(-1).job.id)
  await page.getByLabel('Text').pressSequentially('mine')
  await on.saved('mine')
  await on.service.call('POST', '/jobs/release', { id })
  assert.equal((await on.service.reserve(queue, 'bob')).id, id)
  await page.evaluate(() => window.views.at(-1).save('mine too'))
  await becomes(() => page.evaluate(() => window.views.at(-1).state), 'lost')
  await on.service.enqueue(queue, 'second')
  await page.reload()
  await shows('second')
  const kept = () => page.evaluate(() => window.views.at(-1).kept.map(({ id, draft }) => [id, draft]))
  await becomes(kept, [[id, 'mine too']])
  await page.evaluate((id) => window.views.at(-1).forget(id), id)
  await becomes(kept, [])
})

test('completion_refused_by_a_proxy_has_its_status', async (t) => {
  const { page, queue, shows } = await stage(t)
  await shows('first')
  await on.service.enqueue(queue, 'second')
  on.wire.rule = ({ path }) => (path === '/jobs/complete' ? { status: 403, body: '<h1>No</h1>', type: 'text/html' } : null)
  t.after(() => (on.wire.rule = null))
  assert.equal((await page.evaluate(() => window.views.at(-1).complete('DROP TABLE'))).sent, false)
  const view = () => page.evaluate(() => {
    const { lost, error, state, kept } = window.views.at(-1)
    return { lost, status: error?.status ?? null, state, kept: kept.map(({ result }) => result) }
  })
  await becomes(view, { lost: { reason: 'refused', jobState: null, certain: true }, status: 403, state: 'lost', kept: ['DROP TABLE'] }, 20_000)
  await shows('first')
  await page.evaluate(() => window.views.at(-1).next())
  await shows('second')
  for (const line of page.wrong.splice(0)) assert.match(line, /403/) // the browser's own, of each try
})

test('a component that is replaced by another keeps its job', async (t) => {
  const { page, shows } = await stage(t)
  await shows('first')
  const id = await page.evaluate(() => window.views.at(-1).job.id)
  await show(page, { key: 'second' })
  await shows('first')
  await sleep(2_000) // beyond the grace of the one that went
  const { state, counts } = await on.service.job(id)
  assert.deepEqual([state, counts.handed_out, counts.abandoned], ['reserved', 1, 0])
})

test('another person gets another desk and job', async (t) => {
  const { page, queue, shows } = await stage(t)
  await shows('first')
  await on.service.enqueue(queue, 'second')
  await show(page, { settings: { worker: 'bob' } })
  await shows('second')
  const before = await page.evaluate(() => window.views.at(-1).job.id)
  assert.equal((await on.service.job(before)).reserved.worker, 'bob')
})

test('a lost job stays on the screen until next', async (t) => {
  const { page, queue, shows } = await stage(t)
  await shows('first')
  await page.getByLabel('Text').pressSequentially('mine')
  const id = await page.evaluate(() => window.views.at(-1).job.id)
  await on.service.call('POST', '/jobs/release', { id })
  assert.equal((await on.service.reserve(queue, 'bob')).id, id)
  await page.evaluate(() => window.views.at(-1).save('mine too'))
  const view = () => page.evaluate(() => {
    const { lost, error, draft, state } = window.views.at(-1)
    return { lost, error: error?.name ?? null, draft, state }
  })
  const lost = { reason: 'released', jobState: 'reserved', certain: true }
  await becomes(view, { lost, error: null, draft: 'mine too', state: 'lost' })
  await shows('first')
  assert.equal(await page.getByLabel('Text').inputValue(), 'mine too')
  assert.equal(await page.evaluate(() => window.views.at(-1).complete('late')), null)
  await becomes(view, { lost, error: 'IntrayError', draft: 'mine too', state: 'lost' })
  await on.service.enqueue(queue, 'second')
  await page.evaluate(() => window.views.at(-1).next())
  await shows('second')
  await becomes(view, { lost: null, error: null, draft: null, state: 'held' })
})

/** A page hands in, takes that back while the next job is on the screen, and each answer is stored with its own job. */
async function undoes(t, path) {
  on.wire.log.length = 0
  on.wire.rule = null
  const enqueue = (title) => on.service.enqueue('reviews', { title })
  const [cat, dog] = [await enqueue('A cat'), await enqueue('A dog')]
  const page = await on.open(t, path)
  const shows = (name) => page.getByRole('heading', { name }).waitFor()
  const note = page.getByLabel('Note')
  const press = (name) => page.getByRole('button', { name }).click()
  await shows('A cat')
  await note.fill('it is a cat')
  await press('Done')
  await shows('A dog')
  await press('Undo')
  await shows('A cat')
  assert.equal(await note.inputValue(), 'it is a cat')
  await note.fill('it is a CAT, corrected')
  await press('Done')
  await shows('A dog')
  await note.fill('it is a dog')
  await press('Done')
  await becomes(async () => (await on.service.job(cat)).result, { note: 'it is a CAT, corrected' }, 30_000)
  await becomes(async () => (await on.service.job(dog)).result, { note: 'it is a dog' }, 30_000)
  assert.deepEqual(page.wrong, [])
}

for (const path of ['/development/', '/production/', '/development/vue.html']) {
  test(`printed_page_stores_each_answer_with_its_own_job: ${path}`, (t) => undoes(t, path))
}

test('action_of_an_earlier_view_does_nothing_to_the_job_taken_back', async (t) => {
  const { page, queue, shows } = await stage(t)
  await on.service.enqueue(queue, 'second')
  await shows('first')
  await page.evaluate(() => window.views.at(-1).complete('done', { undo: 60_000 }))
  await shows('second')
  const stale = await page.evaluate(async () => {
    const stale = window.views.at(-1)
    await stale.undo()
    return [await stale.complete('of the second'), await stale.save('of the second'), await stale.abandon()]
  })
  assert.deepEqual(stale, [null, false, null])
  await shows('first')
  assert.equal(await page.getByLabel('Text').inputValue(), 'done')
})

test('leaving_gives_the_job_back_and_asks_for_none', async (t) => {
  const { page, counts, shows } = await stage(t)
  await shows('first')
  await page.getByLabel('Text').pressSequentially('private')
  assert.deepEqual(await page.evaluate(() => window.views.at(-1).leave()), { sent: true, unsent: [] })
  await page.getByRole('heading', { name: 'no job' }).waitFor()
  assert.equal((await counts()).waiting, 1)
  const seen = () => page.evaluate(() => {
    const { left, desk, error } = window.views.at(-1)
    return [left, desk, error, localStorage.length]
  })
  assert.deepEqual(await seen(), [true, null, null, 0])
  const asked = on.wire.calls('reserve').length
  await page.evaluate(() => window.views.at(-1).next())
  await sleep(1_000)
  assert.equal(on.wire.calls('reserve').length, asked)
  await show(page, { settings: { worker: 'bob' } })
  await shows('first')
  assert.equal(await page.getByLabel('Text').inputValue(), '')
  assert.equal(await page.evaluate(() => window.views.at(-1).left), false)
})

test('the documented Vue page works as a desk', async (t) => {
  on.wire.log.length = 0
  await worksOffACat(t, on, '/development/vue.html')
})
