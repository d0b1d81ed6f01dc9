// The pictures of the page of webhooks, which `npm run screens` writes into docs/ too: a receiver that refused for three days, of
// which Redis's clock knows. So it is a service of its own.
import { setTimeout as sleep } from 'node:timers/promises'
import { album } from './world/album.js'
import { startBrowser } from './world/browser.js'
import { completeJob, failDeliveries, startReceiver } from './world/receiver.js'
import { startServiceWith } from './world/service.js'
import { until } from './world/until.js'

const docs = process.argv[2] ?? new URL('../../docs', import.meta.url).pathname
const WEBHOOKS = {
  shop: ['orders*', 'completed,dead,cancelled'], audit: ['reviews*', 'completed'], agents: ['approvals', 'completed,dead,cancelled'],
}
const receiver = await startReceiver(WEBHOOKS)
const service = await startServiceWith(receiver.env, ...receiver.flags, '--sweep-interval-ms', '200')
const { browser, stop } = await startBrowser('--hide-scrollbars')
try {
  await fill()
  await pictures(album({ browser, docs, url: service.url }))
} finally {
  await stop()
  await service.stop()
  await receiver.stop()
}

/** The shop has not taken four orders, and takes none now; the others take all. */
async function fill() {
  const orders = [1041, 1042, 1043, 1044].map((n) => `order A-${n}`)
  for (const queue of ['orders', 'approvals', 'reviews']) await service.set(queue, { worker_limit: 9 })
  await failDeliveries(service, receiver, 'shop', 'orders', orders)
  receiver.status = ({ to }) => (to === 'shop' ? 503 : 204)
  for (let n = 1045; n < 1052; n += 1) await completeJob(service, 'orders', `order A-${n}`)
  for (let n = 1; n < 4; n += 1) await completeJob(service, n % 2 ? 'approvals' : 'reviews', `run ${n}`)
  await until('the shop is failing', async () => (await service.call('GET', '/webhooks')).webhooks.some(({ state }) => state === 'failing'))
  await sleep(1_000) // so that the last answers of the others are known
}

async function pictures({ open, save }) {
  const light = await open('/console/#/webhooks', { height: 360 })
  const dark = await open('/console/#/webhooks/shop?queue=orders', { height: 400, dark: true })
  const phone = await open('/console/#/webhooks', { width: 390, height: 720, touch: true })
  for (const [page, name] of [[light, 'light'], [dark, 'dark'], [phone, 'phone']]) {
    await page.locator('[data-row]').first().waitFor()
    await save(page, `webhooks-${name}`)
  }
}
