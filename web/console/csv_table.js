// A file that is a table: opened, and read in pieces as often as needed, so that no more than one is in memory.

import { jobOf, namesOf } from './csv_columns.js'
import { NOT_UTF8, formOf } from './csv_form.js'
import { RowReader } from './csv_rows.js'

const SLICE = 256 << 10

/**
 * `{foreign}`, why it is no table; `{problem}`, why its separator is to be chosen; or `{file, start, separator, names,
 * first}`, `first`: its first rows. `separator`: as it was chosen.
 */
export async function openTable(file, separator) {
  const form = formOf(await bytesOf(file, 0))
  if (form.foreign) return form
  const table = { file, ...form, separator: separator || form.separator }
  if (!table.separator) return table
  try {
    return { ...table, problem: undefined, ...await heading(table) }
  } catch (error) {
    return { ...table, foreign: error.message }
  }
}

async function heading(table) {
  for await (const { rows } of pieces(table)) {
    if (rows.length > 0) return { names: namesOf(rows[0]), first: rows.slice(1, 6) }
  }
  throw new Error('is empty: its first row must name the columns')
}

/** The rows of a table, `{rows, read}` a piece; `read`: bytes so far. With `utf8` the file must be UTF-8. */
async function* pieces({ file, start, separator }, { signal, utf8 } = {}) {
  const reader = new RowReader(separator)
  for (let at = start, isEnd = false; !isEnd;) {
    const bytes = await bytesOf(file, at)
    signal?.throwIfAborted()
    at += bytes.length
    isEnd = at >= file.size
    decode(utf8, bytes, isEnd)
    yield { rows: reader.read(bytes, isEnd), read: at }
  }
}

/** A browser reads no file that was saved after it was chosen, or says that it has ended. */
async function bytesOf(file, at) {
  const bytes = await file.slice(at, at + SLICE).arrayBuffer().catch((error) => {
    throw error.name === 'NotReadableError' ? new FileChanged() : error
  })
  if (bytes.byteLength === 0 && at < file.size) throw new FileChanged()
  return new Uint8Array(bytes)
}

export class FileChanged extends Error {
  constructor() {
    super('was changed after it was chosen: choose it again')
  }
}

function decode(utf8, bytes, isEnd) {
  try {
    utf8?.decode(bytes, { stream: !isEnd })
  } catch {
    throw new Error(NOT_UTF8)
  }
}

/**
 * The jobs of a table, `{jobs, refused, read}` a piece: `[row, job]`, and `{row, column, detail}` of the rows that
 * become none. With `isChecked` a file that is not UTF-8 ends it with an error.
 */
export async function* jobsOf(table, { signal, isChecked = false } = {}) {
  const utf8 = isChecked ? new TextDecoder('utf-8', { fatal: true }) : undefined
  let isHeading = true
  for await (const { rows, read } of pieces(table, { signal, utf8 })) {
    const piece = { jobs: [], refused: [], read }
    if (isHeading && rows.length > 0) {
      rows.shift()
      isHeading = false
    }
    for (const row of rows) {
      try {
        const job = jobOf(row, table)
        if (job) piece.jobs.push([row.number, job])
      } catch ({ message, column }) {
        piece.refused.push({ row: row.number, column, detail: message })
      }
    }
    yield piece
  }
}
