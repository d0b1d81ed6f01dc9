// The parts of the page for an upload: where a file is dropped, the table of its columns, what would be sent, and what
// became of it.

import { html, classes, useEffect, useLayoutEffect, useRef } from '../html.js'
import { batchOf, lineOf } from '../csv_columns.js'
import { csv } from '../csv.js'
import { CSV, save } from '../export.js'
import { many, number } from '../format.js'
import { Button } from '../ui.js'

/** Refused rows that are shown; the file has all of them. */
const MAX_SHOWN = 200
const MAX_CELL = 80
const MAX_JOB = 1_000
const PAYLOAD = 'payload.'
const HEADINGS = ['Column', 'For example', 'Goes to']

export function DropZone({ file, isOver, onFile }) {
  const choose = ({ target }) => {
    if (target.files.length > 0) onFile(target.files[0])
    // The same file again is a change too.
    target.value = ''
  }
  return html`<div class=${classes('drop', isOver && 'over')}>
    <label for="upload-file">${file ? 'Another file' : 'Choose a CSV file, or drop it here'}</label>
    <input id="upload-file" type="file" accept=".csv,.tsv,.tab,.txt,text/csv" aria-describedby="upload-about"
      onChange=${choose} />
    <small id="upload-about">The first row names the columns. Each row after it becomes a job. UTF-8, of any length; a
      row has at most 8 MiB.</small>
  </div>`
}

const short = (text, max = MAX_CELL) => (text.length > max ? `${text.slice(0, max)}…` : text)

export function Columns({ table: { names, targets, first }, fields, isOff, onChange }) {
  const set = (n, own) => onChange(targets.map((other, at) => (at === n ? own : other)))
  const example = (n) => first.map(({ cells }) => cells[n] ?? '').find((cell) => cell.trim()) ?? ''
  return html`<fieldset class="mapping" disabled=${isOff}><legend>Columns</legend>
    <table><thead><tr>${HEADINGS.map((title) => html`<th scope="col">${title}</th>`)}</tr></thead>
      <tbody>${names.map((name, n) => name && html`<tr key=${name}>
        <th scope="row"><bdi>${short(name)}</bdi></th>
        <td class="example"><bdi>${short(example(n))}</bdi></td>
        <td><${Target} name=${name} own=${targets[n]} fields=${fields} onChange=${(own) => set(n, own)} /></td>
      </tr>`)}</tbody></table>
    <p class="hint">Text of the payload stays as it is. Several names in a cell are separated by |, as in ann|bob. An
      empty cell is absent.</p>
  </fieldset>`
}

function Target({ name, own, fields, onChange }) {
  const [target] = own
  const isMember = target.startsWith(PAYLOAD)
  const choose = ({ target: { value } }) => onChange([value === PAYLOAD ? PAYLOAD + name : value])
  return html`<span class="target"><select aria-label=${`Where ${name} goes`} value=${isMember ? PAYLOAD : target}
      onChange=${choose}>
      <option value=${PAYLOAD}>payload</option>${fields.map((field) => html`<option value=${field}>${field}</option>`)}
    </select>
    ${isMember && html`<input aria-label=${`Name of ${name} in the payload`} value=${target.slice(PAYLOAD.length)}
      autocomplete="off" spellcheck=${false} onInput=${(event) => onChange([PAYLOAD + event.target.value])} />`}</span>`
}

/** What would be sent. */
export function Found({ found: { jobs, refused, shown }, queue, overlap, isSent }) {
  const what = overlap ? `${many(jobs, 'batch', 'batches')} of ${overlap} jobs` : many(jobs, 'job')
  const text = (job) => (overlap ? batchOf(job, queue, overlap) : lineOf(job, queue))
  return html`<section class="found" aria-label="Preview">
    <p role="status">${many(jobs + refused.length, 'row')}: ${what}, ${number(refused.length)} refused${
      isSent ? '' : '; nothing was sent'}.</p>
    ${shown.length > 0 && !isSent && html`<h3>The first ${many(shown.length, 'row')}</h3>
      <ol class="first">${shown.map((job) => html`<li>
        <pre tabindex="0">${short(text(job), MAX_JOB)}</pre></li>`)}</ol>`}
    ${!isSent && html`<${Refused} rows=${refused} />`}
  </section>`
}

