// What a list is saved as: which columns a table has, how it begins, and cells that no spreadsheet takes for a formula.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { confirm, fits, shown, stage } from '../world/stage.js'
import { becomes } from '../world/until.js'

const on = stage()
const here = (path) => readFileSync(new URL(path, import.meta.url), 'utf8')
const axe = here('../node_modules/axe-core/axe.min.js')
const CASES = JSON.parse(here('../../csv_cells.json'))

const put = (queue, payloads) => on.service.call('POST', '/jobs', JSON.stringify(payloads.map((payload) => ({ queue, payload, dedupe: false }))))

/** Jobs that are completed with these results, given as JSON. */
async function finish(queue, results) {
  await put(queue, results.map((_, n) => ({ n })))
  for (const result of results) {
    const { reservation } = await on.service.reserve(queue, 'ann')
    const answer = await on.service.call('POST', '/jobs/complete', `{"reservation":${JSON.stringify(reservation)},"result":${result}}`)
    assert.equal(answer.status, 200)
  }
}

async function list(queue, state, n, how) {
  const page = await on.open(`/console/#/q/${queue}/${state}`, how)
  await becomes(() => page.locator('[data-row]').count(), n)
  return page
}

/** The dialog, with the columns of a table. */
async function asTable(page) {
  await page.getByRole('button', { name: 'Export' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('combobox', { name: 'As' }).selectOption('CSV')
  return dialog
}

const column = (dialog, part, name) => dialog.getByRole('group', { name: `Columns of the ${part}` }).getByRole('checkbox', { name })

/** The rows of the file that the button saves, and whether it begins with a byte order mark. */
async function save(page, dialog) {
  const [file] = await Promise.all([page.waitForEvent('download'), dialog.getByRole('button', { name: 'Export' }).click()])
  const text = readFileSync(await file.path(), 'utf8')
  await dialog.waitFor({ state: 'detached' })
  return { rows: read(text.replace(/^\ufeff/, ''), ','), isMarked: text.startsWith('\ufeff') }
}

/** The cells of a text, as programs read them: a quote counts only where a cell begins. */
function read(text, separator) {
  const rows = [[]]
  for (let at = 0; at < text.length;) {
    let cell = ''
    if (text[at] === '"') {
      for (at += 1; at < text.length && (text[at] !== '"' || text[++at] === '"');) cell += text[at++]
    }
    while (at < text.length && !`${separator}\r\n`.includes(text[at])) cell += text[at++]
    rows.at(-1).push(cell)
    if (text.startsWith('\r\n', at)) at += 1
    if (text[at] !== separator && at < text.length - 1) rows.push([])
    at += 1
  }
  return rows
}

const cellsOf = (page, texts) => page.evaluate(async (texts) => {
  const { cell } = await import(`${location.origin}/console/csv.js`)
  const { Exact } = await import(`${location.origin}/console/exact_json.js`)
  return texts.map((text) => cell(new Exact(text)))
}, texts)

test('cells_are_those_of_the_shared_cases', async () => {
  const found = await cellsOf(await on.open(), CASES.map(({ json }) => json))
  for (const [n, { why, json, cell }] of CASES.entries()) assert.equal(found[n], cell, `${why}: ${json}`)
})

test('no_separator_makes_a_formula_of_a_cell', async () => {
  const parts = ['=', '-', '@', '\uff1d', '"', "'", ';', '|', '\t', '\n', '\r', ' ', '\u200b', ',', 'a', '\\']
  const texts = Array.from({ length: 4_000 }, () => JSON.stringify(
    Array.from({ length: 1 + Math.random() * 7 }, () => parts[Math.floor(Math.random() * parts.length)]).join('')))
  const values = texts.flatMap((text) => [text, `[${text},\t-1,\n${text}]`, `{${text}:${text}}`])
  const cells = await cellsOf(await on.open(), values)
  const isFormula = (cell) => /^[\s\u200b]*[=+\-@\uff1d]/.test(cell)
  for (const [n, cell] of cells.entries()) {
    const isText = values[n].startsWith('"')
    if (!isText) assert.deepEqual(JSON.parse(read(cell, ',')[0][0]), JSON.parse(values[n]))
    for (const separator of ',;|\t') {
      // In the middle of a row, and at its start.
      for (const row of [`id,${cell},5\r\n`, `${cell},x\r\n`]) {
        for (const seen of read(row, separator).flat()) assert.ok(!isFormula(seen), `${JSON.stringify(row)} by ${JSON.stringify(separator)}`)
      }
    }
  }
})

test('long_blanks_do_not_stop_the_page', async () => {
  const page = await on.open()
  const before = Date.now()
  const texts = [`"${'\\t'.repeat(100_000)}"`, `"${'\\t'.repeat(100_000)}="`, `["${';'.repeat(100_000)}${' '.repeat(100_000)}"]`]
  const [blank, formula] = await cellsOf(page, texts)
  assert.equal(blank.length, 100_003)
  assert.equal(formula.length, 200_004)
  assert.ok(Date.now() - before < 20_000)
})

test('each_member_of_the_results_is_a_column_that_can_be_left_out', async () => {
  await finish('verdicts', ['{"verdict":"yes","score":12345678901234567890,"note":"a;=b"}', '{"verdict":"no","why":{"by":"rule 4"}}'])
  const page = await list('verdicts', 'completed', 2)
  let dialog = await asTable(page)
  await shown(dialog, '2 rows; 17 of 19 columns')
  assert.equal(await column(dialog, 'result', 'verdict').isChecked(), true)
  assert.equal(await column(dialog, 'result', 'result all of it').isChecked(), false)
  assert.equal(await column(dialog, 'payload', 'n').isChecked(), false)
  await column(dialog, 'result', 'score in 1 row').waitFor()
  await dialog.getByRole('button', { name: 'None of the columns of the job' }).click()
  await column(dialog, 'job', 'worker').check()
  await column(dialog, 'payload', 'payload all of it').uncheck()
  await column(dialog, 'payload', 'n').check()
  await shown(dialog, '2 rows; 6 of 19 columns')
  const wanted = [
    ['worker', 'payload/n', 'result/verdict', 'result/score', 'result/note', 'result/why'],
    ['ann', '0', 'yes', '12345678901234567890', "a;'=b", ''], ['ann', '1', 'no', '', '', '{"by":"rule 4"}'],
  ]
  assert.deepEqual((await save(page, dialog)).rows, wanted)

  // It is as it was left, also after a reload; another queue has a choice of its own.
  await page.reload()
  await becomes(() => page.locator('[data-row]').count(), 2)
  await page.getByRole('button', { name: 'Export' }).click()
  dialog = page.getByRole('dialog')
  await shown(dialog, '2 rows; 6 of 19 columns')
  assert.equal(await dialog.getByRole('combobox').inputValue(), 'CSV')
  assert.deepEqual((await save(page, dialog)).rows, wanted)
  await put('verdicts-2', [{ n: 1 }])
  await page.goto(`${on.url}/console/#/q/verdicts-2/waiting`)
  await becomes(() => page.locator('[data-row]').count(), 1)
  await page.getByRole('button', { name: 'Export' }).click()
  assert.equal(await dialog.getByRole('combobox').inputValue(), 'NDJSON')
})

test('columns_are_those_of_all_rows', async () => {
  await put('far', Array.from({ length: 130 }, (_, n) => (n === 125 ? { rare: '=1' } : { n })))
  const page = await list('far', 'waiting', 50)
  const dialog = await asTable(page)
  await shown(dialog, '130 rows; 14 of 16 columns')
  await column(dialog, 'payload', 'rare in 1 row').check()
  const { rows } = await save(page, dialog)
  assert.equal(rows.length, 131)
  assert.deepEqual(rows.map((row) => row[rows[0].indexOf('payload/rare')]).filter(Boolean), ['payload/rare', "'=1"])
})

test('at_most_fifty_members_are_columns', async () => {
  const many = (from, to) => JSON.stringify(Object.fromEntries(Array.from({ length: to - from }, (_, n) => [`m${from + n}`, n])))
  await finish('many', [many(0, 40), many(20, 90), many(85, 95)])
  const page = await list('many', 'completed', 3)
  const dialog = await asTable(page)
  await shown(dialog, 'The 50 commonest of 95 members can be columns.')
  assert.equal(await dialog.getByRole('group', { name: 'Columns of the result' }).getByRole('checkbox').count(), 51)
  assert.equal(await column(dialog, 'result', 'result all of it').isChecked(), true)
  const { rows } = await save(page, dialog)
  for (const name of ['m20', 'm39', 'm85', 'm89']) assert.ok(rows[0].includes(`result/${name}`), name)
  assert.equal(rows[1][rows[0].indexOf('result')], many(0, 40))
})

test('results_that_are_no_objects_are_a_column', async () => {
  await finish('mixed', ['{"verdict":"yes"}', '"-no"', '-5', 'null'])
  const page = await list('mixed', 'completed', 4)
  const { rows: [names, ...rows] } = await save(page, await asTable(page))
  assert.deepEqual(rows.map((row) => row[names.indexOf('result')]), ['{"verdict":"yes"}', "'-no", '-5', ''])
  assert.deepEqual(rows.map((row) => row[names.indexOf('result/verdict')]), ['yes', '', '', ''])
})

test('hostile_names_of_members_are_text', async () => {
  const long = 'n'.repeat(5_000)
  const names = ['__proto__', 'constructor', '', '=1+1', 'x;=1', '<img src=x onerror=alert(1)>', 'a/b~c', '\u202egnp.exe', 'a\n=1', long]
  await finish('hostile', [`{${names.map((name, n) => `${JSON.stringify(name)}:${n}`).join(',')},"__proto__":"=last"}`])
  const page = await list('hostile', 'completed', 1, { width: 900 })
  let dialog = await asTable(page)
  const group = dialog.getByRole('group', { name: 'Columns of the result' })
  await becomes(() => group.getByRole('checkbox').count(), names.length + 1)
  for (const name of ['__proto__', 'constructor', '“” (no name)', '<img src=x', '⟨U+202E⟩gnp.exe', `${'n'.repeat(60)}…`]) {
    await group.getByRole('checkbox', { name }).waitFor()
  }
  assert.equal(await page.locator('dialog img').count(), 0)
  assert.ok(await dialog.evaluate((box) => box.scrollWidth <= box.clientWidth))
  await group.getByRole('checkbox', { name: 'constructor' }).uncheck()
  const { rows: [head, row] } = await save(page, dialog)
  const heads = ['__proto__', '', '=1+1', "x;'=1", '<img src=x onerror=alert(1)>', 'a~1b~0c', '\u202egnp.exe', "a\n'=1", long]
  assert.deepEqual(head.slice(-9), heads.map((name) => `result/${name}`))
  assert.deepEqual(row.slice(-9), ["'=last", '2', '3', '4', '5', '6', '7', '8', '9'])
  await page.getByRole('button', { name: 'Export' }).click()
  dialog = page.getByRole('dialog')
  await becomes(() => column(dialog, 'result', 'constructor').isChecked(), false)
  assert.equal(await column(dialog, 'result', '__proto__').isChecked(), true)
})

test('byte_order_mark_is_a_choice_that_stays', async () => {
  await on.service.set('marks', { sheets: true })
  await finish('marks', ['{"name":"Grüße"}'])
  const page = await list('marks', 'completed', 1)
  const mark = (place) => place.getByRole('checkbox', { name: 'Byte order mark, for Excel' })
  let dialog = await asTable(page)
  assert.equal(await mark(dialog).isChecked(), true)
  let file = await save(page, dialog)
  assert.deepEqual([file.isMarked, file.rows[1].at(-1)], [true, 'Grüße'])
  dialog = await asTable(page)
  await mark(dialog).uncheck()
  file = await save(page, dialog)
  assert.deepEqual([file.isMarked, file.rows[1].at(-1)], [false, 'Grüße'])
  await page.goto(`${on.url}/console/#/q/marks/sheets`)
  await page.getByRole('button', { name: 'As CSV' }).waitFor()
  assert.equal(await mark(page).isChecked(), false)
  const sheet = async () => {
    const [saved] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'As CSV' }).click()])
    return readFileSync(await saved.path(), 'utf8').slice(0, 4)
  }
  assert.equal(await sheet(), 'day,')
  await mark(page).check()
  assert.equal(await sheet(), '\ufeffday')
})

