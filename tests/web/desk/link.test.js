// A link in a message, for one request: opening it takes nothing, it may be opened twice, and it ends with the request.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fits, press, shown, stage } from '../world/stage.js'
import { becomes } from '../world/until.js'

const KEY = 'key-of-the-back-office'
const QUEUE = 'approvals'
const on = stage(null, prepare)

async function prepare() {
  const folder = await mkdtemp(join(tmpdir(), 'intray-web-'))
  const keys = join(folder, 'keys')
  await writeFile(keys, `office operator * ${createHash('sha256').update(KEY).digest('hex')}\n`)
  const flags = ['--keys-file', keys, '--token-secret', 'a secret that only these stories know']
  return { flags, stop: () => rm(folder, { recursive: true, force: true }) }
}

const office = () => on.service.as(KEY)
const view = (page, name) => becomes(() => page.evaluate(() => document.body.dataset.view), name)

/** Each story has a worker of its own, who holds one request at a time. */
async function ask(worker, more = {}) {
  const payload = { agent: 'Support agent', tool: 'refund', args: { eur: 180 }, why: 'The lamp arrived broken.' }
  const id = await office().enqueue(QUEUE, payload, { dedupe: false, ...more })
  const { token } = await office().call('POST', '/tokens', { worker, job: id })
  return { id, path: `/desk/#token=${token}` }
}

async function opened(path, options) {
  const page = await on.open(path, options)
  await page.getByRole('button', { name: 'Open the request' }).click()
  await view(page, 'work')
  return page
}

test('link_takes_nothing_before_the_person_opens_the_request', async () => {
  const { id, path } = await ask('ada')
  const page = await on.open(path)
  await view(page, 'link')
  assert.equal(await office().state(id), 'waiting')
  assert.ok(!(await page.evaluate(() => location.href)).includes('token'), 'nor in the one that the person sees')
  assert.deepEqual(on.wire.log.filter(({ method }) => method !== 'GET'), [])
  assert.ok(on.wire.log.every(({ path }) => !path.includes('token')), 'the token is in no address that a server sees')
  await page.getByRole('button', { name: 'Open the request' }).click()
  await shown(page, 'The lamp arrived broken.')
  assert.equal(await office().state(id), 'reserved')
})

test('link_that_is_opened_twice_is_one_request_with_one_answer', async () => {
  const { id, path } = await ask('ben')
  const [one, other] = [await opened(path), await opened(path)]
  on.wire.rule = ({ path }) => (path === '/jobs/extend' ? 'cut' : null) // or the other page hears of it by itself
  await press(one, 'Approve')
  await view(one, 'done')
  await shown(one, 'Thank you.')
  await becomes(() => office().state(id), 'completed')
  await press(other, 'Reject')
  await shown(other, 'Your answer came too late')
  assert.deepEqual((await office().job(id)).result, { approved: true, args: { eur: 180 }, reason: null })
  const third = await on.open(path)
  await third.getByRole('button', { name: 'Open the request' }).click()
  await shown(third, 'This request is answered already.')
})

test('page_of_a_link_that_is_loaded_again_has_the_same_reservation', async () => {
  const { id, path } = await ask('cem')
  const page = await opened(path)
  await page.getByLabel('Reason').fill('the photo shows it')
  await shown(page, 'Draft saved')
  const before = (await office().job(id)).counts.handed_out
  await page.reload()
  await shown(page, 'You are back where you were.')
  assert.equal(await page.getByLabel('Reason').inputValue(), 'the photo shows it')
  assert.equal((await office().job(id)).counts.handed_out, before)
  await press(page, 'Approve')
  await view(page, 'done')
})

test('link_says_why_the_request_cannot_be_had', async () => {
  const { id, path } = await ask('dea')
  const see = async (text) => {
    const page = await on.open(path)
    await page.getByRole('button', { name: 'Open the request' }).click()
    await shown(page, text)
    return page
  }
  await office().call('PATCH', `/jobs/${id}`, { assignees: ['zoe'] })
  await see('This request is for other people now.')
  // This one: those of the stories before are given back by pages that are gone.
  await office().call('POST', '/jobs/reserve', { id, worker: 'zoe' })
  await office().call('PATCH', `/jobs/${id}`, { assignees: null })
  await see('Another person has this request now.')
  await office().call('DELETE', `/jobs/${id}?force=true`)
  const page = await see('This request was withdrawn')
  assert.equal(await fits(page), true)
  const wrong = await on.open('/desk/#token=nonsense')
  await shown(wrong, 'This link is no longer valid.')
})

test('person_with_another_request_answers_that_one_first', async () => {
  const [first, second] = [await ask('fay'), await ask('fay')]
  const page = await opened(first.path)
  const other = await on.open(second.path)
  await other.getByRole('button', { name: 'Open the request' }).click()
  await shown(other, 'Answer that one first.')
  await press(page, 'Approve')
  await view(page, 'done')
  await other.reload()
  await shown(other, 'The lamp arrived broken.')
})

