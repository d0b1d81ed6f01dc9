// The package as a file of the page's own repository, by what the documents print: an installation needs no running service.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { startService } from '../../web/world/service.js'
import { examples } from './shop.js'

const PAGES = ['docs/clients.md', 'web/client/README.md']

test('npm_ci_of_a_vendored_package_needs_no_running_service', async (t) => {
  const service = await startService()
  const folder = await mkdtemp(join(tmpdir(), 'intray-vendored-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  // A cache of its own and a registry that is not there: nothing comes from anywhere but the folder and the service.
  const env = { ...process.env, npm_config_cache: join(folder, 'cache'), npm_config_registry: 'http://127.0.0.1:1', npm_config_fetch_retries: '0' }
  const run = (program, ...args) => promisify(execFile)(program, args, { cwd: folder, env })
  const read = async (name) => JSON.parse(await readFile(join(folder, name), 'utf8'))
  await run('git', 'init', '-q')
  await run('npm', 'init', '-y')
  for (const page of PAGES) {
    const printed = (await examples('sh', page)).find((block) => block.includes('vendor'))
    await run('sh', '-ec', printed.replaceAll('https://queue.example', service.url))
  }
  await service.stop()
  const path = 'file:vendor/intray-client-0.1.0.tgz'
  assert.equal((await read('package.json')).dependencies['intray-client'], path)
  const { version, resolved, integrity } = (await read('package-lock.json')).packages['node_modules/intray-client']
  assert.deepEqual([resolved, path.includes(`-${version}.tgz`)], [path, true])
  assert.match(integrity, /^sha512-/)
  for (const name of ['node_modules', 'cache']) await rm(join(folder, name), { recursive: true, force: true })
  await run('npm', 'ci', '--no-audit', '--no-fund')
  const names = "Object.keys(await import('intray-client')).join()"
  const { stdout } = await run('node', '--input-type=module', '--eval', `console.log(${names})`)
  assert.equal(stdout.trim(), 'Intray,IntrayError,Job')
})
