// A person at the desk: from a name to the first answer, breaks, colleagues, the end of a shift.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atDesk } from '../world/at_desk.js'
import { fits, hearsClicks, shown } from '../world/stage.js'
import { becomes, until } from '../world/until.js'

const on = atDesk()
const { view, button, press, result } = on
const QUEUE = 'visits'
const holding = (name, payload = { title: 'Is it open?' }, more) => on.holding(QUEUE, name, payload, more)

test('desk_is_driven_by_role_and_name_alone', async () => {
  const id = await on.ask(QUEUE, { title: 'May they come in?', guest: 'Ann' })
  await on.ask('other-visits', { title: 'no' })
  const page = await on.open('/desk/')
  await page.getByRole('heading', { name: 'Good to see you.' }).waitFor()
  await shown(page, 'Anybody here can use any name.')
  await page.getByRole('textbox', { name: 'Your name' }).fill('ada')
  await page.getByRole('checkbox', { name: 'other-visits: 1 in line' }).uncheck()
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByRole('heading', { name: 'May they come in?' }).waitFor()
  await hearsClicks(page)
  await page.getByRole('textbox', { name: 'Reason' }).fill('expected')
  await page.getByRole('button', { name: 'Approve' }).click()
  assert.deepEqual(await result(id), { approved: true, args: null, reason: 'expected' })
})

test('queues_of_the_address_are_taken_and_those_that_are_ticked_are_in_it', async () => {
  await on.service.call('DELETE', '/queues/other-visits?state=all&force=true')
  await on.ask(QUEUE, { title: 'Is it open?' })
  const page = await on.open('/desk/')
  await shown(page, `${QUEUE}: 1 in line`)
  await on.service.set(QUEUE, { paused: true })
  await page.reload()
  await shown(page, `${QUEUE}: 1 in line, paused`)
  await on.service.set(QUEUE, { paused: false })
  for (const box of await page.getByRole('checkbox', { name: /in line/ }).all()) await box.uncheck()
  await page.getByLabel('Your name').fill('ben')
  await button(page, 'Start').click()
  await shown(page, 'Choose at least one')
  await page.getByRole('checkbox', { name: new RegExp(`^${QUEUE}`) }).check()
  await button(page, 'Start').click()
  await view(page, 'work')
  assert.equal(await page.evaluate(() => location.search), `?queue=${QUEUE}`)
  await page.reload()
  await view(page, 'work')
})

test('first_queue_that_appears_is_found_by_looking_again', async () => {
  const page = await on.open('/desk/')
  on.wire.rule = null
  await page.route('**/me/queues*', (route) => route.fulfill({ json: { queues: [] } }))
  await page.reload()
  await shown(page, 'There is nothing to work on yet.')
  await page.unroute('**/me/queues*')
  await on.ask(QUEUE, { title: 'Is it open?' })
  await button(page, 'Look again').click()
  await shown(page, `${QUEUE}: 1 in line`)
})

test('break_gives_the_job_back_with_its_draft_and_asks_for_none', async () => {
  const { id, page } = await holding('cem')
  await page.getByLabel('Reason').fill('not sure')
  await shown(page, 'Draft saved')
  await press(page, 'Break')
  await view(page, 'break')
  await becomes(() => on.service.state(id), 'waiting')
  const asked = on.wire.calls('reserve').length
  await page.waitForTimeout(1_000)
  assert.equal(on.wire.calls('reserve').length, asked)
  await button(page, 'Go on').click()
  await view(page, 'work')
  await becomes(() => page.getByLabel('Reason').inputValue(), 'not sure')
  await shown(page, 'You are back where you were.')
})

test('request_is_handed_over_with_a_word', async () => {
  const { page } = await holding('dea')
  await press(page, 'Hand over')
  await page.getByLabel('Their name').fill('eli')
  await page.getByLabel('A word to them').fill('You know\u202e him')
  await page.getByRole('dialog').getByRole('button', { name: 'Hand over' }).click()
  await shown(page, 'eli gets it')
  await view(page, 'wait')
  const other = await on.sit(QUEUE, 'eli')
  await view(other, 'work')
  await shown(other, 'You knowU+202E him')
  await on.ask(QUEUE, { title: 'Another?' })
  await view(page, 'work')
  await press(page, 'Hand over')
  assert.deepEqual(await page.locator('#names-used option').evaluateAll((all) => all.map(({ value }) => value)), ['eli'])
})

test('colleague_who_may_not_have_it_is_refused_and_it_stays', async () => {
  const { id, page } = await holding('fay', { title: 'Is it open?' }, { excluded: ['gil'] })
  await press(page, 'Hand over')
  await page.getByLabel('Their name').fill('gil')
  await page.keyboard.press('Enter')
  await shown(page, 'This request is kept from them.')
  await page.keyboard.press('Escape')
  await press(page, 'Approve')
  assert.equal((await result(id)).approved, true)
})

