// How the console looks and is used: hostile payloads, the keyboard alone, a phone, light and dark.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { confirm, fits, shown, stage } from '../world/stage.js'
import { becomes, reads } from '../world/until.js'

const on = stage()

const HOSTILE = ['<img src=x onerror="globalThis.owned=1">', '</script><script>globalThis.owned=1</script>', "javascript:globalThis.owned=1",
  '{{constructor.constructor("globalThis.owned=1")()}}', '<svg onload=globalThis.owned=1>', '\u202egnp.exe']
const TABS = ['waiting', 'held', 'blocked', 'delayed', 'dead', 'completed', 'cancelled', 'locks', 'batches', 'activity', 'settings']

test('payloads are always shown as text', async () => {
  const [worker, client, lock] = HOSTILE
  await on.service.set('hostile', { max_attempts: 2 })
  const payload = { constructor: null, type: 'img', props: { dangerouslySetInnerHTML: { __html: HOSTILE[0] } }, texts: HOSTILE, __proto__: { x: 1 } }
  const id = await on.service.enqueue('hostile', payload, { client, locks: [lock] })
  await on.service.enqueue('hostile', 'second', { client, locks: [lock] })
  const job = await on.service.reserve('hostile', worker)
  await on.service.reserve('hostile', 'other')
  const page = await on.open(`/console/#/q/hostile/held/${id}`)
  for (const tab of TABS) {
    await page.goto(`${on.url}/console/#/q/hostile/${tab}/${id}`)
    await page.locator('.panel pre').first().waitFor()
  }
  await on.service.fail(job, HOSTILE[1])
  const again = await on.service.reserve('hostile', worker)
  await on.service.complete(again, HOSTILE)
  await page.goto(`${on.url}/console/#/q/hostile/completed/${id}`)
  await page.locator('.panel').getByRole('heading', { name: 'Result' }).waitFor()
  const text = await page.locator('.panel').innerText()
  for (const part of [worker, HOSTILE[1], 'javascript:globalThis.owned=1', '\\u202egnp.exe']) assert.ok(text.includes(part.replaceAll('"', '\\"')) || text.includes(part), part)
  await page.getByLabel('Search').fill(HOSTILE[0])
  await page.keyboard.press('Enter')
  await shown(page, 'No queue has this name')
  await page.goto(`${on.url}/console/#/q/${encodeURIComponent(HOSTILE[0])}/waiting/${encodeURIComponent(HOSTILE[1])}`)
  await shown(page, 'There is no queue <img')
  assert.equal(await page.evaluate(() => globalThis.owned), undefined)
  assert.equal(await page.locator('img, iframe, object, #app script').count(), 0)
})

test('large numbers are shown as sent', async () => {
  const answer = await on.service.call('POST', '/jobs', '{"queue":"exact","payload":{"id":12345678901234567890,"n":1e400}}')
  const page = await on.open(`/console/#/q/exact/waiting/${answer.id}`)
  await page.locator('.panel').getByText('"id": 12345678901234567890').waitFor()
  await page.locator('.panel').getByText('"n": 1e400').waitFor()
})

