// What each worker did per day, to balance load: who had how much, what was skipped, and how long things took.

import { html, useAnswer, useLayoutEffect, useState } from '../html.js'
import * as api from '../api.js'
import { CSV, save } from '../export.js'
import { Mark } from '../export_form.js'
import { age, many, number } from '../format.js'
import { Row, Table } from '../list.js'
import { recall, remember } from '../remembered.js'
import { go, link } from '../router.js'
import { Button, Empty, Missing, Name, act } from '../ui.js'

/** More lines than that are for a file. */
const MAX = 1_000
const DAY = 86_400_000
/** The days that are shown at first. */
const WEEK = 6

export const NUMBERS = [
  ['n handed', 'Handed out'], ['n done', 'Completed'], ['n late', 'Late'],
  ['n skipped', 'Skipped'], ['n back', 'Given back'], ['n expired', 'Expired'], ['n failed', 'Failed'],
  ['n over', 'Handed over'], ['n half', 'Half within'], ['n p90', '9 of 10 within'],
]
const COLUMNS = [['day', 'Day'], ['name', 'Worker'], ...NUMBERS]

/** The day that it is in the queue's time zone, whose days the sheets have. */
function dateOf(ms, timeZone) {
  const known = (zone) => new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' }).format(ms)
  try {
    return known(timeZone)
  } catch {
    return known('UTC') // this browser does not know the zone
  }
}
/** So many days before a day; a day of a zone may be longer than another. */
const before = (day, days) => new Date(Date.parse(day) - days * DAY).toISOString().slice(0, 10)
const counted = (n) => n > 0 && number(n)
const took = (ms) => ms !== null && age(ms)

/** What a worker did on a day. */
export const Numbers = ({ line }) => html`
    <td class="n handed" data-title="handed out">${counted(line.handed_out)}</td>
    <td class="n done" data-title="completed">${counted(line.completed)}</td>
    <td class="n late" data-title="late">${counted(line.late)}</td>
    <td class="n skipped" data-title="skipped">${counted(line.skipped)}</td>
    <td class="n back" data-title="given back">${counted(line.abandoned)}</td>
    <td class="n expired" data-title="expired">${counted(line.expired)}</td>
    <td class="n failed" data-title="failed">${counted(line.failed)}</td>
    <td class="n over" data-title="handed over">${counted(line.handed_over)}</td>
    <td class="n half" data-title="half within">${took(line.p50_ms)}</td>
    <td class="n p90" data-title="9 of 10 within">${took(line.p90_ms)}</td>`

function Line({ name, line, only }) {
  const { worker, day } = line
  const href = link(name, 'sheets', null, { ...only, worker })
  return html`<${Row} href=${href}>
    <td class="day">${day}</td>
    <td class="name"><${Name} worker=${worker} /></td>
    <${Numbers} line=${line} />
  <//>`
}

/** Which days, and of whom; what is chosen is in the address. */
function Choice({ name, only }) {
  const choose = (change) => go(link(name, 'sheets', null, { ...only, ...change }))
  const day = (field, title) => html`<label>${title} <input type="date" value=${only[field]}
    onChange=${({ target }) => choose({ [field]: target.value })} /></label>`
  return html`<div class="bar">
    ${day('from', 'From')} ${day('to', 'To')}
    <label class="filter">Worker <input type="search" value=${only.worker ?? ''} placeholder="all"
      onChange=${({ target }) => choose({ worker: target.value })} /></label>
    <span class="space"></span>
    <${Csv} name=${name} only=${only} />
  </div>`
}

function Csv({ name, only }) {
  const [busy, setBusy] = useState(false)
  const [{ isMarked }, setKept] = useState(() => recall(name))
  useLayoutEffect(() => setKept(recall(name)), [name])
  const mark = (isOn) => { remember(name, { isMarked: isOn }); setKept({ isMarked: isOn }) }
  const file = async () => {
    setBusy(true)
    await act(async () => save(`${name}-sheets.csv`, CSV, await api.sheetsTable(name, only), isMarked),
      'The table is exported.')
    setBusy(false)
  }
  return html`<${Mark} isMarked=${isMarked} onChange=${mark} />
    <${Button} keys="e" busy=${busy} onClick=${file}>As CSV<//>`
}

export function Sheets({ name, settings, only: chosen }) {
  const only = { from: before(dateOf(api.now(), settings.time_zone), WEEK), ...chosen }
  const { from, to, worker } = only
  const ask = (signal) => api.sheets(name, only, signal)
  const answer = useAnswer(ask, [name, from, to, worker, settings.sheets])
  if (!settings.sheets) {
    return html`<${Empty} title="No day sheets are kept">With the <a href=${link(name, 'settings')}>setting</a> “Day
      sheets” this shows what each worker did per day. <a href="../docs/sheets">What is counted</a>.<//>`
  }
  const key = ({ day, worker: who }) => `${day} ${who}`
  const row = (line) => html`<${Line} key=${key(line)} name=${name} line=${line} only=${only} />`
  return html`<${Choice} name=${name} only=${only} />
    <${Missing} answer=${answer}>${({ lines, gaps, time_zone: zone }) => html`
      ${gaps.length > 0 && html`<p class="stale" role="status">Events are missing in ${many(gaps.length, 'gap')},
        the last until ${gaps.at(-1).until}.</p>`}
      <${Table} label="sheets" columns=${COLUMNS} items=${lines.slice(0, MAX)} row=${row}
        id=${key}
        empty=${html`<${Empty} title="Nothing was counted on these days">Each worker with an event has a line.<//>`} />
      <p class="more">${lines.length > MAX && `The first ${number(MAX)} of ${many(lines.length, 'line')}. `}Days
        of ${zone}. A job is held while its page is open: this is not how long a person worked.
        <a href="../docs/sheets">What is counted</a></p>`}
    <//>`
}