test('request_of_a_link_is_passed_on', async () => {
  const { id, path } = await ask('eve')
  const page = await opened(path, { width: 390, height: 800, touch: true })
  assert.equal(await fits(page), true)
  await press(page, 'Skip')
  await page.getByRole('dialog').getByRole('button', { name: 'Skip' }).click()
  await shown(page, 'Others are asked.')
  await becomes(() => office().state(id), 'waiting')
})

test('request_of_a_link_that_was_withdrawn_is_lost_and_not_passed_on', async () => {
  const { id, path } = await ask('eva')
  const page = await opened(path)
  await office().call('DELETE', `/jobs/${id}?force=true`)
  await press(page, 'Skip')
  await page.getByRole('dialog').getByRole('button', { name: 'Skip' }).click()
  await shown(page, 'Lost: this request was withdrawn.')
})

test('person_who_signs_out_has_left_the_tab_that_has_no_work_yet', async () => {
  await office().call('DELETE', `/queues/${QUEUE}?state=all&force=true`)
  await office().enqueue(QUEUE, { title: 'Is it broken?' }, { dedupe: false })
  const { token } = await office().call('POST', '/tokens', { worker: 'geo', queues: [QUEUE] })
  const page = await on.open(`/desk/#token=${token}`)
  await page.getByRole('checkbox', { name: QUEUE }).waitFor()
  const other = await page.context().newPage()
  await other.goto(`${on.url}/desk/#token=${token}`)
  await other.getByRole('checkbox', { name: QUEUE }).waitFor()
  await page.getByRole('button', { name: 'Start' }).click()
  await view(page, 'work')
  await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Sign out' }).click()])
  await other.getByLabel('Your code').waitFor()
  assert.equal(await other.evaluate(() => sessionStorage.length), 0)
  await other.close()
})

test('no_link_of_a_person_who_has_signed_out_is_found_by_going_back', async () => {
  const [first, second] = [await ask('ged'), await ask('ged')]
  const page = await on.open(first.path)
  await view(page, 'link')
  const loaded = page.waitForEvent('load')
  await page.evaluate((hash) => { location.hash = hash }, second.path.split('#')[1])
  await loaded
  await page.getByRole('button', { name: 'Open the request' }).click()
  await view(page, 'work')
  await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Sign out' }).click()])
  await shown(page, 'Signed out.')
  await page.goBack()
  await page.reload()
  await shown(page, 'This link is no longer valid.')
  assert.equal(await page.evaluate(() => sessionStorage.length + localStorage.length), 0)
  assert.ok(!(await page.evaluate(() => JSON.stringify(history.state))).includes(first.path.split('=')[1]))
})

test('token_of_a_worker_in_the_address_signs_them_in_and_leaves_it', async () => {
  await office().call('DELETE', `/queues/${QUEUE}?state=all&force=true`)
  const id = await office().enqueue(QUEUE, { title: 'Is it broken?' }, { dedupe: false })
  const { token } = await office().call('POST', '/tokens', { worker: 'gus', queues: [QUEUE] })
  const page = await on.open(`/desk/?queue=${QUEUE}#token=${token}`)
  await view(page, 'work')
  assert.equal(await page.locator('#me').innerText(), 'gus')
  assert.ok(!(await page.evaluate(() => location.href)).includes('token'))
  await page.reload()
  await view(page, 'work')
  assert.equal((await office().job(id)).reserved.worker, 'gus')
  await page.getByRole('link', { name: 'Queues' }).click() // a second entry of the history
  await view(page, 'start')
  await page.getByRole('checkbox', { name: QUEUE }).waitFor()
  await page.getByRole('button', { name: 'Start' }).click()
  await view(page, 'work')
  await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Sign out' }).click()])
  await shown(page, 'Signed out.')
  await becomes(() => office().state(id), 'waiting')
  assert.equal(await page.evaluate(() => sessionStorage.length + localStorage.length), 0)
  assert.equal(await page.evaluate(() => history.state), null)
  await page.goBack()
  await page.getByLabel('Your code').waitFor()
  assert.equal(await office().state(id), 'waiting')
})

