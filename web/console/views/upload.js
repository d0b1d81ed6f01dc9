// A table is uploaded: chosen or dropped, its columns mapped, checked, and its rows sent.

import { html, useEffect, useMemo, useRef, useState } from '../html.js'
import { FIELDS, checkTargets, usualTargets } from '../csv_columns.js'
import { SEPARATORS } from '../csv_rows.js'
import { openTable } from '../csv_table.js'
import { bytes, many } from '../format.js'
import { again, mayAct } from '../live.js'
import { askToMake, isUnknownQueue } from '../making.js'
import { recentOf, requireSeen } from '../recent.js'
import { link } from '../router.js'
import { Button, Empty, ask } from '../ui.js'
import { check, keyOf, nothingSent, send } from '../upload.js'
import { Columns, DropZone, Found, Report } from './upload_parts.js'

const OVERLAPS = [2, 3, 4, 5, 6, 7, 8, 9]

export function Upload({ queue = '', queues }) {
  const [file, setFile] = useState(null)
  // The next file is for the same one.
  const kept = useRef(queue)
  // A file that is chosen again is read again.
  const [turn, setTurn] = useState(0)
  const choose = (chosen) => { setFile(chosen); setTurn((last) => last + 1) }
  const [isOver, setOver] = useState(false)
  useEffect(() => onDrop(choose, setOver), [])
  return html`<main class="page upload">
    <div class="bar"><h1>Upload a table</h1></div>
    ${mayAct() ? html`<${DropZone} file=${file} isOver=${isOver} onFile=${choose} />
      ${file && html`<${Table} key=${turn} file=${file} kept=${kept} queues=${queues ?? []} />`}`
      : html`<${Empty} title="This key adds no jobs">It takes an operator's key.<//>`}
  </main>`
}

/** A file may be dropped anywhere: a browser would leave the page for it. */
function onDrop(take, setOver) {
  const over = (event) => { event.preventDefault(); setOver(true) }
  const leave = ({ relatedTarget }) => { if (!relatedTarget) setOver(false) }
  const drop = (event) => {
    event.preventDefault()
    setOver(false)
    const [file] = event.dataTransfer.files
    if (file && mayAct()) take(file)
  }
  const all = Object.entries({ dragover: over, dragleave: leave, drop })
  all.forEach(([kind, hear]) => addEventListener(kind, hear))
  return () => all.forEach(([kind, hear]) => removeEventListener(kind, hear))
}

/** The table of a file, read with the separator that is found in it or chosen. */
function useTable(file, separator) {
  const [table, setTable] = useState(null)
  useEffect(() => {
    let isWanted = true
    const set = (next) => { if (isWanted) setTable(next) }
    set(null)
    openTable(file, separator).then(set, ({ message }) => set({ foreign: `cannot be read: ${message}` }))
    return () => { isWanted = false }
  }, [file, separator])
  return table
}

function Table({ file, kept, queues }) {
  const [typed, setTyped] = useState({ queue: kept.current, separator: '', overlap: 0, name: file.name })
  const table = useTable(file, typed.separator)
  const [isSent, setSent] = useState(false)
  const change = (part) => {
    kept.current = part.queue ?? kept.current
    setTyped((last) => ({ ...last, ...part }))
  }
  const heading = useRef(null)
  useEffect(() => heading.current.focus(), [])
  return html`<section class="table" aria-labelledby="file">
    <h2 id="file" tabindex="-1" ref=${heading}><bdi>${file.name}</bdi> <small>${bytes(file.size)}</small></h2>
    ${!table && html`<p role="status">Reading…</p>`}
    ${table?.foreign && html`<p class="problem" role="alert">The file ${table.foreign}.</p>`}
    ${table && !table.foreign && html`<${Choices} table=${table} typed=${typed} change=${change} queues=${queues}
      isOff=${isSent} />`}
    ${table?.problem && html`<p class="problem" role="alert">The file ${table.problem}.</p>`}
    ${table?.names && html`<${Mapped} key=${table.separator} table=${table} typed=${typed} onSent=${setSent} />`}
  </section>`
}

function Choices({ table, typed, change, queues, isOff }) {
  const set = (name) => ({ target }) => change({ [name]: target.value })
  const label = (char, name) => (char === table.separator && !typed.separator ? `${name} (found)` : name)
  const known = SEPARATORS.some(([char]) => char === table.separator)
  return html`<fieldset class="choices" disabled=${isOff}>
    <label>Queue<input value=${typed.queue} list="upload-queues" autocomplete="off" spellcheck=${false}
      onInput=${set('queue')} /></label>
    <datalist id="upload-queues">${queues.map(({ name }) => html`<option key=${name} value=${name} />`)}</datalist>
    <label>Cells are separated by<select value=${table.separator ?? ''} onChange=${set('separator')}>
      ${!known && html`<option value=${table.separator ?? ''}>${table.separator ?? 'choose'}</option>`}
      ${SEPARATORS.map(([char, name]) => html`<option value=${char}>${label(char, name)}</option>`)}</select></label>
    <label>Each row is for<select value=${typed.overlap}
      onChange=${({ target }) => change({ overlap: Number(target.value) })}>
      <option value="0">one person</option>
      ${OVERLAPS.map((n) => html`<option value=${n}>${n} people, for opinions</option>`)}</select></label>
    <label>Name of this upload<input value=${typed.name} autocomplete="off" spellcheck=${false}
      aria-describedby="upload-name" onInput=${set('name')} /></label>
    <p class="hint" id="upload-name">Rows that were added under this name and these columns are known and not added
      again, so an upload that was stopped goes on. For other rows in a file of the same name, type another name.</p>
  </fieldset>`
}

/** What would be sent is read again after each change. */
function useCheck(table, problem) {
  const [state, setState] = useState({ far: 0 })
  useEffect(() => {
    if (problem) return undefined
    const gone = new AbortController()
    const set = (next) => { if (!gone.signal.aborted) setState(next) }
    set({ far: 0 })
    // Letters of a name are typed one after the other.
    const timer = setTimeout(() => {
      check(table, (far) => set({ far }), gone.signal).then((found) => set({ found }), (error) => set({ error }))
    }, 150)
    return () => { clearTimeout(timer); gone.abort() }
  }, [table, problem])
  return problem ? {} : state
}

function problemOf(targets, overlap) {
  try {
    checkTargets(targets, overlap)
    return ''
  } catch ({ message }) {
    return message.startsWith('A ') ? message : `The file ${message}: choose another target.`
  }
}

function Mapped({ table, typed, onSent }) {
  const [targets, setTargets] = useState(() => usualTargets(table.names))
  const mapped = useMemo(() => ({ ...table, targets }), [table, targets])
  const problem = problemOf(targets, typed.overlap)
  const { found, error, far } = useCheck(mapped, problem)
  const sending = useSending(mapped, typed, found, onSent)
  const isOff = sending.report !== null
  return html`
    <${Columns} table=${mapped} fields=${FIELDS} isOff=${isOff} onChange=${setTargets} />
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    ${error && html`<p class="problem" role="alert">The file ${error.message}.</p>`}
    ${far !== undefined && html`<p class="far"><progress value=${far} aria-label="Reading the rows"></progress></p>`}
    ${found && html`<${Found} found=${found} queue=${typed.queue.trim()} overlap=${typed.overlap} isSent=${isOff} />
      ${sending.problem && !isOff && html`<p class="problem" role="alert">${sending.problem}</p>`}
      ${!isOff && html`<p class="acts"><${Button} kind="primary" busy=${found.jobs === 0 || !typed.queue.trim()}
        onClick=${sending.ask}>Add ${many(found.jobs, 'row')}…<//></p>`}`}
    ${isOff && html`<${Report} sending=${sending} found=${found} typed=${typed} />`}`
}

/** `{report, phase, problem, ask, go, stop}`; `phase`: 'sending', 'stopped' or 'done'. */
function useSending(table, typed, found, onSent) {
  const [state, setState] = useState({ report: null, phase: '', problem: '' })
  const gone = useRef(new AbortController())
  const latest = useRef(nothingSent())
  const set = (part) => setState((last) => ({ ...last, ...part }))
  useEffect(() => () => gone.current.abort(), [])
  useWarning(state.phase === 'sending')
  const queue = typed.queue.trim()
  const start = async (creates) => {
    gone.current = new AbortController()
    const { signal } = gone.current
    const tell = (report) => { latest.current = report; if (!signal.aborted) set({ report }) }
    const what = { table, queue, key: keyOf(typed.name.trim(), table), overlap: typed.overlap, creates }
    set({ phase: 'sending', problem: '', report: latest.current })
    onSent(true)
    try {
      await send(what, latest.current, tell, signal)
      set({ phase: 'done' })
    } catch (error) {
      const { sent } = latest.current
      set({ phase: 'stopped', problem: signal.aborted ? '' : error.message, ...(sent === 0 && { report: null }) })
      // What was chosen may be the reason.
      onSent(sent > 0)
      if (isUnknownQueue(error)) askToMake(queue, 'upload', () => { start(true) }, `${queue} is made by its first row.`)
    }
    again()
  }
  const named = () => ({ names: [...found.names], skills: [...found.skills] })
  const recent = useMemo(() => recentOf(queue), [queue])
  return {
    ...state,
    go: () => start(false),
    stop: () => gone.current.abort(),
    href: link(queue),
    ask: () => ask({
      title: `Add ${many(found.jobs, 'row')} to ${queue}?`,
      text: typed.overlap
        ? `Each becomes ${typed.overlap} equal jobs, which as many people answer.`
        : 'Each becomes a job. Rows that this upload has added before are known and not added again.',
      action: 'Add them',
      work: async (tell, value, confirmed) => {
        await requireSeen(recent, named(), confirmed, tell)
        // After the dialog is closed, so that the focus goes to what becomes of the rows.
        setTimeout(start, 0, false)
      },
      done: 'The upload has begun.',
    }),
  }
}

/** Closing the page asks first while rows are sent. */
function useWarning(isOn) {
  useEffect(() => {
    if (!isOn) return undefined
    const warn = (event) => event.preventDefault()
    addEventListener('beforeunload', warn)
    return () => removeEventListener('beforeunload', warn)
  }, [isOn])
}
