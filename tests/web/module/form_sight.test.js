// What a form has in sight: boxes that grow with their text, and text of others as it was sent.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formPages, object } from '../world/form_page.js'

const open = formPages()

test('text_boxes_grow_with_their_text', async (t) => {
  const { page } = await open(t, object({ reply: { type: 'string' } }))
  const box = page.getByRole('textbox', { name: 'Reply' })
  const height = () => box.evaluate((element) => element.offsetHeight)
  const before = await height()
  await box.fill('line\n'.repeat(12))
  assert.ok(await height() > before * 1.5)
})

test('many_boxes_are_measured_at_once_where_no_browser_sees_to_it', async (t) => {
  const { page, draw } = await open(t, object({}))
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  const layouts = async () => (await session.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'LayoutCount').value
  const frame = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
  await page.evaluate(() => {
    CSS.supports = () => false
    for (const sheet of document.styleSheets) for (const rule of sheet.cssRules) rule.style?.removeProperty('field-sizing')
  })
  const before = await layouts()
  const count = 60
  const many = Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, { type: 'string', default: 'line\n'.repeat(12) }]))
  await draw(object(many), {})
  await frame()
  const fits = await page.locator('textarea').evaluateAll((all) => all.every((box) => box.scrollHeight <= box.clientHeight))
  assert.ok(fits)
  assert.ok(await layouts() - before < count / 2, `${await layouts() - before} layouts`)
})

test('option_of_blanks_is_seen', async (t) => {
  const { page } = await open(t, { type: 'object', properties: { way: { oneOf: [{ const: '  ', title: 'Fine' }, { const: 'b', title: 'Not' }] } } }, { from: 'job' })
  assert.deepEqual(await page.locator('.form-option code').allTextContents(), ['"  "', 'b'])
})

test('text_that_the_job_fills_in_is_in_sight_as_it_was_sent', async (t) => {
  const properties = {
    to: { type: 'string', format: 'uri', default: `https://bank.example/${'x'.repeat(90)}&to=evil` }, who: { type: 'string', maxLength: 100, default: 'ann\u202eb' }, plain: { type: 'string', maxLength: 9 },
  }
  const { page } = await open(t, { type: 'object', properties }, { from: 'job' })
  for (const [name, tag] of [['To', 'TEXTAREA'], ['Who', 'TEXTAREA'], ['Plain', 'INPUT']]) {
    assert.equal(await page.getByLabel(name, { exact: false }).first().evaluate((box) => box.tagName), tag, name)
  }
  assert.match(await page.locator('.form').innerText(), /As it was sent: annU\+202Eb/)
  assert.equal(await page.getByText('As it was sent').count(), 1)
})

test('text_that_the_job_fills_in_is_in_sight_to_its_end', async (t) => {
  const note = `${'Thank you.\n'.repeat(60)}I also agree to pay 900000`
  const { page, draw } = await open(t, object({ note: { type: 'string', default: note } }), { from: 'job' })
  const box = page.getByRole('textbox', { name: 'Note' })
  assert.ok(await box.evaluate((one) => one.scrollHeight <= one.clientHeight))
  await draw(object({ note: { type: 'string', default: `Thank you.${'\n'.repeat(5_000)}I also agree to pay 900000` } }), { from: 'job' })
  assert.match(await page.locator('.form').innerText(), /As it was sent: Thank you\.U\+000A ×5000I also agree/)
  assert.ok(await box.evaluate((one) => one.clientHeight <= innerHeight), 'what follows is in sight')
  const lines = 'one\ntwo\u200b\nthree'
  await draw(object({ note: { type: 'string', default: lines } }), { from: 'job' })
  assert.match(await page.locator('.form').innerText(), /As it was sent: one\ntwoU\+200B\nthree/)
})
