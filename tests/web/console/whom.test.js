// Who may have jobs, as a lead says it: names and skills as chips, with those seen lately, and a question about the others.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { confirm, fits, shown, stage } from '../world/stage.js'
import { becomes, reads } from '../world/until.js'

const on = stage()

const dialog = (page) => page.getByRole('dialog')
const field = (page, name) => dialog(page).getByRole('combobox', { name })
const chipsOf = (page, name) => dialog(page).getByRole('group', { name }).locator('.chip bdi').allTextContents()
const offered = (page, name) => dialog(page).getByRole('group', { name }).locator('datalist option')
  .evaluateAll((options) => options.map(({ value }) => value))
const alert = (page) => dialog(page).getByRole('alert')
const changesOf = () => on.wire.log.filter(({ method }) => method === 'PATCH').length
const whomOf = async (id) => {
  const { assignees, excluded, skill, fallback_ms } = await on.service.call('GET', `/jobs/${id}`)
  return { assignees, excluded, skill, fallback_ms }
}

/** Ann and Bob have worked in the queue, Ann with German. */
async function seen(queue) {
  await on.service.enqueue(queue, { by: 'ann' }, { skill: 'C1, German' })
  await on.service.enqueue(queue, { by: 'bob' })
  for (const [worker, skills] of [['ann', ['C1, German']], ['bob', []]]) {
    const { jobs: [job] } = await on.service.call('POST', '/jobs/reserve', { queues: [queue], worker, skills })
    await on.service.complete(job)
  }
}

test('chips_end_with_a_comma_or_enter_and_go_with_backspace', async () => {
  await seen('chips')
  const id = await on.service.enqueue('chips', 1)
  const page = await on.open(`/console/#/q/chips/waiting/${id}`)
  await page.locator('.panel').getByRole('button', { name: 'For whom' }).click()
  const names = field(page, 'Only these workers')
  await becomes(() => offered(page, 'Only these workers'), ['ann', 'bob'])
  await page.keyboard.type('ann, bob')
  await becomes(() => chipsOf(page, 'Only these workers'), ['ann'])
  assert.deepEqual(await offered(page, 'Only these workers'), ['bob'])
  await page.keyboard.press('Enter')
  await becomes(() => chipsOf(page, 'Only these workers'), ['ann', 'bob'])
  await page.keyboard.type('"C, Ann",ann,')
  await becomes(() => chipsOf(page, 'Only these workers'), ['ann', 'bob', 'C, Ann'])
  await reads(dialog(page).getByRole('group', { name: 'Only these workers' }).getByRole('status'), /added/)
  await page.keyboard.press('Backspace')
  await becomes(() => chipsOf(page, 'Only these workers'), ['ann', 'bob'])
  await reads(dialog(page).getByRole('group', { name: 'Only these workers' }).getByRole('status'), /C, Ann removed/)
  await dialog(page).getByRole('button', { name: 'Remove ann' }).click()
  assert.equal(await names.evaluate((input) => input === document.activeElement), true)
  // What a browser puts in from the list is one name, with its comma.
  await field(page, 'Who has the skill').evaluate((input) => {
    input.value = 'C1, German'
    input.dispatchEvent(new InputEvent('input', { inputType: 'insertReplacementText', bubbles: true }))
  })
  await becomes(() => chipsOf(page, 'Who has the skill'), ['C1, German'])
  await field(page, 'Never these workers').fill('ann')
  await dialog(page).getByLabel('For everybody after').fill('15 min')
  await confirm(page, 'Save')
  await shown(page, 'It is changed who may have job')
  assert.deepEqual(await whomOf(id), { assignees: ['bob'], excluded: ['ann'], skill: 'C1, German', fallback_ms: 900_000 })
})

