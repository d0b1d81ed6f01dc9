// A CSV file is uploaded: read, mapped, checked, sent, stopped and continued.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { confirm, fits, shown, stage } from '../world/stage.js'
import { becomes, reads } from '../world/until.js'
import { choose, dialog, hasRows, heading, map, open as openUpload, outcome, send } from '../world/uploads.js'

const on = stage()
const axe = await readFile(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')

const jobs = async (queue) => (await on.service.call('GET', `/queues/${queue}/jobs?state=waiting&limit=100`)).jobs
const posts = () => on.wire.log.filter(hasRows).length
const open = (queue, text, how) => openUpload(on, queue, text, how)

test('rows_become_jobs_as_they_were_shown', async () => {
  await on.service.enqueue('pictures', 0)
  const page = await on.open('/console/#/q/pictures/waiting')
  await page.locator('[data-row]').waitFor()
  await page.keyboard.press('I')
  await choose(page, '\ufeffNr;Frage;Prio;Note\r\n007;"Ist das\r\n""gut""?";10;x\r\n8;Größe?;;\r\n;;;\r\n9;Und das?;high;\r\n')
  await reads(page.locator('.found [role=status]'), /3 rows: 3 jobs, 0 refused; nothing was sent/)
  assert.equal(await page.getByLabel('Cells are separated by').inputValue(), ';')
  await map(page, 'Prio', 'priority')
  await page.getByLabel('Name of Note in the payload').fill('memo')
  await reads(page.locator('.found [role=status]'), /3 rows: 2 jobs, 1 refused/)
  await reads(page.locator('.refused li'), /Row 5, column Prio\s"high" is no whole number/)
  assert.deepEqual((await page.locator('.first pre').allTextContents()).map((text) => JSON.parse(text)), [
    { queue: 'pictures', payload: { Nr: '007', Frage: 'Ist das\r\n"gut"?', memo: 'x' }, priority: 10 },
    { queue: 'pictures', payload: { Nr: '8', Frage: 'Größe?' } },
  ])
  assert.equal(posts(), 0)
  await send(page)
  assert.deepEqual(await outcome(page), ['2', '0', '0', '1'])
  const [urgent, , usual] = await jobs('pictures')
  assert.deepEqual([urgent.payload, urgent.priority], [{ Nr: '007', Frage: 'Ist das\r\n"gut"?', memo: 'x' }, 10])
  assert.deepEqual([usual.payload, usual.priority], [{ Nr: '8', Frage: 'Größe?' }, 50])
})

test('refused_rows_are_listed_and_downloaded', async () => {
  await on.service.enqueue('strict', 0)
  const page = await open('strict', 'Prio,Text\n1,a\n2000,b\n=x,c\n3,d,e\n')
  await map(page, 'Prio', 'priority')
  await send(page)
  assert.deepEqual(await outcome(page), ['1', '0', '0', '3'])
  const rows = await page.locator('.refused li b').allTextContents()
  assert.deepEqual(rows, ['Row 3, column Prio', 'Row 4, column Prio', 'Row 5'])
  const [download] = await Promise.all([
    page.waitForEvent('download'), page.getByRole('button', { name: 'Download them as CSV' }).click(),
  ])
  const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n')
  assert.match(lines[0], /row,column,reason/)
  assert.match(lines[1], /^3,Prio,.*priority: must be/)
  assert.deepEqual(lines.slice(2), [`4,Prio,"'""=x"" is no whole number"`, '5,,"has 3 cells, but there are 2 columns"'])
  // Corrected, only the three are new.
  await choose(page, 'Prio,Text\n1,a\n20,b\n4,c\n3,d\n')
  await map(page, 'Prio', 'priority')
  await send(page)
  assert.deepEqual(await outcome(page), ['3', '1', '0', '0'])
  assert.equal((await jobs('strict')).length, 5)
})

test('queue_that_is_not_there_is_asked_about', async () => {
  const page = await open('reviws', 'a\n1\n2\n')
  const add = async () => {
    await page.getByRole('button', { name: 'Add 2 rows…' }).click()
    await confirm(page, 'Add them')
  }
  await add()
  await shown(page, 'Make the queue reviws?')
  assert.equal((await fetch(`${on.service.url}/queues/reviws`)).status, 404)
  await dialog(page).getByRole('button', { name: 'Cancel' }).click()
  await page.getByLabel('Queue').fill('re views')
  await add()
  await reads(page.locator('main').getByRole('alert'), /queue: must be 1 to 64 characters/)
  await page.getByLabel('Queue').fill('reviews')
  await add()
  await confirm(page, 'Make the queue')
  await reads(heading(page), /^Done: 2 of 2/)
  assert.equal((await jobs('reviews')).length, 2)
  assert.equal((await fetch(`${on.service.url}/queues/reviws`)).status, 404)
})

test('queue_that_was_typed_is_kept_for_the_next_file', async () => {
  const page = await on.open('/console/#/upload')
  await choose(page, 'a\n1\n')
  await page.getByLabel('Queue').fill('typed-once')
  await choose(page, 'a\n2\n', 'second.csv')
  await page.getByRole('heading', { name: 'second.csv' }).waitFor()
  assert.equal(await page.getByLabel('Queue').inputValue(), 'typed-once')
  assert.equal(await page.getByLabel('Name of this upload').inputValue(), 'second.csv')
  // The page of a queue begins with that queue.
  await page.goto(`${on.url}/console/#/upload?queue=other`)
  await choose(page, 'a\n3\n')
  await becomes(() => page.getByLabel('Queue').inputValue(), 'other')
})

test('names_that_have_not_worked_there_are_asked_about', async () => {
  await on.service.enqueue('known', 0)
  await on.service.complete(await on.service.reserve('known', 'ann'))
  const page = await open('known', 'who,text\nann|carol,a\nann,b\n')
  await map(page, 'who', 'assignees')
  await page.getByRole('button', { name: 'Add 2 rows…' }).click()
  await confirm(page, 'Add them')
  await reads(dialog(page).getByRole('alert'), /No one called “carol” has worked here lately/)
  assert.equal(posts(), 0)
  await becomes(() => dialog(page).getByRole('button', { name: 'Add them anyway' }).isEnabled())
  await confirm(page, 'Add them anyway')
  await reads(heading(page), /^Done/)
  await becomes(async () => (await jobs('known')).map(({ assignees }) => assignees), [['ann', 'carol'], ['ann']])
})

test('name_in_other_letters_than_one_who_worked_there_is_asked_about', async () => {
  await on.service.enqueue('letters', 0)
  await on.service.complete(await on.service.reserve('letters', 'kim'))
  const page = await open('letters', 'who,text\nKim,a\nkim,b\n')
  await map(page, 'who', 'assignees')
  await page.getByRole('button', { name: 'Add 2 rows…' }).click()
  await confirm(page, 'Add them')
  await reads(dialog(page).getByRole('alert'), /“Kim” is not “kim”, seen here lately: upper and lower case count\.$/)
  assert.equal(posts(), 0)
})

test('each_row_is_a_batch_of_opinions', async () => {
  await on.service.enqueue('opinions', 0)
  const page = await open('opinions', 'Nr,Prio\n1,10\n2,200\n3,\n')
  await map(page, 'Prio', 'priority')
  await page.getByLabel('Each row is for').selectOption('3')
  await reads(page.locator('.found [role=status]'), /3 rows: 3 batches of 3 jobs, 0 refused/)
  await send(page)
  assert.deepEqual(await outcome(page), ['2', '0', '1'])
  await reads(page.locator('.refused li'), /Row 3, column Prio\spriority: must be/)
  await choose(page, 'Nr,Prio\n1,10\n2,20\n3,\n')
  await map(page, 'Prio', 'priority')
  await page.getByLabel('Each row is for').selectOption('3')
  await send(page)
  assert.deepEqual(await outcome(page), ['1', '2', '0'])
  assert.equal((await on.service.call('GET', '/batches?queue=opinions')).batches.length, 3)
})

test('stopped_upload_goes_on_without_doubles', async () => {
  await on.service.enqueue('halted', 0)
  const rows = 5_000
  const page = await open('halted', `n\n${Array.from({ length: rows }, (_, n) => n).join('\n')}\n`)
  let calls = 0, release
  const held = new Promise((turn) => { release = turn })
  on.wire.rule = ({ method, path }) => (method === 'POST' && path.startsWith('/jobs?') && ++calls === 3 ? held : null)
  await page.getByRole('button', { name: 'Add 5,000 rows…' }).click()
  await confirm(page, 'Add them')
  await becomes(() => calls, 3)
  await page.getByRole('button', { name: 'Stop' }).click()
  await reads(heading(page), /^Stopped: 2,000 of 5,000/)
  release('cut')
  await page.getByRole('button', { name: 'Go on' }).click()
  await reads(heading(page), /^Done: 5,000 of 5,000/)
  await becomes(async () => (await on.service.queue('halted')).counts.waiting, rows + 1)
  // Another tab, with the same file.
  const other = await open('halted', `n\n${Array.from({ length: rows + 1 }, (_, n) => n).join('\n')}\n`)
  await send(other)
  assert.deepEqual(await outcome(other), ['1', '5,000', '0', '0'])
})

test('lost_answers_make_no_doubles', async () => {
  await on.service.enqueue('lossy', 0)
  const page = await open('lossy', 'n\n1\n2\n3\n')
  let calls = 0
  on.wire.rule = ({ method, path }) => (method === 'POST' && path.startsWith('/jobs?') && ++calls < 3 ? 'lose' : null)
  await send(page)
  assert.deepEqual([calls, await outcome(page)], [3, ['0', '3', '0', '0']])
  assert.equal((await jobs('lossy')).length, 4)
})

test('all_refused_rows_of_a_call_are_named', async () => {
  await on.service.enqueue('all-wrong', 0)
  const page = await open('all-wrong', `Prio\n${'2000\n'.repeat(1_500)}5\n`)
  await map(page, 'Prio', 'priority')
  await send(page)
  assert.deepEqual(await outcome(page), ['1', '0', '0', '1,500'])
  await reads(page.locator('.refused'), /1,500 refused rows.*and 1,300 more, in the file/s)
})

test('file_that_is_no_clear_table_is_refused_before_anything_is_sent', async () => {
  await on.service.enqueue('clear', 0)
  const page = await open('clear', 'a,b,a\n1,2,3\n')
  const alert = page.locator('main').getByRole('alert')
  await reads(alert, /has two columns of the name a: rename one/)
  await choose(page, Buffer.from('a\n1\ngr\xf6\xdfe\n', 'latin1'))
  await reads(alert, /is not UTF-8/)
  await choose(page, 'a,b;c\n1,2;3\n')
  await reads(alert, /has , and ; in its first row: choose what separates the cells/)
  await page.getByLabel('Cells are separated by').selectOption(';')
  await reads(page.locator('.found [role=status]'), /1 row: 1 job, 0 refused/)
  await map(page, 'c', 'skill')
  await map(page, 'a,b', 'skill')
  await reads(alert, /has two columns for skill: choose another target/)
  assert.equal(await page.getByRole('button', { name: /^Add/ }).count(), 0)
  assert.equal(posts(), 0)
})

test('table_of_100_mb_does_not_freeze_the_page', async () => {
  await on.service.enqueue('large', 0)
  const page = await on.open('/console/#/upload?queue=large')
  await page.locator('.drop').waitFor()
  // A file of 100,000 rows of 1 kB is dropped, and while it is read the page answers.
  const took = await page.evaluate(async () => {
    const row = `${'x'.repeat(499)},${'y'.repeat(499)}\n`
    const file = new File(['a,b\n', ...Array.from({ length: 100 }, () => row.repeat(1_000))], 'large.csv')
    const data = new DataTransfer()
    data.items.add(file)
    const began = performance.now()
    let longest = 0, last = began, isOver = false
    const beat = () => {
      const now = performance.now()
      longest = Math.max(longest, now - last)
      last = now
      if (!isOver) setTimeout(beat, 5)
    }
    beat()
    document.querySelector('.drop').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true }))
    while (!document.querySelector('.found')) await new Promise((turn) => setTimeout(turn, 20))
    isOver = true
    return { longest, total: performance.now() - began, text: document.querySelector('.found [role=status]').textContent }
  })
  assert.match(took.text, /100,000 rows: 100,000 jobs/)
  // The page is free again after each piece of it.
  assert.ok(took.longest < took.total / 4, `${took.longest} of ${took.total} ms`)
})