function Refused({ rows }) {
  if (rows.length === 0) return null
  const download = () => save('refused.csv', CSV, csv(rows, [
    { name: 'row', of: ({ row }) => row }, { name: 'column', of: ({ column }) => column },
    { name: 'reason', of: ({ detail }) => detail },
  ]), true)
  return html`<section class="refused" aria-labelledby="refused">
    <div class="tools"><h3 id="refused">${many(rows.length, 'refused row')}</h3>
      <${Button} onClick=${download}>Download them as CSV<//></div>
    <ol>${rows.slice(0, MAX_SHOWN).map(({ row, column, detail }) => html`<li key=${row}>
      <b>Row ${row}${column && html`, column <bdi>${short(column)}</bdi>`}</b> ${detail}</li>`)}</ol>
    ${rows.length > MAX_SHOWN && html`<p>and ${number(rows.length - MAX_SHOWN)} more, in the file</p>`}
  </section>`
}

/** Why nothing was sent. It has the focus, as the button that was pressed is another one now. */
export function Refusal({ children }) {
  const words = useRef(null)
  useLayoutEffect(() => { words.current.focus() }, [])
  return html`<p class="problem" role="alert" tabindex="-1" ref=${words}>${children}</p>`
}

const byRow = (one, other) => one.row - other.row

/** What has become of the rows. */
export function Report({ sending: { report, phase, problem, isOver, go, stop, href }, found, typed }) {
  const heading = useRef(null)
  useEffect(() => heading.current.focus(), [phase])
  const titles = { sending: 'Sending', stopped: 'Stopped', done: 'Done' }
  const refused = found.refused.length + report.refused.length
  return html`<section class="report" aria-labelledby="report">
    <h2 id="report" tabindex="-1" ref=${heading}>${titles[phase]}: ${number(report.sent)} of ${
      many(found.jobs, 'row')}</h2>
    <p class="far"><progress max=${found.jobs} value=${report.sent} aria-label="Rows that are sent"></progress></p>
    ${report.waits && phase === 'sending' && html`<p role="status">The service takes no more for now. It continues by
      itself.</p>`}
    ${problem && html`<p class="problem" role="alert">${problem} ${isOver ? 'Rows that were added are known.'
      : 'Nothing is lost: go on when it is put right.'}</p>`}
    ${report.isUnsure && phase === 'stopped' && html`<p class="hint">The last rows may have arrived. They are sent
      again, and those that are there are known.</p>`}
    <div role=${phase === 'sending' ? undefined : 'status'}><dl class="outcome">
      <div><dt>New</dt><dd>${number(report.created)}</dd></div>
      <div><dt>Known</dt><dd title="added before by this upload">${number(report.known)}</dd></div>
      ${!typed.overlap && html`<div><dt>Equal to one that is there</dt><dd>${number(report.equal)}</dd></div>`}
      <div><dt>Refused</dt><dd class=${classes(refused > 0 && 'bad')}>${number(refused)}</dd></div>
    </dl></div>
    ${report.later > 0 && html`<p class="problem">${many(report.later, 'refused row')} may be taken later: the same
      upload again adds them.</p>`}
    <p class="acts">
      ${phase === 'sending' && html`<${Button} onClick=${stop}>Stop<//>`}
      ${phase === 'stopped' && !isOver && html`<${Button} kind="primary" onClick=${go}>Go on<//>`}
      <a class="button quiet" href=${href}>Look at the queue</a></p>
    ${phase !== 'sending' && html`<${Refused} rows=${[...found.refused, ...report.refused].sort(byRow)} />`}
  </section>`
}
