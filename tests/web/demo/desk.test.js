// The moderation desk: a person at work, on the browser module and the real service.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { fits, later, shown, stage, withClock } from '../world/stage.js'
import { becomes, reads } from '../world/until.js'

const on = stage(null, withClock)

const QUEUE = 'moderation'
const LEASE_MS = 120_000
const post = (text, more = {}) => ({ kind: 'post', community: 'Test', author: { name: 'Ann Other' }, posted: 'today', language: 'en', text, reports: [{ reason: 'Spam', count: 2 }], ...more })
const view = (page, name) => becomes(() => page.evaluate(() => document.body.dataset.view), name)

async function sit(name, options) {
  const page = await on.open('/demo/', options)
  await page.getByLabel('Your name').fill(name)
  await page.keyboard.press('Enter')
  return page
}

async function empty() {
  await on.service.call('DELETE', `/queues/${QUEUE}?state=all&force=true`)
}

const only = async (text, more) => {
  await on.service.set(QUEUE, { lease_ms: LEASE_MS })
  await empty()
  return on.service.enqueue(QUEUE, post(text, more), { dedupe: false })
}

test('a post is decided with the keyboard alone', async () => {
  const id = await only('Buy now!')
  const page = await sit('kay')
  await shown(page, 'Buy now!')
  await reads(page.locator('#time'), /^[12]:\d\d$/)
  await page.keyboard.press('3')
  assert.equal(await page.getByRole('button', { name: 'Hand in' }).isDisabled(), true)
  await page.keyboard.press('q')
  await page.keyboard.press('n')
  await page.keyboard.type('same as yesterday')
  await shown(page, 'Draft saved')
  await page.keyboard.press('Control+Enter')
  await becomes(() => on.service.state(id), 'completed')
  assert.deepEqual((await on.service.call('GET', `/jobs/${id}`)).result, { verdict: 'remove', rule: 'spam', note: 'same as yesterday' })
  await view(page, 'wait')
  await becomes(() => page.locator('#done').innerText(), '1')
  // The field has the focus still; it must not take the next decision for a letter.
  const next = await on.service.enqueue(QUEUE, post('And another'))
  await shown(page, 'And another')
  await page.keyboard.press('1')
  await page.keyboard.press('Enter')
  await becomes(() => on.service.state(next), 'completed')
})

test('a reload keeps the post and its draft', async () => {
  await only('Long to read')
  const page = await sit('lou')
  await shown(page, 'Long to read')
  await page.keyboard.press('4')
  await page.getByLabel('Note').fill('half a thou')
  await shown(page, 'Draft saved')
  await page.reload()
  await shown(page, 'You are back where you were.')
  assert.equal(await page.getByLabel('Note').inputValue(), 'half a thou')
  assert.equal(await page.locator('input[value=escalate]').isChecked(), true)
})

test('a skipped post goes to another moderator', async () => {
  const id = await only('Nur für Deutsche', { language: 'de' })
  const page = await sit('max')
  await shown(page, 'Nur für Deutsche')
  await page.keyboard.press('s')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.press('1')
  await view(page, 'wait')
  await becomes(() => on.service.state(id), 'waiting')
  const other = await sit('nele')
  await shown(other, 'Nur für Deutsche')
})

test('the reason for no post is shown', async () => {
  await only('The last one')
  const page = await sit('olga')
  await shown(page, 'The last one')
  const other = await sit('pavel')
  await shown(other, 'Others are working on everything that is left.')
  await page.keyboard.press('s')
  await page.keyboard.press('2')
  await shown(other, 'The last one')
  await shown(page, 'Others are working on everything that is left.')
  await other.keyboard.press('s')
  await other.keyboard.press('2')
  await shown(other, 'Only posts that you skipped are left')
  await empty()
  await page.reload()
  await shown(page, 'Nothing is in line.')
})

test('a break gives the post back', async () => {
  const id = await only('Later')
  const page = await sit('ove')
  await shown(page, 'Later')
  await page.keyboard.press('b')
  await view(page, 'break')
  await becomes(() => on.service.state(id), 'waiting')
  await page.keyboard.press('Enter')
  await shown(page, 'Later')
})

