// The pages' policy and their reader, where it counts: in a browser. What is served and how, the service's own stories tell.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fits, shown, stage } from '../world/stage.js'
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

test('the_page_at_the_root_has_the_look_of_the_rest', async () => {
  const grounds = []
  for (const how of [{}, { dark: true }, { width: 360, height: 740, touch: true }]) {
    const page = await on.open('/', how)
    const [body, card, link, font] = await page.evaluate(() => ['body', 'main', 'a', 'h1'].map((part) => {
      const { backgroundColor, color, fontFamily } = getComputedStyle(document.querySelector(part))
      return part === 'h1' ? fontFamily : part === 'a' ? color : backgroundColor
    }))
    assert.ok(new Set([body, card, link]).size === 3 && font.includes('Inter'), `${body} ${card} ${link} ${font}`)
    grounds.push(body)
    assert.ok(await fits(page))
    for (const href of await page.locator('a').evaluateAll((all) => all.map((one) => one.getAttribute('href')))) {
      assert.ok((await fetch(`${on.service.url}/${href}`)).ok, href)
    }
  }
  assert.notEqual(grounds[0], grounds[1])
  assert.equal(grounds[0], grounds[2])
})

test('the contract page loads nothing foreign, light and dark', async () => {
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
