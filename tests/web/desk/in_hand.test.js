// The request in hand: what the page shows is what is answered, whatever the network does and whatever the request brings.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { atDesk } from '../world/at_desk.js'
import { hearsClicks, later, meansHaste, shown } from '../world/stage.js'
import { becomes, until } from '../world/until.js'

const on = atDesk()
const { view, button, press, result } = on
const QUEUE = 'in-hand'

const call = (eur) => ({ tool: `refund ${eur}`, args: { eur } })
const text = (page, id) => page.locator(id).evaluate((element) => element.textContent)

/** The form of each further request is on its way until it is let go. */
function holdForms() {
  let letGo
  const isFree = new Promise((free) => { letGo = free })
  on.wire.rule = async ({ path }) => (path.endsWith('/form') ? void await isFree : null)
  return () => { on.wire.rule = null; letGo() }
}

async function holdingTwo(name) {
  const { id, page } = await on.holding(QUEUE, name, call(5))
  const next = await on.service.enqueue(QUEUE, call(9_000), { dedupe: false, expires_ms: 900_000 })
  return { id, next, page }
}

test('request_that_is_not_drawn_yet_is_not_answered', async () => {
  const { id, next, page } = await holdingTwo('ada')
  await page.getByLabel('Reason').fill('of the first')
  await shown(page, 'Draft saved')
  const letGo = holdForms()
  await press(page, 'Approve')
  await becomes(() => on.service.state(next), 'reserved')
  await meansHaste(page)
  await page.evaluate(() => {
    document.getElementById('approve').click()
    document.getElementById('reason').value = 'typed for the first'
    document.getElementById('reason').dispatchEvent(new Event('input'))
  })
  await page.keyboard.press('Control+Enter')
  for (const name of ['skip', 'break', 'hand-over']) await page.evaluate((id) => document.getElementById(id).click(), name)
  await view(page, 'wait')
  letGo()
  await view(page, 'work')
  await shown(page, 'refund 9000')
  assert.equal(on.wire.calls('complete').length, 1)
  assert.equal(on.wire.calls('abandon').length, 0)
  assert.equal(await page.getByLabel('Reason').inputValue(), '')
  assert.equal((await result(id)).reason, 'of the first')
})

test('click_that_was_made_while_a_request_is_drawn_is_not_for_it', async () => {
  const { next, page } = await holdingTwo('bea')
  const letGo = holdForms()
  await press(page, 'Approve')
  await becomes(() => on.service.state(next), 'reserved')
  const { x, y } = await page.evaluate(() => {
    // It is drawn until the click has been made, and longer than a second click takes.
    new MutationObserver(() => {
      const isOver = (ms, from) => performance.now() - from > ms
      const from = performance.now()
      navigator.sendBeacon('/drawing')
      while (!navigator.scheduling.isInputPending() && !isOver(30_000, from));
      const clicked = performance.now()
      while (!isOver(800, clicked));
    }).observe(document.getElementById('title'), { childList: true })
    addEventListener('click', ({ target }) => { globalThis.clicked = [target.id, document.getElementById('title').textContent] }, true)
    document.body.dataset.view = 'work'
    return document.getElementById('approve').getBoundingClientRect()
  })
  const wire = await page.context().newCDPSession(page)
  const mouse = (type) => wire.send('Input.dispatchMouseEvent', { type, x: x + 20, y: y + 20, button: 'left', clickCount: 1 })
  await meansHaste(page)
  letGo()
  await until('it is drawn', () => on.wire.log.some(({ path }) => path === '/drawing'))
  await Promise.all(['mousePressed', 'mouseReleased'].map(mouse))
  await view(page, 'work')
  await becomes(() => page.evaluate(() => String(globalThis.clicked)), 'approve,refund 9000')
  await sleep(300)
  assert.equal(on.wire.calls('complete').length, 1)
  await press(page, 'Approve')
  assert.equal((await result(next)).approved, true)
})

test('key_that_is_held_down_sends_once', async () => {
  const form = { type: 'object', properties: { note: { title: 'Note', type: 'string' } } }
  const queue = `${QUEUE}-notes`
  await on.service.set(queue, { result_schema: form })
  const { page } = await on.holding(queue, 'ben', { title: 'One?' })
  const next = await on.service.enqueue(queue, { title: 'Two?' }, { dedupe: false })
  await hearsClicks(page)
  await page.keyboard.down('Control')
  for (let n = 0; n < 40; n += 1) {
    await page.keyboard.down('Enter') // a key that is down already repeats
    await sleep(25)
  }
  await page.keyboard.up('Enter')
  await page.keyboard.up('Control')
  await becomes(() => on.service.state(next), 'reserved')
  assert.equal(on.wire.calls('complete').length, 1)
})