test('keys_alone_choose_and_export', async () => {
  await finish('keys', ['{"verdict":"yes"}'])
  const page = await list('keys', 'completed', 1)
  await page.keyboard.press('e')
  const dialog = page.getByRole('dialog', { name: 'Export the completed jobs that the list shows?' })
  assert.equal(await dialog.getByRole('button', { name: 'Export' }).evaluate((button) => button === document.activeElement), true)
  await page.keyboard.press('Shift+Tab')
  await page.keyboard.press('Shift+Tab')
  await page.keyboard.press('c')
  await dialog.getByRole('status').filter({ hasText: '1 row; ' }).waitFor()
  const focused = () => page.evaluate(() => document.activeElement.closest('label')?.innerText.trim())
  for (let n = 0; n < 40 && await focused() !== 'queue'; n += 1) await page.keyboard.press('Tab')
  await page.keyboard.press('Space')
  const [file] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')])
  assert.match(readFileSync(await file.path(), 'utf8'), /^\ufeffid,state,priority,/)
})

test('nothing_ticked_or_readable_is_reported', async () => {
  await put('wrong', [{ n: 1 }])
  const page = await list('wrong', 'waiting', 1)
  let dialog = await asTable(page)
  for (const part of ['job', 'payload', 'result']) await dialog.getByRole('button', { name: `None of the columns of the ${part}` }).click()
  await confirm(page, 'Export')
  await dialog.getByRole('alert').filter({ hasText: 'Tick at least one column.' }).waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  const away = { status: 503, body: { type: '/problems/unavailable', status: 503, detail: 'no answer' } }
  on.wire.rule = ({ path }) => (path.includes('limit=100') ? away : null)
  dialog = await asTable(page)
  await dialog.getByRole('alert').filter({ hasText: 'The rows cannot be read: no answer' }).waitFor()
  on.wire.rule = null
  const { rows } = await save(page, dialog)
  assert.equal(rows.length, 2)
})

