// Forms on a page, as people meet them: by role and name, under a strict policy.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { countries, every, formPages, object } from '../world/form_page.js'

const axe = await readFile(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')
const open = formPages()

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
