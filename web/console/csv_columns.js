// The columns of a table, and the job that a row becomes. columns.rs of the command line has the same rules.

import { isBlank } from './csv_rows.js'

/** What a column sets besides a member of the payload. */
export const FIELDS = ['priority', 'client', 'skill', 'assignees', 'excluded', 'delay_ms', 'dedupe_key']
const OF_BATCH = ['priority', 'client']
const MAX_WHOLE = 2n ** 64n - 1n
const QUOTED = 40

const json = JSON.stringify
const start = (text, length) => [...text].slice(0, length).join('')
/** Blanks of any alphabet, as the command line takes them away. */
const trimmed = (text) => text.replace(/^\p{White_Space}+|\p{White_Space}+$/gu, '')
const repeated = (list) => list.find((one, n) => list.indexOf(one) !== n)

/** The names of the columns. Throws a sentence about the file, without its name. */
export function namesOf({ cells, fault }) {
  if (fault) throw new Error(`has a wrong first row: it ${fault}`)
  const names = cells.map(trimmed)
  const twice = repeated(names.filter(Boolean))
  if (twice !== undefined) throw new Error(`has two columns of the name ${twice}: rename one`)
  if (!names.some(Boolean)) throw new Error('has no name in its first row, which must name the columns')
  return names
}

/** A column of no other target goes into the payload by its name. */
export const usualTargets = (names) => names.map((name) => (name ? [`payload.${name}`] : []))

/** Throws why these targets do not go together. */
export function checkTargets(targets, overlap) {
  const all = targets.flat()
  if (all.includes('payload.')) throw new Error('A member of the payload has no name.')
  const twice = repeated(all)
  if (twice !== undefined) throw new Error(`has two columns for ${twice}`)
  if (overlap && all.includes('dedupe_key')) {
    throw new Error('cannot have a column for dedupe_key with several people: jobs of a batch are never duplicates')
  }
}

function whole(cell) {
  if (/^\+?\d+$/.test(cell) && BigInt(cell.replace('+', '')) <= MAX_WHOLE) return String(BigInt(cell.replace('+', '')))
  throw new Error(`${json(start(cell, QUOTED))} is no whole number`)
}

const namesIn = (cell) => cell.split('|').map(trimmed).filter(Boolean)

/** As JSON; `undefined`: it is absent. */
function valueOf(field, cell) {
  if (field === 'priority' || field === 'delay_ms') return whole(trimmed(cell))
  if (field === 'dedupe_key') return json(cell)
  if (field === 'client' || field === 'skill') return json(trimmed(cell))
  const names = namesIn(cell)
  return names.length > 0 ? json(names) : undefined
}

/** A row that becomes no job. */
export class RowError extends Error {
  constructor(detail, column = '') {
    super(detail)
    this.column = column
  }
}

/** The job of a row, `{payload, fields}` as JSON in parts; `null` if it is blank. Throws a `RowError`. */
export function jobOf({ cells, fault, isCut }, { names, targets }) {
  if (fault) throw new RowError(fault)
  if (isCut && cells.length < names.length) {
    throw new RowError(`the file ends in it, after ${cells.length} of ${names.length} columns`)
  }
  let job = null
  cells.forEach((cell, n) => {
    if (isBlank(cell)) return
    if (n >= names.length) throw new RowError(`has ${cells.length} cells, but there are ${names.length} columns`)
    if (!names[n]) throw new RowError('has no name in the first row', String(n + 1))
    job ??= { payload: [], fields: [] }
    for (const target of targets[n]) set(job, target, cell, names[n])
  })
  return job
}

function set(job, target, cell, name) {
  if (target.startsWith('payload.')) {
    job.payload.push(`${json(target.slice('payload.'.length))}:${json(cell)}`)
    return
  }
  try {
    const value = valueOf(target, cell)
    if (value !== undefined) job.fields.push([target, value])
  } catch (error) {
    throw new RowError(error.message, name)
  }
}

const member = ([field, value]) => `"${field}":${value}`
const payload = (job) => `"payload":{${job.payload.join(',')}}`
const own = (queue) => (queue ? [`"queue":${json(queue)}`] : [])

/** The line that is sent for one job. */
export const lineOf = (job, queue) => `{${[...own(queue), payload(job), ...job.fields.map(member)].join(',')}}`

/** The batch with as many equal jobs as people are asked. */
export function batchOf(job, queue, overlap) {
  const isOfBatch = ([field]) => OF_BATCH.includes(field)
  const inner = [payload(job), ...job.fields.filter((field) => !isOfBatch(field)).map(member)].join(',')
  const outer = job.fields.filter(isOfBatch).map(member)
  return `{${[...own(queue), `"overlap":${overlap}`, ...outer, `"job":{${inner}}`].join(',')}}`
}

/** The names and skills that a job is for. */
export function namedIn({ fields }) {
  const of = (...wanted) => fields.filter(([field]) => wanted.includes(field)).map(([, value]) => JSON.parse(value))
  return { names: of('assignees', 'excluded').flat(), skills: of('skill') }
}

/** The columns that set the field with which a refusal begins. A batch has its fields in `job`. */
export function columnOf(detail, { names, targets }) {
  const field = /^(?:job\/)?([^/:]+)(?:\/[^:]*)?: /.exec(detail)?.[1]
  return FIELDS.includes(field) ? names.filter((name, n) => targets[n].includes(field)).join(', ') : ''
}
