// Exports the shown list as a file, built here from the service's pages.

import * as api from './api.js'
import { Exact } from './exact_json.js'
import { many, number } from './format.js'
import { STOPPED, patiently } from './patience.js'
import { ask } from './ui.js'
import { FORMULA } from './words.js'

/** More than that is for the service to write out, not for a page to hold. */
const MAX = 10_000
const PAGE = 100

const COLUMNS = [
  'id', 'queue', 'state', 'priority', 'client', 'batch', 'attempts', 'enqueued_at', 'due_at', 'ended_at', 'worker',
  'error', 'payload', 'result',
]

/** JSON on one line, with payloads as sent; line breaks in JSON stand only between tokens. */
export function json(value) {
  if (value instanceof Exact) return value.text.replace(/[\r\n]+/g, ' ')
  if (Array.isArray(value)) return `[${value.map(json).join(',')}]`
  if (value && typeof value === 'object') {
    return `{${Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}:${json(inner)}`).join(',')}}`
  }
  return JSON.stringify(value)
}

export const ndjson = (jobs) => jobs.map((job) => `${json(job)}\n`).join('')

/**
 * A cell by RFC 4180, as the service writes it: text as it is, a number too. A spreadsheet would run what begins like a
 * formula, also after what another program takes for a separator: an apostrophe before it makes it text. NDJSON
 * has each byte.
 */
export function cell(value) {
  const known = value instanceof Exact && /^(?:"|null$)/.test(value.text) ? JSON.parse(value.text) : value ?? null
  const text = known === null ? '' : known instanceof Exact ? json(known) : String(known)
  const tame = typeof known === 'string' ? text.replace(FORMULA, "'") : text
  return /[",\r\n']|^\s|\s$/.test(tame) ? `"${tame.replaceAll('"', '""')}"` : tame
}

export function csv(jobs) {
  const row = (job) => {
    const worker = job.reserved?.worker ?? job.completed?.worker
    const error = job.errors.toSorted((a, b) => (a.at < b.at ? 1 : -1))[0]?.error
    return COLUMNS.map((name) => cell({ ...job, worker, error }[name]))
  }
  return [COLUMNS, ...jobs.map(row)].map((cells) => `${cells.join(',')}\r\n`).join('')
}

const KINDS = {
  NDJSON: ['ndjson', 'application/x-ndjson', ndjson],
  CSV: ['csv', 'text/csv;charset=utf-8', csv],
}

/** A table begins with a byte order mark, or Excel reads “Grüße” as another alphabet. */
export function save(name, type, text) {
  const mark = type.startsWith('text/csv') ? '\ufeff' : ''
  const href = URL.createObjectURL(new Blob([mark, text], { type }))
  Object.assign(document.createElement('a'), { href, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(href), 60_000)
}

/** All pages of a list. */
async function collect(queue, query, tell) {
  const jobs = []
  for (let after; jobs.length < MAX;) {
    const far = `${number(jobs.length)}…`
    const next = () => api.jobs(queue, { ...query, after, limit: PAGE })
    const page = await patiently(next, () => tell(far, true))
    if (page === STOPPED) return { jobs, isAll: false }
    jobs.push(...page.jobs)
    after = page.next
    if (!after || tell(`${number(jobs.length)}…`) === false) return { jobs, isAll: !after }
  }
  return { jobs: jobs.slice(0, MAX), isAll: false }
}

/** The selected jobs; without a selection, all pages of the list. */
export function exportList(queue, state, only, picked) {
  const which = picked.length ? many(picked.length, `${state} job`) : `the ${state} jobs that the list shows`
  ask({
    title: `Export ${which}?`,
    text: `A file with a line for each, ${number(MAX)} at most. NDJSON has all of them as they are, CSV a part in `
      + 'columns, where what would be a formula in a spreadsheet begins with an apostrophe.',
    action: 'Export',
    field: { label: 'As', options: Object.keys(KINDS), value: 'NDJSON' },
    work: async (tell, kind) => {
      const [ending, type, write] = KINDS[kind]
      const found = picked.length ? { jobs: picked, isAll: true } : await collect(queue, { state, ...only }, tell)
      save(`${queue}-${state}.${ending}`, type, write(found.jobs))
      return found
    },
    done: ({ jobs, isAll }) => `${many(jobs.length, 'job')} exported${isAll ? '' : '; there are more'}.`,
  })
}
