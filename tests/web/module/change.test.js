// For frameworks: one event, whatever it was that is another now.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../world/until.js'
import { world } from '../world/world.js'

/** Draws the desk at each change, as a framework does, and at nothing else. */
const draw = () => {
  window.drawn = []
  const look = () => window.drawn.push([window.desk.job?.payload ?? null, window.desk.job?.draft ?? null, window.desk.remaining])
  window.desk.addEventListener('change', look)
}
const last = (tab) => tab.run(() => window.drawn.at(-1))

test('change fires for the page, other tabs and the service', async (t) => {
  const w = await world(t)
  const one = await w.open()
  await one.hears('waiting')
  await one.run(draw)
  const id = await w.enqueue('cat.png')
  await until('the job is drawn', async () => (await last(one))?.[0] === 'cat.png')

  const drawn = await one.run(() => {
    window.job.save({ text: 'it' })
    return window.drawn.at(-1)
  })
  assert.deepEqual(drawn[1], { text: 'it' }, 'at once, otherwise the caret would jump while typing')

  const two = await w.open()
  await two.shows('cat.png')
  await two.run(draw)
  await one.run(() => window.job.save({ text: 'it is a cat' }))
  await until('the other tab draws it', async () => (await last(two))?.[1]?.text === 'it is a cat')
  await two.run(() => window.job.complete())
  await w.becomes(id, 'completed')
  for (const tab of [one, two]) await until('it is gone', async () => (await last(tab))[0] === null)
})
