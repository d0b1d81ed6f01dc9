// The pictures of a hand-over and of the lines of a queue: `npm run screens` writes them into docs/.
import { album } from './world/album.js'
import { startBrowser } from './world/browser.js'
import { startClock } from './world/clock.js'
import { startServiceWith } from './world/service.js'

const docs = process.argv[2] ?? new URL('../../docs', import.meta.url).pathname
const clock = await startClock()
const service = await startServiceWith(clock.env, '--sweep-interval-ms', '200', '--demo')
const { browser, stop } = await startBrowser('--hide-scrollbars')
const { open, save } = album({ browser, docs, url: service.url })
try {
  await handOver()
  await lines()
} finally {
  await stop()
  await service.stop()
  await clock.stop()
}

async function sit(name, how) {
  const page = await open('/demo/', how)
  await page.getByLabel('Your name').fill(name)
  await page.keyboard.press('Enter')
  return page
}

async function handOver() {
  await service.set('moderation', { lease_ms: 300_000 })
  await service.enqueue('moderation', {
    kind: 'comment', community: 'City cycling', author: { name: 'Jonas P.', since: '2021', posts: 214, strikes: 1 }, posted: 'today, 09:12',
    language: 'en', text: 'Same white van on the bike lane in Hafenstraße again. You all know which one, and you all know what to do.',
    context: { author: 'Marta', text: 'I had to swerve into traffic with my kid on the back.' },
    reports: [{ reason: 'Harassment', count: 4, note: 'He is calling on people to damage my car.' }],
  })
  const ann = await sit('ann', { height: 720 })
  await ann.locator('body[data-view=work]').waitFor()
  const bob = await sit('bob', { height: 720 })
  await ann.keyboard.press('4')
  await ann.locator('#note').fill('A threat, if he means the tyres. Needs one who knows the thread.')
  await ann.getByText('Draft saved').waitFor()
  await ann.keyboard.press('Escape')
  await ann.keyboard.press('h')
  await ann.getByLabel('Their name').fill('bob')
  await ann.getByLabel('A word to them').fill('You have read the thread about that van. Is he joking?')
  await save(ann, 'hand-over')
  await ann.keyboard.press('Control+Enter')
  await bob.locator('#handed').waitFor()
  await save(bob, 'handed-over')
}

async function lines() {
  const fill = (n, more) => service.call('POST', '/jobs', Array.from({ length: n }, (_, at) => (
    { queue: 'translations', payload: { document: 'handbook', page: at + 1 }, dedupe: false, ...more })))
  await fill(6, { assignees: ['bob'] })
  await clock.advance(4_500_000)
  await fill(4, { skill: 'legal', fallback_ms: 5_400_000 })
  await clock.advance(820_000)
  await fill(14)
  await fill(9, { skill: 'german' })
  await clock.advance(95_000)
  await fill(3, { assignees: ['chiara', 'dan'], excluded: ['ann'] })
  const page = await open('/console/#/q/translations/lines', { height: 720 })
  await page.locator('[data-row]').nth(4).waitFor()
  await save(page, 'console-lines')
}
