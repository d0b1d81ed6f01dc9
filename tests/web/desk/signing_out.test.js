// A person who signs out at the desk: what they had is back in line, and nothing of theirs is left.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atDesk } from '../world/at_desk.js'
import { shown } from '../world/stage.js'
import { becomes } from '../world/until.js'

const on = atDesk()
const { view, button, press } = on
const QUEUE = 'visits'
const holding = (name) => on.holding(QUEUE, name, { title: 'Is it open?' })

test('sign_out_gives_the_job_back_and_leaves_nothing', async () => {
  const { id, page } = await holding('hal')
  await page.getByLabel('Reason').fill('mine alone')
  await shown(page, 'Draft saved')
  await Promise.all([page.waitForEvent('load'), button(page, 'Sign out').click()])
  await shown(page, 'Signed out.')
  await becomes(() => on.service.state(id), 'waiting')
  assert.doesNotMatch(await page.content(), /mine alone|Is it open/)
  assert.equal(await page.title(), 'Desk')
  assert.equal(await page.evaluate(() => localStorage.length + sessionStorage.length), 0)
  assert.doesNotMatch(await page.locator('body').innerText(), /mine alone|Is it open/)
  await page.reload()
  await view(page, 'start')
  assert.equal(await page.getByLabel('Your name').inputValue(), '')
})

test('person_whose_name_is_another_signs_out_beside_it', async () => {
  const { id, page } = await holding('viv')
  await page.getByLabel('Reason').fill('mine alone')
  await shown(page, 'Draft saved')
  await Promise.all([page.waitForEvent('load'), button(page, 'Not you?').click()])
  await shown(page, 'Signed out.')
  await becomes(() => on.service.state(id), 'waiting')
  assert.equal(await page.evaluate(() => localStorage.length + sessionStorage.length), 0)
  for (const name of ['Not you?', 'Sign out']) assert.equal(await button(page, name).isVisible(), false)
})

test('sign_out_without_a_network_leaves_nothing_on_the_page', async () => {
  const { page } = await holding('ida')
  await press(page, 'Hand over')
  await page.getByLabel('Their name').fill('a colleague')
  await page.getByLabel('A word to them').fill('a private word')
  await page.keyboard.press('Escape')
  // It was pasted, and another way was found.
  await page.evaluate(() => { document.getElementById('token').value = 'a secret code' })
  on.wire.offline = true
  await button(page, 'Sign out').click()
  await shown(page, 'Signed out.')
  const left = await page.evaluate(() => [document.body.textContent, ...[...document.querySelectorAll('input, textarea')].map(({ value }) => value)].join())
  assert.doesNotMatch(left, /colleague|private word|secret code|Is it open|ida/)
})

test('person_who_signs_out_in_one_tab_has_left_the_other_too', async () => {
  const { page } = await holding('ian')
  const other = await page.context().newPage()
  await other.goto(`${on.url}/desk/?queue=${QUEUE}`)
  await other.getByLabel('Your name').fill('ian')
  await other.keyboard.press('Enter')
  await view(other, 'work')
  await button(other, 'Sign out').click()
  await page.getByRole('textbox', { name: 'Your name' }).waitFor()
  await other.close()
})

test('person_who_signs_out_while_an_answer_is_underway_is_signed_out', async () => {
  const { page } = await holding('pam')
  let letGo
  const isFree = new Promise((free) => { letGo = free })
  on.wire.rule = async ({ path }) => (path === '/jobs/complete' ? void await isFree : null)
  await press(page, 'Approve')
  await button(page, 'Sign out').click()
  await shown(page, 'Signed out.')
  await Promise.all([page.waitForEvent('load'), letGo()])
  await view(page, 'done')
  await shown(page, 'Signed out.')
})
