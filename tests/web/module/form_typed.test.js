// Forms by keyboard: what is chosen by digits, what is wrong as it is typed, and where the focus goes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { every, formPages, object } from '../world/form_page.js'

const open = formPages()

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
