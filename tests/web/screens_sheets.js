// The pictures of the day sheets, which `npm run screens` writes into docs/ too: some days of three people, whose times Redis's clock
// makes. So it is a service of its own.
import { album } from './world/album.js'
import { startBrowser } from './world/browser.js'
import { startClock } from './world/clock.js'
import { startServiceWith } from './world/service.js'

const docs = process.argv[2] ?? new URL('../../docs', import.meta.url).pathname
const HOUR = 3_600_000
const begin = new Date()
const clock = await startClock()
const service = await startServiceWith(clock.env, '--sweep-interval-ms', '200')
const { browser, stop } = await startBrowser('--hide-scrollbars')
try {
  await fill()
  await pictures(album({ browser, docs, url: service.url }))
} finally {
  await stop()
  await service.stop()
  await clock.stop()
}

function give({ reservation }, how) {
  return service.call('POST', '/jobs/abandon', { reservation, ...how })
}

/** A day of Ann, who has the most, of Bob, who skips, and of Cleo, who is there on every second day. */
async function fill() {
  await service.set('reviews', { sheets: true, worker_limit: 0, lease_ms: 600_000, dedupe: false, time_zone: 'Europe/Berlin' })
  for (let day = 0; day < 4; day += 1) {
    const plan = { 'ann miller': 9 + day, bob: 5, ...(day % 2 ? { cleo: 7 } : {}) }
    for (const [worker, jobs] of Object.entries(plan)) await work(worker, jobs, day)
    if (day < 3) await clock.advance(24 * HOUR - 40 * 60_000)
  }
}

async function work(worker, jobs, day) {
  for (let n = 0; n < jobs; n += 1) {
    await service.enqueue('reviews', { photo: `${worker} ${day} ${n}` })
    const held = await service.reserve('reviews', worker)
    await clock.advance(4_000 + 9_000 * ((n * 7 + worker.length) % 5))
    if (worker === 'bob' && n % 3 === 2) await give(held, { skip: true })
    else if (n === 4) await give(held, { reason: 'lunch' })
    else if (worker === 'cleo' && n === 5) await service.fail(held, 'the photo is broken')
    else await service.complete(held, { verdict: 'fine' })
  }
}

async function pictures({ open, save }) {
  const path = `/console/#/q/reviews/sheets?from=${begin.toISOString().slice(0, 10)}`
  const light = await open(path, { height: 760 })
  const dark = await open(path, { height: 760, dark: true })
  const phone = await open(path, { width: 390, height: 900, touch: true })
  for (const [page, name] of [[light, 'light'], [dark, 'dark'], [phone, 'phone']]) {
    await page.locator('[data-row]').first().waitFor()
    await save(page, `sheets-${name}`)
  }
}