test('names_that_have_not_worked_lately_are_asked_about', async () => {
  await seen('slips')
  const id = await on.service.enqueue('slips', 1, { assignees: ['zoe'] })
  const page = await on.open(`/console/#/q/slips/waiting/${id}`)
  const panel = page.locator('.panel')
  await reads(panel, /Only\s+zoe/)
  await page.keyboard.press('o')
  await confirm(page, 'Save')
  await reads(alert(page), /Nothing is changed\./)
  await dialog(page).getByRole('button', { name: 'Remove zoe' }).click()
  await field(page, 'Only these workers').fill('carol, ann, da\u202en')
  await field(page, 'Who has the skill').fill('germn')
  await confirm(page, 'Save')
  await reads(alert(page), /^No one called “carol”, “da⟨U\+202E⟩n” has worked here lately\. No one with the skill “germn” has/)
  assert.equal(changesOf(), 0)
  // Another name is another question, and one who is known is none.
  await field(page, 'Who has the skill').fill('')
  await becomes(() => alert(page).count(), 0)
  await dialog(page).getByRole('button', { name: 'Remove carol' }).click()
  await confirm(page, 'Save')
  await reads(alert(page), /No one called “da/)
  assert.equal(await alert(page).evaluate((text) => text === document.activeElement), true)
  await page.keyboard.press('Enter')
  await confirm(page, 'Save anyway')
  await shown(page, 'It is changed who may have job')
  assert.deepEqual((await whomOf(id)).assignees, ['ann', 'da\u202en'])
  await reads(panel, /Only\s+ann/)
  await page.keyboard.press('o')
  for (const name of ['ann', 'da']) await dialog(page).getByRole('button', { name: `Remove ${name}` }).click()
  await confirm(page, 'Save')
  await becomes(async () => (await whomOf(id)).assignees, null)
  assert.equal(changesOf(), 2)
})

test('name_that_differs_only_by_case_from_another_is_pointed_out', async () => {
  await seen('twins')
  for (const worker of ['Ann', 'KIM']) {
    await on.service.enqueue('twins', { by: worker })
    await on.service.complete(await on.service.reserve('twins', worker))
  }
  const id = await on.service.enqueue('twins', 1)
  const page = await on.open(`/console/#/q/twins/waiting/${id}`)
  await page.locator('.panel').waitFor()
  await page.keyboard.press('o')
  const names = dialog(page).getByRole('group', { name: 'Only these workers' })
  await becomes(async () => (await offered(page, 'Only these workers')).length, 4)
  await field(page, 'Only these workers').pressSequentially('kim')
  const twin = '“kim” is not “KIM”, seen here lately: upper and lower case count.'
  await becomes(() => names.locator('.twins').innerText(), twin)
  assert.equal(await field(page, 'Only these workers').evaluate((input) => document.getElementById(input.getAttribute('aria-describedby')).innerText), twin)
  await page.keyboard.press(',')
  await reads(names.getByRole('status'), /^kim added\. “kim” is not “KIM”/)
  await confirm(page, 'Save')
  await reads(alert(page), /^No one called “kim” has worked here lately\. “kim” is not “KIM”, seen here lately/)
  assert.equal(changesOf(), 0)
  // Both have worked here: no question, but it is said.
  await dialog(page).getByRole('button', { name: 'Remove kim' }).click()
  await field(page, 'Only these workers').pressSequentially('ann,bob,')
  await becomes(() => names.locator('.twins').innerText(), '“ann” is not “Ann”, seen here lately: upper and lower case count.')
  await field(page, 'Never these workers').pressSequentially('bob')
  assert.equal(await dialog(page).getByRole('group', { name: 'Never these workers' }).locator('.twins').count(), 0)
  await field(page, 'Never these workers').fill('')
  await confirm(page, 'Save')
  await becomes(async () => (await whomOf(id)).assignees, ['ann', 'bob'])
})

test('picked_jobs_get_what_is_typed_and_keep_the_rest', async () => {
  await seen('several')
  const ids = []
  for (const n of [1, 2, 3]) ids.push(await on.service.enqueue('several', n, { excluded: ['eve'] }))
  const page = await on.open('/console/#/q/several/waiting')
  await page.locator('[data-row]').first().waitFor()
  await page.getByRole('checkbox', { name: 'Pick all on this page' }).click()
  const open = () => page.getByRole('group', { name: 'What is picked' }).getByRole('button', { name: 'For whom' }).click()
  await open()
  await confirm(page, 'Save')
  await reads(alert(page), /Nothing is typed\./)
  await field(page, 'Only these workers').fill('ann,bob')
  await confirm(page, 'Save')
  await shown(page, '3 jobs changed.')
  for (const id of ids) {
    assert.deepEqual(await whomOf(id), { assignees: ['ann', 'bob'], excluded: ['eve'], skill: null, fallback_ms: null })
  }
  await page.getByRole('checkbox', { name: 'Pick all on this page' }).click()
  await open()
  await field(page, 'Who has the skill').fill('C1, German,french')
  await confirm(page, 'Save')
  await reads(alert(page), /A job asks for one skill; these are 3\./)
  await field(page, 'Who has the skill').fill('')
  for (const name of ['C1', 'German']) await dialog(page).getByRole('button', { name: `Remove ${name}` }).click()
  await field(page, 'Who has the skill').fill('"C1, German"')
  await dialog(page).getByRole('checkbox', { name: /Take away what is empty/ }).check()
  await confirm(page, 'Save')
  await becomes(() => dialog(page).count(), 0)
  for (const id of ids) {
    assert.deepEqual(await whomOf(id), { assignees: null, excluded: null, skill: 'C1, German', fallback_ms: null })
  }
})