test('request_that_is_lost_before_it_is_drawn_is_asked_for_again', async () => {
  const { next, page } = await holdingTwo('cem')
  const letGo = holdForms()
  await press(page, 'Approve')
  await becomes(() => on.service.state(next), 'reserved')
  await on.service.call('DELETE', `/jobs/${next}?force=true`)
  await shown(page, 'One has come, and its form is on its way.')
  await page.evaluate(() => dispatchEvent(new Event('online'))) // it looks after what it has
  await until('it has heard so', () => on.wire.calls('extend').some(({ status, isOver }) => status === 409 && isOver))
  await on.service.enqueue(QUEUE, call(7), { dedupe: false })
  letGo()
  await shown(page, 'refund 7')
  assert.equal(await page.locator('#notice').isVisible(), false)
})

test('arguments_are_on_the_page_whichever_form_answers', async () => {
  const form = { type: 'object', properties: { ok: { title: 'Ok', type: 'boolean' } }, required: ['ok'] }
  const payload = { tool: 'wire', args: { to: 'mallory', eur: 900_000 }, form: { type: 'object', properties: { a: { type: 'string' } } } }
  const queue = `${QUEUE}-calls`
  const { id, page } = await on.holding(queue, 'dea', payload)
  assert.equal(await page.locator('#request').getByText('mallory').count(), 0, 'they are in the editor')
  assert.match(await text(page, '#request'), /Properties/)
  await on.service.set(queue, { result_schema: form })
  await on.clock.advance(2_100)
  await sleep(2_100)
  await press(page, 'Approve')
  await shown(page, 'The form has changed in the meantime.')
  for (const part of ['mallory', '900000', 'Properties']) assert.match(await text(page, '#request'), new RegExp(part))
  await hearsClicks(page)
  await page.getByRole('radio', { name: 'No' }).check()
  await press(page, 'Send')
  assert.deepEqual(await result(id), { ok: false })
})

test('form_that_has_changed_is_not_answered_before_it_is_seen', async () => {
  const formOf = (title) => ({ type: 'object', properties: { note: { title, type: 'string' } } })
  const queue = `${QUEUE}-changing`
  await on.service.set(queue, { result_schema: formOf('Note') })
  const { id, page } = await on.holding(queue, 'bo', { title: 'One?' })
  await on.service.set(queue, { result_schema: formOf('I pay for all') })
  const problem = { type: '/problems/invalid-result', title: 'x', status: 422, detail: 'x', errors: [] }
  on.wire.rule = ({ path }) => (path === '/jobs/complete' ? { status: 422, body: problem } : null)
  // The page clicks as soon as the new form is there, and once more when it is painted.
  await page.evaluate(() => {
    const click = () => document.getElementById('send').click()
    const isNew = () => document.getElementById('answer').textContent.includes('I pay for all')
    globalThis.isSeen = new Promise((seen) => {
      const look = () => {
        if (!isNew()) return requestAnimationFrame(look)
        click()
        setTimeout(() => setTimeout(() => { click(); seen(isNew()) }))
      }
      look()
    })
  })
  await press(page, 'Send')
  await shown(page, 'The form has changed in the meantime.')
  assert.ok(await page.evaluate(() => globalThis.isSeen))
  on.wire.rule = null
  await sleep(300)
  assert.equal(on.wire.calls('complete').length, 1)
  await press(page, 'Send')
  await result(id)
})

test('view_stays_when_an_answer_is_taken_back_while_the_next_request_comes', async () => {
  const { next, page } = await holdingTwo('abe')
  await page.evaluate(() => {
    const own = setTimeout
    globalThis.waits = []
    globalThis.setTimeout = (does, ms, ...more) => (ms === 350 ? globalThis.waits.push(does) : own(does, ms, ...more))
  })
  const letGo = holdForms()
  await press(page, 'Approve')
  await becomes(() => on.service.state(next), 'reserved')
  on.wire.rule = null
  await page.keyboard.press('u')
  await shown(page, 'Taken back')
  await becomes(() => page.locator('#title').innerText(), 'refund 5')
  await view(page, 'work')
  await page.evaluate(() => globalThis.waits[0]()) // that of the request which was asked for first
  assert.equal(await page.evaluate(() => document.body.dataset.view), 'work')
  letGo()
})

test('form_of_a_job_that_is_not_drawn_is_data', async () => {
  const fields = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`f${n}`, { $ref: '#/$defs/O' }]))
  const form = { type: 'object', title: 'Wire it to mallory', properties: fields, $defs: { O: { enum: Array.from({ length: 200 }, (_, n) => `o${n}`) } } }
  const { page } = await on.holding(QUEUE, 'eli', { title: 'OK?', form })
  await button(page, 'Approve').waitFor()
  assert.match(await text(page, '#request'), /Wire it to mallory/)
})