async function isAccessible(page) {
  if (!await page.evaluate(() => 'axe' in globalThis)) await page.evaluate(axe)
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }))
  const grave = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  assert.deepEqual(grave.map(({ id, nodes }) => `${id}: ${nodes[0].html} ${nodes[0].failureSummary}`), [])
}

test('axe_finds_nothing_before_and_after', async () => {
  await on.service.enqueue('seen', 0)
  for (const dark of [false, true]) {
    const page = await open('seen', `Nr,Prio\n1,2\n2,x\n`, { dark, name: `${dark}.csv` })
    await map(page, 'Prio', 'priority')
    await page.locator('.refused li').waitFor()
    await isAccessible(page)
    await send(page)
    await isAccessible(page)
  }
})

test('page_is_used_by_keyboard_and_on_a_phone', async () => {
  await on.service.enqueue('small', 0)
  const page = await open('small', 'Nr,For whom\n1,ann\n', { width: 360, height: 740, touch: true })
  await reads(page.locator('.found [role=status]'), /1 row: 1 job/)
  assert.ok(await fits(page))
  await becomes(() => page.evaluate(() => document.activeElement.id), 'file')
  await page.getByLabel('Where For whom goes').focus()
  await page.keyboard.type('assign')
  await reads(page.locator('.first pre'), /"assignees":\["ann"\]/)
  await page.getByRole('button', { name: 'Add 1 row…' }).focus()
  await page.keyboard.press('Enter')
  await dialog(page).waitFor()
  await page.keyboard.press('Enter')
  await becomes(() => dialog(page).getByRole('button', { name: 'Add them anyway' }).isEnabled())
  await confirm(page, 'Add them anyway')
  await reads(heading(page), /^Done: 1 of 1/)
  await becomes(() => page.evaluate(() => document.activeElement.id), 'report')
  assert.ok(await fits(page))
})
