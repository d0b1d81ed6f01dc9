// What a lead of a team reads: columns of the payload, no column without a value, plain words, one sign for none, nothing dangerous in a row.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { confirm, fits, shown, stage } from '../world/stage.js'
import { becomes, reads } from '../world/until.js'

const on = stage()

const PHONE = { width: 360, height: 740, touch: true }
const put = (queue, payloads, more = {}) =>
  on.service.call('POST', '/jobs', JSON.stringify(payloads.map((payload) => ({ queue, payload, ...more }))))
const heads = (page) => page.locator('[data-list] th:not(.pick, .do)').evaluateAll((all) => all.filter((th) => th.offsetWidth > 0).map((th) => th.innerText))
const cells = (page) => page.locator('[data-list] td.what').allInnerTexts()
const dialog = (page) => page.getByRole('dialog')
const member = (page, name) => dialog(page).getByRole('checkbox', { name })
const box = (locator) => locator.boundingBox()

async function list(queue, tab, n, how) {
  const page = await on.open(`/console/#/q/${queue}/${tab}`, how)
  await becomes(() => page.locator('[data-row]').count(), n)
  return page
}

test('members_of_the_payload_are_columns_that_the_tab_remembers', async () => {
  const ODD = '<img src=x onerror="globalThis.owned=1">'
  await put('posts', [{ id: 1, title: 'A cat', tags: ['pet', 'grey'] }, { id: 2, title: 'A dog' }, 'a text', { id: 3, title: `${ODD}\u202egnp`, '': 0 }])
  await on.service.reserve('posts', 'ann')
  const page = await list('posts', 'waiting', 3)
  assert.deepEqual(await heads(page), ['Job', 'Payload', 'Priority', 'Age'])
  await page.keyboard.press('C')
  await member(page, 'title').check()
  await member(page, 'id').check()
  assert.equal(await member(page, '(no name)').isDisabled(), true, 'two are enough')
  await member(page, 'id').uncheck()
  await member(page, '(no name)').check()
  await confirm(page, 'Show')
  await becomes(() => heads(page), ['Job', 'title', '“” (no name)', 'Priority', 'Age'])
  const drawn = ['A dog', '', '"a text"', `${ODD}\\u202egnp`, '0']
  assert.deepEqual(await cells(page), drawn)
  await page.reload()
  await becomes(() => cells(page), drawn)
  await page.getByRole('link', { name: /^held/i }).click()
  await becomes(() => cells(page), ['A cat', ''])
  await put('others', [{ title: 'not asked for' }])
  await page.goto(`${on.url}/console/#/q/others/waiting`)
  await becomes(() => cells(page), ['{"title":"not asked for"}'])
  await page.goto(`${on.url}/console/#/q/posts/waiting`)
  await page.getByRole('button', { name: 'Columns of the payload' }).click()
  for (const name of ['title', '(no name)']) await member(page, name).uncheck()
  await confirm(page, 'Show')
  await becomes(() => heads(page), ['Job', 'Payload', 'Priority', 'Age'])
  assert.equal(await page.evaluate(() => globalThis.owned), undefined)
})

test('payload_columns_fit_a_phone_and_a_long_payload', async () => {
  await put('long', [{ first: 'x'.repeat(600), text: 'é'.repeat(60_000), last: 1 }])
  const page = await list('long', 'waiting', 1, PHONE)
  await page.getByRole('button', { name: 'Columns of the payload' }).click()
  await becomes(() => dialog(page).getByRole('checkbox').count(), 1)
  await member(page, 'first').check()
  await confirm(page, 'Show')
  await reads(page.locator('td.what'), /^x{160}…$/)
  assert.ok(await fits(page))
})

