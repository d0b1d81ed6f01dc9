// The demo fills the queues of both desks, and doubles nothing.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { shown, stage } from '../world/stage.js'
import { becomes } from '../world/until.js'

const on = stage()

test('seed_fills_both_queues_once', () => {
  const script = fileURLToPath(new URL('../../../web/demo/seed.sh', import.meta.url))
  const run = () => execFileSync('sh', [script, on.service.url], { encoding: 'utf8' })
  assert.match(run(), /10 requests are new in the queue approvals/)
  assert.match(run(), /\n0 requests are new/)
})

test('former_address_of_approvals_leads_to_the_desk_with_its_token', async () => {
  const page = await on.open('/demo/approvals/#token=nonsense')
  await shown(page, 'Desk')
  await becomes(() => on.wire.log.some(({ headers }) => headers.authorization === 'Bearer nonsense'))
  assert.match(await page.evaluate(() => location.href), /\/desk\/\?queue=approvals$/)
})
