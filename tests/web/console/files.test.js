// What is vendored is what the packages have, and the pages keep their own rules.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'

const console_ = new URL('../../../web/console/', import.meta.url)
const demo = new URL('../../../web/demo/', import.meta.url)
const modules = new URL('../node_modules/', import.meta.url)
const read = (base, path) => readFile(new URL(path, base), 'utf8')

const FROM = {
  'preact.mjs': 'preact/dist/preact.mjs', 'hooks.mjs': 'preact/hooks/dist/hooks.mjs', 'htm.mjs': 'htm/dist/htm.mjs',
  'uPlot.iife.min.js': 'uplot/dist/uPlot.iife.min.js', 'uPlot.min.css': 'uplot/dist/uPlot.min.css',
  'preact.LICENSE': 'preact/LICENSE', 'htm.LICENSE': 'htm/LICENSE', 'uPlot.LICENSE': 'uplot/LICENSE',
}

test('the vendored files are those of the packages', async () => {
  const there = await readdir(new URL('vendor/', console_))
  assert.deepEqual(there.sort(), [...Object.keys(FROM), 'README.md'].sort())
  for (const [name, path] of Object.entries(FROM)) {
    const own = await read(console_, `vendor/${name}`)
    const wanted = (await read(modules, path)).replace('from"preact"', 'from"./preact.mjs"')
    assert.equal(own, wanted, name)
  }
  const table = await read(console_, 'vendor/README.md')
  for (const name of ['preact', 'htm', 'uplot']) {
    const { version } = JSON.parse(await read(modules, `${name}/package.json`))
    assert.match(table, new RegExp(`\`${name}\`, .*\\| ${version.replaceAll('.', '\\.')} \\|`))
  }
})

test('the contract reader is the version its README names', async () => {
  const docs = new URL('../../../web/docs/vendor/', import.meta.url)
  const sum = createHash('sha256').update(await read(docs, 'rapidoc-min.js')).digest('hex')
  assert.ok((await read(docs, 'README.md')).includes(`\`${sum}\``), sum)
})

test('the files are small', async () => {
  const sizes = await Promise.all(Object.keys(FROM).filter((name) => !name.endsWith('LICENSE'))
    .map(async (name) => gzipSync(await read(console_, `vendor/${name}`), { level: 9 }).length))
  assert.ok(sizes.reduce((sum, size) => sum + size) < 35_000)
})

async function own() {
  const files = []
  for (const [base, folders] of [[console_, ['', 'views/']], [demo, ['']]]) {
    for (const folder of folders) {
      for (const entry of await readdir(new URL(`./${folder}`, base), { withFileTypes: true })) {
        if (!entry.isFile() || !/\.(js|html|css)$/.test(entry.name)) continue
        files.push([folder + entry.name, await read(base, folder + entry.name)])
      }
    }
  }
  return files
}

test('no page loads foreign files or makes HTML of text', async () => {
  for (const [name, text] of await own()) {
    const outside = text.replaceAll('http://www.w3.org/2000/svg', '')
    assert.doesNotMatch(outside, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/, name)
    if (name.endsWith('.html')) assert.doesNotMatch(outside, /<script(?![^>]*\bsrc=)|\sstyle=|\son\w+=|https?:/, name)
    if (name.endsWith('.css')) assert.doesNotMatch(outside, /@import|url\(\s*["']?(?!data:)/, name)
    if (name.endsWith('.js')) assert.doesNotMatch(outside, /from ['"](?![./])|\bimport\(\s*['"]https?:/, name)
  }
})

test('the console stores only the key, if asked, and how lists are exported, for the tab', async () => {
  for (const [name, text] of await own()) {
    if (['tab_key.js', 'remembered.js'].includes(name)) assert.doesNotMatch(text, /localStorage|indexedDB|document\.cookie/, name)
    else if (name !== 'desk.js') assert.doesNotMatch(text, /localStorage|sessionStorage|indexedDB|document\.cookie/, name)
  }
})

test('buttons_and_fields_that_the_page_for_leads_names_are_those_of_the_console', async () => {
  const page = await read(new URL('../../../docs/', import.meta.url), 'lead.md')
  const named = [...page.matchAll(/`([A-Z][a-z ]+…?)`/g), ...page.matchAll(/(?<!\*)\*([A-Z][a-z ]+)\*(?!\*)/g)].map((found) => found[1])
  assert.ok(named.length > 20, named)
  const text = (await own()).map(([, source]) => source).join('\n')
  const desk = await read(new URL('../../../web/desk/', import.meta.url), 'words.js')
  for (const name of named) assert.ok(text.includes(name) || desk.includes(`'${name}'`), name)
})

test('console files stay short', async () => {
  for (const [name, text] of await own()) {
    const lines = text.split('\n')
    if (/\.(js|css)$/.test(name)) assert.ok(lines.length <= 250, name)
    for (const [n, line] of lines.entries()) assert.ok(line.length <= 120, `${name}:${n + 1} is ${line.length} wide`)
  }
})
