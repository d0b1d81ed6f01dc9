// What runs once more: files in which a story failed and the machine stood still, if no other failed.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const here = new URL('./', import.meta.url)
const STOOD = `console.log('the machine stood still for 300 ms')`
const FAILS = `throw new Error('wrong')`
const story = (...lines) => `test('a story', async () => { ${lines.join('; ')} })\n`

/** What the reporter names, after these files of stories. */
async function stalled(t, files) {
  const folder = await mkdtemp(join(tmpdir(), 'intray-stalled-'))
  t.after(() => rm(folder, { recursive: true }))
  const paths = Object.keys(files).map((name) => join(folder, `${name}.test.mjs`))
  for (const [n, text] of Object.values(files).entries()) {
    await writeFile(paths[n], `import { test } from 'node:test'\n${text}`)
  }
  // With this variable a runner reports to an outer one instead.
  const { NODE_TEST_CONTEXT, ...env } = process.env
  const reporter = new URL('stalled.js', here).pathname
  const child = spawn(process.execPath, ['--test', `--test-reporter=${reporter}`, ...paths], { env })
  const named = await child.stdout.toArray()
  return Buffer.concat(named).toString().split('\n').filter(Boolean).map((path) => path.slice(folder.length + 1).split('.')[0])
}

test('only files with a failure and a stall are named', async (t) => {
  const fine = story('await null')
  assert.deepEqual(await stalled(t, { fine, stood: story(STOOD) }), [])
  assert.deepEqual(await stalled(t, { fine, slow: fine + story(STOOD, FAILS) + fine }), ['slow'])
})

test('another failure stands', async (t) => {
  assert.deepEqual(await stalled(t, { wrong: story(FAILS) }), [])
  assert.deepEqual(await stalled(t, { slow: story(STOOD, FAILS), wrong: story(FAILS) }), [])
  assert.deepEqual(await stalled(t, { stood: story(STOOD), wrong: story(FAILS) }), [], 'it stood in another file')
  assert.deepEqual(await stalled(t, { slow: story(STOOD, FAILS), broken: FAILS }), [])
})

test('a process that was stopped says how long', async (t) => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', `import '${new URL('world/stalls.js', here)}'; setInterval(() => {}, 9); console.log('here')`])
  t.after(() => child.kill('SIGKILL'))
  child.stdout.setEncoding('utf8')
  await once(child.stdout, 'data')
  let printed = ''
  child.stdout.on('data', (text) => { printed += text })
  for (let tries = 0; !printed && tries < 50; tries++) {
    child.kill('SIGSTOP')
    await new Promise((resolve) => setTimeout(resolve, 800))
    child.kill('SIGCONT')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  assert.match(printed, /^the machine stood still for \d{3,} ms$/m)
})
