// Chromium as it is: shown and hidden, frozen and thawed, with its cache of pages, without the defaults that tests
// like.
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { WITHIN_MS } from './until.js'

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--remote-debugging-port=0',
  // Two pages of the browser's own in each window, which cost more than the page that is looked at.
  '--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup',
  '--host-resolver-rules=MAP desk.test 127.0.0.1', // a page that is not on this machine: no secure context
]

export async function startBrowser(...more) {
  const profile = await mkdtemp(join(tmpdir(), 'intray-browser-'))
  const program = process.env.CHROMIUM ?? '/usr/bin/chromium'
  const child = spawn(program, [...flags, ...more, `--user-data-dir=${profile}`, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true, // a group of its own, which can be stopped as a whole
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  let output = ''
  const endpoint = await new Promise((resolve, reject) => {
    child.stderr.on('data', (chunk) => {
      output += chunk
      const listening = /ws:\/\/\S+/.exec(output)
      if (listening) resolve(listening[0])
    })
    ended.then(() => reject(new Error(`the browser did not start:\n${output}`)))
  })
  const browser = await chromium.connectOverCDP(endpoint, { noDefaults: true })
  const stop = async () => {
    const all = await browser.newBrowserCDPSession()
    await all.send('Browser.close').catch(() => {})
    await ended
    await rm(profile, { recursive: true, force: true, maxRetries: 5 })
  }
  /** The machine sleeps: all processes stand still, and nobody tells the page. */
  const asleep = async (until) => {
    process.kill(-child.pid, 'SIGSTOP')
    try {
      await until()
    } finally {
      process.kill(-child.pid, 'SIGCONT')
    }
  }
  const patient = (context) => {
    context.setDefaultTimeout(WITHIN_MS)
    return context
  }
  const newContext = async (how) => patient(await browser.newContext(how))
  return { browser, newContext, context: patient(browser.contexts()[0]), asleep, stop }
}
