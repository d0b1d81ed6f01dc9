// Images at the desk: those below an address that the operator has named are shown, beside a link that needs none of them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atDesk } from '../world/at_desk.js'
import { fits, shown } from '../world/stage.js'
import { becomes, until } from '../world/until.js'

const on = atDesk({ flags: ['--desk-image-origin', 'https://CDN.example/photos/', '--desk-image-origin', 'https://pics.example,https://port.example:8443'] })
const { view, press, result } = on

const HUGE = '<svg xmlns="http://www.w3.org/2000/svg" width="30000" height="20000"><script>globalThis.owned = 1</script><rect width="30000" height="20000" fill="teal"/></svg>'
const AS_IMAGE = { contentType: 'image/svg+xml', headers: { 'access-control-allow-origin': '*' }, body: HUGE }

/** A person with this request, in a queue of theirs; `answer` stands for all hosts of images, which are asked for what is in `asked`. */
async function drawn(name, payload, answer = AS_IMAGE, options) {
  const queue = `photos-${name}`
  const id = await on.ask(queue, payload)
  const page = await on.open(`/desk/?queue=${queue}`, options)
  const asked = []
  await page.route(/^https:/, (route) => {
    asked.push(route.request())
    return answer === null ? undefined : typeof answer === 'string' ? route.abort(answer) : route.fulfill(answer)
  })
  await page.getByLabel('Your name').fill(name)
  await page.keyboard.press('Enter')
  await view(page, 'work')
  return { id, page, asked }
}

const pictures = (page) => page.locator('.request img').evaluateAll((all) => all.map(({ src }) => src))
const links = (page) => page.locator('.request a').evaluateAll((all) => all.map(({ href }) => href))
const width = (page) => page.locator('.request img').first().evaluate(({ naturalWidth }) => naturalWidth)

test('image_below_a_named_address_is_shown_and_tells_its_host_nothing', async () => {
  const { page, asked } = await drawn('ada', { photo: 'https://cdn.example/photos/1.svg?w=9' })
  await becomes(() => width(page), 30_000)
  assert.deepEqual(await links(page), ['https://cdn.example/photos/1.svg?w=9'])
  await page.getByRole('img', { name: 'Picture from cdn.example' }).waitFor()
  assert.equal(asked.length, 1)
  assert.equal(asked[0].headers().referer, undefined)
  const how = await page.locator('.request img').evaluate(({ crossOrigin, referrerPolicy }) => [crossOrigin, referrerPolicy])
  assert.deepEqual(how, ['anonymous', 'no-referrer'], 'no cookie is sent')
  assert.equal(await page.evaluate(() => globalThis.owned), undefined, 'an image runs nothing')
})

test('huge_image_leaves_the_rest_of_the_request_in_sight', async () => {
  for (const options of [{}, { width: 360, height: 740, touch: true, dark: true }]) {
    const photos = Array.from({ length: 3 }, (_, n) => ({ sku: `A${n}`, photo: `https://pics.example/${n}.svg` }))
    const { page } = await drawn('ben', { photo: 'https://pics.example/0.svg', photos }, AS_IMAGE, options)
    await becomes(() => width(page), 30_000)
    assert.ok(await fits(page))
    const height = await page.evaluate(() => innerHeight)
    for (const box of await page.locator('.request img').evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()))) {
      assert.ok(box.height <= height * 0.6 + 1, JSON.stringify(box))
    }
    await on.isAccessible(page)
    await page.close()
  }
})

test('images_that_lead_elsewhere_stay_links_or_texts', async () => {
  const payload = {
    up: 'https://cdn.example/photos/../secret', coded: 'https://cdn.example/photos/%2e%2e/secret', slash: 'https://cdn.example/photos/..%2fsecret', back: 'https://cdn.example/photos\\1.png',
    beside: 'https://cdn.example/photos2/1.png', user: 'https://me@cdn.example/photos/1.png', port: 'https://cdn.example:444/photos/1.png', idn: 'https://\u0441dn.example/photos/1.png',
    other: 'https://other.example/1.png', plain: 'http://cdn.example/photos/1.png', data: 'data:image/svg+xml,<svg/>', part: 'see https://cdn.example/photos/1.png',
    fine: 'https://CDN.EXAMPLE:443/photos/a/../ok.svg', named: 'https://port.example:8443/ok.svg',
  }
  const { page, asked } = await drawn('cem', payload)
  const shownOnes = ['https://cdn.example/photos/ok.svg', 'https://port.example:8443/ok.svg']
  assert.deepEqual(await pictures(page), shownOnes)
  await becomes(() => asked.map((request) => request.url()).sort(), shownOnes)
  assert.deepEqual(await links(page), [
    'https://cdn.example/secret', 'https://cdn.example/secret', 'https://cdn.example/photos/..%2fsecret', 'https://cdn.example/photos2/1.png',
    new URL(payload.idn).href, 'https://other.example/1.png', ...shownOnes,
  ])
  for (const value of Object.values(payload)) assert.ok((await page.locator('.request').innerText()).includes(value), value)
})

test('image_that_is_not_loaded_leaves_its_address_link_and_word', async () => {
  const url = 'https://cdn.example/photos/gone.png'
  const withoutCors = { ...AS_IMAGE, headers: { 'access-control-allow-origin': 'https://other.example' } }
  for (const [name, answer] of [['dea', 'connectionrefused'], ['eli', { status: 404, body: 'none' }], ['fay', withoutCors], ['gil', null]]) {
    const { id, page, asked } = await drawn(name, { photo: url }, answer)
    await until('it is asked for', () => asked.length === 1)
    if (answer) await becomes(() => page.locator('.request img').evaluate(({ complete }) => complete))
    assert.equal(await width(page), 0)
    await shown(page, url)
    await page.getByRole('link', { name: 'Open cdn.example' }).waitFor()
    const picture = page.getByRole('img', { name: 'Picture from cdn.example' })
    // Room for the word that stands in its place.
    if (answer) assert.ok(await picture.evaluate((one) => one.getBoundingClientRect().width > 80 && one.getBoundingClientRect().height > 12))
    await press(page, 'Approve')
    assert.equal((await result(id)).approved, true)
    await page.close()
  }
})

test('images_out_of_sight_are_not_asked_for', async () => {
  const many = Array.from({ length: 400 }, (_, n) => `https://pics.example/${n}.svg`)
  const { page, asked } = await drawn('hal', { many })
  await becomes(() => width(page), 30_000)
  assert.equal((await pictures(page)).length, 400)
  await page.waitForTimeout(500)
  assert.ok(asked.length < 150, `${asked.length}`)
})
