// The pictures of the toast that takes a decision back: `npm run screens` writes them into docs/.
import { album } from './world/album.js'
import { startBrowser } from './world/browser.js'
import { startService } from './world/service.js'

const docs = process.argv[2] ?? new URL('../../docs', import.meta.url).pathname
const service = await startService('--sweep-interval-ms', '200', '--demo')
const { browser, stop } = await startBrowser('--hide-scrollbars')
const { open, save } = album({ browser, docs, url: service.url })
try {
  await service.set('moderation', { lease_ms: 300_000 })
  await toast('undo', 'ann', { height: 720 })
  await toast('undo-dark', 'bob', { width: 960, height: 720, dark: true })
  await toast('undo-phone', 'chiara', { width: 390, height: 844, touch: true })
} finally {
  await stop()
  await service.stop()
}

async function toast(name, worker, how) {
  for (const text of [
    'Everyone knows that the library is run by crooks. Ask me for the names.',
    'Found a set of keys at the tram stop in Hafenstraße, with a small red bicycle on the ring. Write to me and say what else is on it.',
  ]) {
    await service.enqueue('moderation', {
      kind: 'comment', community: 'Neighbours', author: { name: 'Jonas P.', since: '2021', posts: 214 }, posted: 'today, 09:12', language: 'en', text,
      reports: [{ reason: 'Off topic', count: 2, note: 'Not about the street.' }],
    }, { dedupe: false })
  }
  const page = await open('/demo/', how)
  await page.getByLabel('Your name').fill(worker)
  await page.keyboard.press('Enter')
  await page.getByText('run by crooks').waitFor()
  await page.keyboard.press('1')
  await page.keyboard.press('Enter')
  await page.getByText('set of keys').waitFor()
  await page.getByText('(6 s)').waitFor()
  await save(page, name)
  await page.close()
  await service.call('DELETE', '/queues/moderation?state=all&force=true')
}