test('a released post is reported and its draft stays', async () => {
  const id = await only('Not for long')
  const page = await sit('pia')
  await shown(page, 'Not for long')
  await page.keyboard.press('1')
  await on.service.call('POST', '/jobs/release', { id })
  await page.getByLabel('Note').fill('my words')
  await shown(page, 'An operator took this post back.')
  assert.equal(await page.getByLabel('Note').inputValue(), 'my words')
  await page.getByRole('button', { name: 'Next post' }).click()
  await shown(page, 'Not for long')
})

/** There is no network, and the lease of the post in hand ends. */
async function leaseEnds(page) {
  on.wire.offline = true
  on.wire.cut()
  await on.clock.advance(LEASE_MS)
  await later(page, LEASE_MS)
}

test('an offline expiry is reported and the work counts', async () => {
  const id = await only('Slow train')
  const page = await sit('quin')
  await shown(page, 'Slow train')
  await page.keyboard.press('2')
  await shown(page, 'Draft saved')
  await leaseEnds(page)
  await shown(page, 'Your time for this post is over.')
  await becomes(() => on.service.state(id), 'waiting')
  on.wire.offline = false
  await page.getByRole('button', { name: 'Hand in late' }).click()
  await becomes(() => on.service.state(id), 'completed')
})

test('an expired post can be taken again with its draft', async () => {
  const id = await only('Lunch')
  const page = await sit('vera')
  await shown(page, 'Lunch')
  await page.keyboard.press('4')
  await page.getByLabel('Note').fill('half a thou')
  const isSaved = ({ status, body }) => status === 200 && body.draft?.note === 'half a thou'
  await becomes(() => on.wire.calls('extend').some(isSaved))
  await leaseEnds(page)
  await shown(page, 'Your time for this post is over.')
  await becomes(() => on.service.state(id), 'waiting')
  on.wire.offline = false
  await page.getByRole('button', { name: 'Take it again' }).click()
  await becomes(() => on.service.state(id), 'reserved')
  await shown(page, 'You are back where you were.')
  assert.equal(await page.getByLabel('Note').inputValue(), 'half a thou')
  await page.getByRole('button', { name: 'Hand in' }).click()
  await becomes(() => on.service.state(id), 'completed')
})

test('the desk asks for a token and keeps it in memory', async () => {
  const id = await only('In front of a door')
  const refusal = { status: 401, body: { type: '/problems/unauthorized', title: 'Who are you?', status: 401, detail: 'a token is needed' } }
  on.wire.rule = ({ path, headers }) => (path === '/jobs/reserve' && headers.authorization !== 'Bearer t0ken' ? refusal : null)
  const page = await sit('wim')
  await shown(page, 'Paste the token that you were given')
  await page.getByLabel('Worker token').fill('t0ken')
  await page.keyboard.press('Enter')
  await shown(page, 'In front of a door')
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]))
  assert.ok(!kept.includes('t0ken'))
  await page.keyboard.press('1')
  await page.keyboard.press('Enter')
  await becomes(() => on.service.state(id), 'completed')
})

test('a post is always shown as text', async () => {
  await only('<img src=x onerror="globalThis.owned=1"></p><script>globalThis.owned=1</script>', {
    author: { name: '<b onclick=1>x</b>' }, context: { author: '<i>', text: '<svg onload=globalThis.owned=1>' },
    reports: [{ reason: '<u>', note: '<iframe src=javascript:globalThis.owned=1>' }],
  })
  const page = await sit('rob')
  await shown(page, '<img src=x onerror')
  assert.equal(await page.locator('.post').locator('img, script, iframe, u, b b').count(), 0)
  await empty()
  await on.service.enqueue(QUEUE, { anything: ['else', '<h1>'] })
  await page.reload()
  await shown(page, '"anything"')
  assert.equal(await page.evaluate(() => globalThis.owned), undefined)
})

test('a phone never scrolls sideways, light and dark', async () => {
  await only(`${'word '.repeat(80)}${'x'.repeat(300)}`, { author: { name: 'A'.repeat(80) }, context: { author: 'b', text: 'c'.repeat(200) } })
  const page = await sit('s'.repeat(60), { width: 360, height: 740, touch: true })
  await shown(page, 'word word')
  assert.ok(await fits(page))
  await page.locator('label.remove').tap()
  assert.ok(await fits(page))
  const bright = (look) => look.evaluate(() => Number(/\d+/.exec(getComputedStyle(document.body).backgroundColor)[0]) > 127)
  assert.equal(await bright(page), true)
  assert.equal(await bright(await on.open('/demo/', { dark: true })), false)
})

