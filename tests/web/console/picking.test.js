// Many jobs at once: picked by hand or by what a list is narrowed to, moved, put in line, cancelled, exported.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { confirm, shown, stage } from '../world/stage.js'
import { becomes, reads } from '../world/until.js'

const on = stage()

const row = (page, text) => page.locator('[data-row]', { hasText: text })
const picked = (page) => page.getByRole('group', { name: 'What is picked' })
const rows = (page, n) => becomes(() => page.locator('[data-row]').count(), n)
const jobs = async (queue, state) => (await on.service.call('GET', `/queues/${queue}/jobs?state=${state}&limit=100`)).jobs
const priorities = async (queue) => (await jobs(queue, 'waiting')).map((job) => [job.payload.n, job.priority])
const count = async (queue, state) => (await on.service.queue(queue)).counts[state]

const fill = (queue, n, more = () => ({})) => on.service.call('POST', '/jobs', Array.from({ length: n }, (_, at) => ({ queue, payload: { n: at }, ...more(at) })))

/** `text` breaks each of them, in its turn. */
async function fail(queue, texts) {
  await on.service.set(queue, { max_attempts: 1 })
  await fill(queue, texts.length)
  for (const [n, text] of texts.entries()) await on.service.fail(await on.service.reserve(queue, `w${n}`), text)
}

/** The text of the next file that the page saves, and its name. */
async function saved(page, act) {
  await page.evaluate(() => {
    globalThis.files = []
    URL.createObjectURL = (blob) => { globalThis.files.push(blob.text()); return 'about:blank#' }
    HTMLAnchorElement.prototype.click = function click() { globalThis.files.push(this.download) }
  })
  await act()
  await becomes(() => page.evaluate(() => globalThis.files.length), 2)
  return page.evaluate(() => Promise.all(globalThis.files))
}

/** What the page says stays until it is dismissed. */
const keepWords = (page) => page.evaluate((own = setTimeout) => {
  globalThis.setTimeout = (does, ms, ...more) => own(does, [4_000, 12_000].includes(ms) ? 600_000 : ms, ...more)
})

test('a range is selected and moved, by mouse or keys', async () => {
  await fill('range', 6)
  const page = await on.open('/console/#/q/range/waiting')
  await rows(page, 6)
  await row(page, '{"n":1}').getByRole('checkbox').click()
  await row(page, '{"n":3}').getByRole('checkbox').click({ modifiers: ['Shift'] })
  await picked(page).getByText('3 picked').waitFor()
  await picked(page).getByRole('button', { name: 'Set priority' }).click()
  await page.getByRole('dialog').getByRole('spinbutton').fill('7')
  await confirm(page, 'Set it')
  await shown(page, '3 jobs moved.')
  assert.deepEqual((await priorities('range')).slice(0, 4), [[1, 7], [2, 7], [3, 7], [0, 50]])
  await picked(page).waitFor({ state: 'detached' })

  await becomes(() => page.locator('[data-row]').first().innerText().then((text) => text.includes('{"n":1}')), true)
  for (const key of ['j', 'x', 'j', 'j', 'Shift+X']) await page.keyboard.press(key)
  await picked(page).getByText('3 picked').waitFor()
  await page.keyboard.press('k')
  await page.keyboard.press('x')
  await picked(page).getByText('2 picked').waitFor()
  await page.keyboard.press('a')
  await picked(page).getByText('6 picked').waitFor()
  await page.keyboard.press('a')
  await picked(page).waitFor({ state: 'detached' })
})

