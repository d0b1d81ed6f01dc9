// A page with a form, under a strict policy, and a form that has a field of every kind.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import http from 'node:http'
import { after, before } from 'node:test'
import { sharedBrowser } from './shared.js'

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; require-trusted-types-for 'script'; trusted-types 'none'"
const pages = {
  '/': ['text/html', `<!doctype html><html lang="en"><meta charset="utf-8"><title>form</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="/page.css"><link rel="stylesheet" href="/client/form/form.css"><script type="module" src="/page.js"></script><main><h1>Form</h1></main></html>`],
  '/page.css': ['text/css', ':root { color-scheme: light dark; background: Canvas; color: CanvasText }'],
  '/page.js': ['text/javascript', "import * as form from '/client/form.js'\nObject.assign(window, form)\nwindow.isReady = true"],
}

/** The pages of a file of stories: how to open one. */
export function formPages() {
  let server, browser
  before(async () => {
    server = http.createServer(async ({ url }, response) => {
      const [type, text] = pages[url] ?? [url.endsWith('.css') ? 'text/css' : 'text/javascript']
      const found = text ?? await readFile(new URL(`../../../web${url}`, import.meta.url)).catch(() => null)
      response.writeHead(found === null ? 404 : 200, { 'content-type': `${type}; charset=utf-8`, 'content-security-policy': policy })
      response.end(found ?? '')
    })
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
    browser = await sharedBrowser()
  })
  after(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })

  /** A page with a form; its `heard` are the values that it told, `sent` counts what a page's own form would send. */
  return async (t, schema, settings = {}, { width = 1280, dark = false, timezoneId } = {}) => {
    const context = await browser.newContext({
      viewport: { width, height: 800 }, colorScheme: dark ? 'dark' : 'light', locale: 'en-GB', timezoneId,
    })
    const page = await context.newPage()
    const wrong = []
    page.on('pageerror', (error) => wrong.push(error.stack))
    page.on('console', (line) => /Content Security Policy|Trusted/i.test(line.text()) && wrong.push(line.text()))
    t.after(async () => {
      await context.close()
      assert.deepEqual(wrong, [])
    })
    await page.goto(`http://127.0.0.1:${server.address().port}/`)
    await page.waitForFunction(() => window.isReady)
    const draw = (next, how) => page.evaluate(([schema, { noKeys, ...settings }]) => {
      window.heard = []
      window.sent = 0
      const onchange = (value) => window.heard.push(value)
      window.drawn = window.drawForm(schema, { ...settings, onchange, ...(noKeys && { keys: () => false }) })
      const form = document.createElement('form')
      form.addEventListener('submit', (event) => (event.preventDefault(), (window.sent += 1)))
      const send = Object.assign(document.createElement('button'), { textContent: 'Send' })
      form.append(window.drawn.element, send)
      document.querySelector('form')?.remove()
      document.querySelector('main').append(form)
    }, [next, how])
    await draw(schema, settings)
    const value = () => page.evaluate(() => window.drawn.value())
    const errors = (found) => page.evaluate((found) => window.drawn.errors(found), found)
    const focus = () => page.evaluate(() => window.drawn.focus())
    return { page, draw, value, errors, focus }
  }
}

export const object = (properties, ...required) => ({ type: 'object', properties, required })
export const countries = Array.from({ length: 12 }, (_, n) => ({ const: `c${n}`, title: `Country ${n}` }))
export const every = object({
  verdict: { type: 'string', title: 'Verdict', enum: ['fine', 'spam', 'abuse'], description: 'As the rules say.' },
  customer_mood: { oneOf: [{ const: 'a', title: 'Angry', description: 'Shouts.' }, { const: 'b', title: 'Calm' }] },
  country: { oneOf: countries },
  isUrgent: { type: 'boolean' },
  rating: { type: 'integer', minimum: 0, maximum: 5 },
  tags: { type: 'array', items: { enum: ['cat', 'dog'] }, uniqueItems: true },
  reply: { type: 'string' },
  subject: { type: 'string', maxLength: 120 },
  price: { type: 'number', multipleOf: 0.01 },
  mail: { type: 'string', format: 'email' },
  page: { type: 'string', format: 'uri' },
  day: { type: 'string', format: 'date' },
  at: { type: 'string', format: 'date-time' },
  address: { type: 'object', title: 'Address', properties: { city: { type: 'string', maxLength: 50 } } },
}, 'verdict')
