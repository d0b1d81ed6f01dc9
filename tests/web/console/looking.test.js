// Who may look and change nothing; and who opens the console with a key that is not for it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shown, stage } from '../world/stage.js'

const on = stage(async ({ service }) => {
  await service.enqueue('calls', { call: 'back' }, { max_attempts: 1 })
  await service.fail(await service.reserve('calls', 'ann'), 'no answer')
  await service.enqueue('calls', { call: 'once more' })
  await service.reserve('calls', 'bob')
  await service.enqueue('calls', { call: 'later' }, { delay_ms: 600_000 })
  await service.enqueue('calls', { call: 'now' })
  await service.batch('calls', { sealed: false, jobs: [{ payload: 1 }] })
})

const me = (role, more) => ({
  status: 200, type: 'application/json',
  body: { role, name: role, worker: null, queues: ['*'], until: null, ...more },
})
const here = (who) => ({ path }) => (path === '/me' ? who : null)
const ACTS = /^(Add\b|Edit|Release|Requeue|Withdraw|Reorder|Run now|Pause|Resume|Seal|Check now|For whom|Remove|Save|Set)/

test('a viewer sees everything and no action buttons', async () => {
  on.wire.rule = here(me('viewer'))
  const page = await on.open('/console/')
  await page.locator('[data-row]', { hasText: 'calls' }).waitFor()
  for (const [tab, text] of [
    ['waiting', '"call":"now"'], ['delayed', '"call":"later"'], ['dead', 'no answer'], ['held', 'bob'], ['batches', 'open'],
    ['settings', 'Longest hold'],
  ]) {
    await page.goto(`${on.url}/console/#/q/calls/${tab}`)
    await shown(page, text)
    if (tab !== 'settings') {
      await page.locator('.main [data-row] td.id a').first().click()
      await page.locator('.panel h3').first().waitFor()
    }
    const names = await page.getByRole('button').evaluateAll((all) => all.map((one) => one.ariaLabel ?? one.textContent))
    assert.deepEqual(names.filter((name) => ACTS.test(name.trim())), [], tab)
    const fields = await page.locator('form:not(.search) input, form select, form:not(.search) button').count()
    assert.equal(fields, 0, `${tab}: nothing can be filled in`)
    for (const key of ['p', 'r', 'c', 'u', 'U', 'y', 'A', 'E']) await page.keyboard.press(key)
    assert.equal(await page.getByRole('dialog').count(), 0, tab)
  }
  await page.goto(`${on.url}/console/#/dead`)
  await page.locator('[data-row]', { hasText: 'no answer' }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Requeue' }).count(), 0)
  await page.goto(`${on.url}/console/#/workers`)
  await page.locator('[data-row]', { hasText: 'bob' }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Release' }).count(), 0)
  for (const key of ['j', 'r']) await page.keyboard.press(key)
  assert.equal(await page.getByRole('dialog').count(), 0)
  await page.keyboard.press('?')
  await shown(page, 'down, up')
  assert.equal(await page.getByText('requeue all that died').count(), 0)
  assert.deepEqual(on.wire.log.filter(({ method }) => method !== 'GET'), [])
})

test('a key of another role is reported and can be replaced', async () => {
  const page = await on.open()
  await page.locator('[data-row]').first().waitFor()
  const refusal = { status: 401, body: { type: '/problems/unauthorized', title: 'a key', status: 401, detail: 'send a key' } }
  for (const [who, message] of [
    [me('producer'), "This is a producer's key"],
    [me('asker'), "This is an asker's key"],
    [me('worker', { name: null, worker: 'ann' }), "This is a worker's token"],
  ]) {
    on.wire.rule = ({ path, headers }) => (headers.authorization ? here(who)({ path }) : refusal)
    await page.reload()
    await page.getByLabel('Your key').fill('some-key')
    await page.keyboard.press('Enter')
    await shown(page, message)
    assert.equal(await page.locator('[data-row]').count(), 0)
  }
  on.wire.rule = ({ headers }) => (headers.authorization ? null : refusal)
  await page.getByLabel('Your key').fill('another')
  await page.keyboard.press('Enter')
  await page.locator('[data-row]').first().waitFor()
})

test('an_empty_console_prints_a_call_with_a_key_where_keys_are_on', async () => {
  const refusal = { status: 401, body: { type: '/problems/unauthorized', title: 'a key', status: 401, detail: 'send a key' } }
  const none = { status: 200, type: 'application/json', body: { queues: [], next: null } }
  on.wire.rule = ({ path, headers }) => {
    if (!headers.authorization) return refusal
    return path.startsWith('/queues') ? none : here(me('operator'))({ path })
  }
  const page = await on.open()
  await page.getByLabel('Your key').fill('a key')
  await page.keyboard.press('Enter')
  await shown(page, 'not a whole key')
  await page.getByLabel('Your key').fill('some-key')
  await page.keyboard.press('Enter')
  await shown(page, "curl -H 'Authorization: Bearer KEY' --json")
  await shown(page, "is a producer's key")
})

test('a question is not shown to the next user', async () => {
  const refusal = { status: 401, body: { type: '/problems/unauthorized', title: 'a key', status: 401, detail: 'the key has ended' } }
  let key = 'of-one'
  on.wire.rule = ({ path, headers }) => (headers.authorization !== `Bearer ${key}` ? refusal : here(me(key === 'of-one' ? 'operator' : 'viewer'))({ path }))
  const page = await on.open('/console/#/q/calls/waiting')
  const signIn = async () => {
    await page.getByLabel('Your key').fill(key)
    await page.keyboard.press('Enter')
    await page.locator('[data-row]').first().waitFor()
  }
  await signIn()
  await page.locator('[data-row]').first().getByRole('button', { name: 'For whom' }).click()
  await shown(page, 'Who may have job')
  key = 'of-another'
  // Asked at once, as after a look at another tab.
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
  await page.getByLabel('Your key').waitFor()
  await signIn()
  assert.equal(await page.getByRole('dialog').count(), 0)
})
