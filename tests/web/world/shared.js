// What the stories of one process share: they run one after the other, and whatever file they are in.
import { after } from 'node:test'
import { startBrowser } from './browser.js'
import { startClock } from './clock.js'
import { startPages } from './pages.js'
import { startServiceWith } from './service.js'

/** Stories that one service serves: each has a site of its own, and a service knows its sites from its start. */
const SITES = 60

let browser
let place
after(async () => {
  await (await place)?.stop()
  await (await browser)?.stop()
})

/** A Chromium; another one, if a story has ended the one before. */
export async function sharedBrowser() {
  if (!(await browser)?.browser.isConnected()) browser = startBrowser()
  return browser
}

/** A service, the clock that it goes by, and a site and a queue that no other story has. */
export async function sharedService() {
  if (!(await place)?.sites.length) {
    await (await place)?.stop()
    place = startPlace()
  }
  const { service, clock, sites } = await place
  const site = sites.pop()
  return { service, clock, site, queue: `story-${sites.length}` }
}

async function startPlace() {
  const all = await Promise.all(Array.from({ length: SITES }, startPages))
  const origins = all.flatMap((site) => Object.values(site.origins))
  const clock = await startClock()
  const service = await startServiceWith(clock.env, '--cors-origin', origins.join(), '--sweep-interval-ms', '100')
  const stop = async () => {
    for (const part of [service, clock, ...all]) await part.stop()
  }
  return { service, clock, sites: [...all], stop }
}
