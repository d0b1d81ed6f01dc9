// The world of the module's stories: a service, a wire to it, a site of another origin, and a browser.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { startBrowser } from './browser.js'
import { sharedBrowser, sharedService } from './shared.js'
import { until } from './until.js'
import { startWire } from './wire.js'

/**
 * A wire, a site and a queue of its own for each story; the browser, and the service with its clock, are shared. `from`: which
 * of its names the site has. `queue`: another name for the queue. `sleeps`: the browser sleeps, so it is this story's own.
 */
export async function world(t, { from = 'here', queue: name, sleeps = false } = {}) {
  const ends = []
  t.after(async () => {
    for (const end of ends.reverse()) await end()
  })
  const start = async (part) => {
    ends.push((await part).stop)
    return part
  }
  const { newContext, context, asleep } = await (sleeps ? start(startBrowser()) : sharedBrowser())
  const { service, clock, site, queue: own } = await sharedService()
  const queue = name ?? own
  const wire = await start(startWire(service))
  site.module = `${wire.url}/client.js`
  const tabs = []
  ends.push(async () => {
    for (const { page, apart } of tabs) await (apart ? page.context() : page).close().catch(() => {})
  })

  const origin = site.origins[from]
  const w = { service, wire, origin, queue, context, asleep, job: service.job, state: service.state, completes: service.complete }
  // `advance` lets time pass for the service, and not for a page.
  Object.assign(w, { advance: clock.advance, now: clock.now, pass: (ms, step = 250) => pass(w, tabs, ms, step) })
  w.enqueue = async (payload, more) => {
    const id = await service.enqueue(queue, payload, { dedupe: false, ...more })
    assert.ok(id)
    return id
  }
  w.becomes = (id, state) => until(`${id} is ${state}`, async () => (await w.state(id)) === state)
  const hasLeft = async (id, ms) => Date.parse((await w.job(id)).reserved?.expires_at) > w.now() + ms
  /** So much is left of its lease at least. */
  w.hasLeft = (id, ms) => until(`${id} has ${ms} ms left`, () => hasLeft(id, ms))
  /** The page keeps these jobs for longer than their lease of a minute, most of which passes at once when all have been extended. */
  w.keeps = async (...ids) => {
    for (let n = 0; n < 2; n += 1) {
      for (const id of ids) await w.hasLeft(id, 50_000)
      await w.advance(40_000)
    }
  }
  /** Time has passed for the service, which has looked what that has brought about. */
  w.passed = async (ms) => {
    await w.advance(ms)
    await sleep(500)
  }
  /** Another person takes the next job. */
  w.bob = () => service.reserve(queue, 'bob')

  /**
   * A tab. `elsewhere`: on another machine; `apart`: another window, which is looked at all the time; `moved`: so is
   * this one, whose time stands still once it is loaded, and passes by `w.pass`.
   */
  w.open = async (settings = {}, { before, elsewhere = false, apart = false, moved = false } = {}) => {
    const queues = settings.job || queue === 'default' ? undefined : [queue]
    const tab = new Tab(w, elsewhere ? site.origins.there : origin, { url: wire.url, worker: 'ann', queues, ...settings })
    Object.assign(tab, { apart: apart || moved, moved }) // the clock of a test is that of a whole window
    tabs.push(tab)
    tab.page = await (tab.apart ? await newContext() : context).newPage()
    if (before) await tab.page.addInitScript(before)
    if (moved) await moveTime(tab.page)
    await tab.goto()
    if (moved) await tab.page.clock.pauseAt(Date.now() + 1_000)
    return tab
  }
  return w
}

/** Time passes for the service and for tabs whose time is `moved`. What a step brings about is over before the next. */
async function pass(w, tabs, ms, step) {
  for (let left = ms; left > 0; left -= step) {
    await w.advance(step)
    for (const { page, moved } of tabs) if (moved) await page.clock.runFor(step)
    await until('all is answered', () => w.wire.log.every(({ isOver, body }) => isOver || body?.wait_ms > 0))
  }
}

/** The browser's own timeouts are not moved by the clock of a test, its timers are. */
async function moveTime(page) {
  await page.clock.install()
  await page.addInitScript(() => {
    AbortSignal.timeout = (ms) => {
      const end = new AbortController()
      setTimeout(() => end.abort(new DOMException('it took too long', 'TimeoutError')), ms)
      return end.signal
    }
  })
}

/** What comes before the scripts of a page that can sleep. */
export const sleeper = () => {
  const { now } = Date
  let slept = 0
  Date.now = () => now() + slept
  window.sleeps = (ms) => (slept += ms)
}

/** A person's tab. */
class Tab {
  constructor(world, origin, settings) {
    this.world = world
    this.address = `${origin}/?settings=${encodeURIComponent(JSON.stringify(settings))}`
    this.errors = []
  }

  async goto() {
    this.page.on('pageerror', (error) => this.errors.push(String(error)))
    await this.page.goto(this.address)
    this.cdp = await this.page.context().newCDPSession(this.page)
  }

  run(script, argument) {
    return this.page.evaluate(script, argument)
  }

  reads(id) {
    return this.run((id) => document.getElementById(id).value ?? document.getElementById(id).textContent, id)
  }

  shows(text) {
    return until(`the page shows ${text}`, async () =>
      (await this.run(() => document.body?.innerText ?? '')).includes(text),
    )
  }

  /** Types as a person does, key by key. */
  async type(text) {
    await this.page.bringToFront()
    await this.page.locator('#draft').click()
    await this.page.locator('#draft').pressSequentially(text)
  }

  async click(id) {
    await this.page.bringToFront()
    await this.page.locator(`#${id}`).click()
  }

  get draft() {
    return this.reads('draft')
  }

  get(name) {
    return this.run((name) => window.job[name], name)
  }

  /** Waits for an event; answers all of them. */
  hears(type, n = 1) {
    return until(`${type} is heard`, async () => {
      const heard = await this.heard(type)
      return heard.length >= n && heard
    })
  }

  heard(type) {
    return this.run((type) => window.heard.filter((event) => event.type === type), type)
  }

  /** Another tab is looked at. */
  async hide() {
    this.cover ??= await this.world.context.newPage()
    await this.cover.bringToFront()
    await until('it is hidden', () => this.run(() => document.visibilityState === 'hidden'))
  }

  async show() {
    await this.page.bringToFront()
    await until('it is shown', () => this.run(() => document.visibilityState === 'visible'))
    await this.cover?.close()
    this.cover = null
  }

  async offline(yes) {
    const conditions = { offline: yes, latency: 0, downloadThroughput: -1, uploadThroughput: -1 }
    await this.cdp.send('Network.enable')
    await this.cdp.send('Network.emulateNetworkConditions', conditions)
  }

  /** While a machine sleeps, time passes, and the clock that is called monotonic stands still. */
  sleeps(ms) {
    return this.run((ms) => window.sleeps(ms), ms)
  }

  freeze() {
    return this.cdp.send('Page.setWebLifecycleState', { state: 'frozen' })
  }

  thaw() {
    return this.cdp.send('Page.setWebLifecycleState', { state: 'active' })
  }

  async crash() {
    const crashed = this.page.waitForEvent('crash')
    this.cdp.send('Page.crash').catch(() => {})
    await crashed
  }

  /** Closed as a person closes it. */
  async close() {
    await this.page.close()
  }
}
