// The pages' policy and their reader, where it counts: in a browser. What is served and how, the service's own stories tell.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shown, stage } from '../world/stage.js'
import { becomes } from '../world/until.js'

const on = stage()

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

test('the contract can be read in light and in dark, and asks nobody else', async () => {
  for (const dark of [false, true]) {
    const page = await on.open('/docs/contract.html', { dark })
    const asked = []
    page.on('request', (request) => asked.push(new URL(request.url()).origin))
    await page.reload()
    await shown(page, 'POST /jobs/reserve')
    assert.equal(await page.locator('rapi-doc').getAttribute('theme'), dark ? 'dark' : 'light')
    assert.deepEqual([...new Set(asked)], [on.url])
  }
})
