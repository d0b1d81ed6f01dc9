// The pictures of several opinions of an item, which `npm run screens` writes into docs/ too.
import { album } from './world/album.js'
import { startBrowser } from './world/browser.js'
import { startClock } from './world/clock.js'
import { startServiceWith } from './world/service.js'

const docs = process.argv[2] ?? new URL('../../docs', import.meta.url).pathname
const PEOPLE = ['ann', 'bob', 'cleo']
const clock = await startClock()
const service = await startServiceWith(clock.env, '--sweep-interval-ms', '200')
const { browser, stop } = await startBrowser('--hide-scrollbars')
try {
  await pictures(album({ browser, docs, url: service.url }), await fill())
} finally {
  await stop()
  await service.stop()
  await clock.stop()
}

/** Texts that three people label. The last two are not done yet. */
async function fill() {
  await service.set('labels', { max_attempts: 1, worker_limit: 0 })
  const items = [
    ['Where is my parcel? It should have been here on Monday.', ['delivery', 'delivery', 'delivery']],
    ['The lamp came broken. I want my money back.', ['broken', 'refund', 'broken'], ['asks for money']],
    ['You are the best shop on earth', ['praise', 'praise', 'praise'], ['', 'irony?']],
    ['I cannot log in since the update', ['account', 'other', 'broken']],
    ['Is the blue one in stock again?', ['other', 'other']],
  ]
  let divided
  for (const [text, topics, remarks = []] of items) {
    await clock.advance(70_000)
    const { id } = await service.batch('labels', { overlap: 3, client: 'shop', job: { payload: { text, lang: 'en' } } })
    for (const [n, topic] of topics.entries()) {
      const held = await service.reserve('labels', PEOPLE[n])
      await service.complete(held, remarks[n] ? { topic, remark: remarks[n] } : { topic })
    }
    if (remarks.includes('asks for money')) divided = id
  }
  await service.batch('labels', { overlap: 3, job: { payload: { text: 'Please call me back', lang: 'en' } } })
  const { reservation } = await service.reserve('labels', 'ann')
  await service.call('POST', '/jobs/abandon', { reservation, skip: true })
  return divided
}

async function pictures({ open, save }, divided) {
  const list = '/console/#/q/labels/batches'
  const phone = { width: 360, height: 780, touch: true }
  for (const [name, path, how] of [
    ['opinions', list, { height: 860 }],
    ['opinions-dark', `${list}/${divided}`, { height: 860, dark: true }],
    ['opinions-phone', `${list}/${divided}`, phone],
    ...(process.argv[2] ? [['opinions-list-phone', list, phone], ['opinions-page', `${list}/${divided}`, { height: 860 }]] : []),
  ]) {
    const page = await open(path, how)
    await page.locator('.verdict').locator('visible=true').first().waitFor()
    await save(page, name)
  }
}