test('request_that_cannot_be_drawn_can_only_be_skipped', async () => {
  const { id, page } = await on.holding(QUEUE, 'fay', { title: 'x', form: { type: 'object', properties: { g: { type: 'object', properties: null, required: ['a'] } } } })
  await button(page, 'Approve').waitFor() // it is no form, so it is data
  // `bdi`: what shows any text of others.
  for (const broken of ['dl', 'bdi']) {
    await page.evaluate((broken) => {
      const create = document.createElement.bind(document)
      document.createElement = (name) => {
        if (name === broken) throw new RangeError('not this one')
        return create(name)
      }
    }, broken)
    await press(page, 'Break')
    await button(page, 'Go on').click()
    await view(page, 'work')
    await shown(page, 'This request cannot be drawn.')
    assert.match(await page.locator('#whole-text').innerText(), /"properties":null/)
    for (const name of ['Approve', 'Reject', 'Send']) assert.equal(await button(page, name).isVisible(), false)
    await page.evaluate(() => { delete document.createElement })
  }
  await press(page, 'Skip')
  await page.getByRole('dialog').getByRole('button', { name: 'Skip' }).click()
  await becomes(() => on.service.state(id), 'waiting')
})

test('rows_that_share_no_columns_are_no_table', async () => {
  const rows = Array.from({ length: 2_000 }, (_, n) => ({ [`k${n}`]: n }))
  const { page } = await on.holding(QUEUE, 'gil', { rows, same: [{ a: 1, b: 2 }, { a: 3 }] })
  await shown(page, '1999')
  assert.equal(await page.locator('table').count(), 1)
  assert.ok(await page.evaluate(() => document.getElementsByTagName('*').length) < 30_000)
})

test('number_that_is_wrong_is_wrong_after_a_reload_too', async () => {
  const { id, page } = await on.holding(QUEUE, 'hal', call(180))
  for (const typed of ['', '0x10', '9007199254740993']) {
    await page.getByLabel('Eur').fill('1')
    await page.getByLabel('Eur').fill(typed)
    await shown(page, 'Draft saved')
    await page.reload()
    await view(page, 'work')
    assert.equal(await page.getByLabel('Eur').inputValue(), typed)
    await becomes(() => page.getByLabel('Eur').getAttribute('aria-invalid'), 'true')
    await press(page, 'Approve')
    assert.equal(on.wire.calls('complete').length, 0)
  }
  await page.getByLabel('Eur').fill('50')
  await press(page, 'Approve')
  assert.deepEqual((await result(id)).args, { eur: 50 })
})

test('request_that_comes_back_has_no_word_of_its_loss', async () => {
  const { page } = await on.holding(QUEUE, 'ian', call(1))
  on.wire.rule = ({ path }) => (path === '/jobs/extend' ? 'cut' : null)
  await later(page, 301_000)
  await shown(page, 'there is no connection')
  on.wire.rule = null
  await page.evaluate(() => dispatchEvent(new Event('online')))
  await becomes(() => page.locator('#clock').getAttribute('class'), 'clock ')
  assert.equal(await page.locator('#notice').isVisible(), false)
})

test('break_and_skip_without_a_network_are_not_called_done', async () => {
  for (const [name, action, words] of [['cia', 'Break', 'Your request goes back to its place in line when the network is back'], ['cyd', 'Skip', 'another person gets it when the network is back']]) {
    const { id, page } = await on.holding(QUEUE, name, call(1))
    on.wire.offline = true
    await press(page, action)
    if (action === 'Skip') await page.getByRole('dialog').getByRole('button', { name: 'Skip' }).click()
    await shown(page, words)
    on.wire.offline = false
    await page.evaluate(() => dispatchEvent(new Event('online')))
    await becomes(() => on.service.state(id), 'waiting')
    await page.close()
  }
})

test('request_that_was_withdrawn_is_lost_and_not_skipped', async () => {
  const { id, page } = await on.holding(QUEUE, 'cox', call(1))
  on.wire.rule = ({ path }) => (path === '/jobs/extend' ? 'cut' : null)
  await on.service.call('DELETE', `/jobs/${id}?force=true`)
  await press(page, 'Skip')
  await page.getByRole('dialog').getByRole('button', { name: 'Skip' }).click()
  await shown(page, 'Lost: this request was withdrawn.')
  await button(page, 'Next request').waitFor()
})

test('arguments_that_were_corrected_come_back_with_a_rejection', async () => {
  const { id, page } = await on.holding(QUEUE, 'mio', call(180))
  await page.getByLabel('Eur').fill('50')
  await press(page, 'Reject')
  await view(page, 'wait')
  await page.keyboard.press('u')
  await view(page, 'work')
  assert.equal(await page.getByLabel('Eur').inputValue(), '50')
  await page.reload()
  await view(page, 'work')
  assert.equal(await page.getByLabel('Eur').inputValue(), '50')
  await press(page, 'Approve')
  assert.equal((await result(id)).args.eur, 50)
})
