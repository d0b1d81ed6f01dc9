// Forms on a page, as people meet them: by role and name, by keyboard, under a strict policy.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import http from 'node:http'
import { after, before, test } from 'node:test'
import { sharedBrowser } from '../world/shared.js'

const axe = await readFile(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; require-trusted-types-for 'script'; trusted-types 'none'"
const pages = {
  '/': ['text/html', `<!doctype html><html lang="en"><meta charset="utf-8"><title>form</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="/page.css"><link rel="stylesheet" href="/client/form/form.css"><script type="module" src="/page.js"></script><main><h1>Form</h1></main></html>`],
  '/page.css': ['text/css', ':root { color-scheme: light dark; background: Canvas; color: CanvasText }'],
  '/page.js': ['text/javascript', "import * as form from '/client/form.js'\nObject.assign(window, form)\nwindow.isReady = true"],
}

let server, browser
before(async () => {
  server = http.createServer(async ({ url }, response) => {
    const [type, text] = pages[url] ?? [url.endsWith('.css') ? 'text/css' : 'text/javascript']
    const found = text ?? await readFile(new URL(`../../../web${url}`, import.meta.url)).catch(() => null)
    response.writeHead(found === null ? 404 : 200, { 'content-type': `${type}; charset=utf-8`, 'content-security-policy': policy })
    response.end(found ?? '')
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  browser = await sharedBrowser()
})
after(() => {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(resolve))
})

/** A page with a form; its `heard` are the values that it told, `sent` counts what a page's own form would send. */
async function open(t, schema, settings = {}, { width = 1280, dark = false, timezoneId } = {}) {
  const context = await browser.newContext({
    viewport: { width, height: 800 }, colorScheme: dark ? 'dark' : 'light', locale: 'en-GB', timezoneId,
  })
  const page = await context.newPage()
  const wrong = []
  page.on('pageerror', (error) => wrong.push(error.stack))
  page.on('console', (line) => /Content Security Policy|Trusted/i.test(line.text()) && wrong.push(line.text()))
  t.after(async () => {
    await context.close()
    assert.deepEqual(wrong, [])
  })
  await page.goto(`http://127.0.0.1:${server.address().port}/`)
  await page.waitForFunction(() => window.isReady)
  const draw = (next, how) => page.evaluate(([schema, { noKeys, ...settings }]) => {
    window.heard = []
    window.sent = 0
    const onchange = (value) => window.heard.push(value)
    window.drawn = window.drawForm(schema, { ...settings, onchange, ...(noKeys && { keys: () => false }) })
    const form = document.createElement('form')
    form.addEventListener('submit', (event) => (event.preventDefault(), (window.sent += 1)))
    const send = Object.assign(document.createElement('button'), { textContent: 'Send' })
    form.append(window.drawn.element, send)
    document.querySelector('form')?.remove()
    document.querySelector('main').append(form)
  }, [next, how])
  await draw(schema, settings)
  const value = () => page.evaluate(() => window.drawn.value())
  const errors = (found) => page.evaluate((found) => window.drawn.errors(found), found)
  const focus = () => page.evaluate(() => window.drawn.focus())
  return { page, draw, value, errors, focus }
}

const object = (properties, ...required) => ({ type: 'object', properties, required })
const countries = Array.from({ length: 12 }, (_, n) => ({ const: `c${n}`, title: `Country ${n}` }))
const every = object({
  verdict: { type: 'string', title: 'Verdict', enum: ['fine', 'spam', 'abuse'], description: 'As the rules say.' },
  customer_mood: { oneOf: [{ const: 'a', title: 'Angry', description: 'Shouts.' }, { const: 'b', title: 'Calm' }] },
  country: { oneOf: countries },
  isUrgent: { type: 'boolean' },
  rating: { type: 'integer', minimum: 0, maximum: 5 },
  tags: { type: 'array', items: { enum: ['cat', 'dog'] }, uniqueItems: true },
  reply: { type: 'string' },
  subject: { type: 'string', maxLength: 120 },
  price: { type: 'number', multipleOf: 0.01 },
  mail: { type: 'string', format: 'email' },
  page: { type: 'string', format: 'uri' },
  day: { type: 'string', format: 'date' },
  at: { type: 'string', format: 'date-time' },
  address: { type: 'object', title: 'Address', properties: { city: { type: 'string', maxLength: 50 } } },
}, 'verdict')

test('form_draws_each_property_by_role_and_name', async (t) => {
  const { page, value } = await open(t, every, {}, { timezoneId: 'Europe/Berlin' })
  const by = (role, name) => page.getByRole(role, { name, exact: true })
  await by('radiogroup', 'Verdict').getByRole('radio', { name: 'spam' }).check()
  await by('radiogroup', 'Customer mood').getByRole('radio', { name: 'Calm', exact: true }).check()
  await by('listbox', 'Country').selectOption('Country 11')
  await by('radiogroup', 'Is urgent').getByRole('radio', { name: 'No' }).check()
  await by('radiogroup', 'Rating').getByRole('radio', { name: '4' }).check()
  await by('group', 'Tags').getByRole('checkbox', { name: 'dog' }).check()
  await by('textbox', 'Reply').fill('two\nlines')
  await by('textbox', 'Subject').fill('one')
  await by('spinbutton', 'Price').fill('19.99')
  await by('textbox', 'Mail').fill('ann@example.org')
  await by('textbox', 'Page').fill('https://example.org/x')
  await page.getByLabel('Day').fill('2024-02-29')
  await page.getByLabel('At', { exact: true }).fill('2026-11-28T20:00')
  await by('group', 'Address').getByRole('textbox', { name: 'City' }).fill('Bern')
  assert.deepEqual(await value(), {
    verdict: 'spam', customer_mood: 'b', country: 'c11', isUrgent: false, rating: 4, tags: ['dog'], reply: 'two\nlines',
    subject: 'one', price: 19.99, mail: 'ann@example.org', page: 'https://example.org/x', day: '2024-02-29',
    at: '2026-11-28T19:00:00Z', address: { city: 'Bern' },
  })
  assert.deepEqual(await page.evaluate(() => window.drawn.errors()), [])
  assert.deepEqual(await page.evaluate(() => window.heard.at(-1)), await value())
  assert.equal(await page.getByRole('radio', { name: 'Angry' }).evaluate((radio) => (
    document.getElementById(radio.getAttribute('aria-describedby')).textContent)), 'Shouts.')
})

test('value_has_nothing_of_fields_that_are_empty', async (t) => {
  const nullable = { type: ['string', 'null'] }
  const schema = object({ ...every.properties, none: nullable, list: every.properties.tags }, 'verdict', 'none', 'list')
  const { page, value } = await open(t, schema)
  assert.deepEqual(await value(), { none: null, list: [] })
  await page.getByRole('textbox', { name: 'Subject' }).fill('x')
  await page.getByRole('textbox', { name: 'Subject' }).fill('')
  await page.getByRole('radio', { name: 'Calm' }).check()
  await page.getByRole('button', { name: 'Clear Customer mood' }).click()
  assert.deepEqual(await value(), { none: null, list: [] })
  await assert.rejects(page.getByRole('button', { name: 'Clear Verdict' }).click({ timeout: 100 }), /Timeout/)
})

test('values_that_the_service_cannot_take_are_marked', async (t) => {
  const { page } = await open(t, every)
  const marked = await page.evaluate(() => {
    const properties = { text: { type: 'string' }, number: { type: 'number' }, page: { type: 'string', format: 'uri' } }
    const value = { text: 'half \ud83d', number: Infinity, page: 'http://[::01.2.3.4]/' }
    return window.drawForm({ type: 'object', properties }, { value }).errors().map(({ pointer }) => pointer)
  })
  assert.deepEqual(marked, ['/text', '/number', '/page'])
})

test('digits_choose_in_the_group_with_the_focus_and_never_send', async (t) => {
  const { page, value } = await open(t, every)
  await page.getByRole('radio', { name: 'fine' }).focus()
  await page.keyboard.press('3')
  assert.deepEqual(await value(), { verdict: 'abuse' })
  await page.keyboard.press('9')
  await page.keyboard.press('Control+1')
  assert.deepEqual(await value(), { verdict: 'abuse' })
  await page.getByRole('radio', { name: '4' }).focus()
  await page.keyboard.press('0')
  await page.getByRole('checkbox', { name: 'cat' }).focus()
  await page.keyboard.press('2')
  assert.deepEqual(await value(), { verdict: 'abuse', rating: 0, tags: ['dog'] })
  await page.keyboard.press('2')
  await page.getByRole('textbox', { name: 'Reply' }).focus()
  await page.keyboard.press('1')
  assert.deepEqual(await value(), { verdict: 'abuse', rating: 0, reply: '1' })
  assert.equal(await page.evaluate(() => window.sent), 0)
})

test('numbers_that_are_not_all_digits_have_no_keys', async (t) => {
  const range = (minimum, maximum) => object({ rating: { type: 'integer', minimum, maximum } })
  const { page, draw } = await open(t, range(1, 5))
  assert.deepEqual(await page.locator('kbd').allInnerTexts(), ['1', '2', '3', '4', '5'])
  for (const [minimum, maximum] of [[5, 12], [-1, 1]]) {
    await draw(range(minimum, maximum), {})
    assert.equal(await page.locator('kbd').count(), 0)
  }
})

test('digits_do_nothing_while_composing_or_switched_off', async (t) => {
  const schema = object({ verdict: every.properties.verdict }, 'verdict')
  const { page, draw, value } = await open(t, schema)
  const radio = page.getByRole('radio', { name: 'fine' })
  await radio.dispatchEvent('keydown', { key: '2', isComposing: true, bubbles: true })
  assert.deepEqual(await value(), {})
  await draw(schema, { noKeys: true })
  await radio.focus()
  await page.keyboard.press('2')
  assert.deepEqual(await value(), {})
})

test('digits_from_the_heading_choose_in_the_only_group', async (t) => {
  const one = object({ verdict: every.properties.verdict, reply: { type: 'string' } })
  const { page, draw, value } = await open(t, one)
  const press = () => page.evaluate(() => window.drawn.press(new KeyboardEvent('keydown', { key: '2', cancelable: true })))
  assert.equal(await press(), true)
  assert.deepEqual(await value(), { verdict: 'spam' })
  await page.evaluate(() => document.addEventListener('keydown', (event) => window.drawn.press(event)))
  await page.getByRole('textbox', { name: 'Reply' }).press('1')
  assert.deepEqual(await value(), { verdict: 'spam', reply: '1' }, 'never in a box')
  await draw(object({ ...one.properties, isUrgent: { type: 'boolean' } }), {})
  assert.equal(await press(), false)
  assert.deepEqual(await value(), {})
})

test('enter_never_sends_a_form', async (t) => {
  const { page } = await open(t, every)
  const fields = [
    page.getByRole('textbox', { name: 'Subject' }), page.getByRole('textbox', { name: 'Reply' }),
    page.getByRole('spinbutton', { name: 'Price' }), page.getByRole('radio', { name: 'fine' }),
    page.getByRole('checkbox', { name: 'cat' }), page.getByRole('searchbox'), page.getByRole('listbox'), page.getByLabel('Day'),
  ]
  for (const field of fields) {
    await field.focus()
    await page.keyboard.press('Enter')
  }
  assert.equal(await page.evaluate(() => window.sent), 0)
  await page.getByRole('button', { name: 'Send' }).focus()
  await page.keyboard.press('Enter')
  assert.equal(await page.evaluate(() => window.sent), 1, 'a button is pressed by it')
})

test('errors_are_tied_to_their_fields_and_the_first_gets_focus', async (t) => {
  const schema = object({
    ...every.properties, address: object({ zip: { type: 'string', minLength: 3 } }, 'zip'),
  }, 'verdict', 'price', 'address')
  const { page, errors, focus, value } = await open(t, schema)
  await page.getByRole('textbox', { name: 'Mail' }).fill('ann@')
  await page.getByRole('textbox', { name: 'Zip' }).fill('1')
  const pointers = (await errors()).map(({ pointer }) => pointer)
  assert.deepEqual(pointers, ['/verdict', '/price', '/mail', '/address/zip'])
  const announced = (field) => field.evaluate((element) => ({
    isInvalid: element.getAttribute('aria-invalid'),
    text: element.getAttribute('aria-describedby').split(' ').map((id) => document.getElementById(id).textContent).join('|'),
  }))
  const verdict = await announced(page.getByRole('radiogroup', { name: 'Verdict' }))
  assert.deepEqual(verdict, { isInvalid: 'true', text: 'As the rules say.|This is required.' })
  assert.match((await announced(page.getByRole('textbox', { name: 'Zip' }))).text, /at least 3 characters/)
  await focus()
  assert.equal(await page.evaluate(() => document.activeElement.closest('[role=radiogroup]').textContent.includes('spam')), true)
  await page.keyboard.press('1')
  assert.deepEqual(await announced(page.getByRole('radiogroup', { name: 'Verdict' })), {
    isInvalid: 'false', text: 'As the rules say.|',
  })
  await focus()
  assert.equal(await page.evaluate(() => document.activeElement.type), 'number')
  await page.keyboard.type('19.999')
  assert.match((await announced(page.getByRole('spinbutton', { name: 'Price' }))).text, /multiple of 0.01/)
  assert.equal((await value()).price, 19.999)
})

test('numbers_that_a_browser_cannot_hold_are_wrong_as_typed', async (t) => {
  const { page, errors, value } = await open(t, object({ n: { type: 'integer' } }))
  const box = page.getByRole('spinbutton', { name: 'N' })
  for (const typed of ['9007199254740993', '1e', '-']) {
    await box.fill('')
    await box.pressSequentially(typed)
    assert.deepEqual((await errors()).map(({ pointer }) => pointer), ['/n'], typed)
    assert.deepEqual(await value(), {}, typed)
  }
  await box.fill('9007199254740992')
  assert.deepEqual(await errors(), [])
})

test('errors_of_the_service_are_shown_at_their_fields', async (t) => {
  const { page, errors, focus } = await open(t, every)
  await errors([
    { pointer: '/tags/1', detail: 'must not be there twice' }, { pointer: '/address/city', detail: 'must match' },
    { pointer: '/elsewhere', detail: 'must not be there' },
  ])
  for (const text of ['must not be there twice', 'must match', 'must not be there']) {
    assert.equal(await page.locator('.form-error:visible').getByText(text, { exact: true }).count(), 1, text)
  }
  await focus()
  assert.equal(await page.evaluate(() => document.activeElement.type), 'checkbox')
  await page.keyboard.press('1')
  assert.equal(await page.getByText('must not be there twice').isVisible(), false)
})

test('group_that_may_be_left_out_is_absent_until_something_is_given', async (t) => {
  const tags = { type: 'array', items: { enum: ['a', 'b'] } }
  const unit = { anyOf: [{ type: 'string' }, { type: 'null' }] }
  const address = object({ street: { type: 'string' }, unit, tags, floor: { type: 'string', default: '' } }, 'street', 'unit', 'tags')
  const { page, draw, value, errors } = await open(t, object({ ok: { type: 'boolean' }, address: { anyOf: [address, { type: 'null' }] } }))
  await page.getByRole('radio', { name: 'Yes' }).check()
  assert.deepEqual([await value(), await errors()], [{ ok: true }, []])
  await page.getByRole('textbox', { name: 'Unit' }).fill('7')
  assert.deepEqual(await value(), { ok: true, address: { unit: '7', tags: [], floor: '' } })
  assert.deepEqual((await errors()).map(({ pointer }) => pointer), ['/address/street'])
  const nullable = { anyOf: [address, { type: 'null' }] }
  await draw(object({ address: nullable, other: address }, 'address', 'other'), { value: { address: { tags: [], unit: null } } })
  assert.deepEqual(await value(), { address: null, other: { unit: null, tags: [] } })
})

test('option_that_a_draft_has_twice_is_sent_once', async (t) => {
  const tags = { type: 'array', items: { enum: ['x', 'y', 'z'] } }
  const { draw, value } = await open(t, object({ tags }), { value: { tags: ['x', 'x'] } })
  assert.deepEqual(await value(), { tags: ['x'] })
  await draw(object({ tags }), { value: { tags: ['z', 'x'] } })
  assert.deepEqual(await value(), { tags: ['z', 'x'] }, 'what was not touched is as it was')
})

test('time_that_no_box_of_a_browser_holds_is_a_text', async (t) => {
  const at = (moment) => object({ at: { type: 'string', format: 'date-time', default: moment } })
  for (const [timezoneId, moment] of [['America/New_York', '0001-01-01T00:00:00Z'], ['Asia/Tokyo', '9999-12-31T23:59:59Z']]) {
    const { page, value, errors } = await open(t, at(moment), {}, { timezoneId })
    const box = page.getByRole('textbox', { name: 'At' })
    assert.equal(await box.inputValue(), moment)
    assert.deepEqual([await value(), await errors()], [{ at: moment }, []])
    await box.fill('soon')
    assert.deepEqual((await errors()).map(({ pointer }) => pointer), ['/at'])
  }
})

test('values_that_fit_are_kept_when_the_form_changes', async (t) => {
  const typed = {
    verdict: 'abuse', customer_mood: 'b', country: 'c3', isUrgent: true, rating: 5, tags: ['cat', 'dog'], reply: 'long\r\ntext',
    price: 1e-7, mail: 'half@', at: '2026-11-28T20:47:54.123456+01:00', day: '2024-02-29', address: { city: 'Bern' },
  }
  const { draw, value, page } = await open(t, every, { value: typed })
  assert.deepEqual(await value(), typed, 'what was not touched is as it was')
  const changed = object({
    verdict: { enum: ['fine', 'spam'] }, tags: { type: 'array', items: { enum: ['dog', 'cow'] } }, isUrgent: { type: 'string' },
    rating: { type: 'integer', minimum: 1, maximum: 3 }, reply: { type: 'string' }, day: { type: 'string', format: 'date' },
    more: { type: 'string', default: 'x' },
  })
  await draw(changed, { value: typed })
  assert.deepEqual(await value(), { tags: ['dog'], reply: 'long\r\ntext', day: '2024-02-29' })
  await page.getByRole('textbox', { name: 'Reply' }).press('End')
  await page.keyboard.type('!')
  assert.equal((await value()).reply.includes('!'), true)
})

test('long_lists_are_searched', async (t) => {
  const tags = { type: 'array', items: { oneOf: countries } }
  const { page, value } = await open(t, object({ country: { oneOf: countries }, tags }))
  const search = page.getByRole('searchbox', { name: 'Search: Country' })
  const list = page.getByRole('listbox', { name: 'Country' })
  await list.selectOption('Country 3')
  await search.fill('cöuntry 11')
  assert.deepEqual(await list.getByRole('option').allTextContents(), ['Country 3', 'Country 11'])
  await search.press('ArrowDown')
  await list.selectOption('Country 11')
  await page.getByRole('searchbox', { name: 'Search: Tags' }).fill('1')
  const boxes = page.getByRole('group', { name: 'Tags' }).getByRole('checkbox')
  assert.deepEqual(await boxes.count(), 3)
  await boxes.last().check()
  assert.deepEqual(await value(), { country: 'c11', tags: ['c11'] })
  await search.fill('nowhere')
  assert.equal(await page.getByText('Nothing found.').isVisible(), true)
})

test('what_is_chosen_in_a_long_list_stands_below_it_to_its_end', async (t) => {
  const options = Array.from({ length: 12 }, (_, n) => ({ const: `${'c'.repeat(200)}${n}`, title: `Keep ${'t'.repeat(200)}${n}`, description: `d${n}` }))
  const { page } = await open(t, object({ pick: { oneOf: options } }), { from: 'job' }, { width: 360 })
  const list = page.getByRole('listbox', { name: 'Pick' })
  const whole = page.locator('.form-chosen')
  assert.equal(await whole.isVisible(), false)
  await list.selectOption(`${11}`)
  assert.equal(await whole.innerText(), `${options[11].const} (${options[11].title}): d11`)
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth))
  await page.getByRole('button', { name: 'Clear' }).click()
  assert.equal(await whole.isVisible(), false)
})

