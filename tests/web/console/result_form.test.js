// The form of a queue's results: edited as JSON, refused at its place, drawn as the desk draws it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { confirm, shown, stage } from '../world/stage.js'
import { becomes, reads } from '../world/until.js'

const on = stage()

const box = (page) => page.getByLabel('Form of the result, as JSON')
const preview = (page) => page.getByRole('region', { name: 'As the desk draws it' })
const save = (page) => page.getByRole('button', { name: 'Save the form' })
const faults = (page) => page.locator('#form-faults')
const stored = async (queue) => (await fetch(`${on.service.url}/queues/${queue}/form`)).text()
const form = (...properties) => `{\n "type": "object",\n "properties": {${properties.join(',')}}\n}`
const VERDICT = '"verdict": { "title": "Fine?", "type": "string", "enum": ["yes", "no"] }'

async function settings(queue) {
  await on.service.enqueue(queue, { n: 1 })
  const page = await on.open(`/console/#/q/${queue}/settings`)
  await box(page).waitFor()
  return page
}

test('form_is_drawn_while_it_is_typed_and_kept_as_typed', async () => {
  const page = await settings('typed')
  assert.equal(await preview(page).count(), 0)
  await box(page).fill(form(VERDICT))
  await preview(page).getByRole('radio', { name: 'yes' }).waitFor()
  await save(page).click()
  await shown(page, 'The form is saved.')
  assert.equal(JSON.parse(await stored('typed')).result_schema.properties.verdict.title, 'Fine?')
  assert.ok((await stored('typed')).includes(form(VERDICT)), 'byte for byte')
  assert.equal(await page.getByRole('link', { name: 'desk', exact: true }).getAttribute('href'), `${on.url}/desk/?queue=typed`)
})

test('refusals_name_their_line_and_lead_there', async () => {
  const page = await settings('wrong')
  await box(page).fill(form(VERDICT, '\n "note": { "type": "string", "contentEncoding": "base64" }'))
  await reads(faults(page), /contentEncoding/)
  assert.ok(await save(page).isDisabled())
  await page.getByRole('button', { name: 'Line 4' }).click()
  const chosen = () => box(page).evaluate((area) => area.value.slice(area.selectionStart, area.selectionEnd))
  await becomes(chosen, '"contentEncoding"')
  // What only the service knows.
  await box(page).fill(form(VERDICT, '\n "note": { "type": "string", "pattern": "(?=a)" }'))
  await becomes(() => faults(page).getByRole('listitem').count(), 0)
  await save(page).click()
  await reads(faults(page), /pattern/)
  await page.getByRole('button', { name: 'Line 4' }).click()
  await becomes(chosen, '"pattern"')
  assert.equal(await stored('wrong'), '{"result_schema":null}')
})

test('form_is_taken_away_after_a_question', async () => {
  const page = await settings('away')
  await on.service.call('PATCH', '/queues/away', { result_schema: JSON.parse(form(VERDICT)) })
  await preview(page).getByRole('radio', { name: 'yes' }).waitFor()
  await page.getByRole('button', { name: 'Take it away' }).click()
  await confirm(page, 'Take it away')
  await shown(page, 'The form is taken away.')
  await becomes(() => box(page).inputValue(), '')
  assert.equal(await stored('away'), '{"result_schema":null}')
})

test('typed_form_stays_when_another_operator_sets_one', async () => {
  const page = await settings('two')
  await box(page).fill(form(VERDICT))
  await on.service.call('PATCH', '/queues/two', { result_schema: JSON.parse(form('"other": { "type": "boolean" }')) })
  await page.getByRole('button', { name: 'Take it away' }).waitFor()
  assert.equal(await box(page).inputValue(), form(VERDICT))
  await page.getByRole('button', { name: 'Undo' }).click()
  await becomes(async () => (await box(page).inputValue()).includes('other'))
})