test('column_without_a_value_is_not_there', async () => {
  await put('plain', [1, 2])
  await put('full', [3], { client: 'radio' })
  const page = await list('plain', 'waiting', 2)
  assert.deepEqual(await heads(page), ['Job', 'Payload', 'Priority', 'Age'])
  const all = await on.open()
  const numbers = () => heads(all).then((found) => found.filter((head) => ['Blocked', 'Delayed'].includes(head)))
  await all.locator('[data-row]').first().waitFor()
  assert.deepEqual(await numbers(), [])
  await put('full', [4, 5], { locks: ['one'] })
  await on.service.reserve('full', 'ann')
  await put('full', [6], { delay_ms: 999_999 })
  await becomes(numbers, ['Delayed'])
  await page.goto(`${on.url}/console/#/q/full/waiting`)
  await becomes(() => heads(page), ['Job', 'Payload', 'Priority', 'Client', 'Age'].filter((head) => head !== 'Client'))
  await put('full', [7], { client: 'archive' })
  await becomes(() => heads(page), ['Job', 'Payload', 'Priority', 'Client', 'Age'])
})

test('question_has_its_buttons_side_by_side', async () => {
  await put('asked', [1])
  const page = await list('asked', 'waiting', 1)
  await page.getByRole('button', { name: 'Add a job' }).click()
  const [cancel, add] = await Promise.all(['Cancel', 'Add the job'].map((name) => box(dialog(page).getByRole('button', { name }))))
  assert.equal(cancel.y, add.y)
  assert.ok(cancel.x + cancel.width < add.x)
})

test('long_name_of_a_queue_is_not_cut_for_its_buttons', async () => {
  const name = 'comments-in-german'
  await put(name, [1])
  for (const how of [{}, PHONE]) {
    const page = await list(name, 'waiting', 1, how)
    const title = page.getByRole('heading', { name })
    await becomes(() => title.evaluate((one) => one.offsetHeight < 2 * parseFloat(getComputedStyle(one).lineHeight)), true)
    const buttons = await Promise.all(['Add a job', 'Upload…', 'Pause'].map((text) => box(page.locator('.head .button', { hasText: text }))))
    assert.deepEqual(buttons.map(({ y }) => y), Array(3).fill(buttons[0].y))
  }
})

test('rows_have_no_button_that_destroys', async () => {
  await on.service.set('rows', { max_attempts: 1 })
  await put('rows', [1, 2, 3])
  await on.service.fail(await on.service.reserve('rows', 'ann'), 'broken')
  await put('rows', [4], { delay_ms: 999_999 })
  const page = await list('rows', 'waiting', 2)
  for (const [tab, n, first] of [['waiting', 2, 'For whom'], ['delayed', 1, 'Run now'], ['dead', 1, 'Requeue']]) {
    await page.goto(`${on.url}/console/#/q/rows/${tab}`)
    await becomes(() => page.locator('[data-row]').count(), n)
    const buttons = page.locator('[data-row]').first().getByRole('button')
    assert.equal(await buttons.first().getAttribute('aria-label'), first, tab)
    assert.equal(await buttons.filter({ hasText: /Withdraw|Remove/ }).count(), 0, tab)
  }
  await page.goto(`${on.url}/console/#/q/rows/waiting`)
  const button = page.locator('[data-row]').last().getByRole('button', { name: 'For whom' })
  const opacity = () => button.evaluate((one) => getComputedStyle(one).opacity)
  await page.mouse.move(5, 5)
  await becomes(opacity, '0')
  await page.locator('[data-row]').last().hover()
  await becomes(opacity, '1')
  await page.mouse.move(5, 5)
  await page.locator('[data-row]').last().focus()
  await becomes(opacity, '1')
  await page.keyboard.press('o')
  await shown(page, 'Who may have job')
})