test('a selection over pages is cancelled, skips are listed', async () => {
  await fill('pages', 60)
  const page = await on.open('/console/#/q/pages/waiting')
  await rows(page, 50)
  await row(page, '{"n":0}').getByRole('checkbox').click()
  await row(page, '{"n":1}').getByRole('checkbox').click()
  await page.keyboard.press('n')
  await row(page, '{"n":59}').getByRole('checkbox').click()
  await picked(page).getByText('3 picked').waitFor()
  await page.keyboard.press('a')
  await picked(page).getByText('12 picked').waitFor()
  await page.keyboard.press('a')
  await picked(page).getByText('2 picked').waitFor()
  await row(page, '{"n":59}').getByRole('checkbox').click()
  await picked(page).getByRole('button', { name: 'Withdraw them' }).click()
  await shown(page, 'Withdraw 3 jobs?')
  await on.service.reserve('pages', 'ann')
  await confirm(page, 'Withdraw them')
  await shown(page, '2 jobs withdrawn; 1 skipped: ')
  await reads(page.locator('.messages'), /reserved/)
  assert.deepEqual((await jobs('pages', 'cancelled')).length, 2)
})

test('dead jobs of one error are requeued alone', async () => {
  await fail('broken', ['timeout', 'no paper', 'a timeout', 'ink'])
  const page = await on.open('/console/#/q/broken/dead')
  await rows(page, 4)
  await page.keyboard.press('Shift+F')
  await page.getByLabel('Error').fill('timeout')
  await page.keyboard.press('Enter')
  await rows(page, 2)
  await page.getByRole('button', { name: 'Requeue 2 matching jobs' }).click()
  await reads(page.getByRole('dialog'), /with “timeout” in an error/)
  await confirm(page, 'Requeue 2 matching jobs')
  await shown(page, '2 jobs in line again.')
  await page.getByRole('button', { name: 'Show all again' }).click()
  await rows(page, 2)
  await row(page, 'ink').getByRole('checkbox').click()
  await picked(page).getByRole('button', { name: 'Put in line' }).click()
  await confirm(page, 'Put them in line')
  await shown(page, '1 job in line again.')
  assert.deepEqual((await jobs('broken', 'dead')).map((job) => job.errors[0].error), ['no paper'])
})

test('text typed into a new field stays', async () => {
  await fail('quick', ['timeout', 'no paper'])
  const page = await on.open('/console/#/q/quick/dead')
  await rows(page, 2)
  // The next frame is far away, as on a busy machine.
  await page.evaluate(async () => {
    const frame = globalThis.requestAnimationFrame
    globalThis.requestAnimationFrame = (tell) => setTimeout(() => frame(tell), 500)
    document.querySelector('[aria-label="More filters"]').click()
    const field = () => [...document.querySelectorAll('.filter')].find((one) => one.textContent.includes('Error'))?.querySelector('input')
    while (!field()) await Promise.resolve()
    field().focus()
    field().value = 'timeout'
    field().dispatchEvent(new Event('input', { bubbles: true }))
    await new Promise((over) => setTimeout(over, 1_000))
  })
  await page.keyboard.press('Enter')
  await rows(page, 1)
})

test('filters select the jobs that an action moves', async () => {
  await fill('narrow', 4, (n) => ({ client: n % 2 ? 'odd' : 'even' }))
  const batch = await on.service.batch('narrow', { jobs: [{ payload: { n: 'of a batch' } }] })
  const page = await on.open('/console/#/q/narrow/waiting')
  await keepWords(page)
  await rows(page, 5)
  await page.getByLabel('Contains').fill('"n":2')
  await page.keyboard.press('Enter')
  await rows(page, 1)
  await shown(page, '5 looked at')
  assert.equal(await page.getByRole('button', { name: /Remove|Reorder/ }).count(), 0, 'a text changes nothing')
  await page.getByRole('button', { name: 'Show all again' }).click()
  await page.getByRole('button', { name: 'More filters' }).click()
  await page.getByLabel('Batch').fill(batch.id)
  await page.keyboard.press('Enter')
  await rows(page, 1)
  await page.getByLabel('Batch').fill('')
  await page.keyboard.press('Enter')
  await rows(page, 5)
  await page.getByLabel('Older than').fill('2 h')
  await page.keyboard.press('Enter')
  await shown(page, 'No jobs match these filters.')
  await page.getByLabel('Older than').fill('soon')
  await page.keyboard.press('Enter')
  await shown(page, 'An age is written with its unit')
  await page.getByLabel('Batch').fill('none')
  await page.keyboard.press('Enter')
  await shown(page, 'not the id of a batch')
  await page.keyboard.press('Escape')
  assert.equal(await page.locator('.messages p').count(), 2, 'one Enter, one message')
  await page.getByRole('button', { name: 'Show all again' }).click()
  await page.getByLabel('Client').fill('odd')
  await page.keyboard.press('Enter')
  await rows(page, 2)
  await page.getByRole('button', { name: 'Reorder 2 matching jobs' }).click()
  await reads(page.getByRole('dialog'), /Only the jobs of odd/)
  await confirm(page, 'Set it')
  await shown(page, '2 jobs moved.')
  assert.deepEqual((await priorities('narrow')).slice(0, 3), [[1, 10], [3, 10], [0, 50]])
})

