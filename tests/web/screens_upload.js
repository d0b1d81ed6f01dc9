// The picture of an upload: `npm run screens` writes it into docs/. A folder as argument gets that of each step, in each look.
import { album } from './world/album.js'
import { startBrowser } from './world/browser.js'
import { startService } from './world/service.js'

const docs = process.argv[2] ?? new URL('../../docs', import.meta.url).pathname
const service = await startService('--sweep-interval-ms', '200')
const { browser, stop } = await startBrowser('--hide-scrollbars')
const { open, save } = album({ browser, docs, url: service.url })
const QUESTIONS = ['Is this a cat?', 'What does the sign say?', 'How many people are there?', 'Is the house finished?', 'Is it raining?']
const SHEET = `Item;Question;Priority;For whom\r\n${QUESTIONS.map((text, n) =>
  `${17 + n};${text};${n === 2 ? 'high' : 10 * (n % 2) || ''};${n === 0 ? 'ann|bob' : ''}`).join('\r\n')}\r\n`
try {
  await service.enqueue('pictures', 0)
  const tall = { height: 1080 }
  await pictures('upload', tall)
  if (process.argv[2]) {
    await pictures('upload-dark', { ...tall, dark: true })
    await pictures('upload-phone', { width: 390, height: 1100, touch: true })
  }
} finally {
  await stop()
  await service.stop()
}

async function pictures(name, how) {
  const page = await open('/console/#/upload?queue=pictures', how)
  await page.locator('input[type=file]').setInputFiles({ name: 'pictures.csv', mimeType: 'text/csv', buffer: Buffer.from(SHEET) })
  await page.getByLabel('Where Priority goes').selectOption('priority')
  await page.getByLabel('Where For whom goes').selectOption('assignees')
  await page.locator('.refused li').waitFor()
  // A person has chosen the file with the mouse, and sees no ring around the heading.
  await page.evaluate(() => document.activeElement.blur())
  await save(page, name)
  if (process.argv[2]) await steps(page, name)
}

/** What is asked, and what became of it. */
async function steps(page, name) {
  await page.getByRole('button', { name: /^Add/ }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Add them' }).click()
  await page.getByRole('dialog').getByRole('alert').waitFor()
  await save(page, `${name}-asked`)
  await page.waitForTimeout(600)
  await page.getByRole('dialog').getByRole('button', { name: 'Add them anyway' }).click()
  await page.locator('#report').getByText('Done').waitFor()
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight))
  await save(page, `${name}-done`)
}
