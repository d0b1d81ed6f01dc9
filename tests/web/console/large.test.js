// A large place: many queues, a long line, many dead. How soon the console is there, beside a small place on this machine.
// `WAITING=100000 node --test console/large.test.js` has the line as long as it may be; the story makes do with less.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shown, stage } from '../world/stage.js'
import { becomes } from '../world/until.js'

const QUEUES = 50
// As many as a service takes unless it is told otherwise, and as many as it tells of on a page.
const MAX_QUEUES = 10_000
const FEWER_QUEUES = MAX_QUEUES / 5
const PAGE = 1_000
const DEAD = 500
const WAITING = Number(process.env.WAITING ?? 1_000)
// What a page may take that shows nothing of all this grows with the machine's load; that it stays so is what counts.
const MAX_RATIO = 4
const on = stage(begin)

async function begin({ service }) {
  const put = (jobs) => service.call('POST', '/jobs', jobs)
  await put(Array.from({ length: QUEUES }, (_, n) => ({ queue: `queue-${n}`, payload: { n } })))
  await service.set('dead', { max_attempts: 1 })
  await put(Array.from({ length: DEAD }, (_, n) => ({ queue: 'dead', payload: { n }, client: n % 5 ? 'many' : 'few' })))
  for (let n = 0; n < DEAD; n += 100) {
    const { jobs } = await service.call('POST', '/jobs/reserve', { queues: ['dead'], limit: 100 })
    await service.call('POST', '/jobs/fail', jobs.map(({ reservation }) => ({ reservation, error: 'it broke' })))
  }
  for (let n = 0; n < WAITING; n += 1_000) {
    await put(Array.from({ length: 1_000 }, (_, at) => ({ queue: 'long', payload: { n: n + at, text: 'of usual length, like an address' } })))
  }
}

/** ms from the address to the first paint, and to the rows. */
async function opened(path, row) {
  const page = await on.open(path)
  const rows = await page.evaluate((wanted) => new Promise((done) => {
    const look = () => { if (document.body.innerText.includes(wanted)) done(performance.now()); else requestAnimationFrame(look) }
    look()
  }), row)
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime)
  return { page, paint, rows }
}

/** The soonest of three pages, which is the one that stays: any other may have met what else the machine does. */
async function openedSoonest(path, row) {
  const all = []
  for (let n = 0; n < 3; n += 1) all.push(await opened(path, row))
  const [soonest, ...others] = all.toSorted((one, other) => one.rows - other.rows)
  for (const { page } of others) await page.close()
  return soonest
}

test('a large queue opens and acts as fast as a small one', async () => {
  await opened('/console/', 'queue-7')
  const small = await openedSoonest('/console/#/q/queue-7/waiting', '{"n":7}')
  const places = {
    'all queues': await openedSoonest('/console/', 'queue-7'),
    'the long line': await openedSoonest('/console/#/q/long/waiting', '{"n":0,'),
    'the dead': await openedSoonest('/console/#/q/dead/dead', 'it broke'),
  }
  for (const [name, { paint, rows }] of Object.entries({ small, ...places })) {
    console.log(`${name}: first paint ${paint.toFixed(0)} ms, rows ${rows.toFixed(0)} ms`)
  }
  for (const [name, { rows }] of Object.entries(places)) {
    assert.ok(rows < MAX_RATIO * Math.max(small.rows, 250), `${name}: ${rows} ms, the small one ${small.rows} ms`)
  }
  const { page } = places['the dead']
  const key = async (...names) => { for (const name of names) await page.keyboard.press(name) }
  await key('f')
  await page.keyboard.type('few')
  await key('Enter', 'Escape')
  await page.getByRole('button', { name: 'Requeue 100 matching jobs' }).waitFor()
  await key('U')
  await shown(page, 'Requeue 100 matching jobs of dead?')
  await key('Enter')
  await shown(page, '100 jobs in line again.')
  assert.equal((await on.service.queue('dead')).counts.dead, DEAD - 100)
})

/** A service that has so many of one queue, each by another name; fewer have names from the whole range, too. */
async function crowd(n) {
  const one = await on.service.queue('queue-7')
  const name = (at) => `many-${String(at * MAX_QUEUES / n).padStart(5, '0')}`
  const queues = Array.from({ length: n }, (_, at) => ({ ...one, name: name(at) }))
  const pages = new Map()
  for (let from = 0, after = null; from < n; from += PAGE) {
    const page = queues.slice(from, from + PAGE)
    const next = from + PAGE < n ? page.at(-1).name : null
    pages.set(after, JSON.stringify({ queues: page, next, server_time: new Date().toISOString() }))
    after = next
  }
  on.wire.rule = ({ path }) => {
    const { pathname, searchParams } = new URL(path, on.url)
    return pathname === '/queues' ? { status: 200, type: 'application/json', body: pages.get(searchParams.get('after')) } : null
  }
}

/**
 * How long the page worked for letters that are typed, in ms of the processor: whatever else this machine does. The least of three
 * times.
 */
async function typed(page, letters, rows) {
  const wire = await page.context().newCDPSession(page)
  await wire.send('Performance.enable', { timeDomain: 'threadTicks' })
  const worked = async () => {
    const { metrics } = await wire.send('Performance.getMetrics')
    return 1_000 * metrics.find(({ name }) => name === 'TaskDuration').value
  }
  const all = []
  for (let time = 0; time < 3; time += 1) {
    await page.keyboard.press('Escape')
    await page.keyboard.press('/')
    const before = await worked()
    await page.keyboard.type(letters)
    await becomes(() => page.locator('[data-row]').count(), rows)
    all.push(await worked() - before)
  }
  return Math.min(...all)
}

test('many queues are drawn in part and typing stays fast', async () => {
  // Each letter exchanges as many rows, which takes longer than to look through the names.
  await crowd(FEWER_QUEUES)
  const few = await opened('/console/', 'many-00045')
  const little = await typed(few.page, '0420', 3)
  await crowd(MAX_QUEUES)
  const { page, rows } = await opened('/console/', 'many-00042')
  await shown(page, 'and 9,800 more')
  await becomes(() => page.locator('[data-row]').count(), 200)
  const took = await typed(page, '0420', 11)
  console.log(`${MAX_QUEUES} queues: rows ${rows.toFixed(0)} ms, typing ${took.toFixed(0)} ms; of ${FEWER_QUEUES} ${few.rows.toFixed(0)} and ${little.toFixed(0)}`)
  assert.ok(took < MAX_RATIO * Math.max(little, 250), `${took} ms, of ${FEWER_QUEUES} queues ${little} ms`)
  for (const first of ['many-00420', 'many-04209']) {
    await page.getByRole('button', { name: 'Sort by Queue' }).click()
    await becomes(() => page.locator('[data-row]').first().innerText().then((text) => text.slice(0, 10)), first)
  }
})
