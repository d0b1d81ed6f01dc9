// The pictures of the README, of real work: `npm run screens` writes them into docs/. Takes about a minute and a half, in
// which people work so that the charts have something to show.
import { execFileSync } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { album } from './world/album.js'
import { startBrowser } from './world/browser.js'
import { startService } from './world/service.js'
import { startWire } from './world/wire.js'

const root = new URL('../../', import.meta.url).pathname
const docs = process.argv[2] ?? `${root}docs`
const NAMES = ['ann', 'bob', 'chiara', 'dan', 'eve', 'farid', 'grete', 'hugo']
const pick = (list) => list[Math.floor(Math.random() * list.length)]

await mkdir(docs, { recursive: true })
const service = await startService('--sweep-interval-ms', '200', '--demo')
const wire = await startWire(service)
const { browser, stop } = await startBrowser('--hide-scrollbars')
const { open, save } = album({ browser, docs, url: wire.url })
try {
  await fill()
  await pictures()
} finally {
  await stop()
  await wire.stop()
  await service.stop()
}

/** Queues of a small community, with what happens in such queues. */
async function fill() {
  const { call, enqueue, reserve, fail, set, batch } = service
  execFileSync('sh', [`${root}web/demo/seed.sh`, service.url])

  await set('translations', { worker_limit: 2, lease_ms: 900_000 })
  const pages = Array.from({ length: 48 }, (_, n) => ({ payload: { document: 'handbook', page: n + 1, into: 'de' } }))
  await batch('translations', { client: 'handbook-4', concurrency: 4, jobs: pages })
  await batch('translations', { client: 'newsletter', concurrency: 2, jobs: pages.slice(0, 12).map(({ payload }) => ({ payload: { ...payload, document: 'newsletter' } })), sealed: false })

  for (let n = 1; n <= 12; n += 1) {
    const customer = 4000 + (n % 3)
    await enqueue('call-backs', { customer, about: pick(['refund', 'delivery', 'contract']), n }, { locks: [`customer ${customer}`], priority: pick([10, 50, 50]) })
  }
  await enqueue('call-backs', { customer: 4711, about: 'call again tomorrow' }, { delay_ms: 61_200_000 })

  await set('transcripts', { max_attempts: 2, lease_ms: 600_000 })
  for (let n = 1; n <= 14; n += 1) await enqueue('transcripts', { recording: `2026-11-${String(n).padStart(2, '0')}-council.ogg`, minutes: 10 + ((n * 7) % 40) }, { client: pick(['archive', 'radio', 'council']) })
  for (let n = 0; n < 3; n += 1) {
    const broken = await reserve('transcripts', 'hugo')
    await fail(broken, 'ffmpeg: invalid data found when processing input')
    await fail(await reserve('transcripts', 'ann'), pick(['ffmpeg: invalid data found when processing input', 'the recording is silent']))
  }
  await enqueue('invoices', { invoice: 'R-2026-1188', amount: '1,204.50 EUR' })
  await enqueue('invoices', { invoice: 'R-2026-1189', amount: '88.00 EUR' })
  await set('invoices', { paused: true })
  await call('PATCH', '/queues/moderation', { lease_ms: 300_000 })
}

/** Everybody works, each at their own speed, until told to stop. */
async function bustle(queue, names, pace, result, going) {
  await Promise.all(names.map(async (name) => {
    await sleep(Math.random() * pace)
    while (going()) {
      const job = await service.reserve(queue, name)
      if (job) {
        await sleep(pace * (0.5 + Math.random()))
        await service.complete(job, result(job))
      } else await sleep(500)
    }
  }))
}

