// An upload that is stopped, or fails, or is left: what may have arrived, what goes on, and that nothing is added unseen.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { confirm, shown, stage } from '../world/stage.js'
import { becomes, reads } from '../world/until.js'
import {
  alert, begin, button, choose, dialog, drop, hasRows, heading, isLocked, map, open as openUpload, outcome, rowsOf,
} from '../world/uploads.js'

const on = stage()

const open = (queue, text, how) => openUpload(on, queue, text, how)
const posts = () => on.wire.log.filter(hasRows).length
const waiting = async (queue) => (await on.service.queue(queue)).counts.waiting
const focused = (page) => page.evaluate(() => {
  const { id, className, tagName } = document.activeElement
  return id || className || tagName
})
const NDJSON = 'application/x-ndjson'
const never = () => new Promise(() => {})

/** The service does it. What the page hears of it is another matter. */
async function done({ path, headers, text }) {
  const kept = ['content-type', 'idempotency-key'].map((name) => [name, headers[name]])
  await fetch(on.service.url + path, { method: 'POST', headers: Object.fromEntries(kept), body: text })
}

const problem = (status, type, detail) => ({ status, body: { type, title: detail, status, detail } })
const cut = (status) => {
  const { body: error } = problem(status, '/problems/forbidden', 'the key was removed')
  const summary = { lines: 3, created: 3, known: 0, duplicates: 0, errors: 0, complete: false, error }
  return { status: 200, type: NDJSON, body: JSON.stringify(summary) }
}
const html = (status) => ({ status, type: 'text/html', body: '<h1>Log in</h1>' })
/** What the page hears, and whether the upload has stopped by itself then. */
const HEARD = {
  nothing: [never],
  hangup: [() => 'cut'],
  fault: [() => problem(500, '/problems/internal', 'a fault')],
  away: [() => problem(503, '/problems/unavailable', 'Redis is away')],
  proxy: [() => html(502)],
  portal: [() => html(200)],
  filter: [() => html(403), true],
  'cut-short': [() => cut(403), true],
}

test('rows_that_may_have_arrived_are_never_called_unsent', async () => {
  for (const [name, [heard, isOver]] of Object.entries(HEARD)) {
    await on.service.enqueue(name, 0)
    const page = await open(name, rowsOf(3))
    on.wire.rule = async (call) => (hasRows(call) ? (await done(call), heard()) : null)
    await begin(page)
    await becomes(() => waiting(name), 4)
    if (!isOver) await button(page, 'Stop').click()
    await reads(heading(page), /^Stopped: 0 of 3/)
    await reads(page.locator('.report'), /The last rows may have arrived/)
    await reads(page.locator('.found'), /3 rows: 3 jobs, 0 refused\.$/)
    assert.ok(await isLocked(page), name)
    await becomes(() => focused(page), 'report')
    on.wire.rule = null
    await button(page, 'Go on').click()
    await reads(heading(page), /^Done: 3 of 3/)
    assert.deepEqual([name, await outcome(page), await waiting(name)], [name, ['0', '3', '0', '0'], 4])
    assert.equal(await page.getByText('may have arrived').count(), 0)
    await page.close()
  }
})

test('batch_that_may_have_arrived_is_sent_again_as_the_same_one', async () => {
  await on.service.enqueue('unsure', 0)
  const page = await open('unsure', rowsOf(2))
  await page.getByLabel('Each row is for').selectOption('2')
  on.wire.rule = async (call) => (hasRows(call) ? (await done(call), never()) : null)
  await begin(page)
  await becomes(() => waiting('unsure'), 3)
  await button(page, 'Stop').click()
  await reads(page.locator('.report'), /^Stopped: 0 of 2[\s\S]*The last rows may have arrived/)
  on.wire.rule = null
  await button(page, 'Go on').click()
  await reads(heading(page), /^Done: 2 of 2/)
  assert.deepEqual([await outcome(page), await waiting('unsure')], [['1', '1', '0'], 5])
})

