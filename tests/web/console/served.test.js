// How the pages are served: the service's part of their safety.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { POLICY } from '../world/served.js'
import { startService } from '../world/service.js'
import { stage } from '../world/stage.js'
import { becomes } from '../world/until.js'

const on = stage()
const get = (path, headers) => fetch(on.url + path, { headers, redirect: 'manual' })

test('every file has its type, a strict policy, and is asked for again', async () => {
  for (const [path, type] of [
    ['/console/', 'text/html; charset=utf-8'],
    ['/console/app.js', 'text/javascript; charset=utf-8'],
    ['/console/style.css', 'text/css; charset=utf-8'],
    ['/console/icon.svg', 'image/svg+xml'],
    ['/console/vendor/preact.mjs', 'text/javascript; charset=utf-8'],
    ['/console/views/job.js', 'text/javascript; charset=utf-8'],
    ['/console/vendor/preact.LICENSE', 'text/plain; charset=utf-8'],
    ['/demo/', 'text/html; charset=utf-8'],
    ['/demo/desk.js', 'text/javascript; charset=utf-8'],
  ]) {
    const { status, headers } = await get(path)
    assert.deepEqual([status, headers.get('content-type')], [200, type], path)
    assert.equal(headers.get('content-security-policy'), POLICY, path)
    assert.equal(headers.get('x-content-type-options'), 'nosniff', path)
    assert.equal(headers.get('referrer-policy'), 'no-referrer', path)
    assert.equal(headers.get('cache-control'), 'no-cache', path)
  }
})

test('the module may be imported by the page of any origin', async () => {
  for (const [path, type] of [
    ['/client.js', 'text/javascript; charset=utf-8'],
    ['/client.d.ts', 'text/plain; charset=utf-8'],
  ]) {
    const { status, headers } = await get(path, { origin: 'https://elsewhere.example' })
    assert.deepEqual([status, headers.get('content-type')], [200, type], path)
    assert.equal(headers.get('access-control-allow-origin'), '*', path)
    assert.equal(headers.get('x-content-type-options'), 'nosniff', path)
    assert.equal(headers.get('cache-control'), 'no-cache', path)
  }
})

test('a folder without its slash is where relative paths are right', async () => {
  for (const name of ['console', 'demo']) {
    const { status, headers } = await get(`/${name}`)
    assert.deepEqual([status, headers.get('location')], [308, `${name}/`])
  }
})

test('without --demo there is no demo', async (t) => {
  const service = await startService()
  t.after(service.stop)
  for (const path of ['/demo', '/demo/', '/demo/desk.js']) assert.equal((await fetch(service.url + path)).status, 404, path)
})

test('nothing else is served', async () => {
  const paths = ['/console/nothing.js', '/console/views/', '/console/%2e%2e/client/package.json', '/demo/..%2f..%2fCargo.toml', '/client.json', '/demo/seed.sh', '/demo/items.json', '/console/vendor/README.md']
  for (const path of paths) assert.equal((await get(path)).status, 404, path)
})

test('the policy holds in a browser', async () => {
  const page = await on.open()
  const image = () => document.body.append(Object.assign(document.createElement('img'), { src: 'https://elsewhere.invalid/x.png' }))
  await page.evaluate(image)
  await becomes(() => page.evaluate(() => globalThis.refused.length), 1)
  await page.evaluate(() => {
    globalThis.refused = []
    document.querySelector('body > img').remove()
  })
  await assert.rejects(on.clear(), /Content Security Policy/, 'these stories notice what is refused')
})
