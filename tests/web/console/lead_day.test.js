// A team lead's day, from a table of 500 rows to the reports, by role and name alone; and the mistakes of the same day.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { stage } from '../world/stage.js'
import { becomes, reads, until } from '../world/until.js'

const on = stage()
const PEOPLE = ['ann', 'ben', 'cleo', 'dan', 'eve', 'finn', 'gus', 'hal', 'ida', 'jo', 'kim', 'lea']
const READ_GERMAN = ['ann', 'ben', 'cleo', 'dan']
const HEAD = 'Nr,Text,Language,Urgency,For whom'

const range = (from, to) => Array.from({ length: to - from }, (_, n) => from + n)
const row = (nr, whom = '') => `${nr},"Comment ${nr}, as it came",${nr % 5 ? '' : 'de'},${nr % 50 ? '' : 10},${whom}`
const table = (rows) => `\ufeff${[HEAD, ...rows].join('\r\n')}\r\n`

/** What the lead does: each click and each field that is filled counts. */
class Lead {
  done = 0

  constructor(page) {
    this.page = page
  }

  get dialog() {
    return this.page.getByRole('dialog')
  }

  async #do(action) {
    await action
    this.done += 1
  }

  click = (role, name, within = this.page) => this.#do(within.getByRole(role, { name }).first().click())
  tab = (name) => this.click('link', name, this.page.getByRole('navigation', { name: 'Lists' }))
  answer = (name) => this.click('button', name, this.dialog)
  fill = (label, text) => this.#do(this.page.getByLabel(label, { exact: true }).fill(text))
  choose = (name, option, within = this.page) =>
    this.#do(within.getByRole('combobox', { name }).first().selectOption(option))

  check = (label) => this.#do(this.page.getByLabel(label, { exact: true }).check())
  type = (name, text) => this.#do(this.dialog.getByRole('combobox', { name }).pressSequentially(text))

  /** `file`: a text, or what was downloaded. */
  give(name, file) {
    const input = this.page.getByLabel(/^(Choose a CSV file|Another file)/)
    return this.#do(input.setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(file) }))
  }

  /** Presses a button, and returns the text of the file that it saves. */
  async save(name, within = this.page) {
    const [file] = await Promise.all([this.page.waitForEvent('download'), this.click('button', name, within)])
    return readFileSync(await file.path(), 'utf8')
  }

  /** Adds the rows of the page, and answers with these buttons what the console asks, in any order. */
  async add(...answers) {
    await this.click('button', /^Add .* rows?…$/)
    await this.answer('Add them')
    const report = this.page.getByRole('heading', { name: /^Done/ })
    await until('the rows are added', async () => {
      for (const name of answers) {
        const button = this.dialog.getByRole('button', { name })
        if ((await button.count()) && (await button.isEnabled())) await this.answer(name).catch(() => {})
      }
      return report.isVisible()
    })
  }

  /** A table of the list that is shown, for Excel. */
  async exportList() {
    await this.click('button', 'Export')
    await this.choose('As', 'CSV', this.dialog)
    const mark = this.dialog.getByLabel('Byte order mark, for Excel')
    if (!(await mark.isChecked())) await this.check('Byte order mark, for Excel')
    return this.save('Export', this.dialog)
  }

  async outcome() {
    const terms = this.page.getByRole('term'), values = this.page.getByRole('definition')
    const [names, counts] = [await terms.allInnerTexts(), await values.allInnerTexts()]
    return Object.fromEntries(names.map((name, n) => [name, counts[n]]))
  }
}

const call = (...request) => on.service.call(...request)
const skillsOf = (worker) => (READ_GERMAN.includes(worker) ? ['de'] : [])
const reserve = async (queue, worker) =>
  (await call('POST', '/jobs/reserve', { queues: [queue], worker, skills: skillsOf(worker) })).jobs[0]

/** All at their pages, until there is no job for any of them. */
async function work(queue, people, answer) {
  await Promise.all(people.map(async (worker) => {
    for (let job; (job = await reserve(queue, worker)) !== undefined;) await on.service.complete(job, answer(job, worker))
  }))
}

