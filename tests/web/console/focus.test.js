// Where the focus is when what had it has gone.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { confirm, shown, stage } from '../world/stage.js'
import { becomes } from '../world/until.js'

const on = stage()

const fill = (queue, n) => on.service.call('POST', '/jobs', Array.from({ length: n }, (_, at) => ({ queue, payload: { n: at } })))
/** As many jobs, each in the hands of a worker. */
async function hold(queue, n) {
  await fill(queue, n)
  const held = []
  for (let at = 0; at < n; at += 1) held.push(await on.service.reserve(queue, `w${at}`))
  return held
}
const keys = async (page, ...names) => { for (const name of names) await page.keyboard.press(name) }
const focused = (page, selector) => becomes(() => page.evaluate((wanted) => {
  const { activeElement: active } = document
  return active.matches(wanted) || active.outerHTML.slice(0, 200)
}, selector), true)
const rowOf = (page) => page.evaluate(() => document.activeElement.closest('[data-row]')?.innerText ?? '')
const picked = (page) => page.getByRole('group', { name: 'What is picked' })

test('focus stays in the list after an action and a page', async () => {
  await fill('acts', 56)
  const page = await on.open('/console/#/q/acts/waiting')
  await page.locator('[data-row]').first().waitFor()
  for (const [button, action, message] of [['Set priority', 'Set it', '2 jobs moved.'], ['Withdraw them', 'Withdraw them', '2 jobs withdrawn.']]) {
    await keys(page, 'j', 'x', 'j', 'x')
    await picked(page).getByRole('button', { name: button }).focus()
    await keys(page, 'Enter')
    await page.getByRole('dialog').getByRole('button', { name: action }).focus()
    await keys(page, 'Enter')
    await shown(page, message)
    await focused(page, '[data-row]')
  }
  await keys(page, 'x')
  await picked(page).getByRole('button', { name: 'Pick none' }).focus()
  await keys(page, 'Enter')
  await focused(page, '[data-row]')
  await page.getByRole('button', { name: 'Next' }).focus()
  await keys(page, 'Enter')
  await shown(page, 'Page 2')
  await focused(page, '[data-row]')
  await page.getByLabel('Client').fill('nobody')
  await keys(page, 'Enter')
  await page.getByRole('button', { name: 'Show all again' }).focus()
  await keys(page, 'Enter')
  await focused(page, '[data-row]')
})

test("focus moves to the next row or the list's name", async () => {
  await hold('rows', 3)
  const page = await on.open('/console/#/q/rows/held')
  await page.locator('[data-row]').first().waitFor()
  await keys(page, 'j', 'j')
  for (const [n, place] of [[1, '{"n":2}'], [2, '{"n":0}']]) {
    assert.ok((await rowOf(page)).includes(`{"n":${n}}`))
    await keys(page, 'x', 'r')
    await confirm(page, 'Release them')
    await becomes(async () => (await rowOf(page)).includes(place))
  }
  await keys(page, 'x', 'r')
  await confirm(page, 'Release them')
  await shown(page, 'Nobody holds anything')
  await focused(page, '.tabs [aria-current]')
})

test('focus moves to the next row from a question about one that is gone', async () => {
  const held = await hold('asked', 3)
  const page = await on.open('/console/#/q/asked/held')
  await page.locator('[data-row]').first().waitFor()
  await keys(page, 'j', 'j')
  await keys(page, 'x', 'r')
  await on.service.call('POST', '/jobs/release', { id: held[1].id })
  await becomes(() => page.locator('[data-row]').count(), 2)
  await confirm(page, 'Cancel')
  await becomes(() => rowOf(page).then((row) => row.includes('{"n":2}')))
})

test('focus moves to a panel and back to the list', async () => {
  for (const width of [1280, 800]) {
    const queue = `panels-${width}`
    await fill(queue, 3)
    const page = await on.open(`/console/#/q/${queue}/waiting`, { width })
    await page.locator('[data-row]').first().waitFor()
    await keys(page, 'j', 'j', 'Enter')
    await page.locator('.panel pre').first().waitFor()
    await focused(page, width > 1080 ? '[data-row]' : '.panel h2')
    await page.locator('.panel').getByRole('link', { name: 'Close' }).focus()
    await keys(page, 'Enter')
    await page.locator('.panel').waitFor({ state: 'detached' })
    await focused(page, '[data-row]')
    assert.ok((await rowOf(page)).includes('{"n":1}'))
    await keys(page, 'Enter')
    await page.locator('.panel').getByRole('button', { name: 'Withdraw' }).focus()
    await keys(page, 'Enter')
    await confirm(page, 'Withdraw the job')
    await page.locator('.panel').getByRole('button', { name: 'Withdraw' }).waitFor({ state: 'detached' })
    await focused(page, '.panel h2')
  }
})

test('focus that the user moves is left alone', async () => {
  await fill('left', 2)
  const page = await on.open('/console/#/q/left/waiting')
  await page.locator('[data-row]').first().waitFor()
  await keys(page, 'j')
  await page.getByRole('heading', { name: 'left' }).click()
  await focused(page, 'body')
  await on.service.reserve('left', 'ann')
  await becomes(() => page.locator('[data-row]').count(), 1)
  await focused(page, 'body')
})

test('the_first_escape_leaves_a_filter_that_was_changed', async () => {
  await on.service.set('escape', { max_attempts: 1 })
  await fill('escape', 2)
  await on.service.fail(await on.service.reserve('escape', 'ann'), 'ink')
  const page = await on.open('/console/#/q/escape/dead')
  await page.locator('[data-row]').first().waitFor()
  await keys(page, 'F')
  await focused(page, '.filter:nth-child(4) input')
  await page.keyboard.type('paper')
  await keys(page, 'Escape')
  await shown(page, 'No jobs match these filters.')
  await focused(page, 'body')
  await page.keyboard.type('f')
  await focused(page, '.filter:nth-child(1) input')
  await keys(page, 'Escape')
  for (const [key, nth] of [['f', 1], ['i', 2]]) {
    await keys(page, key)
    await page.keyboard.type('x')
    await keys(page, 'Escape')
    await becomes(() => page.url().includes(nth === 1 ? 'client=x' : 'search=x'))
    await focused(page, 'body')
  }
  await keys(page, 'f')
  await page.keyboard.type('y')
  await page.locator('.empty strong').click()
  await becomes(() => page.url().includes('client=y'))
  await focused(page, 'body')
})
