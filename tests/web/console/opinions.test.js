// Batches with an overlap: the item, who answered what, how many agree, and the batches that are not unanimous.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parts, placesOf, short, verdict } from '../../../web/console/opinions.js'
import { Exact } from '../../../web/console/exact_json.js'
import { confirm, shown, stage } from '../world/stage.js'
import { becomes, reads } from '../world/until.js'

const on = stage()
const NAMES = ['ann', 'bob', 'cleo', 'dan', 'eve', 'flo', 'gus', 'hal', 'ida']

const row = (page, text) => page.locator('.main [data-row]', { hasText: text })
const panel = (page) => page.locator('.panel')
const cell = (line) => line.locator('td.progress')
const batches = (queue) => `/console/#/q/${queue}/batches`

/** An item that so many are asked about, and the answers of the first of them. */
async function asked(queue, payload, results, overlap = results.length) {
  const { id } = await on.service.batch(queue, { overlap, job: { payload } })
  for (const [n, result] of results.entries()) await on.service.complete(await on.service.reserve(queue, NAMES[n]), result)
  return id
}

const opinions = (answers, total, more = {}) => ({
  answers: answers.map(([text, votes]) => ({ value: new Exact(text), votes })), jobs: Array(total).fill({}), differs: [], ...more,
})

test('answers_are_counted_in_words', () => {
  for (const [given, words] of [
    [opinions([], 3), '0 of 3 answered'],
    [opinions([['"fine"', 2], ['"spam"', 1]], 3), '2 of 3: fine'],
    [opinions([['{"verdict":"fine"}', 1]], 3), '1 of 3: fine'],
    [opinions([['{"verdict":"fine","why":null}', 3]], 3), '3 of 3: verdict: fine, why: null'],
    [opinions([['{"verdict":"fine"}', 2], ['{"verdict":"fine","why":"kind"}', 1]], 3), '2 of 3: verdict: fine'],
    [opinions([['"a"', 1], ['"b"', 1]], 3), '2 of 3 answered, no two agree'],
    [opinions([['true', 2], ['false', 2]], 4), '2 of 4 each: true / false'],
  ]) assert.equal(verdict(given), words)
})

test('answers_in_a_few_words_are_not_taken_for_others', () => {
  for (const [text, words] of [
    ['"fine"', 'fine'], ['"1"', '"1"'], ['1', '1'], ['"true"', '"true"'], ['true', 'true'], ['""', '""'], ['" "', '" "'], ['"[]"', '"[]"'],
    ['9007199254740993', '9007199254740993'], ['{}', '{}'], ['[1,2]', '[1,2]'], ['{"a":{"b":"c"}}', 'c'],
    ['"two\\nlines"', 'two lines'],
  ]) assert.equal(short(new Exact(text)), words, text)
  const deep = '['.repeat(127) + ']'.repeat(127)
  for (const text of [`"${'x'.repeat(250_000)}"`, `{"a":"${'y'.repeat(3_000)}"}`, deep, JSON.stringify(Object.fromEntries(Array(500).fill().map((_, n) => [`k${n}`, n])))]) {
    assert.ok(short(new Exact(text)).length <= 62, text.slice(0, 20))
  }
})

test('members_in_which_answers_differ_are_named', () => {
  const given = opinions([['{"verdict":"fine","why/not":"a"}', 1], ['{"verdict":"fine","why/not":"b"}', 1]], 2, { differs: ['/why~1not'] })
  assert.deepEqual(parts(given), { same: ['verdict: fine'], others: ['why/not'] })
  assert.deepEqual(parts(opinions([['{"verdict":"fine"}', 2]], 2)), { same: [], others: [] })
  assert.deepEqual(parts(opinions([['{"v":1}', 1], ['{"v":2}', 1]], 2, { differs: ['/v'] })), { same: [], others: [] })
  assert.deepEqual(placesOf([{ opinions: null }, { opinions: given }], ''), ['/verdict', '/why~1not'])
})

test('list_shows_the_item_and_who_answered_what', async () => {
  await asked('labels', { text: 'is it a cat?' }, ['fine', 'spam', 'fine'].map((verdict) => ({ verdict })))
  await asked('labels', { text: 'one is open' }, [{ verdict: 'dog' }], 2)
  await on.service.batch('labels', { jobs: [{ payload: 'plain' }] })
  const page = await on.open(batches('labels'))
  await reads(row(page, 'is it a cat?'), /2 of 3: fine[^]*ann, cleo: fine\s+bob: spam/)
  await reads(cell(row(page, 'one is open')), /1 of 2: dog\s+ann\s+1 waiting/)
  assert.equal(await page.locator('.main').getByRole('progressbar').count(), 1, 'a batch without an overlap has its progress')
})

