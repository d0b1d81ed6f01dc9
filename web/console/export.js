// Exports the shown list as a file, built here from the service's pages.

import * as api from './api.js'
import { columnsOf } from './columns.js'
import { csv, json } from './csv.js'
import { ExportForm, isTicked } from './export_form.js'
import { many, number } from './format.js'
import { STOPPED, patiently } from './patience.js'
import { recall, remember } from './remembered.js'
import { store } from './store.js'
import { ask } from './ui.js'

/** More than that is for the service to write out, not for a page to hold. */
const MAX = 10_000
const PAGE = 100

const ndjson = (jobs) => jobs.map((job) => `${json(job)}\n`).join('')

export const CSV = 'text/csv;charset=utf-8'

/** `isMarked`: it begins with a byte order mark, or Excel reads “Grüße” as another alphabet. */
export function save(name, type, text, isMarked = false) {
  const href = URL.createObjectURL(new Blob([isMarked ? '\ufeff' : '', text], { type }))
  Object.assign(document.createElement('a'), { href, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(href), 60_000)
}

/** All pages of a list; `take` hears of each, `tell` of how far it is. */
async function collect(queue, query, take, tell) {
  let n = 0
  for (let after; n < MAX;) {
    const far = `${number(n)}…`
    const next = () => api.jobs(queue, { ...query, after, limit: PAGE })
    const page = await patiently(next, () => tell(far, true))
    if (page === STOPPED) return false
    take(page.jobs.slice(0, MAX - n))
    n += page.jobs.length
    after = page.next
    if (!after || tell(`${number(n)}…`) === false) return !after
  }
  return false
}

/** The jobs for a file: read once, when the file is asked for or its columns are to be chosen. `state` says how far. */
function rowsOf(queue, query, picked) {
  const state = store({ far: '…', waits: false, file: null, error: null })
  let reading = null, isWanted = true
  const tell = (far, waits = false) => {
    state.set({ far, waits })
    return isWanted
  }
  const all = async () => {
    const jobs = [], columns = columnsOf()
    const take = (page) => { jobs.push(...page); columns.add(page) }
    take(picked)
    const isAll = picked.length > 0 || await collect(queue, query, take, tell)
    const file = { jobs, isAll, groups: columns.groups() }
    state.set({ file })
    return file
  }
  const failed = (error) => {
    reading = null
    state.set({ error })
    throw error
  }
  return {
    state,
    read() {
      if (!reading) state.set({ error: null })
      return (reading ??= all().catch(failed))
    },
    stop() { isWanted = false },
  }
}

const KINDS = {
  NDJSON: ['ndjson', 'application/x-ndjson', ({ jobs }) => ndjson(jobs)],
  CSV: ['csv', CSV, ({ jobs, groups }, { ticks }) => {
    const columns = groups.flatMap((group) => group.columns).filter((column) => isTicked(column, ticks))
    if (columns.length === 0) throw new Error('Tick at least one column.')
    return csv(jobs, columns)
  }],
}

/** The selected jobs; without a selection, all pages of the list. */
export function exportList(queue, state, only, picked) {
  const which = picked.length ? many(picked.length, `${state} job`) : `the ${state} jobs that the list shows`
  const rows = rowsOf(queue, { state, ...only }, picked)
  ask({
    title: `Export ${which}?`,
    text: `At most ${number(MAX)} rows. NDJSON has the jobs as they are. CSV is a table of the columns that you `
      + 'choose; what would be a formula in a spreadsheet begins with an apostrophe.',
    action: 'Export',
    form: ExportForm,
    rows,
    value: recall(queue),
    work: async (tell, value) => {
      const [ending, type, write] = KINDS[value.kind]
      const forget = rows.state.subscribe(({ far, waits }) => tell(far, waits))
      const file = await rows.read().finally(forget)
      save(`${queue}-${state}.${ending}`, type, write(file, value), type === CSV && value.isMarked)
      remember(queue, value)
      return file
    },
    done: ({ jobs, isAll }) => `${many(jobs.length, 'job')} exported${isAll ? '' : '; there are more'}.`,
  })
}
