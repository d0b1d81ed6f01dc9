// Clocks that people set: what can be taken back goes by one that nobody sets, and what was kept outlives a wrong one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { handIn, inDrawer, seated } from '../world/undoing.js'
import { until } from '../world/until.js'
import { world } from '../world/world.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** The clock of the page is so far ahead from now on. */
const set = (tab, ms) => tab.run((ms) => {
  window.now ??= Date.now.bind(Date)
  Date.now = () => window.now() + ms
}, ms)

test('completion_is_final_in_its_time_although_the_clock_is_set_back', async (t) => {
  const { w, id, ann } = await seated(t)
  await handIn(ann, { text: 'cat' }, 3_000)
  await set(ann, -HOUR)
  const left = () => ann.run(() => window.desk.closing?.finalIn ?? null)
  assert.ok((await left()) <= 3_000, `${await left()}`)
  await until('it is final', async () => (await left()) === null)
  await until('the page knows', async () => (await ann.get('state')) === 'completed')
  assert.equal(await inDrawer(ann), 0)
  await w.becomes(id, 'completed')
})

test('reloaded_page_offers_an_undo_for_a_minute_at_most_with_any_clock', async (t) => {
  const w = await world(t)
  await w.enqueue('cat.png')
  const ann = await w.open({}, { before: () => {
    const now = Date.now.bind(Date)
    Date.now = () => now() + Number(localStorage.getItem('clock') ?? 0)
  } })
  await ann.shows('cat.png')
  await handIn(ann, { text: 'cat' }, 20_000)
  await ann.run((ms) => localStorage.setItem('clock', ms), -HOUR)
  await ann.page.reload()
  const left = await ann.run(() => window.desk.closing.finalIn)
  assert.ok(left > 0 && left <= 60_000, `${left}`)
})

test('kept_work_survives_a_page_whose_clock_is_ahead_once', async (t) => {
  const w = await world(t)
  const cat = await w.enqueue('cat.png')
  const ann = await w.open({}, { before: () => {
    const now = Date.now.bind(Date)
    Date.now = () => now() + Number(sessionStorage.getItem('clock') ?? 0)
  } })
  await ann.shows('cat.png')
  await ann.type('mine')
  await w.service.call('POST', '/jobs/release', { id: cat })
  await w.bob()
  await ann.type('!')
  await ann.hears('lost')
  const kept = () => ann.run(() => window.desk.kept().map(({ draft }) => draft.text))
  const at = async (ms) => {
    await ann.run((ms) => sessionStorage.setItem('clock', ms), ms)
    await ann.page.reload()
    await until('it is loaded', () => ann.run(() => Boolean(window.desk)))
    return kept()
  }
  assert.deepEqual(await at(40 * DAY), ['mine!'])
  assert.deepEqual(await at(40 * DAY + 20 * HOUR), ['mine!'])
  assert.deepEqual(await at(0), ['mine!'])
  assert.deepEqual(await at(40 * DAY), ['mine!'], 'it is found to be old again')
  assert.deepEqual(await at(41 * DAY), [], 'twice, a day apart, it is')
})
