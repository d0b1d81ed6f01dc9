// The rules for tables, by the table of cases that the command line reads too; and how long a large one takes.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { batchOf, checkTargets, columnOf, lineOf, namedIn, usualTargets } from '../../../web/console/csv_columns.js'
import { RowReader } from '../../../web/console/csv_rows.js'
import { jobsOf, openTable } from '../../../web/console/csv_table.js'

const text = readFileSync(new URL('../../tables.json', import.meta.url), 'utf8')
const fileOf = ({ text, bytes }) => new Blob([text ?? Uint8Array.from(bytes, (char) => char.charCodeAt(0))])

/** Numbers as they are written: a double does not hold each. */
const exact = (text) => JSON.parse(text.replace(/("(?:[^"\\]|\\.)*")|(\d+)/g, (_, string, number) => string ?? `"#${number}"`))
const { cases } = JSON.parse(text)
const exactCases = exact(text).cases

/** The targets of the columns, as `--map COLUMN=TARGET` says them. */
function targetsOf(names, maps = []) {
  const targets = usualTargets(names)
  for (const map of maps) {
    const [, column, target] = /^(.+?)=((?:payload\..+)|[a-z_]+)$/s.exec(map)
    targets[names.indexOf(column)] = [target]
  }
  return targets
}

async function read(given) {
  const table = await openTable(fileOf(given), given.separator)
  const why = table.foreign ?? table.problem
  if (why) throw new Error(why)
  table.targets = targetsOf(table.names, given.maps)
  checkTargets(table.targets, given.overlap)
  const jobs = [], faults = []
  for await (const piece of jobsOf(table, { isChecked: true })) {
    for (const [row, job] of piece.jobs) {
      jobs.push(exact(`[${row},${given.overlap ? batchOf(job, '', given.overlap) : lineOf(job, '')}]`))
    }
    for (const { row, column, detail } of piece.refused) faults.push([row, column, detail])
  }
  return { table, jobs, faults }
}

test('page_reads_each_table_as_the_command_line_does', async () => {
  assert.ok(cases.length > 60, `${cases.length} cases`)
  for (const [n, given] of cases.entries()) {
    if (given.refused) {
      await assert.rejects(read(given), ({ message }) => message.includes(given.refused) || assert.fail(`${given.name}: ${message}`))
      continue
    }
    const { table, jobs, faults } = await read(given)
    if (given.found) assert.equal(table.separator, given.found, given.name)
    else assert.deepEqual({ jobs, faults }, { jobs: exactCases[n].jobs, faults: given.faults }, given.name)
  }
})

test('rows_do_not_depend_on_pieces', () => {
  const text = '\ufeffa;b\r\n\r\n"1\r\n2";"x ""y"""\r\n;\r\n\n\r"";z€"x"\r"a"b;c'
  const bytes = new TextEncoder().encode(text)
  const whole = new RowReader(';').read(bytes, true)
  assert.deepEqual(whole.map(({ number }) => number), [1, 3, 4, 7, 8])
  for (let size = 3; size < bytes.length; size += 1) {
    const reader = new RowReader(';'), rows = []
    for (let at = 0; at < bytes.length; at += size) {
      rows.push(...reader.read(bytes.subarray(at, at + size), at + size >= bytes.length))
    }
    assert.deepEqual(rows, whole, `${size} bytes at a time`)
  }
})

test('too_long_row_is_not_kept_and_the_next_is_read', () => {
  const long = 'x'.repeat(1_000)
  for (const text of [`1;2\n${long};3\n4;5\n`, `1;2\n"${long}\n${long}";3\n4;5\n`, `1;2\n${';'.repeat(50)}\n4;5\n`]) {
    const rows = new RowReader(';', [16, 8]).read(new TextEncoder().encode(text), true)
    assert.deepEqual(rows.map(({ number, cells }) => [number, cells]), [[1, ['1', '2']], [2, []], [3, ['4', '5']]])
    assert.match(rows[1].fault, /is longer than/)
  }
})

test('refusal_names_the_column_of_its_field', () => {
  const table = { names: ['Prio', 'For whom', 't'], targets: [['priority'], ['assignees'], ['payload.t']] }
  assert.equal(columnOf('priority: must be a whole number', table), 'Prio')
  assert.equal(columnOf('job/assignees/0: is too long (and 2 more)', table), 'For whom')
  for (const other of ['the queue is full', 'payload: is too large', 'skill: is wrong', '']) assert.equal(columnOf(other, table), '')
})

test('names_and_skills_of_a_row_are_found', async () => {
  const { table } = await read({ text: 'a,b,c\nann|bob,cleo,de\n', maps: ['a=assignees', 'b=excluded', 'c=skill'] })
  for await (const { jobs } of jobsOf(table)) assert.deepEqual(namedIn(jobs[0][1]), { names: ['ann', 'bob', 'cleo'], skills: ['de'] })
})
