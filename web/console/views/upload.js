// A table is uploaded: chosen or dropped, its columns mapped, checked, and its rows sent.

import { html, useEffect, useMemo, useRef, useState } from '../html.js'
import { FIELDS, checkTargets, usualTargets } from '../csv_columns.js'
import { SEPARATORS } from '../csv_rows.js'
import { FileChanged, openTable } from '../csv_table.js'
import { bytes, many } from '../format.js'
import { mayAct } from '../live.js'
import { Button, Empty } from '../ui.js'
import { check } from '../upload.js'
import { begin, leftFor } from '../upload_left.js'
import { Columns, DropZone, Found, Refusal, Report } from './upload_parts.js'
import { useSending } from './upload_sending.js'

const OVERLAPS = [2, 3, 4, 5, 6, 7, 8, 9]

export function Upload({ queue = '', queues }) {
  // The next file is for the same one.
  const kept = useRef(leftFor(queue)?.typed?.queue ?? queue)
  // A file that is chosen again is read again.
  const [[upload, turn], setUpload] = useState(() => [leftFor(queue), 0])
  const choose = (file) => {
    const next = begin(file, queue)
    if (next) setUpload(([, last]) => [next, last + 1])
  }
  const [isOver, setOver] = useState(false)
  useEffect(() => onDrop(choose, setOver), [])
  return html`<main class="page upload">
    <div class="bar"><h1>Upload a table</h1></div>
    ${mayAct() ? html`<${DropZone} file=${upload?.file} isOver=${isOver} onFile=${choose} />
      ${upload && html`<${Table} key=${turn} upload=${upload} kept=${kept} queues=${queues ?? []} />`}`
      : html`<${Empty} title="This key adds no jobs">It takes an operator's key.<//>`}
  </main>`
}

/** A file may be dropped anywhere: a browser would leave the page for it. Under a question it is not taken. */
function onDrop(take, setOver) {
  const isFree = () => mayAct() && !document.querySelector('dialog[open]')
  const over = (event) => { event.preventDefault(); setOver(isFree()) }
  const leave = ({ relatedTarget }) => { if (!relatedTarget) setOver(false) }
  const drop = (event) => {
    event.preventDefault()
    setOver(false)
    const [file] = event.dataTransfer.files
    if (file && isFree()) take(file)
  }
  const all = Object.entries({ dragover: over, dragleave: leave, drop })
  all.forEach(([kind, hear]) => addEventListener(kind, hear))
  return () => all.forEach(([kind, hear]) => removeEventListener(kind, hear))
}

const unread = (error) => (error instanceof FileChanged ? error.message : `cannot be read: ${error.message}`)

/** The table of a file, read with the separator that is found in it or chosen. */
function useTable(file, separator) {
  const [table, setTable] = useState(null)
  useEffect(() => {
    let isWanted = true
    const set = (next) => { if (isWanted) setTable(next) }
    set(null)
    openTable(file, separator).then(set, (error) => set({ foreign: unread(error) }))
    return () => { isWanted = false }
  }, [file, separator])
  return table
}

function Table({ upload, kept, queues }) {
  const { file } = upload
  const [typed, setTyped] = useState(
    upload.typed ?? { queue: kept.current, separator: '', overlap: 0, name: file.name },
  )
  upload.typed = typed
  const table = useTable(file, typed.separator)
  const [isSent, setSent] = useState(upload.report !== null)
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
    ${table?.names && html`<${Mapped} key=${table.separator} upload=${upload} table=${table} typed=${typed}
      onSent=${setSent} />`}
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
      again, so an upload that was stopped goes on. Rows that were added for one person are new ones for several people,
      and the other way round. For other rows in a file of the same name, type another name.</p>
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

/** Why it cannot begin, if it cannot. */
const missing = ({ queue, name }) => (!queue.trim() ? 'Name the queue first.'
  : !name.trim() ? 'Give this upload a name first, by which its rows are known again.' : '')

function Mapped({ upload, table, typed, onSent }) {
  const { mapped: left } = upload
  const isKnown = left?.separator === table.separator
  const [targets, setTargets] = useState(() => (isKnown ? left.targets : usualTargets(table.names)))
  const mapped = useMemo(() => ({ ...table, targets }), [table, targets])
  upload.mapped = mapped
  const problem = problemOf(targets, typed.overlap)
  const { found, error, far } = useCheck(mapped, problem)
  const sending = useSending(upload, mapped, typed, found, onSent)
  const isOff = sending.report !== null
  const why = missing(typed)
  return html`
    <${Columns} table=${mapped} fields=${FIELDS} isOff=${isOff} onChange=${setTargets} />
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    ${error && html`<p class="problem" role="alert">The file ${error.message}.</p>`}
    ${far !== undefined && html`<p class="far"><progress value=${far} aria-label="Reading the rows"></progress></p>`}
    ${found && html`<${Found} found=${found} queue=${typed.queue.trim()} overlap=${typed.overlap} isSent=${isOff} />
      ${sending.problem && !isOff && html`<${Refusal}>${sending.problem}<//>`}
      ${!isOff && html`<p class="acts"><${Button} kind="primary" busy=${found.jobs === 0 || Boolean(why)}
        aria-describedby="missing" onClick=${sending.ask}>Add ${many(found.jobs, 'row')}…<//>
        <span id="missing">${why}</span></p>`}
      ${isOff && html`<${Report} sending=${sending} found=${found} typed=${typed} />`}`}`
}