test('names_among_opinions_lead_to_the_page_of_each_worker', async () => {
  const id = await asked('linked', 'an item', ['a', 'b'])
  const page = await on.open(batches('linked'))
  const name = (place) => place.getByRole('link', { name: 'bob', exact: true })
  assert.equal(await name(row(page, 'an item')).getAttribute('href'), '#/workers/bob')
  await row(page, 'an item').focus()
  await page.keyboard.press('Enter')
  await name(panel(page)).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'bob', level: 1 }).waitFor()
  await page.goBack()
  await panel(page).waitFor()
  assert.ok(page.url().includes(id))
})

test('items_are_shown_by_the_columns_of_the_queue', async () => {
  await asked('chosen', { text: 'is it a cat?', url: 'x' }, ['yes', 'no'])
  await on.service.batch('chosen', { jobs: [{ payload: 'plain' }] })
  const page = await on.open(batches('chosen'))
  const heads = () => page.locator('.main th.what').allInnerTexts()
  const cells = () => page.locator('.main td.what').allInnerTexts()
  await becomes(heads, ['Item'])
  await becomes(cells, ['{"text":"is it a cat?","url":"x"}', ''])
  await page.keyboard.press('C')
  for (const name of ['url', 'text']) await page.getByRole('dialog').getByRole('checkbox', { name }).check()
  await confirm(page, 'Show')
  await becomes(heads, ['url', 'text'])
  await becomes(cells, ['x', 'is it a cat?', ''])
  const places = await page.locator('.main [data-row]').evaluateAll((rows) => rows.map((one) => one.querySelector('td.progress').offsetLeft))
  assert.equal(places[0], places[1], 'each cell is in its column')
  await page.getByRole('link', { name: /^waiting/i }).click()
  await becomes(() => page.locator('.main th.what').allInnerTexts(), ['url', 'text'])
})

test('those_that_are_not_unanimous_are_found', async () => {
  await asked('mixed', 'all say yes', ['yes', 'yes'])
  await asked('mixed', 'they differ', ['yes', 'no'])
  await asked('mixed', 'not asked yet', [], 2)
  const page = await on.open(batches('mixed'))
  await becomes(() => page.locator('.main [data-row]').count(), 3)
  await page.getByLabel('Opinions').selectOption('not unanimous')
  await becomes(() => page.locator('.main [data-row]').count(), 1)
  await reads(row(page, 'they differ'), /2 of 2 answered, no two agree/)
  assert.match(page.url(), /agreement=divided/)
  await page.reload()
  await becomes(() => page.locator('.main [data-row]').count(), 1)
  await page.getByLabel('Opinions').selectOption('unanimous')
  await row(page, 'all say yes').waitFor()
  await page.getByLabel('Opinions').selectOption('not all answered')
  await reads(cell(row(page, 'not asked yet')), /0 of 2 answered\s+2 waiting/)
  await on.service.complete(await on.service.reserve('mixed', 'ann'), 'yes')
  await on.service.complete(await on.service.reserve('mixed', 'bob'), 'no')
  await shown(page, 'No batch matches this filter.')
  await page.getByRole('button', { name: 'Clear' }).click()
  await becomes(() => page.locator('.main [data-row]').count(), 3)
})

test('one_member_of_the_answers_is_compared', async () => {
  const id = await asked('remarks', 'a post', [{ verdict: 'fine', why: 'kind' }, { why: 'short', verdict: 'fine' }])
  const page = await on.open(batches('remarks'))
  const line = row(page, 'a post')
  await reads(cell(line), /no two agree\s+agree on verdict: fine; differ in why/)
  await page.getByLabel('Compare').selectOption('verdict')
  await reads(cell(line), /2 of 2: fine\s+ann, bob/)
  await page.getByLabel('Opinions').selectOption('not unanimous')
  await shown(page, 'No batch matches this filter.')
  await page.getByLabel('Compare').selectOption('whole answers')
  await line.click()
  await reads(panel(page), /no two agree\s+agree on verdict: fine; differ in why/)
  await panel(page).getByLabel('Compare').focus()
  await panel(page).getByLabel('Compare').selectOption('verdict')
  await reads(panel(page), /2 of 2: fine/)
  assert.equal(await page.evaluate(() => document.activeElement.value), '/verdict', 'it keeps the focus')
  assert.ok(page.url().includes(id))
})

