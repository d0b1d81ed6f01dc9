// What the stories of the desk share: a service whose time can be moved, queues, and a person who sits down.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { UNDO_MS, press, stage, undoSlowly, withClock } from './stage.js'
import { becomes, until } from './until.js'

const axe = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')

export function atDesk({ flags = [], files } = {}) {
  const on = stage(null, async (on) => {
    const clock = await withClock(on)
    const more = await files?.()
    const stop = async () => {
      await clock.stop()
      await more?.stop()
    }
    return { env: clock.env, flags: [...flags, ...(more?.flags ?? [])], stop }
  })
  undoSlowly(on)
  on.view = (page, name) => becomes(() => page.evaluate(() => document.body.dataset.view), name)
  on.button = (page, name) => page.getByRole('button', { name })

  /** A queue that has this job alone. */
  on.ask = async (queue, payload, more = {}) => {
    await on.service.call('DELETE', `/queues/${queue}?state=all&force=true`)
    return on.service.enqueue(queue, payload, { dedupe: false, expires_ms: 900_000, ...more })
  }
  /** The payload is sent as this text. */
  on.askText = async (queue, text) => {
    await on.service.call('DELETE', `/queues/${queue}?state=all&force=true`)
    return (await on.service.call('POST', '/jobs', `{"queue":"${queue}","dedupe":false,"payload":${text}}`)).id
  }
  on.sit = async (queue, name, options) => {
    const page = await on.open(`/desk/?queue=${queue}`, options)
    await page.getByLabel('Your name').fill(name)
    await page.keyboard.press('Enter')
    return page
  }
  on.holding = async (queue, name, payload, more, options) => {
    const id = await on.ask(queue, payload, more)
    const page = await on.sit(queue, name, options)
    await on.view(page, 'work')
    return { id, page }
  }
  on.press = press
  /** The result, once it can be taken back no longer. */
  on.result = async (id) => {
    const isHandedIn = ({ state, reserved }) => state === 'completed' || reserved?.final_at
    await until('it is handed in', async () => isHandedIn(await on.service.job(id)))
    await on.clock.advance(UNDO_MS)
    await becomes(() => on.service.state(id), 'completed')
    return (await on.service.job(id)).result
  }
  /** What axe has against the page as it is. */
  on.isAccessible = async (page) => {
    await page.evaluate(axe)
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }))
    assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`), [])
  }
  return on
}