/** Nr 5, 10, 15 … are spam; of several who are asked about such a one, one does not see it. */
function judge() {
  const blind = new Map()
  return ({ payload: { Nr }, batch }, worker) => {
    if (batch && Nr % 10 === 0 && !blind.has(batch)) blind.set(batch, worker)
    const isSpam = Nr % 5 === 0 && blind.get(batch) !== worker
    return { verdict: isSpam ? 'spam' : 'fine' }
  }
}

const rowsOf = (csv) => csv.replace(/^\ufeff/, '').trimEnd().split('\r\n')
const listed = (page) => page.getByRole('table').first().getByRole('row')

test('a_lead_gets_through_a_day_without_a_line_of_code', async (t) => {
  const began = Date.now()
  const lead = new Lead(await on.open('/console/'))
  const { page } = lead
  const alert = page.getByRole('main').getByRole('alert')

  // The wrong file; then a misspelled queue, which is asked about, and the right one.
  await lead.click('link', 'Upload a table…')
  await lead.give('comments.xlsx', Buffer.from('PK\x03\x04\xff\xfe\x00binary', 'latin1'))
  await reads(alert, /is a workbook or an archive/)
  await lead.give('comments.csv', table(range(1, 451).map((nr) => row(nr))))
  await lead.choose('Where Language goes', 'skill')
  await lead.choose('Where Urgency goes', 'priority')
  await lead.choose('Where For whom goes', 'assignees')
  await lead.fill('Queue', 'coments')
  await lead.click('button', 'Add 450 rows…')
  await lead.answer('Add them')
  await lead.dialog.getByText('Make the queue coments?').waitFor()
  await lead.answer('Cancel')
  await lead.fill('Queue', 'comments')
  await lead.add('Make the queue')
  assert.deepEqual((await lead.outcome()).New, '450')
  assert.equal((await call('GET', '/queues/coments')).status, 404)

  // Three opinions on a tenth.
  await lead.give('tenth.csv', table(range(451, 501).map((nr) => row(nr))))
  for (const [column, field] of [['Language', 'skill'], ['Urgency', 'priority'], ['For whom', 'assignees']]) {
    await lead.choose(`Where ${column} goes`, field)
  }
  await lead.choose('Each row is for', '3')
  await lead.add('Add them anyway') // no one has worked there yet
  assert.equal((await lead.outcome()).New, '50')
  await lead.click('link', 'Look at the queue')
  await lead.tab(/^settings/i)
  await lead.check('Day sheets')
  await lead.click('button', /^Save/)
  await becomes(async () => (await on.service.queue('comments')).settings.sheets, true)

  // Twelve people. What needs German stays for those who read it.
  await work('comments', PEOPLE.slice(4), judge())
  assert.ok((await on.service.queue('comments')).counts.waiting >= 90)
  await work('comments', PEOPLE, judge())
  assert.equal((await on.service.queue('comments')).counts.waiting, 0)

  // A misspelled name is asked about, and so is a second Kim, who must not get the first one's work.
  await lead.click('link', 'Upload…')
  const urgent = (...names) => table(names.map((name, n) => row(500 + 2 * n + 1, name)))
  const give = async (...names) => {
    await lead.give('urgent.csv', urgent(...names))
    await lead.choose('Where For whom goes', 'assignees')
    await lead.click('button', 'Add 4 rows…')
    await lead.answer('Add them')
  }
  await give('ben', 'benn', 'ben|kim', 'Kim')
  await reads(lead.dialog.getByRole('alert'), /No one called “benn”, “Kim” has worked here lately.*“Kim” is not “kim”/)
  await lead.answer('Cancel')
  await give('ben', 'ben', 'ben|kim', 'kim-weber')
  await reads(lead.dialog.getByRole('alert'), /No one called “kim-weber” has worked here lately/)
  await until('the question is read', () => lead.dialog.getByRole('button', { name: 'Add them anyway' }).isEnabled())
  await lead.answer('Add them anyway')
  await page.getByRole('heading', { name: /^Done: 4 of 4/ }).waitFor()

  // Ben leaves, with a job in hand.
  assert.equal((await reserve('comments', 'ben')).payload.Nr, '501')
  await lead.click('link', 'Look at the queue')
  await lead.tab(/^held/i)
  await lead.click('checkbox', /^Pick job/)
  await lead.click('button', /^Release them/)
  await lead.answer('Release them')
  await page.getByText('Nobody holds anything').waitFor()
  await lead.tab(/^for whom/i)
  await lead.click('button', 'Reassign', page.getByRole('row', { name: /ben/ }))
  await lead.type('To whom', 'cleo,')
  await lead.answer('Reassign')
  await page.getByText(/3 jobs reassigned/).waitFor()
  await work('comments', ['cleo', 'kim', 'kim-weber'], judge())
  assert.equal((await on.service.queue('comments')).counts.waiting, 0)

  // A correction: what Dan did is found, and one of it done again.
  await lead.tab(/^completed/i)
  await lead.fill('Worker', 'dan')
  await page.keyboard.press('Enter')
  await becomes(async () => new Set(await listed(page).getByRole('link', { name: /^[a-z]+$/ }).allInnerTexts()), new Set(['dan']))
  await lead.click('link', /^[0-9A-Z]{8}$/)
  await lead.click('button', 'Edit and run again')
  await lead.answer('Add the new job')
  await becomes(async () => (await on.service.queue('comments')).counts.waiting, 1)
  await work('comments', ['eve', 'ann'], judge())

  // Four eyes: the table of the answers is a table of questions, for anyone but who gave them.
  await lead.tab(/^completed/i)
  const answers = await lead.exportList()
  assert.ok(answers.startsWith('\ufeff'), 'Excel reads it')
  assert.equal(rowsOf(answers).length, 1 + 450 + 4 + 1)
  await lead.click('link', 'Upload…')
  await lead.give('answers.csv', answers)
  await lead.fill('Queue', 'second-look')
  await lead.choose('Where worker goes', 'excluded')
  await lead.add('Make the queue', 'Add them anyway')
  await work('second-look', PEOPLE.toSpliced(1, 1), () => ({ agreed: true }))
  const { jobs: looked } = await call('GET', '/queues/second-look/jobs?state=completed&limit=100')
  assert.equal(looked.length, 100)
  for (const { excluded, completed } of looked) assert.ok(excluded.length === 1 && !excluded.includes(completed.worker))

  // The reports: per person, how far they agree, and the table that was exported.
  await lead.click('link', 'intray')
  await lead.click('link', 'comments')
  await lead.tab(/^sheets/i)
  const sheets = rowsOf(await lead.save('As CSV'))
  const of = sheets[0].split(',').indexOf('completed')
  const completed = sheets.slice(1).reduce((sum, line) => sum + Number(line.split(',')[of]), 0)
  assert.equal(completed, 450 + 150 + 4 + 1)
  await lead.tab(/^batches/i)
  await lead.choose('Opinions', 'not unanimous')
  const divided = page.getByRole('table', { name: 'batches' }).getByText(/^2 of 3/)
  await becomes(async () => (await divided.allInnerTexts()).map((text) => text.includes('spam')), Array(5).fill(true))

  // Ben's figures are kept as a table, nothing is his any longer, and so his name goes.
  await lead.tab(/^sheets/i)
  await lead.click('link', 'ben')
  await lead.click('button', 'Erase the name…')
  await lead.fill('Type ben to go on', 'ben')
  await lead.answer('Erase the name')
  await page.getByText(/^\d+ jobs, \d+ lines? of day sheets and 0 deliveries no longer name ben\./).first().waitFor()
  for (const queue of ['comments', 'second-look']) {
    assert.deepEqual((await call('GET', `/queues/${queue}/jobs?state=completed&worker=ben`)).jobs, [])
    assert.doesNotMatch(JSON.stringify(await call('GET', `/queues/${queue}/sheets`)), /"ben"/)
  }
  t.diagnostic(`${((Date.now() - began) / 60_000).toFixed(1)} minutes, ${lead.done} clicks and fields`)
})
