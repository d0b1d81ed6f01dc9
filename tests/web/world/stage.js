// The world of the console's and the demo's stories: a service, a wire before its pages, and a browser that forgives nothing.
// The service is one for all stories of a file, the wire is each story's own; `begin(on)` comes before the first. `prepare()` comes before the service,
// answers its `{env, flags}`, and may have a `stop`.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, afterEach, before, beforeEach } from 'node:test'
import { startClock } from './clock.js'
import { startServiceWith } from './service.js'
import { sharedBrowser } from './shared.js'
import { becomes } from './until.js'
import { startWire } from './wire.js'

export function stage(begin, prepare) {
  const on = {}
  const opened = []
  const parts = []
  before(async () => {
    const { env = {}, flags = [], stop } = await prepare?.(on) ?? {}
    if (stop) parts.push({ stop })
    on.service = await startServiceWith(env, '--sweep-interval-ms', '200', '--demo', ...flags)
    parts.push(on.service)
    on.chromium = await sharedBrowser()
    await begin?.(on)
  })
  after(async () => {
    for (const part of parts.reverse()) await part.stop()
  })
  // What a page sends while it goes, a beacon, arrives when its story has ended: the next story has another wire.
  beforeEach(async () => {
    on.wire = await startWire(on.service)
    on.url = on.wire.url
  })
  afterEach(() => on.clear().finally(() => on.wire.stop()))

  on.open = async (path = '/console/', { width = 1280, height = 800, dark = false, touch = false } = {}) => {
    const context = await on.chromium.newContext({
      viewport: { width, height },
      colorScheme: dark ? 'dark' : 'light',
      hasTouch: touch,
      isMobile: touch,
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    await context.addInitScript(watchHaste, GUARDED)
    const page = await context.newPage()
    const wrong = []
    opened.push({ page, context, wrong })
    page.on('pageerror', (error) => wrong.push(`error: ${error.stack}`))
    page.on('console', (line) => /Content Security Policy|Trusted/i.test(line.text()) && wrong.push(line.text()))
    page.on('dialog', (dialog) => {
      wrong.push(`a dialog of the browser: ${dialog.message()}`)
      dialog.dismiss()
    })
    await page.addInitScript(() => {
      globalThis.refused = []
      const keep = (event) => globalThis.refused.push(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`)
      document.addEventListener('securitypolicyviolation', keep)
    })
    await page.goto(on.url + path)
    return page
  }

  /** After each story: nothing threw, the policy had nothing to refuse, and no click came that only a slow machine hears. */
  on.clear = async () => {
    const wrong = []
    for (const { page, context, wrong: own } of opened.splice(0)) {
      wrong.push(...own, ...(page.isClosed() ? [] : await page.evaluate(() => [...globalThis.refused, ...globalThis.hasty])))
      await context.close()
    }
    // Or a page that is gone would be handed the next story's job.
    await becomes(() => on.wire.open, 0)
    assert.deepEqual(wrong, [])
  }
  return on
}

/** The `prepare` of a stage whose service goes by a clock that can be moved. */
export async function withClock(on) {
  on.clock = await startClock()
  return on.clock
}

/** So long can be taken back what is handed in: a busy machine needs more than the seven seconds of the page. */
export const UNDO_MS = 30_000

/** On this stage it can. */
export function undoSlowly(on) {
  const own = /UNDO_WITHIN = [\d_]+/
  for (const page of ['desk', 'demo']) {
    assert.match(readFileSync(new URL(`../../../web/${page}/undo.js`, import.meta.url), 'utf8'), own)
  }
  const script = (text) => text.replace(own, `UNDO_WITHIN = ${UNDO_MS}`)
  beforeEach(() => Object.assign(on.wire, { script }))
}

export const shown = (page, text) => page.getByText(text, { exact: false }).first().waitFor()

/** What the desk hears no click on for half a second after it was drawn. */
const GUARDED = '[data-for=work], #undo'

/** In a page of the desk: when it was drawn last, and what was clicked, or sent by a key, without `hearsClicks` after that. */
function watchHaste(guarded) {
  Object.assign(globalThis, { drawnAt: Infinity, isHeard: false, watchesHaste: true, hasty: [] })
  if (!location.pathname.startsWith('/desk')) return
  const isDrawing = ({ type, target }) => type === 'attributes' || ['request', 'answer', 'undo-what'].includes(target.id)
  new MutationObserver((changes) => {
    if (!changes.some(isDrawing)) return
    Object.assign(globalThis, { drawnAt: Infinity, isHeard: false })
    // As the page counts it: from the frame that shows it.
    requestAnimationFrame(() => setTimeout(() => { globalThis.drawnAt = Date.now() }))
  }).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ['data-view'] })
  const watch = ({ type, target }) => {
    if (!globalThis.watchesHaste || globalThis.isHeard || !target.closest(guarded)) return
    globalThis.hasty.push(`too early: ${type} on ${target.outerHTML.slice(0, 80)}`)
  }
  addEventListener('click', (event) => event.isTrusted && watch(event), true)
  addEventListener('keydown', (event) => event.key === 'Enter' && event.ctrlKey && !event.repeat && watch(event), true)
}

/** As the page waits for it: no click is for what was there before. */
export const hearsClicks = (page) =>
  page.evaluate(() => new Promise((heard) => {
    const look = () => {
      if (Date.now() - globalThis.drawnAt < 550) return setTimeout(look, 25)
      heard(globalThis.isHeard = true)
    }
    requestAnimationFrame(() => setTimeout(look))
  }))

/** What follows is sent too early, and meant to be. */
export const meansHaste = (page) => page.evaluate(() => { globalThis.watchesHaste = false })

/** Presses what has just been drawn, as a person would. */
export async function press(page, name) {
  await hearsClicks(page)
  await page.getByRole('button', { name }).click()
}

/** So much later it is for the page, which has shown before what it has drawn. */
export const later = (page, ms) =>
  page.evaluate((ms) => new Promise((passed) => {
    const now = performance.now.bind(performance)
    const pass = () => { performance.now = () => now() + ms }
    requestAnimationFrame(() => setTimeout(() => passed(pass())))
  }), ms)

/** Confirms what the open question asks. */
export async function confirm(page, action, typed) {
  const question = page.getByRole('dialog')
  if (typed) await question.getByRole('textbox').fill(typed)
  await question.getByRole('button', { name: action }).click()
}

export const fits = (page) =>
  page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth)
