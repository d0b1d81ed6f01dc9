// What is published: one module, its types, and nothing that runs before it is asked to.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { test } from 'node:test'
import { startService } from '../world/service.js'

const at = (name) => new URL(`../../../web/client/${name}`, import.meta.url)
const read = (name) => readFileSync(at(name), 'utf8')
const parts = readdirSync(at('')).filter((name) => name.endsWith('.js'))

test('the package says where the module and its types are', () => {
  const { name, type, exports, types, files, dependencies } = JSON.parse(read('package.json'))
  assert.deepEqual([name, type, dependencies], ['intray-client', 'module', undefined])
  const named = [exports['.'].default, exports['.'].types, types, ...files]
  for (const file of named) assert.ok(existsSync(at(file)), file)
  assert.deepEqual(Object.keys(exports['.']), ['types', 'default'], 'types come first')
  assert.deepEqual(files.filter((file) => file.endsWith('.js')), parts, 'no part is left behind')
})

test('the module can be loaded where there is no page, and exports three names', async () => {
  assert.deepEqual(Object.keys(await import(at('client.js'))), ['Intray', 'IntrayError', 'Job'])
})

test('it is served as one file that imports nothing, and puts nothing into a page but data', async (t) => {
  const service = await startService()
  t.after(service.stop)
  const source = await (await fetch(`${service.url}/client.js`)).text()
  assert.deepEqual(Object.keys(await import(`data:text/javascript,${encodeURIComponent(source)}`)), [
    'Intray', 'IntrayError', 'Job',
  ])
  const declared = (text) => text.match(/(?<=^(?:export )?(?:async )?(?:class|const|function) )\w+/gm) ?? []
  const names = parts.flatMap((part) => declared(read(part)))
  assert.deepEqual(declared(source).sort(), names.sort(), 'each part is in it once')
  assert.doesNotMatch(
    source,
    /^\s*import\b|\bimport\(['"`](?!\.)|innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function/m,
  )
})

test('the ledger alone writes a record, and each part is one thought', () => {
  for (const part of parts) {
    const text = read(part)
    if (part !== 'ledger.js') assert.doesNotMatch(text, /Object\.assign\(r\b|\br\.\w+ (?:[-+?|]*)=(?![=>])/, part)
    assert.ok(text.split('\n').length <= 251, `${part} is long`)
    for (const line of text.split('\n')) assert.ok(line.length <= 120, `${part}: ${line}`)
  }
})