test('code_that_is_pasted_when_one_has_ended_is_the_one_that_counts', async () => {
  await office().call('DELETE', `/queues/${QUEUE}?state=all&force=true`)
  await office().enqueue(QUEUE, { title: 'Is it broken?' }, { dedupe: false })
  const tokenOf = async () => (await office().call('POST', '/tokens', { worker: 'jan', queues: [QUEUE] })).token
  const token = await tokenOf()
  const page = await on.open(`/desk/?queue=${QUEUE}#token=${token}`)
  await view(page, 'work')
  const ended = { status: 401, body: { type: '/problems/unauthorized', title: 'x', status: 401, detail: 'x' } }
  on.wire.rule = ({ headers }) => (headers.authorization === `Bearer ${token}` ? ended : null)
  await page.waitForTimeout(1_100) // a token made in another second is another one
  await page.reload()
  await page.getByLabel('Your code').fill(await tokenOf())
  await page.keyboard.press('Enter')
  await view(page, 'work')
  await page.reload()
  await view(page, 'work')
  await shown(page, 'Is it broken?')
})

test('link_that_is_pasted_into_an_open_page_is_opened', async () => {
  const { path } = await ask('kai')
  const page = await on.open('/desk/#token=nonsense')
  await shown(page, 'This link is no longer valid.')
  await page.evaluate((hash) => { location.hash = hash }, path.slice(path.indexOf('#')))
  await page.getByRole('button', { name: 'Open the request' }).click()
  await shown(page, 'The lamp arrived broken.')
  assert.ok(!(await page.evaluate(() => location.href)).includes('token'))
})

test('answer_of_a_link_is_thanked_for_when_it_was_sent', async () => {
  const { id, path } = await ask('liv')
  const page = await opened(path)
  on.wire.offline = true
  await press(page, 'Approve')
  await shown(page, 'keep this page open')
  assert.equal(await page.getByText('Thank you.').count(), 0)
  on.wire.offline = false
  await page.evaluate(() => dispatchEvent(new Event('online')))
  await shown(page, 'Thank you.')
  await becomes(() => office().state(id), 'completed')
})

test('request_of_a_link_that_could_not_be_passed_on_is_there_again', async () => {
  const { id, path } = await ask('mel', { excluded: ['eli'] })
  const page = await opened(path)
  on.wire.offline = true
  await press(page, 'Hand over')
  await page.getByLabel('Their name').fill('eli')
  await page.getByRole('dialog').getByRole('button', { name: 'Hand over' }).click()
  await shown(page, 'keep this page open')
  on.wire.offline = false
  await page.evaluate(() => dispatchEvent(new Event('online')))
  await shown(page, 'What was sent after the network came back was refused.')
  await view(page, 'work')
  await press(page, 'Approve')
  await shown(page, 'Thank you.')
  await becomes(() => office().state(id), 'completed')
})

test('person_who_has_not_begun_leaves_nothing_either', async () => {
  await office().call('DELETE', `/queues/${QUEUE}?state=all&force=true`)
  await office().enqueue(QUEUE, { title: 'Is it broken?' }, { dedupe: false })
  const { token } = await office().call('POST', '/tokens', { worker: 'nia', queues: [QUEUE] })
  const page = await on.open(`/desk/?queue=${QUEUE}#token=${token}`)
  await view(page, 'work')
  on.wire.offline = true
  await page.getByLabel('Reason').fill('mine alone')
  const stored = () => page.evaluate(() => Object.values(localStorage).join())
  await becomes(async () => (await stored()).includes('mine alone'), true)
  await page.goto(`${on.url}/desk/nowhere`)
  on.wire.offline = false
  await page.evaluate(() => sessionStorage.clear())
  await page.goto(`${on.url}/desk/#token=${token}`)
  await page.getByRole('checkbox', { name: QUEUE }).waitFor()
  assert.match(await stored(), /mine alone/)
  await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Not you?' }).click()])
  await shown(page, 'Signed out.')
  assert.equal(await page.evaluate(() => localStorage.length), 0)
})

test('code_that_is_pasted_says_who_it_is_and_offers_its_queues', async () => {
  await office().call('DELETE', `/queues/${QUEUE}?state=all&force=true`)
  await office().enqueue(QUEUE, { title: 'Is it old?' }, { dedupe: false })
  await office().enqueue('other', { title: 'Is it new?' }, { dedupe: false })
  await office().enqueue('hidden', { title: 'Is it here?' }, { dedupe: false })
  const { token } = await office().call('POST', '/tokens', { worker: 'hin', queues: [QUEUE, 'other'] })
  const page = await on.open('/desk/')
  await page.getByLabel('Your code').fill('nonsense')
  await page.keyboard.press('Enter')
  await shown(page, 'This code is not valid')
  assert.doesNotMatch(await page.locator('body').innerText(), /bearer|authorization/i)
  await page.getByLabel('Your code').fill(token)
  await page.keyboard.press('Enter')
  await shown(page, 'other: 1 in line')
  assert.equal(await page.getByText('hidden').count(), 0)
  await page.getByLabel(`${QUEUE}: 1 in line`).uncheck()
  await page.getByRole('button', { name: 'Start' }).click()
  await shown(page, 'Is it new?')
  assert.equal(await page.evaluate(() => location.search), '?queue=other')
})