test('a long action shows progress and can be stopped', async () => {
  await fill('long', 50)
  const page = await on.open('/console/#/q/long/waiting')
  await rows(page, 50)
  await page.keyboard.press('a')
  let asked = 0, goOn
  const stopped = new Promise((resolve) => { goOn = resolve })
  on.wire.rule = async ({ method }) => {
    if (method === 'DELETE' && ++asked === 6) await stopped
    return null
  }
  await picked(page).getByRole('button', { name: 'Withdraw them' }).click()
  await confirm(page, 'Withdraw them')
  await shown(page, '5 of 50…')
  await page.getByRole('button', { name: 'Stop' }).click()
  goOn()
  await shown(page, 'Stopped. 6 jobs withdrawn.')
  assert.deepEqual([asked, (await on.service.queue('long')).counts.waiting], [6, 44])
  await picked(page).getByText('44 picked').waitFor()
})

const tooMany = (ms) => ({ status: 429, body: { type: '/problems/rate-limited', status: 429, detail: 'too many calls', retry_after_ms: ms } })
const away = { status: 503, body: { type: '/problems/unavailable', status: 503, detail: 'nobody answers' } }

test('a rate-limited action continues with the rest', async () => {
  await fill('limited', 9)
  const page = await on.open('/console/#/q/limited/waiting')
  await rows(page, 9)
  await page.keyboard.press('a')
  await picked(page).getByRole('button', { name: 'Withdraw them' }).click()
  let asked = 0
  on.wire.rule = ({ method }) => (method === 'DELETE' && ++asked > 4 ? away : null)
  await confirm(page, 'Withdraw them')
  await shown(page, 'nobody answers 4 jobs done before that.')
  asked = 0
  on.wire.rule = ({ method }) => (method === 'DELETE' && ++asked % 3 === 0 ? tooMany(50) : null)
  await confirm(page, 'Withdraw them')
  await shown(page, '5 jobs withdrawn.')
  await becomes(() => count('limited', 'cancelled'), 9)
  assert.equal(asked, 7)
  await picked(page).waitFor({ state: 'detached' })
})

test('a long pause is shown and can be stopped', async () => {
  await fill('closed', 3)
  const page = await on.open('/console/#/q/closed/waiting')
  await keepWords(page)
  await rows(page, 3)
  await page.keyboard.press('a')
  on.wire.rule = ({ method }) => (method === 'GET' ? null : tooMany(600_000))
  for (const [button, action] of [[picked(page).getByRole('button', { name: 'Withdraw them' }), 'Withdraw them'],
    [page.getByRole('button', { name: 'Reorder all 3 jobs' }), 'Set it']]) {
    await button.click()
    await confirm(page, action)
    await shown(page, 'It continues by itself.')
    await page.getByRole('button', { name: 'Stop' }).click()
    await shown(page, 'Stopped. 0 jobs')
    await page.getByRole('button', { name: 'Dismiss' }).click()
  }
  await picked(page).getByText('3 picked').waitFor()
  assert.equal(await count('closed', 'waiting'), 3)
})

