// Several people look at one post, in windows of their own; where they do not agree, one person more decides.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shown, stage } from '../world/stage.js'
import { becomes } from '../world/until.js'

const QUEUE = 'moderation'
const on = stage()
const payload = { kind: 'post', community: 'Test', author: { name: 'Pat Other' }, posted: 'today', language: 'en', text: 'Is this a joke?', reports: [{ reason: 'Spam' }] }
const view = (page, name) => becomes(() => page.evaluate(() => document.body.dataset.view), name)

async function sit(name) {
  const page = await on.open('/demo/')
  await page.getByLabel('Your name').fill(name)
  await page.keyboard.press('Enter')
  return page
}

/** The verdict by its key; a note for those that need one. */
async function decide(page, key, note) {
  await shown(page, 'Is this a joke?')
  await page.keyboard.press(key)
  if (note) {
    await page.keyboard.press('n')
    await page.keyboard.type(note)
    await page.keyboard.press('Escape')
  }
  await page.keyboard.press('Enter')
}

const verdicts = async (batch) => {
  const { results } = await on.service.call('GET', `/batches/${batch}/results`)
  return results.filter(({ completed }) => completed).map(({ result, completed }) => [completed.worker, result.verdict])
}

test('three_people_decide_and_a_fourth_breaks_their_tie', async () => {
  const { id } = await on.service.batch(QUEUE, { overlap: 3, job: { payload } })
  const pages = []
  for (const name of ['ann', 'bob', 'cleo']) pages.push(await sit(name))
  for (const page of pages) await shown(page, 'Is this a joke?')
  await decide(pages[0], '1')
  await view(pages[0], 'wait') // what is left of this post is for others
  await decide(pages[1], '4', 'ask the lawyers')
  await decide(pages[2], '4', 'not sure')
  await becomes(async () => (await verdicts(id)).length, 3)
  const given = await verdicts(id)
  assert.deepEqual(given.map(([name]) => name).sort(), ['ann', 'bob', 'cleo'])
  assert.equal(new Set(given.map(([, verdict]) => verdict)).size, 2, 'they do not agree')
  const last = await on.service.enqueue(QUEUE, payload, { dedupe: false, excluded: given.map(([name]) => name) })
  const dan = await sit('dan')
  await decide(dan, '1')
  await becomes(() => on.service.state(last), 'completed')
  assert.equal((await on.service.job(last)).completed.worker, 'dan')
  for (const page of pages) await view(page, 'wait')
})

test('window_shows_no_answer_of_another_person', async () => {
  await on.service.batch(QUEUE, { overlap: 2, job: { payload } })
  const ann = await sit('ann')
  await decide(ann, '4', 'a word that only ann has typed')
  await view(ann, 'wait')
  const bob = await sit('bob')
  await shown(bob, 'Is this a joke?')
  assert.ok(!(await bob.content()).includes('only ann has typed'))
  assert.ok(on.wire.log.every(({ body, answer }) => body?.worker !== 'bob' || !JSON.stringify(answer ?? '').includes('only ann')))
})
