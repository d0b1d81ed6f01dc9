// The desk asks the operator's own site who is there, as docs/desk.md prints it, and never more than it must.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, test } from 'node:test'
import { fits, later, press, shown, stage } from '../world/stage.js'
import { becomes, until } from '../world/until.js'

const KEY = 'key-of-the-back-office'
const QUEUE = 'approvals'
const on = stage(null, prepare)

/** The site: `answer(request, response)` is each story's own, and `asked` has the requests. */
const site = { answer: null, asked: [] }

async function prepare() {
  const server = http.createServer((request, response) => {
    site.asked.push(request)
    // On a connection that was used before, a browser sends a request again that had no answer.
    response.setHeader('connection', 'close')
    site.answer(request, response)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  site.url = `http://127.0.0.1:${server.address().port}/desk-token`
  const folder = await mkdtemp(join(tmpdir(), 'intray-web-'))
  const keys = join(folder, 'keys')
  await writeFile(keys, `office operator * ${createHash('sha256').update(KEY).digest('hex')}\n`)
  const flags = ['--keys-file', keys, '--token-secret', 'a secret that only these stories know', '--desk-token-url', site.url]
  const stop = async () => {
    server.closeAllConnections()
    server.close()
    await rm(folder, { recursive: true, force: true })
  }
  return { flags, stop }
}

const office = () => on.service.as(KEY)
const view = (page, name) => becomes(() => page.evaluate(() => document.body.dataset.view), name)
const button = (page, name) => page.getByRole('button', { name })
const tokenOf = async (worker) => (await office().call('POST', '/tokens', { worker, queues: [QUEUE] })).token

/** What the site allows the desk of this story. */
const allowed = () => ({ 'access-control-allow-origin': on.url, 'access-control-allow-credentials': 'true', 'content-type': 'application/json' })
const give = (token) => (_, response) => response.writeHead(200, allowed()).end(JSON.stringify({ token }))

/** These codes have ended for the service. */
let ended
beforeEach(async () => {
  Object.assign(site, { answer: (_, response) => response.writeHead(401, allowed()).end('{}'), asked: [] })
  ended = new Set()
  await office().call('DELETE', `/queues/${QUEUE}?state=all&force=true`)
  on.wire.rule = ({ headers }) => {
    const refusal = { type: '/problems/unauthorized', title: 'x', status: 401, detail: 'x' }
    return ended.has(headers.authorization?.slice('Bearer '.length)) ? { status: 401, body: refusal } : null
  }
})

const ask = (title) => office().enqueue(QUEUE, { title }, { dedupe: false })

/** Signed in at the site, and at work. */
async function atWork(worker, token) {
  await ask('First?')
  site.answer = give(token ?? await tokenOf(worker))
  const page = await on.open(`/desk/?queue=${QUEUE}`)
  await shown(page, 'Not you?') // or Start asks the site once more
  await button(page, 'Start').click()
  await view(page, 'work')
  return page
}

/** The tokens that the page has sent. */
const everyToken = () => on.wire.log.flatMap(({ headers }) => headers.authorization ?? []).map((text) => text.slice('Bearer '.length)).filter((text) => text !== KEY)

/** After so long a token that is refused is followed by another one. */
const A_WHILE = 60_000

test('person_of_the_site_is_signed_in_by_what_the_page_prints', async () => {
  const [, block] = /```js\n(.*?)```/s.exec(readFileSync(new URL('../../../docs/desk.md', import.meta.url), 'utf8'))
  const signedIn = "const signedIn = ({ headers }) => /session=(\\w+)/.exec(headers.cookie)?.[1]"
  const text = block.replace("import { signedIn } from './session.js'", signedIn).replaceAll('https://queue.example', on.url)
  process.env.INTRAY_KEY = KEY
  const { deskToken } = await import(`data:text/javascript,${encodeURIComponent(text)}`)
  site.answer = deskToken
  const id = await ask('Is it broken?')
  const page = await on.open('/desk/nowhere')
  await page.context().addCookies([{ name: 'session', value: 'ada', url: site.url }])
  await page.goto(`${on.url}/desk/?queue=${QUEUE}`)
  await shown(page, 'Not you?')
  assert.equal(await page.locator('#me').innerText(), 'ada')
  assert.equal(await office().state(id), 'waiting', 'nothing is taken before the person begins')
  await button(page, 'Start').click()
  await shown(page, 'Is it broken?')
  assert.equal((await office().job(id)).reserved.worker, 'ada')
  await page.reload()
  await view(page, 'work')
  const [request] = site.asked
  assert.equal(site.asked.length, 1, 'the page that is loaded again has it')
  assert.deepEqual([request.method, request.url, request.headers.referer, request.headers.authorization], ['GET', '/desk-token', undefined, undefined])
  // It is in a header of calls to the service, and in no address.
  const [token] = everyToken()
  assert.ok(on.wire.log.every(({ path }) => !path.includes(token)) && !(await page.evaluate(() => location.href + JSON.stringify(history.state))).includes(token))
})

test('site_that_knows_no_person_leads_to_the_code_and_is_asked_again_by_start', async () => {
  await ask('Is it old?')
  const page = await on.open(`/desk/?queue=${QUEUE}`)
  await shown(page, 'Your site did not say who you are.')
  await page.getByLabel('Your code').waitFor()
  assert.ok(await fits(page))
  await page.waitForTimeout(1_000)
  assert.equal(site.asked.length, 1, 'it is not asked by itself again')
  site.answer = give(await tokenOf('ben'))
  await button(page, 'Start').click()
  await shown(page, 'Is it old?')
  assert.equal(site.asked.length, 2)
})

test('answers_that_are_no_token_lead_to_the_code', async () => {
  const answers = [
    give(undefined), give(7), give(''), give('two words'), give('a\nb'), give('x'.repeat(20_000)), give('nonsense'),
    (_, response) => response.writeHead(200, { ...allowed(), 'content-type': 'text/html' }).end('<!doctype html>Sign in'),
    (_, response) => response.writeHead(302, { ...allowed(), location: site.url }).end(),
    (_, response) => response.writeHead(503, allowed()).end(JSON.stringify({ token: 'x' })),
    // Without leave to read it.
    (_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"token":"x"}'),
    (request) => request.socket.destroy(),
  ]
  for (const [n, answer] of answers.entries()) {
    Object.assign(site, { answer, asked: [] })
    const page = await on.open(`/desk/?queue=${QUEUE}`)
    await shown(page, 'Your site did not say who you are.')
    await page.getByLabel('Your code').waitFor()
    assert.equal(site.asked.length, 1, `answer ${n}`)
    await page.close()
  }
  assert.deepEqual([...new Set(everyToken())], ['nonsense'])
})

/** The page as it is with this before its scripts. */
async function openedWith(before) {
  const page = await on.open('/desk/nowhere')
  await page.addInitScript(before)
  await page.goto(`${on.url}/desk/`)
  return page
}

test('answer_that_is_too_long_is_cut_off', async () => {
  // It never ends, and no time ends it.
  site.answer = (_, response) => response.writeHead(200, allowed()).write('x'.repeat(20_000))
  const page = await openedWith(() => { AbortSignal.timeout = () => new AbortController().signal })
  await shown(page, 'Your site did not say who you are.')
  assert.equal(site.asked.length, 1)
})

test('site_that_does_not_answer_is_given_up', async () => {
  site.answer = () => {}
  const page = await openedWith(() => {
    const timeout = AbortSignal.timeout.bind(AbortSignal)
    globalThis.within = []
    AbortSignal.timeout = (ms) => (globalThis.within.push(ms), timeout(ms === 10_000 ? 1_000 : ms))
  })
  await shown(page, 'Your site did not say who you are.')
  assert.ok((await page.evaluate(() => globalThis.within)).includes(10_000))
  assert.equal(site.asked.length, 1)
})

test('code_can_be_pasted_while_the_site_does_not_answer', async () => {
  await ask('Is it late?')
  let letGo
  site.answer = (_, response) => { letGo = response }
  const page = await on.open(`/desk/?queue=${QUEUE}`)
  await page.getByLabel('Your code').fill(await tokenOf('cem'))
  await page.keyboard.press('Enter')
  await shown(page, 'Is it late?')
  const late = await tokenOf('zoe')
  await until('it was asked', () => letGo)
  give(late)(null, letGo)
  await page.waitForTimeout(500)
  await view(page, 'work')
  assert.equal(await page.locator('#me').innerText(), 'cem')
  assert.notEqual(await page.evaluate(() => sessionStorage.getItem('desk token')), late)
})

test('token_that_ends_is_followed_by_the_next_one', async () => {
  const page = await atWork('dea')
  const [first] = everyToken()
  await later(page, A_WHILE)
  await page.waitForTimeout(1_100) // a token made in another second is another one
  const next = await tokenOf('dea')
  site.answer = give(next)
  ended.add(first)
  await ask('Second?')
  await press(page, 'Approve')
  await shown(page, 'Second?')
  assert.equal(site.asked.length, 2)
  assert.equal(everyToken().at(-1), next)
  assert.equal(await page.evaluate(() => sessionStorage.getItem('desk token')), next)
  await page.reload()
  await view(page, 'work')
  assert.equal(site.asked.length, 2)
})

test('token_that_ends_is_asked_for_once_and_then_by_the_person', async () => {
  const page = await atWork('eli')
  const [first] = everyToken()
  await later(page, A_WHILE)
  site.answer = (_, response) => response.writeHead(401, allowed()).end('{}')
  ended.add(first)
  await press(page, 'Approve')
  await shown(page, 'Your site did not say who you are.')
  await page.waitForTimeout(1_000)
  assert.equal(site.asked.length, 2)
  await page.waitForTimeout(1_100)
  site.answer = give(await tokenOf('eli'))
  await ask('Second?')
  await button(page, 'Start').click()
  await shown(page, 'Second?')
  assert.equal(site.asked.length, 3)
})

test('tokens_that_are_refused_at_once_make_no_loop', async () => {
  const refusal = { status: 401, body: { type: '/problems/unauthorized', title: 'x', status: 401, detail: 'x' } }
  const ways = [({ headers }) => headers.authorization, ({ body }) => body?.wait_ms > 0]
  for (const [worker, isRefused] of [['fay', ways[0]], ['fin', ways[1]]]) {
    const page = await atWork(worker)
    const before = site.asked.length
    await later(page, A_WHILE)
    await page.waitForTimeout(1_100)
    site.answer = async (request, response) => give(await tokenOf(worker))(request, response)
    on.wire.rule = (call) => (isRefused(call) ? refusal : null)
    await press(page, 'Approve')
    await page.getByLabel('Your code').waitFor()
    await page.waitForTimeout(1_500)
    assert.equal(site.asked.length - before, 1, worker)
    await page.reload()
    await page.waitForTimeout(1_500)
    assert.ok(site.asked.length - before <= 2, `${worker}: ${site.asked.length - before}`)
    on.wire.rule = null
    await page.close()
  }
})

test('token_of_another_person_ends_the_work_of_the_first', async () => {
  const page = await atWork('gus')
  const [first] = everyToken()
  await later(page, A_WHILE)
  site.answer = give(await tokenOf('hin'))
  ended.add(first)
  const second = await ask('Second?')
  await press(page, 'Approve')
  await shown(page, 'This code is another person’s')
  await button(page, 'Start').click()
  await shown(page, 'Second?')
  assert.equal(await page.locator('#me').innerText(), 'hin')
  assert.equal((await office().job(second)).reserved.worker, 'hin')
})

test('person_who_is_not_this_one_signs_out_in_every_tab', async () => {
  const page = await atWork('ivy')
  const [job] = (await office().call('GET', `/queues/${QUEUE}/jobs?state=reserved`)).jobs
  const other = await page.context().newPage()
  await other.goto(`${on.url}/desk/?queue=${QUEUE}`)
  await button(other, 'Start').click()
  await view(other, 'work')
  const asked = site.asked.length
  const loads = []
  page.on('request', (request) => request.isNavigationRequest() && loads.push(request.url()))
  await Promise.all([other.waitForEvent('load'), button(other, 'Not you?').click()])
  for (const tab of [other, page]) {
    await shown(tab, 'Signed out.')
    assert.equal(await tab.evaluate(() => sessionStorage.length), 0)
    assert.equal(await tab.locator('#me').isVisible(), false)
  }
  assert.equal(loads.length, 1, 'a second reload would break off the first, which Chromium does not always survive')
  assert.equal(site.asked.length, asked, 'no tab signs them in again by itself')
  await becomes(() => office().state(job.id), 'waiting')
  await other.close()
})

test('link_for_one_request_asks_no_site', async () => {
  const id = await ask('Is it one?')
  const { token } = await office().call('POST', '/tokens', { worker: 'jan', job: id })
  const page = await on.open(`/desk/#token=${token}`)
  await button(page, 'Open the request').click()
  await shown(page, 'Is it one?')
  const wrong = await on.open('/desk/#token=nonsense')
  await shown(wrong, 'This link is no longer valid.')
  assert.equal(site.asked.length, 0)
})
