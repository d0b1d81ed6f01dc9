// One fault after the other happens while a person types, in a random order. A person never loses
// typed work.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../world/until.js'
import { world } from '../world/world.js'

/** Longer than a busy machine leaves a page without a turn. */
const LEASE_MS = 60_000
const SEED = Number(process.env.SEED ?? Date.now() % 1_000_000)

/** What goes wrong; answers the tab where the person goes on, if that is another one. */
const mishaps = {
  'a reload': (ann) => ann.page.reload(),
  'a reload before the draft is sent': async (ann, w) => {
    w.wire.rule = ({ path }) => (path === '/jobs/extend' ? 'cut' : null)
    await ann.type('.')
    await ann.page.reload()
    w.wire.rule = null
    return '.'
  },
  'answers that are lost': async (ann, w) => {
    w.wire.rule = ({ path }) => (path === '/jobs/extend' ? 'lose' : null)
    await ann.type('-')
    w.wire.rule = null
    return '-'
  },
  'a tunnel': async (ann) => {
    await ann.offline(true)
    await ann.type('~')
    await ann.offline(false)
    return '~'
  },
  'a reload in a tunnel': async (ann, w) => {
    w.wire.offline = true
    await ann.type('=')
    await ann.page.reload()
    await until('it asks', () => w.wire.calls('reserve').at(-1)?.at > Date.now() - 1_000)
    w.wire.offline = false
    return '='
  },
  'a second tab, and the first is closed': async (ann, w, open) => {
    const second = await open()
    await second.shows('cat.png')
    await ann.close()
    return second
  },
  'a closed tab that is opened again': async (ann, w, open) => {
    await ann.close()
    return open()
  },
  'a crash': async (ann, w, open) => {
    await ann.type('!')
    await ann.crash()
    return [await open(), '!']
  },
  'a nap in the background': async (ann) => {
    await ann.hide()
    await ann.freeze()
    await ann.thaw()
    await ann.show()
  },
  'a sleep past the lease': async (ann, w) => {
    const { length: before } = await ann.heard('lost')
    await ann.hide()
    await ann.freeze()
    await w.advance(LEASE_MS)
    await until('it is back in line', async () => (await w.state(w.id)) === 'waiting')
    await ann.thaw()
    await ann.show()
    await ann.hears('lost', before + 1)
    await ann.click('next')
    await until('it is held again', async () => (await ann.get('state')) === 'held')
  },
  'an operator who takes it away': async (ann, w) => {
    const { length: before } = await ann.heard('lost')
    await w.service.call('POST', '/jobs/release', { id: w.id })
    await ann.type('+')
    await ann.hears('lost', before + 1)
    await ann.click('next')
    await until('it is held again', async () => (await ann.get('state')) === 'held')
    return '+'
  },
}

test(`random faults while a person types lose no draft (SEED=${SEED})`, async (t) => {
  const w = await world(t)
  w.id = await w.enqueue('cat.png', { lease_ms: LEASE_MS })
  const open = () => w.open({ grace: 3_000, heartbeat: 1_000 })
  let ann = await open()
  let typed = ''
  for (const [n, name] of shuffled(Object.keys(mishaps), SEED).entries()) {
    await ann.shows('cat.png')
    await ann.type(`${n} `)
    typed += `${n} `
    const after = [await mishaps[name](ann, w, open)].flat()
    ann = after.find((one) => one?.page) ?? ann
    typed += after.find((one) => typeof one === 'string') ?? ''
    await ann.shows('cat.png')
    await until(`after ${name} there is “${typed}”`, async () => (await ann.draft) === typed).catch(async (never) => {
      assert.equal(await ann.draft, typed, name)
      throw never
    })
    t.diagnostic(name)
  }
  await ann.click('complete')
  await w.becomes(w.id, 'completed')
  assert.deepEqual((await w.job(w.id)).result, { text: typed })
})

/** In an order that the seed decides. */
function shuffled(list, seed) {
  let state = seed
  const random = () => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) / 2_147_483_648
  return list.map((item) => [random(), item]).sort(([a], [b]) => a - b).map(([, item]) => item)
}