test('upload_that_surely_sent_nothing_leaves_the_choices', async () => {
  await on.service.enqueue('limited', 0)
  const page = await open('limited', rowsOf(3))
  const limit = problem(429, '/problems/rate-limited', 'too often')
  on.wire.rule = (call) => (hasRows(call) ? limit : null)
  await begin(page)
  await shown(page, 'The service takes no more for now')
  await button(page, 'Stop').click()
  await reads(alert(page), /Stopped before anything was sent/)
  assert.ok(!await isLocked(page))
  assert.match(await focused(page), /problem/)
  // Nor does a refusal of all, and the focus is on its words; so it is after a question that is not answered.
  on.wire.rule = (call) => (hasRows(call) ? problem(403, '/problems/forbidden', 'this key adds none') : null)
  await begin(page)
  await reads(alert(page), /^this key adds none$/)
  assert.match(await focused(page), /problem/)
  on.wire.rule = null
  await page.getByLabel('Queue').fill('no queue')
  await begin(page)
  await reads(alert(page), /queue: must be/)
  assert.match(await focused(page), /problem/)
  await page.getByLabel('Queue').fill('mistyped')
  await begin(page)
  await shown(page, 'Make the queue mistyped?')
  await reads(dialog(page), /This upload would make it/)
  await dialog(page).getByRole('button', { name: 'Cancel' }).click()
  await reads(alert(page), /nothing was ever put into this queue/)
  assert.match(await focused(page), /problem/)
})

/** Holds the answer about who has worked there; answers it with this name. */
function held(name) {
  let release
  const given = new Promise((turn) => { release = turn })
  const body = { names: [name], skills: [name], more: false }
  const answer = { status: 200, type: 'application/json', body }
  on.wire.rule = ({ path }) => (path.endsWith('/workers?recent=true') ? given.then(() => answer) : null)
  return release
}

test('upload_that_is_stopped_or_left_in_the_question_does_not_begin', async () => {
  const stops = {
    stopped: (page) => dialog(page).getByRole('button', { name: 'Stop' }).click(),
    escaped: (page) => page.keyboard.press('Escape'),
    left: (page) => page.evaluate(() => { location.hash = '#/workers' }),
  }
  for (const [name, stop] of Object.entries(stops)) {
    await on.service.enqueue(name, 0)
    const release = held('ann')
    const page = await open(name, 'who,n\nann,1\nann,2\n')
    await map(page, 'who', 'assignees')
    await begin(page)
    await dialog(page).getByRole('button', { name: 'Stop' }).waitFor()
    await stop(page)
    await becomes(() => dialog(page).count(), 0)
    release()
    await reads(page.locator('.messages'), /Stopped/)
    assert.match(await page.locator('.messages').innerText(), /Stopped\. Nothing was sent\./, name)
    assert.deepEqual([name, posts(), await waiting(name)], [name, 0, 1])
    await page.close()
  }
})

test('file_dropped_under_a_question_is_not_taken', async () => {
  await on.service.enqueue('under', 0)
  const page = await open('under', 'a\nold\n', { name: 'old.csv' })
  await button(page, 'Add 1 row…').click()
  await dialog(page).waitFor()
  await drop(page, 'b\nnew\n', 'new.csv')
  await confirm(page, 'Add them')
  await reads(heading(page), /^Done: 1 of 1/)
  await reads(page.locator('#file'), /^old\.csv/)
})

/** 2,000 rows, and the second thousand is on its way. */
async function halfway(queue) {
  await on.service.enqueue(queue, 0)
  const page = await open(queue, rowsOf(2_000), { name: 'two.csv' })
  let calls = 0
  on.wire.rule = (call) => (hasRows(call) && ++calls === 2 ? never() : null)
  await begin(page)
  await reads(heading(page), /^Sending: 1,000 of 2,000/)
  await becomes(() => calls, 2)
  return page
}