test('everything works with the keyboard alone', async () => {
  await on.service.set('keys', { max_attempts: 1 })
  for (let n = 0; n < 3; n += 1) await on.service.enqueue('keys', { n })
  await on.service.fail(await on.service.reserve('keys', 'ann'), 'broken')
  await on.service.reserve('keys', 'ben')
  const page = await on.open()
  const key = (...names) => names.reduce((before, name) => before.then(() => page.keyboard.press(name)), Promise.resolve())
  const focused = (selector) => becomes(() => page.evaluate((wanted) => document.activeElement?.matches(wanted), selector), true)
  await page.locator('[data-row]', { hasText: 'keys' }).waitFor()

  await key('?')
  await shown(page, "to the row's buttons")
  await key('Escape')
  await key('/')
  await focused('input[aria-label=Search]')
  await page.keyboard.type('keys')
  await key('Enter')
  await page.getByRole('heading', { name: 'keys' }).waitFor()

  await key('2')
  await page.locator('[data-row]', { hasText: 'ben' }).waitFor()
  await key('j')
  await focused('[data-row]')
  assert.equal(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), 'solid')
  await key('x')
  await shown(page, '1 picked')
  await key('r')
  await shown(page, 'from those who hold it?')
  await focused('dialog button')
  await key('Tab', 'Enter')
  await shown(page, '1 job back in line')

  await key('5')
  await page.locator('[data-row]', { hasText: 'broken' }).waitFor()
  await key('j', 'Enter')
  await page.locator('.panel').getByText('broken').waitFor()
  await key('u')
  await becomes(async () => (await on.service.queue('keys')).counts.dead, 0)
  await key('Escape')
  await page.locator('.panel').waitFor({ state: 'detached' })

  await key('1')
  await becomes(() => page.locator('[data-row]').count(), 3)
  await key('j', 'j', 'j', 'k')
  assert.equal(await page.evaluate(() => [...document.querySelectorAll('[data-row]')].indexOf(document.activeElement)), 1)
  await key('Tab')
  await focused('[data-row] input[type=checkbox]')
  await key('Tab')
  await focused('[data-row] a')
  await key('Tab')
  await focused('[data-row] button')
  await key('Enter')
  await shown(page, 'Who may have job')
  await key('Escape')
  await focused('[data-row] button')
  await key('k', 'Enter')
  await page.locator('.panel pre').first().waitFor()
  await key('c')
  await shown(page, 'Withdraw job')
  await key('Tab', 'Enter')
  await becomes(() => page.locator('[data-row]').count(), 2)
  await key('Escape')
  await page.locator('.panel').waitFor({ state: 'detached' })
  await key('p')
  await shown(page, 'is paused')
  await key('s')
  await page.getByLabel('Lease', { exact: true }).waitFor()
  await key('g')
  await page.locator('[data-row]', { hasText: 'keys' }).waitFor()
})

test('a phone never scrolls sideways', async () => {
  await on.service.set('a-queue-with-quite-a-long-name.for-a-small-screen', { max_attempts: 1 })
  const name = 'a-queue-with-quite-a-long-name.for-a-small-screen'
  const long = { text: 'x'.repeat(600), url: `https://example.org/${'path/'.repeat(40)}` }
  const id = await on.service.enqueue(name, long, { client: 'c'.repeat(100), locks: ['l'.repeat(200)] })
  for (let n = 0; n < 4; n += 1) await on.service.enqueue(name, { ...long, n }, { locks: ['l'.repeat(200)], ...(n === 3 ? { delay_ms: 999_999 } : {}) })
  await on.service.batch(name, { jobs: [{ payload: long }] })
  await on.service.reserve(name, 'w'.repeat(120))
  const page = await on.open('/console/', { width: 360, height: 740, touch: true })
  await page.locator('[data-row]').first().waitFor()
  assert.ok(await fits(page), 'all queues')
  for (const tab of TABS) {
    await page.goto(`${on.url}/console/#/q/${name}/${tab}`)
    await page.locator('[data-row], .empty, .settings').first().waitFor()
    assert.ok(await fits(page), tab)
  }
  await page.goto(`${on.url}/console/#/q/${name}/held`)
  await page.locator('[data-row]').first().tap()
  const panel = page.locator('.panel')
  await panel.getByRole('button', { name: 'Release' }).waitFor()
  assert.ok(await fits(page), 'a job')
  await panel.getByRole('button', { name: 'Release' }).tap()
  await page.getByRole('dialog').waitFor()
  assert.ok(await fits(page), 'a question')
  await confirm(page, 'Release the job')
  await becomes(() => on.service.state(id), 'waiting')
})

