// Requests at the desk: whatever the payload is, all of it is on the page, as text, and nothing of it acts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { visible } from '../../../web/client/form/shown.js'
import { atDesk } from '../world/at_desk.js'
import { hearsClicks, shown } from '../world/stage.js'
import { becomes } from '../world/until.js'

const on = atDesk()
const { view, button, press } = on
const QUEUE = 'requests'

const request = (page) => page.locator('.request').innerText()

async function drawn(name, text) {
  const id = await on.askText(QUEUE, text)
  const page = await on.sit(QUEUE, name)
  await view(page, 'work')
  return { id, page }
}

test('order_digits_and_names_are_those_that_were_sent', async () => {
  const { page } = await drawn('ada', '{"10":1.0,"2":9007199254740993,"customer_id":"A","customerId":"B","größe":"C","n":0.12345678901234567890123,"__proto__":"D"}')
  const text = await request(page)
  const places = ['10', '1.0', '2', '9007199254740993', 'customer_id', 'customerId', 'größe', '0.12345678901234567890123', '__proto__'].map((part) => [part, text.indexOf(part)])
  for (const [part, at] of places) assert.ok(at >= 0, `${part} in ${text}`)
  assert.deepEqual(places.map(([, at]) => at), places.map(([, at]) => at).sort((a, b) => a - b))
})

test('payloads_of_every_kind_are_drawn_and_can_be_answered', async () => {
  for (const text of ['"two\\nlines"', '7', 'true', 'null', '""', '[]', '{}', '[[1,[2]],{"a":[{}]}]', '{"a":{"b":{"c":{"d":1}}}}', '[{"a":1},{"b":2}]']) {
    const { page } = await drawn('ben', text)
    await button(page, 'Approve').waitFor()
    assert.ok(await page.locator('#title').innerText())
    await page.close()
  }
})

test('arrays_of_flat_objects_are_tables_and_texts_are_lists', async () => {
  const { page } = await drawn('cem', '{"lines":[{"sku":"A1","n":2},{"sku":"B2","price":3.50}],"tags":["x","y"]}')
  assert.deepEqual(await page.locator('th').allInnerTexts(), ['Sku', 'N', 'Price'])
  assert.deepEqual(await page.locator('td').allInnerTexts(), ['A1', '2', '', 'B2', '', '3.50'])
  assert.deepEqual(await page.locator('#request li').allInnerTexts(), ['x', 'y'])
})

test('member_that_is_there_twice_lets_the_request_only_be_skipped', async () => {
  const { id, page } = await drawn('dea', '{"pay":{"eur":1,"to":"a","eur":900}}')
  await shown(page, 'has “eur” twice')
  assert.match(await request(page), /Eur\n1\n|eur\n1\n[^]*900/)
  for (const name of ['Approve', 'Reject', 'Send']) assert.equal(await button(page, name).isVisible(), false)
  await press(page, 'Skip')
  await page.getByRole('dialog').getByRole('button', { name: 'Skip' }).click()
  await becomes(() => on.service.state(id), 'waiting')
})

test('only_whole_plain_addresses_are_links_that_show_their_host', async () => {
  const links = {
    good: 'https://shop.example/a?b=c', punycode: 'https://аpple.example/', user: 'https://bank.example@evil.example/', port: 'https://shop.example:8443/',
    plain: 'http://shop.example/', script: 'javascript:alert(1)', data: 'data:text/html,x', part: 'see https://shop.example/', hidden: 'https://shop.example/\u200b',
  }
  const { page } = await drawn('eli', JSON.stringify(links))
  const all = await page.locator('.request a').evaluateAll((found) => found.map(({ textContent, href, rel }) => [textContent, href, rel]))
  assert.deepEqual(all, [
    ['Open shop.example', 'https://shop.example/a?b=c', 'noopener noreferrer'],
    ['Open xn--pple-43d.example', 'https://xn--pple-43d.example/', 'noopener noreferrer'],
  ])
})

test('markup_and_letters_that_turn_round_are_text', async () => {
  const { page } = await drawn('fay', JSON.stringify({
    title: '<script>globalThis.owned=1</script>', 'a\u202eb': '<img src=x onerror="globalThis.owned=1">', rtl: 'שלום (1)', zwj: '👩\u200d💻 می\u200cخواهم', ['x'.repeat(200)]: 'y'.repeat(5_000),
  }))
  await shown(page, '<script>globalThis.owned=1</script>')
  await shown(page, 'aU+202Eb')
  assert.equal(await page.evaluate(() => globalThis.owned), undefined)
  const text = await request(page)
  assert.ok(text.includes('👩\u200d💻 می\u200cخواهم') && text.includes('שלום (1)'))
  assert.equal(await page.locator('#request .value').evaluateAll((all) => all.every((one) => one.querySelector('bdi[dir=auto]'))), true)
})

test('whole_request_is_there_as_it_was_sent_and_can_be_copied', async () => {
  const sent = '{ "b":1.0,\n\n \n\n\n"a":"x\\u202ey" }'
  const { page } = await drawn('gil', sent)
  await hearsClicks(page)
  await page.getByText('The whole request as it was sent').click()
  await page.getByRole('button', { name: 'Copy' }).click()
  await shown(page, 'Copied')
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), sent)
})