test('rows_of_held_locks_and_batches_have_no_button_and_two_clicks_reach_each_act', async () => {
  await on.service.set('calm-rows', { worker_limit: 0 })
  await put('calm-rows', [1, 2, 3], { locks: [] })
  await put('calm-rows', [4], { locks: ['one'], priority: 1 })
  for (let n = 0; n < 4; n += 1) await on.service.reserve('calm-rows', n < 3 ? 'ann' : 'bob')
  const { id } = await on.service.batch('calm-rows', { jobs: [{ payload: 5 }], sealed: false })
  const page = await list('calm-rows', 'held', 4)
  const buttons = page.locator('.main [data-row]').getByRole('button')
  const picked = page.getByRole('group', { name: 'What is picked' })
  assert.equal(await buttons.count(), 0)
  // A row is picked, then acted upon, by keyboard.
  const bob = page.locator('[data-row]', { hasText: 'bob' })
  await bob.focus()
  await page.keyboard.press('x')
  await picked.getByRole('button', { name: 'Release them…' }).waitFor()
  await page.keyboard.press('r')
  await shown(page, 'Take 1 job from those who hold it?')
  await confirm(page, 'Release')
  await shown(page, '1 job back in line.')
  await becomes(() => page.locator('[data-row]').count(), 3)
  // All of one worker, also what is not on the page.
  await page.getByRole('checkbox', { name: /^Pick job/ }).first().click()
  await picked.getByRole('button', { name: 'Release all of ann…' }).click()
  await confirm(page, 'Release all')
  await shown(page, '3 jobs back in line.')
  await on.service.reserve('calm-rows', 'cleo')
  await page.goto(`${on.url}/console/#/q/calm-rows/locks`)
  await becomes(() => page.locator('[data-row]').count(), 1)
  assert.equal(await buttons.count(), 0)
  await page.locator('[data-row]').focus()
  await page.keyboard.press('Enter')
  await page.locator('.panel').getByRole('button', { name: 'Release' }).waitFor()
  await page.goto(`${on.url}/console/#/q/calm-rows/batches`)
  await becomes(() => page.locator('[data-row]').count(), 1)
  assert.equal(await buttons.count(), 0)
  await page.locator('[data-row]').click()
  for (const name of ['Seal', 'Withdraw']) await page.locator('.panel').getByRole('button', { name }).waitFor()
  assert.ok(page.url().includes(id))
  await page.goto(`${on.url}/console/#/workers`)
  const cleo = page.locator('[data-row]', { hasText: 'cleo' })
  await cleo.waitFor()
  assert.equal(await page.locator('[data-row]').getByRole('button').count(), 0)
  await cleo.getByRole('checkbox', { name: /^Pick job/ }).click()
  await picked.getByRole('button', { name: 'Release them…' }).click()
  await confirm(page, 'Release')
  await shown(page, '1 job back in line.')
})

test('phone_folds_the_chart_and_shows_that_there_are_more_tabs', async () => {
  await put('folded', Array.from({ length: 9 }, (_, n) => n))
  await put('folded-too', [1])
  const page = await list('folded', 'waiting', 9, PHONE)
  const chart = page.locator('details.chart')
  assert.equal(await chart.locator('.plot').isVisible(), false)
  assert.ok((await box(page.locator('[data-row]').first())).y < 600, 'the list is in sight')
  const tabs = page.getByRole('navigation', { name: 'Lists' })
  await becomes(() => tabs.getAttribute('data-more'), 'after')
  await tabs.evaluate((bar) => { bar.scrollLeft = 200 })
  await becomes(() => tabs.getAttribute('data-more'), 'before after')
  await tabs.evaluate((bar) => { bar.scrollLeft = bar.scrollWidth })
  await becomes(() => tabs.getAttribute('data-more'), 'before')
  await chart.getByText('Chart', { exact: true }).tap()
  await chart.locator('.plot canvas').waitFor({ state: 'visible' })
  await becomes(async () => (await box(chart.locator('.plot canvas'))).width > 250, true)
  await page.goto(`${on.url}/console/#/q/folded-too/waiting`)
  await page.getByRole('heading', { name: 'folded-too' }).waitFor()
  assert.equal(await chart.locator('.plot').isVisible(), true, 'unfolded on one page, it is on the next')
  const wide = await list('folded', 'waiting', 9)
  assert.equal(await wide.locator('.plot').isVisible(), true)
  assert.equal(await wide.getByText('Chart', { exact: true }).isVisible(), false)
})