async function pictures() {
  const desk = await open('/demo/')
  await sit(desk, 'ann')
  const console_ = await open('/console/')
  const list = await open('/console/#/q/moderation/held')
  const dark = await open('/console/#/q/translations/batches', { dark: true })
  const small = await open('/console/#/q/transcripts/dead', { width: 390, height: 844, touch: true })
  let going = true
  const work = [
    bustle('moderation', NAMES.slice(1), 9_000, () => ({ verdict: pick(['keep', 'keep', 'remove', 'limit']) }), () => going),
    bustle('translations', NAMES, 20_000, ({ payload }) => ({ text: `page ${payload.page}, translated` }), () => going),
    bustle('transcripts', ['chiara', 'grete'], 9_000, () => ({ text: 'ok' }), () => going),
    bustle('call-backs', ['dan', 'eve', 'farid', 'hugo'], 30_000, () => ({ reached: true }), () => going),
  ]
  const arrive = (async () => {
    for (let n = 0; going; n += 1) {
      await service.enqueue('moderation', { kind: 'comment', community: 'City cycling', author: { name: pick(NAMES) }, text: `Reported ${n}`, reports: [{ reason: 'Spam' }] }, { client: 'city-cycling' })
      if (n % 4 === 0) await service.enqueue('transcripts', { recording: `2026-12-${String(n % 30).padStart(2, '0')}-radio.ogg`, minutes: 25 }, { client: 'radio' })
      await sleep(500 + 900 * Math.random() + 500 * Math.sin(n / 8) ** 2)
    }
  })()

  await desk.keyboard.press('4')
  await desk.getByLabel('Note').fill('Breaks no rule. Please write to her today.')
  await desk.getByText('Draft saved').waitFor()
  await desk.keyboard.press('Escape')
  await sleep(14_000) // so that the clock has moved
  await save(desk, 'desk')

  const phone = await open('/demo/', { width: 390, height: 844, dark: true, touch: true })
  await sit(phone, 'grete')
  await phone.locator('label.keep').tap()
  await phone.getByText('Draft saved').waitFor()
  await save(phone, 'desk-phone')

  await approvals()
  await form()
  await sleep(40_000)
  await save(console_, 'console')
  await list.locator('[data-row]').first().click()
  await list.locator('.panel pre').first().waitFor()
  await save(list, 'console-queue')
  await dark.locator('[data-row]').first().click()
  await dark.locator('.panel [data-row]').first().waitFor()
  await save(dark, 'console-dark')
  await small.locator('[data-row]').first().waitFor()
  await save(small, 'console-phone')
  going = false
  await Promise.all([...work, arrive])
}

/** Approvals at the desk, as three people have them. */
async function approvals() {
  const light = await open('/desk/?queue=approvals', { height: 720 })
  await sit(light, 'ann')
  await light.getByLabel('Eur').fill('120')
  await light.locator('#reason').fill('The lamp alone is 120 €. Offer to send a new one.')
  const dark = await open('/desk/?queue=approvals', { height: 560, dark: true })
  await sit(dark, 'bob')
  const phone = await open('/desk/?queue=approvals', { width: 390, height: 844, touch: true })
  await sit(phone, 'chiara')
  await light.getByText('Draft saved').waitFor()
  await dark.getByText('Less than a minute left').waitFor({ timeout: 60_000 })
  await save(light, 'approvals-light')
  await save(dark, 'approvals-dark')
  await save(phone, 'approvals-phone')
}

/** A message to sort, by the form of its queue. */
async function form() {
  const page = await open('/desk/?queue=labels', { height: 980 })
  await sit(page, 'dan')
  // A click counts for the request before, for half a second.
  await sleep(550)
  await page.getByRole('radio', { name: 'Delivery' }).check()
  await page.getByRole('radiogroup', { name: 'How angry is the writer?' }).getByRole('radio', { name: '3' }).check()
  await page.getByLabel('a deadline').check()
  await page.getByText('Draft saved').waitFor()
  await save(page, 'desk-form')
}

async function sit(page, name) {
  await page.getByLabel('Your name').fill(name)
  await page.keyboard.press('Enter')
  await page.locator('body[data-view=work]').waitFor()
}
