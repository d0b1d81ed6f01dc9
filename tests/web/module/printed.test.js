// Every page that a document prints, as it is printed: what is handed in is stored with the job that the screen shows, also
// when a completion is taken back while there is a next job.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PRINTED } from '../world/printed.js'
import { becomes, until } from '../world/until.js'
import { world } from '../world/world.js'

/** The first page that a reader makes hands in for good. */
const WITHOUT_UNDO = ['docs/start.md, The page']

for (const name of Object.keys(PRINTED)) {
  test(`printed_page_stores_each_answer_with_its_own_job: ${name}`, async (t) => {
    const w = await world(t)
    const reviews = await w.service.call('GET', '/queues/reviews/jobs?state=reserved')
    for (const { id } of reviews.jobs ?? []) await w.service.call('DELETE', `/jobs/${id}?force=true`)
    const enqueue = (title) => w.service.enqueue('reviews', { title }, { dedupe: false })
    const [cat, dog] = [await enqueue('A cat'), await enqueue('A dog')]
    const page = await w.context.newPage()
    const wrong = []
    page.on('pageerror', (error) => wrong.push(String(error)))
    t.after(() => page.close().catch(() => {}))
    await page.goto(`${w.origin}/printed?${encodeURIComponent(name)}`)
    const shows = (title) => until(title, async () => (await page.getByRole('heading').innerText()) === title)
    const note = page.getByLabel('Note')
    const done = () => page.getByRole('button', { name: 'Done' }).click()

    await shows('A cat')
    await note.fill('it is a cat')
    await done()
    await shows('A dog')
    assert.equal(await note.inputValue(), '')
    if (!WITHOUT_UNDO.includes(name)) {
      await page.getByRole('button', { name: 'Undo' }).click()
      await shows('A cat')
      assert.equal(await note.inputValue(), 'it is a cat', 'the draft has the shape of the result')
      await note.fill('it is a CAT, corrected')
      await done()
      await shows('A dog')
      assert.equal(await note.inputValue(), '')
    }
    await note.fill('it is a dog')
    await done()
    await until('both are handed in', () => w.wire.calls('complete').filter(({ status }) => status === 200).length >= (WITHOUT_UNDO.includes(name) ? 2 : 3))
    await w.advance(60_000)
    const result = async (id) => (await w.job(id)).result
    await becomes(() => result(cat), { note: WITHOUT_UNDO.includes(name) ? 'it is a cat' : 'it is a CAT, corrected' })
    await becomes(() => result(dog), { note: 'it is a dog' })
    assert.deepEqual(wrong, [])
  })
}