test('keys_dialog_opens_at_its_top', async () => {
  await put('keys', [1])
  for (const how of [{ height: 420 }, PHONE]) {
    const page = await on.open('/console/', how)
    await page.locator('[data-row]').first().waitFor()
    await page.keyboard.press('?')
    await dialog(page).getByRole('heading', { name: 'Keys', exact: true }).waitFor()
    assert.equal(await dialog(page).evaluate((one) => one.scrollTop), 0)
    for (const part of [dialog(page).getByRole('heading', { name: 'Keys', exact: true }), dialog(page).getByRole('button', { name: 'Close' }), dialog(page).getByText('Anywhere')]) {
      const { y, height } = await box(part)
      assert.ok(y >= 0 && y + height <= (how.height ?? 740), `${y}`)
    }
    await dialog(page).evaluate((one) => { one.scrollTop = one.scrollHeight })
    assert.ok((await box(dialog(page).getByRole('button', { name: 'Close' }))).y >= 0, 'it stays where it is')
    await dialog(page).getByRole('button', { name: 'Close' }).click()
    await dialog(page).waitFor({ state: 'detached' })
  }
})

test('sentence_of_a_setting_stands_under_its_name_and_save_is_in_sight', async () => {
  await put('set', [1])
  const page = await on.open('/console/#/q/set/settings', { height: 600 })
  const field = page.locator('.field', { has: page.getByLabel('Lease', { exact: true }) })
  const [label, about, input] = [await box(field.locator('label')), await box(field.locator('p')), await box(field.locator('input'))]
  assert.ok(about.x === label.x && about.y >= label.y + label.height - 1, JSON.stringify({ label, about }))
  assert.ok(input.x > label.x && input.y < about.y + about.height, 'the field stands beside both')
  await reads(field.locator('.value'), /default/)
  const saved = page.getByRole('button', { name: 'Save', exact: true })
  const { y, height } = await box(saved)
  assert.ok(y + height <= 600, `${y}`)
  await page.getByLabel('Day sheets', { exact: true }).focus()
  await page.keyboard.press('Tab')
  const at = await page.evaluate(() => document.activeElement.getBoundingClientRect().bottom)
  assert.ok(at <= (await box(saved)).y, 'what has the focus is not below the button')
  const small = await on.open('/console/#/q/set/settings', PHONE)
  await small.getByLabel('Lease', { exact: true }).waitFor()
  assert.ok(await fits(small))
})

test('whom_jobs_wait_for_stands_next_to_how_many', async () => {
  await put('whose', [1, 2], { assignees: ['bob'] })
  const page = await list('whose', 'lines', 1, { width: 1560 })
  const [name, n] = [await box(page.locator('td.line bdi')), await box(page.locator('td.waiting'))]
  assert.ok(n.x + n.width - name.x < 500, `${n.x + n.width - name.x}`)
})

test('words_are_plain_and_a_count_of_nothing_is_0', async () => {
  await put('words', [1], { assignees: ['bob'] })
  const OLD = /\b(Sweep now|Came back|runs out|no workers|Polling|Taken|Lines?|Out|jobs? out)\b|·/
  const page = await on.open()
  const text = () => page.locator('#app').innerText()
  await page.locator('[data-row]', { hasText: 'words' }).waitFor()
  await reads(page.locator('[data-row]', { hasText: 'words' }), /no one at work/)
  await reads(page.locator('.total', { hasText: 'Blocked' }), /Blocked\s*0/)
  assert.doesNotMatch(await text(), OLD)
  for (const tab of ['waiting', 'held', 'lines']) {
    await page.goto(`${on.url}/console/#/q/words/${tab}`)
    await page.locator('.vital').waitFor()
    await page.locator('[data-row], .empty').first().waitFor()
    assert.doesNotMatch(await text(), OLD, tab)
  }
  await reads(page.locator('.vital'), /Next lease ends\s*–/)
  await reads(page.locator('.tabs [aria-current]'), /^For whom$/)
  for (const part of await page.locator('.vital > div, .tabs a').all()) assert.match(await part.getAttribute('title'), /\w+ \w+/)
  await page.getByRole('link', { name: 'held' }).click()
  await page.getByRole('button', { name: 'Check now' }).click()
  await shown(page, 'Checked: 0 jobs taken back')
})

// After the story that counts: its second job stays blocked.
test('state_that_is_called_like_a_column_is_there', async () => {
  const { id } = await on.service.batch('one-by-one', { concurrency: 1, jobs: [{ payload: 1 }, { payload: 2 }] })
  const page = await on.open(`/console/#/q/one-by-one/batches/${id}`)
  await page.locator('.panel [data-row] .state.blocked').waitFor()
})