test('queues_beyond_sixteen_are_named_as_left_out', async () => {
  const names = Array.from({ length: 18 }, (_, n) => `queue-${n + 1}`)
  const query = (of) => of.map((name) => `queue=${name}`).join('&')
  const page = await on.open(`/desk/?${query(names)}&queue=queue-1&queue=`)
  await shown(page, 'You work on 16 queues at most. The address names more; left out: queue-17, queue-18.')
  assert.ok(await fits(page))
  await page.getByLabel('Your name').fill('wim')
  await button(page, 'Start').click()
  await view(page, 'wait')
  assert.equal(await page.evaluate(() => location.search), `?${query(names.slice(0, 16))}`)
  // The same for a person who is already at work here.
  await page.goto(`${on.url}/desk/?${query(names)}`)
  await shown(page, 'left out: queue-17, queue-18.')
  const few = await on.open(`/desk/?${query(names.slice(0, 16))}`)
  await button(few, 'Start').waitFor()
  assert.equal(await few.getByText('left out').isVisible(), false)
})

test('answer_that_a_lost_request_left_behind_is_shown_until_it_is_forgotten', async () => {
  const { id, page } = await holding('jon')
  await page.getByLabel('Reason').fill('worth keeping')
  await shown(page, 'Draft saved')
  await on.service.call('DELETE', `/jobs/${id}?force=true`)
  await page.getByLabel('Reason').pressSequentially('!')
  await shown(page, 'Lost: this request was withdrawn.')
  await shown(page, 'Kept in this browser')
  await press(page, 'Next request')
  await shown(page, 'Kept from earlier requests')
  await shown(page, 'worth keeping')
  await page.getByRole('button', { name: 'Forget it' }).click()
  await becomes(() => page.getByText('worth keeping').isVisible(), false)
})

test('draft_of_another_machine_is_taken_or_put_aside', async () => {
  for (const [name, action, wanted] of [['nia', 'Take that one', 'from the other'], ['oto', 'Keep this one', 'typed here']]) {
    const { page } = await holding(name)
    await page.getByLabel('Reason').fill('first')
    await shown(page, 'Draft saved')
    on.wire.offline = true
    await page.getByLabel('Reason').fill('typed here')
    await until('it was tried', () => on.wire.calls('extend').at(-1).body.draft?.reason === 'typed here')
    await page.goto('about:blank')
    await becomes(() => on.wire.open, 0)
    on.wire.offline = false
    const { reservation } = (await on.service.call('POST', '/jobs/reserve', { queues: [QUEUE], worker: name })).jobs[0]
    await on.service.call('POST', '/jobs/extend', { reservation, draft: { approved: null, args: null, reason: 'from the other' } })
    await page.goto(`${on.url}/desk/?queue=${QUEUE}`)
    await shown(page, 'saved something else on another machine')
    assert.equal(await page.getByLabel('Reason').inputValue(), 'typed here')
    await press(page, action)
    await shown(page, 'Draft saved')
    assert.equal(await page.getByLabel('Reason').inputValue(), wanted)
    assert.equal(await button(page, action).isVisible(), false)
    await page.close()
  }
})

test('answer_without_a_network_is_sent_when_it_is_back', async () => {
  const { id, page } = await holding('kim')
  on.wire.offline = true
  await press(page, 'Approve')
  await shown(page, 'it is sent when the network is back')
  on.wire.offline = false
  await page.evaluate(() => dispatchEvent(new Event('online')))
  assert.equal((await result(id)).approved, true)
})

test('browser_says_once_that_a_request_has_come_if_it_was_asked_to', async () => {
  await on.service.call('DELETE', `/queues/${QUEUE}?state=all&force=true`)
  const page = await on.open('/desk/nowhere')
  await page.addInitScript(() => {
    globalThis.rung = []
    globalThis.Notification = class {
      static permission = 'default'
      static requestPermission() { this.permission = 'granted' }
      constructor(title, { body } = {}) {
        if (globalThis.isPhone) throw new TypeError('Illegal constructor. Use ServiceWorkerRegistration.showNotification() instead.')
        if (Notification.permission === 'granted') globalThis.rung.push(`${title}: ${body}`)
      }
    }
    Object.defineProperty(document, 'hidden', { get: () => globalThis.isAway ?? false })
  })
  await page.goto(`${on.url}/desk/?queue=${QUEUE}`)
  await page.getByLabel('Your name').fill('mia')
  await page.keyboard.press('Enter')
  await button(page, 'Tell me when one comes').click()
  await becomes(() => button(page, 'Tell me when one comes').isVisible(), false)
  await page.evaluate(() => { globalThis.isAway = true })
  await on.service.enqueue(QUEUE, { title: 'secret one' }, { dedupe: false })
  await on.service.enqueue(QUEUE, { title: 'secret two' }, { dedupe: false })
  await view(page, 'work')
  assert.match(await page.title(), /^\(\d\) Desk$/)
  assert.deepEqual(await page.evaluate(() => globalThis.rung), ['Desk: A request has come.'])
  await press(page, 'Reject')
  await shown(page, 'secret two')
  assert.equal(await page.evaluate(() => globalThis.rung.length), 1)
  // A phone, which has given the permission, and throws.
  await page.evaluate(() => { globalThis.isPhone = true })
  await press(page, 'Reject')
  await view(page, 'wait')
  await on.service.enqueue(QUEUE, { title: 'secret three' }, { dedupe: false })
  await shown(page, 'secret three')
  await view(page, 'work')
})

