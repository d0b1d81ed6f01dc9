// What an operator sees, and how it is found.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shown, stage } from '../world/stage.js'
import { becomes, reads } from '../world/until.js'

const on = stage()

const row = (page, text) => page.locator('[data-row]', { hasText: text })
const count = async (queue, state) => (await on.service.queue(queue)).counts[state]

test('an empty console shows how to begin', async () => {
  const page = await on.open()
  await shown(page, 'No queue yet')
  await shown(page, 'curl --json')
  await on.service.enqueue('first', { hello: 1 })
  await row(page, 'first').waitFor()
})

test('queues are listed with counts, ages and rates', async () => {
  for (let n = 0; n < 3; n += 1) await on.service.enqueue('reviews', { photo: n })
  await on.service.enqueue('reviews', { photo: 'later' }, { delay_ms: 600_000 })
  await on.service.reserve('reviews', 'ann')
  const page = await on.open()
  const line = row(page, 'reviews')
  await becomes(() => line.locator('td.waiting').innerText(), '2')
  await becomes(() => line.locator('td.held').innerText(), '1')
  await becomes(() => line.locator('td.delayed').innerText(), '1')
  await reads(line.locator('td.oldest'), /^\d+ s$/)
  await on.service.enqueue('reviews', { photo: 'new' })
  await reads(line.locator('td.in'), /^\d/)
  await becomes(() => page.locator('.chart canvas').count(), 1)
})

test('texts_of_others_show_what_is_not_seen', async () => {
  await on.service.enqueue('marks', 1, { client: 'ac\u202eme', locks: ['do\u200bor'], max_attempts: 1 })
  await on.service.fail(await on.service.reserve('marks', 'bo\u2066b'), 'no\u200bpe')
  await on.service.enqueue('marks', 2, { assignees: ['cl\u00adeo'] })
  const page = await on.open('/console/#/q/marks/dead')
  await row(page, 'no⟨U+200B⟩pe').click()
  for (const text of ['ac⟨U+202E⟩me', 'do⟨U+200B⟩or', 'bo⟨U+2066⟩b', 'no⟨U+200B⟩pe']) await page.locator('.panel', { hasText: text }).waitFor()
  await page.goto(`${on.url}/console/#/q/marks/lines`)
  await row(page, '@cl⟨U+00AD⟩eo').getByRole('button', { name: 'Reassign' }).click()
  await page.getByRole('dialog').getByText('Reassign what waits for cl⟨U+00AD⟩eo?').waitFor()
})

test('a list updates itself on events', async () => {
  await on.service.enqueue('busy', { n: 'one' })
  const page = await on.open('/console/#/q/busy/waiting')
  await row(page, '"one"').waitFor()
  await becomes(() => page.locator('.link').innerText(), 'Live')
  await on.service.enqueue('busy', { n: 'two' })
  await row(page, '"two"').waitFor()
  const job = await on.service.reserve('busy', 'ann')
  await row(page, '"one"').waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'activity' }).click()
  await on.service.complete(job, { fine: true })
  await row(page, 'completed').waitFor()
  await reads(row(page, 'completed'), /ann/)
})

test('activity_begins_with_past_events', async () => {
  await on.service.set('gone', { max_attempts: 1 })
  await on.service.enqueue('gone', { n: 1 }, { client: 'acme' })
  await on.service.fail(await on.service.reserve('gone', 'ann'), 'ink')
  await on.service.call('POST', '/jobs', Array.from({ length: 120 }, (_, n) => ({ queue: 'gone', payload: { later: n } })))
  const page = await on.open('/console/#/q/gone/activity')
  const kinds = () => page.locator('.main tbody tr').evaluateAll((lines) =>
    lines.map((line) => (line.matches('.part') ? line.innerText : line.querySelector('td.kind').innerText)))
  await becomes(async () => (await kinds()).length, 101)
  assert.deepEqual([...new Set(await kinds())], ['Before', 'enqueued'])
  const id = await on.service.enqueue('gone', { n: 2 })
  await becomes(async () => (await kinds()).slice(0, 4), ['Since you opened this page', 'enqueued', 'Before', 'enqueued'])
  await row(page, id.slice(-8)).waitFor()
  await page.getByRole('button', { name: 'Next' }).click()
  await becomes(async () => [...new Set(await kinds())], ['Before', 'enqueued', 'dead', 'failed', 'reserved'])
  await reads(row(page, 'failed'), /ann[^]*ink/)
})

test('activity_lists_what_operators_did', async () => {
  await on.service.set('ruled', { max_attempts: 1, lease_ms: 90_000 })
  const id = await on.service.enqueue('ruled', { n: 1 })
  await on.service.fail(await on.service.reserve('ruled', 'ann'), 'ink')
  await on.service.call('POST', '/jobs/requeue', { id })
  await on.service.call('DELETE', '/queues/ruled?state=waiting')
  const page = await on.open('/console/#/q/ruled/activity')
  await page.getByRole('button', { name: 'What operators did' }).click()
  const table = page.getByRole('table', { name: 'what operators did' })
  await becomes(() => table.locator('td.kind').allInnerTexts(), ['purge', 'requeue', 'configure'])
  await reads(row(page, 'purge'), /1[^]*state: waiting/)
  await reads(row(page, 'requeue'), new RegExp(id.slice(-8)))
  await reads(row(page, 'configure'), /Lease: default → 1 min 30 s[^]*Attempts: default → 1/)
  await page.getByRole('button', { name: 'All events' }).click()
  await row(page, 'requeued').waitFor()
})