test('text_of_others_is_never_markup', async (t) => {
  const evil = '<img src=x onerror=alert(1)>\u202E\u200B'
  const { page } = await open(t, {
    ...object({
      [evil]: { type: 'string', title: evil, description: evil }, a: { oneOf: [{ const: evil, title: evil, description: evil }] },
      b: { type: 'array', title: evil, items: { enum: [evil] } }, c: { enum: [evil, ...'abcdefghij'] },
      g: { type: 'object', title: evil, properties: {} },
    }),
    title: evil, description: evil,
  }, { from: 'job' })
  assert.equal(await page.locator('img').count(), 0)
  const text = await page.locator('.form').evaluate((form) => form.textContent)
  assert.doesNotMatch(text, /[\u202e\u200b]/)
  assert.ok(text.split('U+202E').length > 10)
})

test('form_of_a_job_chooses_nothing_and_says_who_wrote_it', async (t) => {
  const schema = object({
    ok: { type: 'boolean', default: true }, pick: { enum: ['a', 'b'], default: 'a' },
    tags: { type: 'array', items: { enum: ['x'] }, default: ['x'] }, rating: { type: 'integer', minimum: 1, maximum: 3, default: 3 },
    note: { type: 'string', default: 'hello' }, action: { oneOf: [{ const: 'delete', title: 'Keep' }, { const: 'Keep', title: 'Keep' }] },
    accountPassword: { type: 'string' }, pin_code: { type: 'integer' }, opinion: { type: 'string' },
  })
  const { page, draw, value } = await open(t, schema, { from: 'job' })
  assert.deepEqual(await value(), { note: 'hello' })
  assert.equal(await page.getByText('This form was written by the one who asked.').count(), 1)
  assert.deepEqual(await page.getByRole('radiogroup', { name: 'Action' }).getByRole('radio').count(), 2)
  assert.equal(await page.getByRole('radio', { name: 'Keep delete' }).count(), 1)
  assert.equal(await page.getByText('Never type a password here.').count(), 2)
  const group = { type: 'object', properties: { approve: { type: 'boolean' }, pick: { enum: ['a', 'b'] }, why: { type: 'string' } }, default: { approve: true, pick: 'b', why: 'so' } }
  await draw({ ...object({ g: group, r: { $ref: '#/$defs/G' } }), $defs: { G: group } }, { from: 'job' })
  assert.deepEqual(await value(), { g: { why: 'so' }, r: { why: 'so' } })
  await draw(object({ g: group }), {})
  assert.deepEqual(await value(), { g: group.default })
  await draw(schema, {})
  assert.deepEqual(await value(), { ok: true, pick: 'a', tags: ['x'], rating: 3, note: 'hello' })
  assert.equal(await page.getByText(/written by|password here/).count(), 0)
})

