// What is published: one module, its types, and nothing that runs before it is asked to.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const at = (name) => new URL(`../../../web/client/${name}`, import.meta.url)
const source = readFileSync(at('client.js'), 'utf8')

test('the package says where the module and its types are', () => {
  const { name, type, exports, types, files, dependencies } = JSON.parse(readFileSync(at('package.json'), 'utf8'))
  assert.deepEqual([name, type, dependencies], ['intray-client', 'module', undefined])
  const named = [exports['.'].default, exports['.'].types, types, ...files]
  for (const file of named) assert.ok(existsSync(at(file)), file)
  assert.deepEqual(Object.keys(exports['.']), ['types', 'default'], 'types come first')
})

test('the module can be loaded where there is no page, and exports three names', async () => {
  assert.deepEqual(Object.keys(await import(at('client.js'))), ['Intray', 'IntrayError', 'Job'])
})

test('it imports nothing, and puts nothing into a page but data', () => {
  assert.doesNotMatch(
    source,
    /^\s*import\b|\bimport\(['"`]|innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function/m,
  )
})
