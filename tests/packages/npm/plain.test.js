// From an empty folder, without a build step: the package that the service serves, and a page next to it.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { example, shop, worksOffACat } from './shop.js'

const on = shop(async ({ folder, run, service, wire, write }) => {
  await run('npm', 'init', '-y')
  await run('npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', `${service.url}/client.tgz`)
  await write('index.html', await example('html', 'Plain HTML', wire.url))
  return folder
})

test("the npm package has no dependencies and the right version", async () => {
  const read = async (name) => JSON.parse(await readFile(join(on.folder, name), 'utf8'))
  const contract = await (await fetch(`${on.service.url}/openapi.yaml`)).text()
  const [, version] = /^ {2}version: (\S+)$/m.exec(contract)
  assert.equal((await read('node_modules/intray-client/package.json')).version, version)
  assert.deepEqual(Object.keys((await read('package-lock.json')).packages), ['', 'node_modules/intray-client'])
  const names = "Object.keys(await import('intray-client')).join()"
  const { stdout } = await on.run('node', '--input-type=module', '--eval', `console.log(${names})`)
  assert.equal(stdout.trim(), 'Intray,IntrayError,Job')
})

test('a plain HTML page saves a draft and completes a job', async (t) => {
  await worksOffACat(t, on, '/')
})
