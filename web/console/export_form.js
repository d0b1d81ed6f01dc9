// What is asked for before a list is saved: the kind of file, and the columns of a table.

import { html, useEffect, useStore } from './html.js'
import { MAX_MEMBERS } from './columns.js'
import { many, number } from './format.js'
import { visible } from './shown.js'
import { Button } from './ui.js'

/** A name is another's text. */
const MAX_SHOWN = 60
const short = (name) => (name.length > MAX_SHOWN ? `${name.slice(0, MAX_SHOWN)}…` : name)

/** As a person left it, or else as it usually is. */
export const isTicked = ({ name, isTicked: usually }, ticks) => ticks.get(name) ?? usually

export function ExportForm({ what: { rows }, value, onChange }) {
  const isTable = value.kind === 'CSV'
  useEffect(() => {
    // A failure is in the state, and the export says it too.
    if (isTable) rows.read().catch(() => {})
  }, [isTable])
  useEffect(() => rows.stop, [])
  const change = (part) => onChange({ ...value, ...part })
  return html`
    <label>As<select value=${value.kind} onChange=${({ target }) => change({ kind: target.value })}>
      <option>NDJSON</option><option>CSV</option></select></label>
    ${isTable && html`<${Columns} rows=${rows} ticks=${value.ticks} onChange=${(ticks) => change({ ticks })} />
      <${Mark} isMarked=${value.isMarked} onChange=${(isMarked) => change({ isMarked })} />`}`
}

/** Whether the file begins with a byte order mark. */
export const Mark = ({ isMarked, onChange }) => html`<label class="check"><input type="checkbox" checked=${isMarked}
  onChange=${({ target }) => onChange(target.checked)} /> Byte order mark, for Excel</label>`

function Columns({ rows, ticks, onChange }) {
  const { file, far, waits, error } = useStore(rows.state)
  if (error) return html`<p class="problem" role="alert">The rows cannot be read: ${error.message}</p>`
  if (!file) return html`<p role="status">Reading the rows for their columns: ${far}${waits && ' It waits.'}</p>`
  const all = file.groups.flatMap(({ columns }) => columns)
  const set = (columns, isOn) => onChange(new Map([...ticks, ...columns.map(({ name }) => [name, isOn])]))
  const chosen = all.filter((column) => isTicked(column, ticks)).length
  return html`<p role="status">${many(file.jobs.length, 'row')}${!file.isAll && ', and there are more'}${
      `; ${chosen} of ${many(all.length, 'column')}`}</p>
    <div class="columns">${file.groups.toReversed().map((group) => html`<${Group} key=${group.name} group=${group}
      ticks=${ticks} rows=${file.jobs.length} set=${set} />`)}</div>`
}

function Note({ column: { isWhole, count }, rows }) {
  if (isWhole) return html`<small>all of it</small>`
  return count < rows && html`<small>in ${many(count, 'row')}</small>`
}

function Group({ group: { name, columns, found }, ticks, rows, set }) {
  const every = (isOn, text) => html`<${Button} kind="quiet" label=${`${text} of the columns of the ${name}`}
    onClick=${() => set(columns, isOn)}>${text}<//>`
  return html`<fieldset><legend>Columns of the ${name}</legend>
    <p class="tools">${every(true, 'All')} ${every(false, 'None')}</p>
    ${found > MAX_MEMBERS && html`<p>The ${MAX_MEMBERS} commonest of ${number(found)} members can be
      columns. The column ${name} has all of them.</p>`}
    ${columns.map((column) => html`<label class="check" key=${column.name} title=${visible(short(column.name))}>
      <input type="checkbox" checked=${isTicked(column, ticks)}
        onChange=${({ target }) => set([column], target.checked)} />
      <bdi>${short(column.label) || '“” (no name)'}</bdi> <${Note} column=${column} rows=${rows} /></label>`)}
  </fieldset>`
}
