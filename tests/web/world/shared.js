// What the stories of one process share: they run one after the other, and whatever file they are in.
import { after } from 'node:test'
import { startBrowser } from './browser.js'

let browser
after(async () => (await browser)?.stop())

/** A Chromium; another one, if a story has ended the one before. */
export async function sharedBrowser() {
  if (!(await browser)?.browser.isConnected()) browser = startBrowser()
  return browser
}