test('no_other_file_is_taken_while_rows_are_sent', async () => {
  const page = await halfway('busy')
  await drop(page, 'b\n1\n', 'other.csv')
  await reads(page.locator('.messages'), /two\.csv is being sent: stop it first/)
  await choose(page, 'b\n1\n', 'third.csv')
  await becomes(() => page.locator('.messages p').count(), 2)
  await reads(heading(page), /^Sending: 1,000 of 2,000/)
  await button(page, 'Stop').click()
  await reads(heading(page), /^Stopped: 1,000 of 2,000/)
  await drop(page, 'b\n1\n', 'other.csv')
  await reads(page.locator('#file'), /^other\.csv/)
})

test('upload_that_is_left_stops_and_back_leads_to_it', async () => {
  const page = await halfway('left-alone')
  await page.keyboard.press('w')
  await reads(page.locator('.messages'), /The upload of two\.csv is stopped: 1,000 of 2,000 rows are sent\. Go back to go on\./)
  await page.goBack()
  await reads(heading(page), /^Stopped: 1,000 of 2,000/)
  await reads(page.locator('.report'), /The last rows may have arrived/)
  assert.ok(await isLocked(page))
  await button(page, 'Go on').click()
  await reads(heading(page), /^Done: 2,000 of 2,000/)
  assert.equal(await waiting('left-alone'), 2_001)
  // What is done is over.
  await page.keyboard.press('w')
  await page.goBack()
  await reads(page.locator('.drop'), /Choose a CSV file/)
})

test('chosen_file_is_there_after_another_page', async () => {
  await on.service.enqueue('chosen', 0)
  const page = await open('chosen', 'Prio;Text\n5;a\n', { name: 'chosen.csv' })
  await map(page, 'Prio', 'priority')
  await page.getByLabel('Name of this upload').fill('monday')
  await page.getByRole('heading', { name: 'chosen.csv' }).click()
  await page.keyboard.press('w')
  await page.getByRole('heading', { name: 'At work' }).waitFor()
  await page.goBack()
  await becomes(() => page.getByLabel('Where Prio goes').inputValue(), 'priority')
  assert.equal(await page.getByLabel('Name of this upload').inputValue(), 'monday')
  await page.goto(`${on.url}/console/#/upload?queue=another`)
  await reads(page.locator('.drop'), /Choose a CSV file/)
})

test('upload_goes_on_when_a_key_that_ended_is_given_again', async () => {
  await on.service.enqueue('expired', 0)
  const ended = problem(401, '/problems/unauthorized', 'the key has expired')
  let isKnown = true, calls = 0
  on.wire.rule = (call) => {
    if (hasRows(call) && ++calls === 2) isKnown = false
    return isKnown && call.headers.authorization === 'Bearer op_1' ? null : ended
  }
  const page = await on.open('/console/#/upload?queue=expired')
  const signIn = async () => {
    await page.getByLabel('Your key').fill('op_1')
    await page.keyboard.press('Enter')
  }
  await signIn()
  await choose(page, rowsOf(2_000), 'two.csv')
  await page.getByLabel('Name of this upload').fill('monday')
  await begin(page)
  await shown(page, 'the key has expired')
  isKnown = true
  await signIn()
  await reads(heading(page), /^Stopped: 1,000 of 2,000/)
  assert.equal(await page.getByLabel('Name of this upload').inputValue(), 'monday')
  await button(page, 'Go on').click()
  await reads(heading(page), /^Done: 2,000 of 2,000/)
  assert.equal(await waiting('expired'), 2_001)
  // Who signs out leaves nothing to the next one.
  await choose(page, rowsOf(3), 'secret.csv')
  await page.getByRole('heading', { name: 'secret.csv' }).waitFor()
  await button(page, 'Sign out').click()
  await signIn()
  await reads(page.locator('.drop'), /Choose a CSV file/)
})