test('new_job_is_for_those_who_are_named', async () => {
  await seen('fresh')
  const page = await on.open('/console/#/q/fresh/waiting')
  await page.getByRole('button', { name: 'Add a job' }).click()
  await page.getByLabel('Payload, as JSON').fill('{"n":1}')
  await dialog(page).getByText('For whom').click()
  await field(page, 'Only these workers').fill('carol')
  await dialog(page).getByLabel('For everybody after').fill('soon')
  await confirm(page, 'Add the job')
  await reads(alert(page), /A time is written with its unit, such as 10 s, 5 min, 2 h or 30 d\./)
  await dialog(page).getByLabel('For everybody after').fill('10 s')
  await confirm(page, 'Add the job')
  await reads(alert(page), /No one called “carol” has worked here lately\./)
  await confirm(page, 'Add the job anyway')
  await shown(page, 'is added.')
  const { jobs: [job] } = await on.service.call('GET', '/queues/fresh/jobs?state=waiting')
  assert.deepEqual(await whomOf(job.id), { assignees: ['carol'], excluded: null, skill: null, fallback_ms: 10_000 })
})

test('line_of_a_skill_is_reassigned_to_another', async () => {
  await seen('skilled')
  const jobs = Array.from({ length: 120 }, (_, n) => ({ queue: 'skilled', payload: { n }, dedupe: false, skill: 'germn' }))
  await on.service.call('POST', '/jobs', jobs)
  const page = await on.open('/console/#/q/skilled/lines')
  await page.locator('[data-row]', { hasText: '+germn' }).getByRole('button', { name: 'Reassign' }).click()
  await reads(dialog(page), /Reassign what waits for the skill germn\?/)
  await field(page, 'To those with the skill').fill('"C1, German"')
  await confirm(page, 'Reassign')
  await shown(page, '120 jobs reassigned.')
  const lines = async () => (await on.service.queue('skilled')).lines.map(({ line, waiting }) => [line, waiting])
  assert.deepEqual(await lines(), [['+C1, German', 120]])
  await page.goto(`${on.url}/console/#/q/skilled/waiting?line=%2BC1%2C%20German`)
  await page.locator('[data-row]').first().waitFor()
  await page.keyboard.press('R')
  await dialog(page).getByRole('checkbox').check()
  await confirm(page, 'Reassign')
  await becomes(lines, [])
})

test('without_the_list_names_are_sent_unasked', async () => {
  const id = await on.service.enqueue('older', 1)
  const refusal = { status: 422, type: 'application/problem+json', body: { title: 'x', detail: 'y' } }
  on.wire.rule = ({ path }) => (path.includes('recent=true') ? refusal : null)
  const page = await on.open(`/console/#/q/older/waiting/${id}`)
  await page.locator('.panel').getByRole('button', { name: 'For whom' }).click()
  await field(page, 'Only these workers').fill('carol')
  await confirm(page, 'Save')
  await shown(page, 'It is changed who may have job')
})

test('dialog_of_names_fits_on_a_phone', async () => {
  const id = await on.service.enqueue('pocket', 1, { assignees: [`${'w'.repeat(120)}`, 'b'], excluded: ['c'], skill: 'd' })
  const page = await on.open(`/console/#/q/pocket/waiting/${id}`, { width: 360, height: 740, touch: true })
  await page.locator('.panel').getByRole('button', { name: 'For whom' }).tap()
  await dialog(page).waitFor()
  assert.ok(await fits(page))
  assert.ok(await dialog(page).evaluate((box) => box.scrollWidth <= box.clientWidth))
})