test('page_of_a_batch_says_what_became_of_each_job', async () => {
  await on.service.set('fates', { max_attempts: 1 })
  const { id } = await on.service.batch('fates', { overlap: 5, job: { payload: { text: 'a hard one' } } })
  await on.service.fail(await on.service.reserve('fates', 'bob'), 'no picture')
  const closing = await on.service.reserve('fates', 'cleo')
  await on.service.call('POST', '/jobs/complete', { reservation: closing.reservation, result: 'x', undo_ms: 60_000 })
  await on.service.complete(await on.service.reserve('fates', 'dan'), 'x')
  const { reservation } = await on.service.reserve('fates', 'ann')
  await on.service.call('POST', '/jobs/abandon', { reservation, skip: true })
  const page = await on.open(`${batches('fates')}/${id}`)
  const lines = panel(page).locator('[aria-label=opinions] [data-row]')
  await becomes(() => lines.count(), 5)
  await reads(panel(page), /1 of 5: x/)
  await reads(lines.filter({ hasText: 'waiting' }).filter({ hasText: 'skipped' }), /skipped by ann/)
  await reads(lines.filter({ hasText: 'dead' }), /failed 1 time/)
  await reads(lines.filter({ hasText: 'cleo' }), /reserved\s+cleo\s+can be taken back/)
  await reads(lines.filter({ hasText: 'dan' }), /completed\s+dan\s+x/)
  await panel(page).getByText('a hard one').waitFor()
  await reads(cell(page.locator('.main [data-row]')), /1 of 5: x\s+dan\s+1 dead, 1 closing, 2 waiting, skipped by ann/)
})

test('no_measure_of_agreement_is_computed_and_the_page_says_why', async () => {
  const id = await asked('measure', 1, ['a', 'a'])
  const page = await on.open(`${batches('measure')}/${id}`)
  const link = panel(page).getByRole('link', { name: 'Which measure for which data' })
  await link.waitFor()
  assert.equal(await link.getAttribute('href'), '../docs/quality')
  await reads(panel(page), /There is no kappa here/)
})

test('hostile_answers_are_short_and_do_nothing', async () => {
  const bad = ['<script>alert(1)</script><img src=x onerror=alert(1)>', `DE\u202e0123${'\n'.repeat(50)}`, 'x'.repeat(250_000)]
  for (const [n, answer] of bad.entries()) await asked('evil', `item ${n}`, [answer, { [answer.slice(0, 900)]: answer.slice(0, 900) }])
  await asked('evil', 'deep', [JSON.parse('['.repeat(100) + ']'.repeat(100)), 'z'])
  const page = await on.open(batches('evil'), { width: 360, height: 740, touch: true })
  await becomes(() => page.locator('.main [data-row]').count(), 4)
  await reads(cell(row(page, 'item 0')), /<script>alert/)
  await reads(cell(row(page, 'item 1')), /DE⟨U\+202E⟩0123/)
  for (const text of await page.locator('.main td.progress').allInnerTexts()) assert.ok(text.length < 400, text)
  const fits = () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)
  assert.ok(await fits())
  await row(page, 'item 2').tap()
  await panel(page).getByText('2 of 2 answered, no two agree').waitFor()
  assert.ok(await fits())
})

test('opinions_are_reached_by_keyboard', async () => {
  const id = await asked('keys', 'an item', ['a', 'b'])
  const page = await on.open(batches('keys'))
  await row(page, 'an item').waitFor()
  await page.getByLabel('Opinions').focus()
  await page.keyboard.press('ArrowDown')
  await becomes(() => page.url().includes('agreement=divided'))
  await row(page, 'an item').waitFor()
  const label = () => page.evaluate(() => document.activeElement.labels?.[0]?.innerText.split('\n')[0])
  assert.equal(await label(), 'Opinions', 'the filter keeps the focus')
  for (const key of ['Tab', 'Tab', 'Enter']) await page.keyboard.press(key)
  await panel(page).getByText('no two agree').first().waitFor()
  assert.ok(page.url().includes(id) && page.url().includes('agreement=divided'), page.url())
  await page.keyboard.press('Escape')
  await becomes(() => panel(page).count(), 0)
  assert.match(page.url(), /agreement=divided/)
})

test('viewer_sees_the_answers_without_names', async () => {
  const id = await asked('watched', 'an item', ['a', 'b'])
  const body = await on.service.call('GET', `/batches/${id}?opinions=true`)
  for (const job of body.opinions.jobs) job.worker = null
  on.wire.rule = ({ path }) => (path.startsWith(`/batches/${id}`) ? { status: 200, type: 'application/json', body } : null)
  const page = await on.open(`${batches('watched')}/${id}`)
  await reads(panel(page).locator('[aria-label=opinions]'), /name hidden/)
})
