// A dialog that asks who has worked in the queue, and is stopped or left before the answer: what it asked about does not happen.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shown, stage } from '../world/stage.js'
import { becomes, reads } from '../world/until.js'

const on = stage()

const dialog = (page) => page.getByRole('dialog')
const press = (page, name) => dialog(page).getByRole('button', { name }).click()
const type = (page, field, text) => dialog(page).getByRole('combobox', { name: field }).fill(text)
const writes = () => on.wire.log.filter(({ method }) => method !== 'GET').map(({ method, path }) => `${method} ${path}`)

/** Each opens its dialog, names `zoe` in it, and returns the name of its button. */
const DIALOGS = {
  async add(page) {
    await page.getByRole('button', { name: 'Add a job' }).click()
    await dialog(page).getByRole('textbox', { name: 'Payload' }).fill('{"n":1}')
    await dialog(page).getByText('For whom', { exact: true }).click()
    await type(page, 'Only these workers', 'zoe')
    return 'Add the job'
  },
  async again(page, id) {
    await on.service.complete(await on.service.reserve('again', 'bob'))
    await page.goto(`${on.url}/console/#/q/again/completed/${id}`)
    await page.getByRole('button', { name: 'Edit and run again' }).click()
    await dialog(page).getByText('For whom', { exact: true }).click()
    await type(page, 'Only these workers', 'zoe')
    return 'Add the new job'
  },
  async whom(page, id) {
    await page.goto(`${on.url}/console/#/q/whom/waiting/${id}`)
    await page.locator('.panel').getByRole('button', { name: 'For whom' }).click()
    await type(page, 'Never these workers', 'zoe')
    return 'Save'
  },
  async picked(page) {
    await page.getByRole('checkbox', { name: 'Pick all on this page' }).click()
    await page.getByRole('group', { name: 'What is picked' }).getByRole('button', { name: 'For whom' }).click()
    await type(page, 'Who has the skill', 'zoe')
    return 'Save'
  },
  async line(page) {
    await page.goto(`${on.url}/console/#/q/line/lines`)
    await page.locator('[data-row]', { hasText: '@bob' }).getByRole('button', { name: 'Reassign' }).click()
    await type(page, 'To whom', 'zoe')
    return 'Reassign'
  },
  async skill(page) {
    await page.goto(`${on.url}/console/#/q/skill/lines`)
    await page.locator('[data-row]', { hasText: '+de' }).getByRole('button', { name: 'Reassign' }).click()
    await type(page, 'To those with the skill', 'zoe')
    return 'Reassign'
  },
}

const STOPS = {
  Stop: (page) => press(page, 'Stop'),
  Escape: (page) => page.keyboard.press('Escape'),
  leave: (page) => page.evaluate(() => { location.hash = '#/workers' }),
}

test('dialog_that_is_stopped_while_it_looks_for_names_does_nothing', async () => {
  for (const [n, [queue, open]] of Object.entries(DIALOGS).entries()) {
    const id = await on.service.enqueue(queue, 0, { assignees: ['bob'] })
    await on.service.enqueue(queue, 1, { skill: 'de' })
    const page = await on.open(`/console/#/q/${queue}/waiting`)
    await page.locator('[data-row]').first().waitFor()
    let release
    const given = new Promise((turn) => { release = turn })
    const answer = { status: 200, type: 'application/json', body: { names: ['zoe'], skills: ['zoe'], more: false } }
    on.wire.rule = ({ path }) => (path.endsWith('/workers?recent=true') ? given.then(() => answer) : null)
    const action = await open(page, id)
    await press(page, action)
    await dialog(page).getByRole('button', { name: 'Stop' }).waitFor()
    await Object.values(STOPS)[n % 3](page)
    await becomes(() => dialog(page).count(), 0)
    release()
    await reads(page.locator('.messages'), /Stopped/)
    assert.deepEqual([queue, writes()], [queue, []])
    assert.match(await page.locator('.messages').innerText(), /Stopped\. Nothing was sent\./, queue)
    on.wire.rule = null
    await page.close()
  }
})

test('old_job_stays_when_the_new_one_is_stopped_on_its_way', async () => {
  const id = await on.service.enqueue('halves', { n: 1 }, { max_attempts: 1 })
  await on.service.fail(await on.service.reserve('halves', 'ann'), 'ink')
  const page = await on.open(`/console/#/q/halves/dead/${id}`)
  await page.locator('.panel').getByText('ink').waitFor()
  let release
  const held = new Promise((turn) => { release = turn })
  on.wire.rule = ({ method, path }) => (method === 'POST' && path.startsWith('/jobs?') ? held : null)
  await page.keyboard.press('E')
  await dialog(page).getByRole('textbox', { name: 'Payload' }).fill('{"n":2}')
  await page.getByLabel('Withdraw the old job').check()
  await press(page, 'Add the new job')
  await dialog(page).getByRole('button', { name: 'Stop' }).waitFor()
  await page.evaluate(() => { location.hash = '#/workers' })
  await becomes(() => dialog(page).count(), 0)
  release()
  await shown(page, 'you stopped before it was withdrawn')
  assert.deepEqual(await page.evaluate(() => location.hash), '#/workers')
  assert.deepEqual([await on.service.state(id), (await on.service.queue('halves')).counts.waiting], ['dead', 1])
})
