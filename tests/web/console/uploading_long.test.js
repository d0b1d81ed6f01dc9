// An upload on a bad day: a laptop sleeps, a limit is lifted, the service is away, the file changes, a table has nothing but faults.

import assert from 'node:assert/strict'
import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { stage } from '../world/stage.js'
import { becomes, reads } from '../world/until.js'
import {
  alert, begin, button, choose, chooseFile, hasRows, heading, isLocked, map, open as openUpload, outcome, rowsOf, send,
} from '../world/uploads.js'

const on = stage()

const open = (queue, text, how) => openUpload(on, queue, text, how)
const waiting = async (queue) => (await on.service.queue(queue)).counts.waiting
const limit = (ms) => {
  const body = { type: '/problems/rate-limited', title: 'Too often', status: 429, detail: 'too often', retry_after_ms: ms }
  return { status: 429, body }
}

/** A browser sends a call that is cut again by itself; this it does not. */
const away = { status: 503, body: { type: '/problems/unavailable', title: 'Away', status: 503, detail: 'Redis is away' } }

/** `fate(n, page)` of the nth call with rows. */
async function sent(queue, rows, fate) {
  await on.service.enqueue(queue, 0)
  const page = await open(queue, rowsOf(rows))
  await page.clock.install()
  let calls = 0
  on.wire.rule = (call) => (hasRows(call) ? fate(++calls, page) : null)
  await begin(page)
  return page
}

test('upload_goes_on_after_a_laptop_has_slept', async () => {
  // It sleeps in a call, and then the network is away for a moment.
  const page = await sent('sleepy', 1_500, async (n, page) => {
    if (n === 2) await page.clock.fastForward(3_600_000)
    return n === 2 || n === 3 ? 'cut' : null
  })
  await reads(heading(page), /^Done: 1,500 of 1,500/)
  assert.equal(await waiting('sleepy'), 1_501)
})

test('time_that_the_service_asks_for_is_no_time_without_an_answer', async () => {
  const page = await sent('asked', 3, async (n, page) => {
    if (n === 1 || n === 5) return away
    if (n < 5) await page.clock.fastForward(25_000)
    return n < 5 ? limit(50) : null
  })
  await reads(heading(page), /^Done: 3 of 3/)
})

test('upload_stops_when_the_service_stays_away', async () => {
  const page = await sent('away', 3, async (n, page) => {
    await page.clock.fastForward(40_000)
    return 'cut'
  })
  await reads(heading(page), /^Stopped: 0 of 3/)
  await reads(page.locator('.report'), /The service does not answer\.[\s\S]*The last rows may have arrived/)
})

test('rows_that_are_taken_when_they_are_asked_for_again_are_counted', async () => {
  const settings = (max_jobs) => on.service.call('PATCH', '/queues/lifted?create=true', { max_jobs })
  await settings(100)
  const page = await open('lifted', rowsOf(900))
  let calls = 0
  on.wire.rule = async (call) => {
    if (hasRows(call) && ++calls === 2) await settings(0)
    return null
  }
  await send(page)
  assert.equal(calls, 2)
  const [made, known, equal, refused] = (await outcome(page)).map((text) => Number(text.replace(',', '')))
  assert.equal(made, await waiting('lifted'))
  assert.deepEqual([made > 100, known, equal, made + refused], [true, 0, 0, 900])
})

test('table_with_nothing_but_faults_is_checked', async () => {
  await on.service.enqueue('faulty', 0)
  const page = await open('faulty', `,a\n${'x\n'.repeat(140_000)}`)
  await reads(page.locator('.found [role=status]'), /140,000 rows: 0 jobs, 140,000 refused/)
})

test('file_that_is_saved_after_it_was_chosen_is_to_be_chosen_again', async () => {
  await on.service.enqueue('resaved', 0)
  const folder = await mkdtemp(join(tmpdir(), 'upload-'))
  const file = join(folder, 'resaved.csv')
  let minutes = 0
  const save = async (text) => {
    await writeFile(file, text)
    const time = Date.now() / 1_000 + 60 * ++minutes
    await utimes(file, time, time)
  }
  try {
    await save(rowsOf(3))
    const page = await on.open('/console/#/upload?queue=resaved')
    await page.locator('input[type=file]').waitFor()
    await chooseFile(page, file)
    await button(page, 'Add 3 rows…').waitFor()
    await save(rowsOf(4))
    await begin(page)
    await reads(alert(page), /The file was changed after it was chosen: choose it again\./)
    assert.ok(!await isLocked(page))
    // In the middle: what is sent is known, the rest is another file's.
    const wide = `n\n${`${'x'.repeat(400)}\n`.repeat(3_000)}`
    await save(wide)
    await chooseFile(page, file)
    await button(page, 'Add 3,000 rows…').waitFor()
    on.wire.rule = async (call) => {
      if (hasRows(call)) await save(`${wide}y\n`)
      return null
    }
    await begin(page)
    await reads(heading(page), /^Stopped: [12],000 of 3,000/)
    await reads(alert(page), /The file was changed after it was chosen: choose it again\. Rows that were added are known/)
    assert.equal(await button(page, 'Go on').count(), 0)
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('upload_without_a_name_or_a_queue_does_not_begin', async () => {
  await on.service.enqueue('named', 0)
  const page = await open('named', rowsOf(2))
  const add = button(page, 'Add 2 rows…')
  await becomes(() => add.isEnabled())
  await page.getByLabel('Name of this upload').fill(' ')
  await becomes(() => add.isDisabled())
  await reads(page.locator('.acts'), /Give this upload a name first/)
  await page.getByLabel('Name of this upload').fill('two')
  await becomes(() => add.isEnabled())
  await page.getByLabel('Queue').fill('')
  await becomes(() => add.isDisabled())
  await reads(page.locator('.acts'), /Name the queue first/)
})

test('row_that_was_added_and_changed_since_is_refused_in_plain_words', async () => {
  await on.service.enqueue('changed', 0)
  const words = /This row was added before under this name, and has changed since/
  const page = await open('changed', 'Prio,n\n1,1\n2,2\n')
  for (const people of ['0', '2']) {
    for (const text of ['Prio,n\n1,1\n2,2\n', 'Prio,n\n1,1\n2,3\n']) {
      await choose(page, text)
      await map(page, 'Prio', 'priority')
      await page.getByLabel('Each row is for').selectOption(people)
      await send(page)
    }
    await reads(page.locator('.refused li'), words)
  }
  await choose(page, 'n\n1\n')
  await reads(page.locator('#upload-name'), /Rows that were added for one person are new ones for several people/)
})