test('service_that_cannot_be_reached_is_asked_again_by_start', async () => {
  await on.ask(QUEUE, { title: 'Is it open?' })
  const page = await on.open('/desk/nowhere')
  on.wire.offline = true
  await page.goto(`${on.url}/desk/?queue=${QUEUE}`)
  await shown(page, 'There is no connection to the service.')
  on.wire.offline = false
  await page.getByLabel('Your name').fill('quy')
  await button(page, 'Start').click()
  await shown(page, 'Anybody here can use any name.')
  await button(page, 'Start').click()
  await view(page, 'work')
})

test('queues_that_could_not_be_offered_are_asked_for_by_start', async () => {
  await on.ask(QUEUE, { title: 'Is it open?' })
  const page = await on.open('/desk/nowhere')
  on.wire.rule = ({ path }) => (path.startsWith('/me/queues') ? 'cut' : null)
  await page.goto(`${on.url}/desk/`)
  await shown(page, 'There is no connection to the service.')
  on.wire.rule = null
  await page.getByLabel('Your name').fill('qin')
  await button(page, 'Start').click()
  await shown(page, `${QUEUE}: 1 in line`)
  await button(page, 'Start').click()
  await view(page, 'work')
})

test('answer_that_is_refused_later_is_named_and_marked', async () => {
  const { id, page } = await holding('rob', { title: 'One?', form: { type: 'object', properties: { note: { title: 'Note', type: 'string' } } } })
  await page.getByLabel('Note').fill('short')
  await shown(page, 'Draft saved')
  on.wire.rule = ({ path }) => (['/jobs/complete', '/jobs/abandon'].includes(path) ? 'cut' : null)
  await press(page, 'Send')
  await shown(page, 'it is sent when the network is back')
  const errors = [{ pointer: '/note', detail: 'must be longer' }]
  on.wire.rule = ({ path }) => (path !== '/jobs/complete' ? null : {
    status: 422, body: { type: '/problems/invalid-result', title: 'x', status: 422, detail: 'The result does not fit.', errors },
  })
  await page.evaluate(() => dispatchEvent(new Event('online')))
  await shown(page, 'What was sent after the network came back was refused. The result does not fit.')
  on.wire.rule = null
  await view(page, 'work')
  await shown(page, 'must be longer')
  assert.match(await page.locator('#notice').innerText(), /was refused\. The result does not fit\.$/)
  await page.getByLabel('Note').fill('longer')
  await press(page, 'Send')
  assert.deepEqual(await result(id), { note: 'longer' })
})

test('first_paint_takes_few_requests_and_bytes', async () => {
  const page = await on.open('/desk/')
  await button(page, 'Start').waitFor()
  const loaded = () => page.evaluate(() => ['navigation', 'resource'].flatMap((kind) => performance.getEntriesByType(kind))
    .map(({ name, decodedBodySize }) => [name, decodedBodySize]))
  await until('all is loaded', async () => (await loaded()).some(([name]) => name.includes('/me/queues')))
  const all = await loaded()
  const bytes = all.reduce((sum, [, size]) => sum + size, 0)
  assert.ok(all.length >= 7 && all.length <= 12 && bytes <= 220 * 1_024, `${all.length} requests, ${bytes} bytes: ${JSON.stringify(all)}`)
})

test('each_view_fits_a_phone_and_axe_finds_nothing', async () => {
  for (const dark of [false, true]) {
    await on.ask(QUEUE, { title: 'Is it open?' })
    const page = await on.open('/desk/', { width: 360, height: 740, touch: true, dark })
    const look = async () => {
      assert.ok(await fits(page))
      await on.isAccessible(page)
    }
    await shown(page, `${QUEUE}: 1 in line`)
    await look()
    await page.getByLabel('Your name').fill('lea')
    await button(page, 'Start').click()
    await view(page, 'work')
    await press(page, 'Skip')
    await look()
    await page.keyboard.press('Escape')
    await press(page, 'Break')
    await view(page, 'break')
    await look()
    await Promise.all([page.waitForEvent('load'), button(page, 'Sign out').click()])
    await shown(page, 'Signed out.')
    await look()
    await page.close()
  }
})