test('on a phone jobs are selected without overlaps', async () => {
  for (const n of [0, 1, 2]) await on.service.enqueue('thumbs', { n })
  const page = await on.open('/console/#/q/thumbs/waiting', { width: 360, height: 740, touch: true })
  await page.locator('[data-row]').first().waitFor()
  const edge = (selector, side) => page.locator(selector).first().evaluate((element, name) => element.getBoundingClientRect()[name], side)
  assert.ok(await edge('td.pick input', 'right') < await edge('td.id a', 'left'))
  await page.getByRole('checkbox', { name: 'Pick job' }).first().tap()
  await shown(page, '1 picked')
  await page.getByRole('checkbox', { name: 'Pick all on this page' }).tap()
  await shown(page, '3 picked')
  assert.ok(await fits(page))
})

test('on a phone the header and the rates stay on one line', async () => {
  await on.service.enqueue('translations-of-the-handbook', 1)
  on.wire.rule = ({ headers }) => (headers.authorization ? null : { status: 401, body: { type: '/problems/unauthorized', status: 401, title: 'a key', detail: 'a key' } })
  const page = await on.open('/console/#/q/translations-of-the-handbook/waiting', { width: 360, height: 740, touch: true })
  await page.getByLabel('Your key').fill('any')
  await page.keyboard.press('Enter')
  await page.locator('[data-row]').first().waitFor()
  const middle = (selector) => page.locator(selector).first().evaluate((element) => {
    const { top, bottom } = element.getBoundingClientRect()
    return (top + bottom) / 2
  })
  const level = (one, other) => becomes(async () => [`${one} beside ${other}`, Math.abs(await middle(one) - await middle(other)) < 4], [`${one} beside ${other}`, true])
  await page.getByText('Chart', { exact: true }).tap()
  // A font may be wider than the one that is here.
  await page.locator('body').evaluate((body) => { body.style.letterSpacing = '.06em' })
  await level('.top .brand', '.top .button:last-child')
  await reads(page.locator('figcaption .key:last-child span'), /^\/\smin$/)
  await page.locator('figcaption .key b').evaluateAll((all) => all.forEach((rate) => { rate.textContent = '1,392' }))
  await level('figcaption .key:last-child', 'figcaption .key:last-child span')
})

test('light and dark follow the system, and the toggle until the page is left', async () => {
  const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
  const bright = (colour) => Number(/\d+/.exec(colour)[0]) > 127
  const light = await on.open()
  assert.equal(bright(await background(light)), true)
  const page = await on.open('/console/', { dark: true })
  assert.equal(bright(await background(page)), false)
  await page.keyboard.press('t')
  assert.equal(bright(await background(page)), true)
  await page.reload()
  assert.equal(bright(await background(page)), false)
})

test('text and marks have enough contrast', async () => {
  await on.service.set('contrast', { max_attempts: 1, paused: null })
  await on.service.enqueue('contrast', 1)
  for (const dark of [false, true]) {
    const page = await on.open('/console/#/q/contrast/waiting', { dark })
    await page.locator('[data-row]').waitFor()
    const low = await page.evaluate(() => {
      const channel = (value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4)
      const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b)
      const paint = (name) => {
        const probe = document.body.appendChild(document.createElement('i'))
        probe.style.color = `var(--${name})`
        const parts = getComputedStyle(probe).color.match(/[\d.]+/g).map(Number)
        probe.remove()
        return light(parts)
      }
      const ratio = (a, b) => { const [x, y] = [paint(a), paint(b)].sort((m, n) => n - m); return (x + 0.05) / (y + 0.05) }
      return ['ink', 'dim', 'accent', 'dead', 'blocked', 'danger'].flatMap((text) => ['paper', 'card', 'hover', 'tint']
        .map((ground) => [text, ground, ratio(text, ground)]).filter(([, , value]) => value < 4.5))
    })
    assert.deepEqual(low, [])
  }
})
