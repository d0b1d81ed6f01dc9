// The page in the module's reference, as it is printed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../world/until.js'
import { world } from '../world/world.js'

test('the example page in the reference works as a desk', async (t) => {
  const w = await world(t)
  const enqueue = (title) => w.service.enqueue('reviews', { title })
  const [cat, dog] = [await enqueue('A cat'), await enqueue('A dog')]
  const open = async () => {
    const page = await w.context.newPage()
    t.after(() => page.close().catch(() => {}))
    await page.goto(`${w.origin}/example`)
    return page
  }
  const shows = (page, text) => until(text, () => page.evaluate((text) => document.body.innerText.includes(text), text))
  const note = (page) => page.getByLabel('Note')

  const page = await open()
  await shows(page, 'A cat')
  await note(page).pressSequentially('it purrs')
  await until('it is saved', () => w.wire.calls('extend').some(({ status, body }) => status === 200 && body.draft?.note === 'it purrs'))
  await page.reload()
  await shows(page, 'A cat')
  assert.equal(await note(page).inputValue(), 'it purrs')

  const second = await open()
  await shows(second, 'A cat')
  await second.getByRole('button', { name: 'Done' }).click()
  await until('it is handed in', async () => (await w.job(cat)).reserved?.final_at)
  await w.advance(60_000)
  await w.becomes(cat, 'completed')
  assert.deepEqual((await w.job(cat)).result, { note: 'it purrs' })
  await shows(second, 'A dog')
  await page.bringToFront()
  await shows(page, 'A dog')
  await page.getByRole('button', { name: 'Skip' }).click()
  await shows(page, 'Only jobs that you skipped are left.')
  assert.equal(await w.state(dog), 'waiting')
  assert.equal(await page.getByRole('heading').innerText(), '', 'what is done is not on the screen any more')
  assert.equal(await page.getByRole('button', { name: 'Done' }).isDisabled(), true)
})