/** The cells of a table (RFC 4180), row by row. */
function cells(table) {
  const found = [...table.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)]
  const rows = [[]]
  for (const [, quoted, plain, end] of found) {
    rows.at(-1).push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    if (end !== ',') rows.push([])
  }
  return rows.slice(0, -1)
}

test('table cells equal those of the service', async () => {
  const unseen = ['', '\n', '\r', '\t', '\0', ' ', '\u00a0', '\ufeff', '\u200b', '\u2060', '\u3000', '\u202e', 'a', "'", ' b', 'a;', '|"', 'a\n']
  const starts = ['=1+1', '+1', '-1', '@a', '\uff1d1', '\uff0b1', '\uff0d1', '\uff201', '\ufe661', 'plain', ' "quoted", and']
  const payloads = unseen.flatMap((before) => starts.map((start) => before + start))
  payloads.push(-1, 1.5, true, null, '', [-1, '=1'], { '=a': '=1' }, ['a;=1', { 'b|-1': '\t=1' }])
  const jobs = payloads.map((payload) => ({ queue: 'cells', payload, dedupe: false }))
  for (let at = 0; at < jobs.length; at += 50) await on.service.call('POST', '/jobs', JSON.stringify(jobs.slice(at, at + 50)))
  const answer = await fetch(`${on.service.url}/queues/cells/jobs?state=waiting&columns=id,payload`, { headers: { accept: 'text/csv' } })
  const wanted = new Map(cells(await answer.text()).slice(1))
  assert.equal(wanted.size, payloads.length)
  const page = await on.open('/console/#/q/cells/waiting')
  await rows(page, 50)
  const [table] = await saved(page, async () => {
    await page.keyboard.press('e')
    await page.getByRole('dialog').getByRole('combobox').selectOption('CSV')
    await confirm(page, 'Export')
  })
  const [names, ...found] = cells(table)
  assert.equal(found.length, payloads.length)
  for (const row of found) assert.equal(row[names.indexOf('payload')], wanted.get(row[0]), JSON.stringify(row))
  assert.ok([...wanted.values()].includes('-1') && [...wanted.values()].includes("'\n'=1+1"), 'numbers stay, formulas do not')
})

test('an export equals the list and has no formulas', async () => {
  await on.service.call('POST', '/jobs', '{"queue":"sheet","payload":{"id":12345678901234567890,\n"text":"a,\\"b\\""},"client":"=1+1"}')
  await fill('sheet', 120, () => ({ client: 'x' }))
  const page = await on.open('/console/#/q/sheet/waiting')
  await keepWords(page)
  await rows(page, 50)
  const exported = (kind) => saved(page, async () => {
    await page.keyboard.press('Escape')
    await page.keyboard.press('e')
    if (kind) await page.getByRole('dialog').getByRole('combobox').selectOption(kind)
    await confirm(page, 'Export')
  })
  let asked = 0
  on.wire.rule = ({ path }) => (path.includes('limit=100') && ++asked === 2 ? tooMany(50) : null)
  const [lines, name] = await exported()
  assert.equal(name, 'sheet-waiting.ndjson')
  const each = lines.trimEnd().split('\n')
  assert.equal(each.length, 121)
  assert.ok(each[0].includes('"payload":{"id":12345678901234567890, "text":"a,\\"b\\""}'), each[0])
  assert.equal(JSON.parse(each[0]).client, '=1+1')
  await shown(page, '121 jobs exported.')
  await page.getByLabel('Client').fill('=1+1')
  await page.keyboard.press('Enter')
  await rows(page, 1)
  const [sheet, sheetName] = await exported('CSV')
  assert.equal(sheetName, 'sheet-waiting.csv')
  const [head, first, end] = sheet.split('\r\n')
  assert.ok(head.startsWith('id,queue,state,priority,client,batch,') && end === '', head)
  assert.ok(first.includes(',"\'=1+1",') && first.includes('"{""id"":12345678901234567890, ""text"":""a,\\""b\\""""}"'), first)
})
