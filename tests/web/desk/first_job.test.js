// What docs/desk.md prints for a newcomer: from an empty folder to the first answer, with no page written.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { hearsClicks, stage } from '../world/stage.js'
import { becomes } from '../world/until.js'

const on = stage()
const PRINTED = 'http://127.0.0.1:7070'
const [part] = readFileSync(new URL('../../../docs/desk.md', import.meta.url), 'utf8').split('\n## First answer\n')[1]
  .split('\n## ')

test('first_job_is_done_by_what_the_page_prints', async (t) => {
  const begin = performance.now()
  const folder = mkdtempSync(join(tmpdir(), 'first-'))
  const here = (text) => text.replaceAll(PRINTED, on.url)
  const run = async (command) => JSON.parse((await promisify(execFile)('bash', ['-c', here(command)], { cwd: folder })).stdout)
  const [enqueues, lists] = [...part.matchAll(/```sh\n(.*?)\n#/gs)].map(([, command]) => command)
  assert.equal((await run(enqueues)).state, 'waiting')
  const page = await on.open(here(/`(http\S+)`/.exec(part)[1]).replace(on.url, ''))
  await page.getByLabel('Your name').fill('ann')
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByRole('heading', { name: 'Is this fine?' }).waitFor()
  await hearsClicks(page)
  await page.getByRole('button', { name: 'Approve' }).click()
  await becomes(async () => (await run(lists)).jobs.length, 1)
  assert.deepEqual((await run(lists)).jobs[0].result, JSON.parse(/`({"approved":.*?})`/.exec(part)[1]))
  t.diagnostic(`from an empty folder to the first answer that is final: ${Math.round(performance.now() - begin)} ms`)
})
