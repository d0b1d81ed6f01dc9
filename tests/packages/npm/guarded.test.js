// The page that the documents print for people who log in, with a service that wants a token.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { becomes } from '../../web/world/until.js'
import { binary } from '../../web/world/service.js'
import { examples, shop } from './shop.js'

const SECRET = 'token.secret'
let key = ''

const on = shop(build, async ({ folder, run, write }) => {
  const { stdout } = await run(binary(), 'key', 'site', 'producer', 'reviews*')
  const [made, line] = stdout.split('\n')
  key = made
  await write('keys.txt', `${line}\n`)
  await write(SECRET, `${'a secret of the story, long enough'.repeat(2)}\n`)
  return ['--keys-file', join(folder, 'keys.txt'), '--token-secret-file', join(folder, SECRET)]
})

async function build({ folder, run, service, write }) {
  const here = (page) => page.replaceAll('http://127.0.0.1:7070', service.url)
  await write('index.html', here((await examples('html', 'docs/start.md'))[0]))
  const { stdout } = await run(binary(), 'token', '--worker', 'ann', '--queue', 'reviews', '--token-secret-file', join(folder, SECRET))
  await write('my-token', stdout.trim()) // a backend's answer
  return folder
}

test('the start page works after a login', async (t) => {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const payload = { title: 'A cat' }
  const put = await fetch(`${on.service.url}/jobs`, { method: 'POST', headers, body: JSON.stringify({ queue: 'reviews', payload }) })
  const { id } = await put.json()
  const page = await on.open(t, '/')
  await page.getByText('A cat').waitFor()
  await page.locator('#note').pressSequentially('it purrs')
  await page.getByRole('button', { name: 'Done' }).click()
  const job = async () => (await fetch(`${on.service.url}/jobs/${id}`, { headers })).json()
  await becomes(async () => (await job()).result, { note: 'it purrs' })
  assert.equal((await job()).completed.worker, 'ann')
  assert.deepEqual(page.wrong, [])
})

test("no page contains the site's key", async () => {
  assert.ok(!(await readFile(join(on.folder, 'index.html'), 'utf8')).includes(key))
})