test('the seed fills the queue once', async () => {
  await empty()
  const script = fileURLToPath(new URL('../../../web/demo/seed.sh', import.meta.url))
  const run = () => execFileSync('sh', [script, on.service.url], { encoding: 'utf8' })
  assert.match(run(), /^60 posts are new/)
  assert.match(run(), /^0 posts are new/)
  const page = await sit('tom')
  await view(page, 'work')
  for (let n = 0; n < 5; n += 1) {
    const text = await page.locator('#text').innerText()
    await page.keyboard.press('1')
    await page.keyboard.press('Enter')
    await becomes(async () => (await page.locator('#text').innerText()) !== text)
  }
  await becomes(async () => (await on.service.queue(QUEUE)).counts.completed >= 5)
})

/** Payloads that are no posts, or posts of which a part is something else. */
const ODD = [
  { text: 'x', reports: null }, { text: 'x', reports: {} }, { text: 'x', reports: [null] }, { text: 'x', reports: [{ reason: 5 }] },
  { text: 'x', author: 'Ann' }, { text: 'x', author: { name: {} } }, { text: 'x', author: null }, { text: 'x', context: 7 },
  { text: 'x', context: { author: 'a' } }, { text: 'x', language: {} }, { text: 'x', language: 'no language at all' }, { text: 'x', kind: [] },
  { text: 5 }, { text: null }, null, 'text', 7, [], [[]], {},
]

test('payload_that_is_no_post_is_shown_and_skipped', async () => {
  await empty()
  for (const payload of ODD) await on.service.enqueue(QUEUE, payload, { dedupe: false })
  await on.service.enqueue(QUEUE, post('the last one'), { dedupe: false })
  const page = await sit('oda')
  for (const payload of ODD) {
    const text = typeof payload?.text === 'string' ? 'x' : JSON.stringify(payload, null, 2)
    await becomes(async () => (await page.locator('#text').innerText()).includes(text))
    const skips = on.wire.calls('abandon').length
    await page.evaluate(() => { globalThis.before = document.getElementById('text').firstChild })
    await page.getByRole('button', { name: /^Skip/ }).click()
    await page.getByRole('button', { name: /not sure/ }).click()
    await becomes(() => on.wire.calls('abandon').length, skips + 1)
    // Or the next one, which may look the same, would not be there to be skipped.
    await becomes(() => page.evaluate(() => document.getElementById('text').firstChild !== globalThis.before))
  }
  await shown(page, 'the last one')
})

test('text_of_a_post_shows_what_is_not_seen', async () => {
  await only('pay transfer\u202eknab_ to ann\u200b@shop', { author: { name: 'A\u2066nn' }, reports: [{ reason: 'Sp\u00adam', note: 'a\u{e0061}b' }] })
  const page = await sit('uma')
  for (const text of ['transferU+202Eknab_', 'annU+200B@shop', 'AU+2066nn', 'SpU+00ADam', 'aU+E0061b']) await shown(page, text)
  assert.ok(await page.locator('#text > bdi[dir=auto]').count())
  // In the page's own style: the mark has a size, and nothing clips it.
  const looks = await page.locator('#text .codepoint').first().evaluate((mark) => {
    const { position, clipPath } = getComputedStyle(mark)
    return { position, clipPath, width: mark.getBoundingClientRect().width }
  })
  assert.ok(looks.position === 'static' && looks.clipPath === 'none' && looks.width > 10, JSON.stringify(looks))
})

test('draft_of_another_page_does_not_stop_the_desk', async () => {
  const id = await only('Buy now!')
  const { reservation } = (await on.service.call('POST', '/jobs/reserve', { queues: [QUEUE], worker: 'ben' })).jobs[0]
  await on.service.call('POST', '/jobs/hand-over', { reservation, to: 'fay', draft: { note: 5, verdict: {} } })
  await on.service.set(QUEUE, { share_drafts: true })
  const page = await sit('fay')
  await shown(page, 'Buy now!')
  await page.keyboard.press('1')
  await page.getByRole('button', { name: 'Hand in' }).click()
  await becomes(async () => ['reserved', 'completed'].includes(await on.service.state(id)) && on.wire.calls('complete').length > 0)
})
