// What each worker did per day: the list, its choices and its table.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { shown, stage } from '../world/stage.js'
import { becomes, reads } from '../world/until.js'

const on = stage()

async function work(queue, worker) {
  await on.service.enqueue(queue, worker, { dedupe: false })
  await on.service.complete(await on.service.reserve(queue, worker), { verdict: 'fine' })
}

test('sheets_are_off_until_the_setting_is_on', async () => {
  await on.service.enqueue('plain', 1)
  const page = await on.open('/console/#/q/plain/sheets')
  await shown(page, 'No day sheets are kept')
  await on.service.set('plain', { sheets: true })
  await shown(page, 'Nothing was counted on these days')
})

test('lines_are_narrowed_and_exported', async () => {
  await on.service.set('balance', { sheets: true, time_zone: 'Asia/Kolkata' })
  for (const worker of ['ann', 'bob', 'ann']) await work('balance', worker)
  const page = await on.open('/console/#/q/balance/sheets')
  const rows = page.locator('[data-row]')
  await becomes(() => rows.count(), 2)
  await becomes(() => rows.first().locator('td.done').innerText(), '2')
  await reads(page.locator('p.more'), /Days\s+of Asia\/Kolkata/)
  await page.getByLabel('Worker').fill('bob')
  await page.keyboard.press('Enter')
  await becomes(() => rows.count(), 1)
  assert.match(page.url(), /worker=bob/)
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'As CSV' }).click()])
  assert.equal(file.suggestedFilename(), 'balance-sheets.csv')
  const text = await readFile(await file.path(), 'utf8')
  assert.match(text, /^\ufeffday,worker,handed_out,[a-z0-9_,]+\r\n\d{4}-\d\d-\d\d,bob,1,1,/)
})

test('refused_table_says_why', async () => {
  await on.service.set('refused', { sheets: true })
  await work('refused', 'ann')
  const page = await on.open('/console/#/q/refused/sheets')
  const body = { type: '/problems/store-unavailable', title: 'Unavailable', status: 503, detail: 'Redis gave no answer in time' }
  on.wire.rule = ({ headers }) => headers.accept === 'text/csv' && { status: 503, body }
  await page.getByRole('button', { name: 'As CSV' }).click()
  await shown(page, body.detail)
})

test('first_days_are_those_of_the_queue_s_time_zone', async () => {
  for (const zone of ['Pacific/Kiritimati', 'Pacific/Pago_Pago', 'UTC']) {
    const name = zone.split('/').at(-1).toLowerCase()
    await on.service.enqueue(name, 1)
    await on.service.set(name, { sheets: true, time_zone: zone })
    const today = new Intl.DateTimeFormat('sv-SE', { timeZone: zone }).format(Date.now())
    const from = new Date(Date.parse(today) - 6 * 86_400_000).toISOString().slice(0, 10)
    const page = await on.open(`/console/#/q/${name}/sheets`)
    await becomes(() => page.getByLabel('From').inputValue(), from)
  }
})