test('activity_works_without_an_event_stream', async () => {
  on.wire.rule = ({ path }) => (path.startsWith('/events') ? { status: 404, body: { type: '/problems/not-found', status: 404, title: 'no', detail: 'no' } } : null)
  await on.service.enqueue('deaf', { n: 1 })
  const page = await on.open('/console/#/q/deaf/activity')
  await row(page, 'enqueued').waitFor()
  await on.service.reserve('deaf', 'zoe')
  await row(page, 'reserved').waitFor()
})

test('search finds jobs, batches and queues by id or name', async () => {
  const id = await on.service.enqueue('haystack', { needle: true })
  const held = await on.service.reserve('haystack', 'gil')
  const batch = await on.service.batch('haystack', { jobs: [{ payload: 1 }] })
  const page = await on.open()
  const search = async (text) => { await page.getByLabel('Search').fill(text); await page.keyboard.press('Enter') }
  await row(page, 'haystack').waitFor()
  await search(` ${id} `)
  await page.locator('.panel').getByText('"needle": true').waitFor()
  assert.match(page.url(), /haystack\/held\//)
  await search(held.reservation)
  await becomes(() => page.getByLabel('Search').inputValue(), '')
  await search(batch.id)
  await shown(page, '0 of 1 job done')
  await search('haystack')
  await becomes(() => page.url().endsWith('#/q/haystack/waiting'))
  await search(`haystack-${'0'.repeat(25)}1`)
  await page.locator('.search .problem').waitFor()
  await reads(page.locator('.search .problem'), /no such job|not|forgotten/i)
  await search('nothing like it')
  await shown(page, 'No queue has this name')
})

test('a job shows all its events', async () => {
  await on.service.set('story', { max_attempts: 5 })
  const id = await on.service.enqueue('story', { chapter: 1 }, { client: 'acme', locks: ['l1'], priority: 7 })
  await on.service.fail(await on.service.reserve('story', 'hal'), 'the lamp went out')
  await on.service.complete(await on.service.reserve('story', 'ida'), { end: 'good' })
  const page = await on.open(`/console/#/q/story/completed/${id}`)
  const panel = page.locator('.panel')
  await panel.getByText('"end": "good"').waitFor()
  const text = await panel.innerText()
  for (const part of ['the lamp went out', 'hal', 'acme', 'l1', '2 × handed out, 1 × failed', '"chapter": 1']) assert.ok(text.includes(part), part)
  await panel.getByRole('button', { name: 'Copy: Payload' }).click()
  await becomes(() => page.evaluate(() => navigator.clipboard.readText()), '{"chapter":1}')
})

test('long lists are read page by page', async () => {
  const jobs = Array.from({ length: 120 }, (_, n) => ({ queue: 'long', payload: { n } }))
  await on.service.call('POST', '/jobs', jobs)
  const page = await on.open('/console/#/q/long/waiting')
  await row(page, '{"n":0}').waitFor()
  await becomes(() => page.locator('[data-row]').count(), 50)
  await page.keyboard.press('n')
  await row(page, '{"n":50}').waitFor()
  await page.keyboard.press('n')
  await row(page, '{"n":119}').waitFor()
  await page.keyboard.press('b')
  await row(page, '{"n":50}').waitFor()
})

test('a list is filtered by client', async () => {
  await on.service.enqueue('shared', 'a1', { client: 'a' })
  await on.service.enqueue('shared', 'b1', { client: 'b' })
  const page = await on.open('/console/#/q/shared/waiting')
  await row(page, '"b1"').waitFor()
  await page.getByLabel('Client').fill('a')
  await on.service.enqueue('shared', 'b2', { client: 'b' })
  await row(page, '"b2"').waitFor()
  await page.keyboard.press('Enter')
  await row(page, '"b1"').waitFor({ state: 'detached' })
  await row(page, '"a1"').waitFor()
  for (const [key, label] of [['f', 'Client'], ['i', 'Contains']]) {
    await page.keyboard.press('Escape')
    await page.keyboard.press(key)
    assert.equal(await page.getByLabel(label).evaluate((field) => field === document.activeElement), true, key)
  }
})

test('the open queue is always among the subscribed ones', async () => {
  for (let n = 0; n < 20; n += 1) await on.service.enqueue(`one-of-many-${n + 10}`, n)
  await on.service.enqueue('zz-last', 'old')
  const page = await on.open()
  await becomes(() => page.locator('.link').innerText(), 'Live')
  const listening = page.waitForResponse((response) => response.url().includes('/events') && response.url().includes('zz-last'))
  await page.getByLabel('Search').fill('zz-last')
  await page.keyboard.press('Enter')
  await row(page, '"old"').waitFor()
  await listening
  await on.service.enqueue('zz-last', 'new')
  await row(page, '"new"').waitFor()
})

test('an unknown queue is reported', async () => {
  const page = await on.open('/console/#/q/nowhere/dead')
  await shown(page, 'There is no queue nowhere')
})

test("a job's events are listed and updated", async () => {
  const id = await on.service.enqueue('tale', { n: 1 })
  const page = await on.open(`/console/#/q/tale/waiting/${id}`)
  await page.locator('.panel').getByText('About it').waitFor()
  await page.keyboard.press('h')
  const story = page.locator('.panel .story li')
  await becomes(() => story.count(), 1)
  await on.service.fail(await on.service.reserve('tale', 'zoe'), 'the lamp went out')
  await becomes(async () => (await story.allInnerTexts()).map((text) => /(enqueued|reserved|failed)/.exec(text)?.[1]).join(), 'enqueued,reserved,failed')
  await reads(story.last(), /zoe[^]*the lamp went out/)
})
