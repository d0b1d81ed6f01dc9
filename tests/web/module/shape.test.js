// What is published: one module, its types, and nothing that runs before it is asked to.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { test } from 'node:test'
import { startService } from '../world/service.js'
import { ERROR_BYTES, REASON_BYTES } from '../../../web/client/words.js'

const at = (name) => new URL(`../../../web/client/${name}`, import.meta.url)
const read = (name) => readFileSync(at(name), 'utf8')
const files = readdirSync(at(''), { recursive: true }).filter((name) => name.endsWith('.js')).sort()
/** For those who install the package; what a page loads is the rest. */
const BESIDE = ['react.js', 'desk_view.js', 'form.js']
const parts = files.filter((name) => !BESIDE.includes(name) && !name.startsWith('form/'))

test('the package names the module and its types', () => {
  const { name, type, exports, types, files: packed, dependencies } = JSON.parse(read('package.json'))
  assert.deepEqual([name, type, dependencies], ['intray-client', 'module', undefined])
  for (const entry of [exports['.'], exports['./form'], exports['./react']]) {
    assert.deepEqual(Object.keys(entry), ['types', 'default'], 'types come first')
    for (const file of Object.values(entry)) assert.ok(packed.includes(file.replace('./', '')), file)
  }
  for (const file of [types, ...packed]) assert.ok(existsSync(at(file)), file)
  assert.deepEqual(packed.filter((file) => file.endsWith('.js')).sort(), files, 'no part is left behind')
})

test('the module loads without a page and exports three names', async () => {
  assert.deepEqual(Object.keys(await import(at('client.js'))), ['Intray', 'IntrayError', 'Job'])
})

test('the served module imports nothing and adds no markup', async (t) => {
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

test('the served form module imports nothing and needs no page', async (t) => {
  const service = await startService()
  t.after(service.stop)
  const source = await (await fetch(`${service.url}/form.js`)).text()
  const { readForm, checkForm, ...more } = await import(`data:text/javascript,${encodeURIComponent(source)}`)
  assert.deepEqual(Object.keys(more), ['checkText', 'drawForm', 'shown', 'visible'])
  const form = readForm({ type: 'object', properties: { n: { type: 'integer', maximum: 3 } } })
  assert.deepEqual(checkForm(form, { n: 4 }).map(({ pointer }) => pointer), ['/n'])
  assert.doesNotMatch(source, /^\s*import\b/m)
  for (const [path, wanted] of [['form.d.ts', 'form.d.ts'], ['form.css', 'form/form.css']]) {
    assert.equal(await (await fetch(`${service.url}/${path}`)).text(), read(wanted), path)
  }
})

test('problem_types_are_those_of_the_contract', () => {
  const found = (text) => [...new Set(text.match(/\/problems\/[a-z]+(?:-[a-z]+)*/g))].sort()
  const contract = readFileSync(new URL('../../../openapi.yaml', import.meta.url), 'utf8')
  const declared = /type ProblemType =(.*?)\n\n/s.exec(read('client.d.ts'))[1]
  assert.deepEqual(found(declared), found(contract))
})

test('text_limits_match_the_contract_and_the_documents', () => {
  const contract = readFileSync(new URL('../../../openapi.yaml', import.meta.url), 'utf8')
  const max = (name) => Number(new RegExp(`${name}: \\{ type: string, maxLength: (\\d+), description: '.*? in at most`).exec(contract)[1])
  assert.deepEqual([max('error'), max('reason')], [ERROR_BYTES, REASON_BYTES])
  for (const page of ['client.d.ts', 'README.md']) {
    for (const limit of [ERROR_BYTES, REASON_BYTES]) assert.ok(read(page).replaceAll(/(\d),(\d)/g, '$1$2').includes(`${limit} bytes`), page)
  }
})

test('only the job store writes records, and files stay short', () => {
  for (const part of files) {
    const text = read(part)
    if (part !== 'job_store.js') assert.doesNotMatch(text, /Object\.assign\(r\b|\br\.\w+ (?:[-+?|]*)=(?![=>])/, part)
    assert.ok(text.split('\n').length <= (part.startsWith('form/') ? 301 : 251), `${part} is long`)
    for (const line of text.split('\n')) assert.ok(line.length <= 120, `${part}: ${line}`)
  }
})