test('closing_the_choice_stops_the_reading', async () => {
  await put('stops', Array.from({ length: 60 }, (_, n) => ({ n })))
  const page = await list('stops', 'waiting', 50)
  let asked = 0
  const tooMany = { status: 429, body: { type: '/problems/rate-limited', status: 429, detail: 'too many calls', retry_after_ms: 300_000 } }
  on.wire.rule = ({ path }) => (path.includes('limit=100') && ++asked ? tooMany : null)
  const dialog = await asTable(page)
  await dialog.getByRole('status').filter({ hasText: 'It waits.' }).waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  on.wire.rule = null
  await page.getByRole('button', { name: 'Export' }).click()
  await page.getByRole('dialog').getByRole('combobox').selectOption('CSV')
  await shown(page.getByRole('dialog'), '60 rows')
  assert.equal(asked, 1)
})

test('choice_of_columns_fits_a_phone_and_axe_finds_nothing', async () => {
  const result = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`a rather long member ${n} of the result`, n]))
  await finish('phone', [JSON.stringify(result)])
  for (const how of [{ width: 360, height: 640, touch: true }, { width: 1280, height: 800, dark: true }]) {
    const page = await list('phone', 'completed', 1, how)
    const dialog = await asTable(page)
    await shown(dialog, '1 row; 43 of 45 columns')
    assert.ok(await fits(page))
    assert.ok(await dialog.evaluate((box) => box.scrollWidth <= box.clientWidth && box.scrollHeight <= box.clientHeight))
    const box = await dialog.getByRole('button', { name: 'Export' }).boundingBox()
    assert.ok(box.y + box.height <= how.height, JSON.stringify(box))
    await page.evaluate(axe)
    const { violations } = await page.evaluate(() => globalThis.axe.run('dialog', { resultTypes: ['violations'] }))
    assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`), [])
  }
})