test('schema_that_is_no_form_is_not_drawn', async (t) => {
  const { page } = await open(t, object({}))
  const refusal = await page.evaluate(() => {
    try {
      return window.drawForm({ type: 'object', properties: { a: { type: 'string', minLenght: 1 } } })
    } catch (error) {
      return `${error.name}: ${error.message}`
    }
  })
  assert.match(refusal, /^TypeError: .*\/properties\/a\/minLenght/)
})

test('form_that_no_person_could_use_is_not_drawn', async (t) => {
  const { page } = await open(t, object({}))
  const many = (count, field) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, field]))
  const group = { type: 'object', properties: many(31, { $ref: '#/$defs/O' }) }
  const schema = { ...object(many(32, { $ref: '#/$defs/G' })), $defs: { G: group, O: { enum: ['a', 'b'] } } }
  // Few bytes, and a hundred thousand letters on the page.
  const wordy = { ...object(many(4, { $ref: '#/$defs/G' })), $defs: { G: object(many(60, { $ref: '#/$defs/O' })), O: { type: 'boolean', title: 'x'.repeat(500) } } }
  for (const large of [schema, wordy]) {
    const refusal = await page.evaluate((schema) => {
      try {
        return window.drawForm(schema)
      } catch (error) {
        return `${error.name}: ${error.message}`
      }
    }, large)
    assert.equal(refusal, 'TypeError: this form is too large to be drawn')
  }
})

for (const [name, size] of [['wide', {}], ['dark', { dark: true }], ['narrow', { width: 360 }]]) {
  test(`form_keeps_out_no_one_when_${name}`, async (t) => {
    const { page, errors } = await open(t, every, { from: 'job' }, size)
    for (const state of ['fresh', 'wrong']) {
      if (state === 'wrong') await errors()
      await page.evaluate(axe)
      const { violations } = await page.evaluate(() => globalThis.axe.run('.form', { resultTypes: ['violations'] }))
      const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join('\n')}`)
      assert.deepEqual(found, [], state)
    }
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'nothing is cut off')
  })
}

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