test('ten_thousand_members_and_a_large_text_are_drawn', async () => {
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`k${n}`, n]))
  const { page } = await drawn('hal', JSON.stringify(many))
  await shown(page, '9999')
  await page.close()
  const { page: other } = await drawn('ian', JSON.stringify({ text: 'long words '.repeat(22_000) }))
  assert.ok((await request(other)).length > 240_000)
})

test('text_and_list_of_any_size_are_drawn', async () => {
  const page = await on.open('/desk/')
  const payloads = [['\x7f'.repeat(130_000), 'U+007F ×130000'], ['a\u00ad'.repeat(87_000), 'aU+00ADaU+00AD'], ['a\u200b\u200b\u200c', 'aU+200B ×2U+200C'], [Array(131_000).fill(0), '000']]
  for (const [more, wanted] of payloads) {
    const text = await page.evaluate(async (payload) => {
      const { draw } = await import('/desk/desk.js')
      const job = { queue: 'q', client: null, attempt: 1, note: null, payload: JSON.parse(payload), exact: { payload } }
      const { actions } = draw(job, { schema: null, draft: null, changed() {}, keys: () => true })
      return `${actions} ${document.getElementById('request').textContent}`
    }, JSON.stringify({ title: 'x', more }))
    assert.ok(text.startsWith('approve,reject') && text.includes(wanted), text.slice(0, 100))
  }
})

/** A made-up payload from a seed, and all that is in it. */
function payloadOf(seed) {
  let state = seed
  const next = (n) => ((state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) >>> 10) % n
  const scalars = []
  const keep = (text) => (scalars.push(text), text)
  const words = ['red', 'two words', 'a\nb', 'x\u202ey', 'שלום', '<b>', 'https://a.example/x', '0', 'C:\\d', '"q"']
  const scalar = () => [
    () => JSON.stringify(keep(`${words[next(words.length)]} ${next(1_000)}`)), () => keep(`${next(10_000)}.${next(10)}0`), () => keep(`9007199254740${100 + next(900)}`), () => keep(['true', 'false', 'null'][next(3)]),
  ][next(4)]()
  const value = (depth) => {
    const kind = depth > 3 ? 0 : next(5)
    const some = (make) => Array.from({ length: next(4) }, (_, n) => make(n)).join()
    if (kind === 1) return `{${some((n) => `"member_${n}":${value(depth + 1)}`)}}`
    if (kind === 2) return `[${some(() => value(depth + 1))}]`
    if (kind === 3) return `[${some(() => `{"sku":${scalar()},"n":${scalar()}}`)}]`
    return scalar()
  }
  const call = next(4) === 0 ? `"tool":${JSON.stringify(keep(`tool ${next(99)}`))},"args":{"first":${value(2)},"more":${value(1)}},` : ''
  const title = next(3) === 0 ? `"title":${JSON.stringify(keep(`title ${next(99)}`))},` : ''
  return { text: `{${call}${title}"rest":${value(0)},"last":${value(1)}}`, scalars }
}

test('every_scalar_of_a_thousand_requests_is_on_the_page', async () => {
  const page = await on.open('/desk/')
  const payloads = Array.from({ length: 1_000 }, (_, n) => payloadOf(n * 7_919 + 1))
  // To approve, by the queue's form, and by a form that the job brings, which is drawn, or is data.
  const form = { type: 'object', title: 'own form', properties: { answer: { enum: ['first option', 'second option'] } } }
  const ways = [{}, { schema: { type: 'object', properties: {} } }, { form }, { form, schema: { type: 'object', properties: {} } }]
  const texts = await page.evaluate(async ([all, ways]) => {
    const { draw } = await import('/desk/desk.js')
    const places = ['title', 'request', 'arguments', 'answer'].map((id) => document.getElementById(id))
    return all.map((text, n) => {
      const { form, schema = null } = ways[n % ways.length]
      const sent = form ? `{"form":${JSON.stringify(form)},${text.slice(1)}` : text
      const job = { queue: 'q', client: null, attempt: 1, note: null, payload: JSON.parse(sent), exact: { payload: sent } }
      draw(job, { schema, draft: null, changed() {}, keys: () => true })
      const boxes = [...document.querySelectorAll('#arguments :is(input, textarea, select)')]
      return [...places.map(({ textContent }) => textContent), ...boxes.map(({ value }) => value)].join(' ')
    })
  }, [payloads.map(({ text }) => text), ways])
  for (const [n, { text, scalars }] of payloads.entries()) {
    const own = ways[n % ways.length].form ? ['own form', 'first option', 'second option'] : []
    for (const scalar of [...scalars, ...own]) assert.ok(texts[n].includes(visible(scalar, ({ text: mark }) => mark)), `${scalar} of ${text} in ${texts[n]}`)
  }
  assert.ok(payloads.flatMap(({ scalars }) => scalars).length > 3_000)
})
