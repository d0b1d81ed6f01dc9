// How fast things went, drawn. uPlot draws on a canvas, so its colours are read from elements that have them by CSS.

import { html, useSecondTick, useEffect, useRef, useState } from './html.js'
import * as api from './api.js'
import { number, rate } from './format.js'
import { live } from './live.js'
import { RANGES, columns, joined, load, sum, wholeSince } from './history.js'
import { SPAN, history, ratesOf } from './rates.js'
import { Button } from './ui.js'

const SERIES = [['enqueued', 'Added'], ['handed_out', 'Handed out'], ['completed', 'Completed']]
const { now } = api
const NAMES = SERIES.map(([name]) => name)
const HEIGHT = 132
const DAY = 86_400
// Loads the history again, because its end moves.
const EVERY = 20_000

const look = (element, name = 'color') => getComputedStyle(element)[name]

function options(box, width, from) {
  const swatches = [...box.parentNode.querySelectorAll('.swatch')]
  const grid = { stroke: () => look(box, 'borderTopColor'), width: 1 }
  const axis = { stroke: () => look(box), grid, ticks: { show: false }, font: `11px ${look(box, 'fontFamily')}` }
  const times = (_, splits, axis, space, step) => splits.map((at) => (step < DAY ? clock(at, step < 60) : day(at)))
  const rates = (_, splits) => splits.map((n) => (Number.isInteger(n) ? number(n) : rate(n)))
  return {
    width, height: HEIGHT,
    legend: { show: false },
    // Half of the last label stands beyond the end of the line.
    padding: [8, 30, 0, 0],
    cursor: { y: false, points: { size: 5 }, drag: { x: false, y: false } },
    scales: {
      x: { time: true, range: (_, first) => [from(first), now() / 1_000] },
      y: { range: (_, low, high) => [0, Math.max(high ?? 0, 4) * 1.1] },
    },
    axes: [
      { ...axis, size: 22, space: 84, values: times },
      { ...axis, size: 40, space: 34, values: rates },
    ],
    series: [{}, ...SERIES.map(([, label], n) => ({
      label, width: 1.5, points: { show: false }, spanGaps: true,
      stroke: () => look(swatches[n]), fill: n === 2 ? () => look(swatches[n], 'backgroundColor') : undefined,
    }))],
  }
}

/** Short at first; ten minutes once so much is known. */
const span = (first) => Math.min(Math.max(now() / 1_000 - (first ?? Infinity), 60), SPAN)

const clock = (at, exact) => new Date(at * 1_000).toLocaleTimeString('en-GB').slice(0, exact ? 8 : 5)

const day = (at) => new Date(at * 1_000).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })

/** The counts of `queue`, or of all queues, over a range; `null` while unknown. */
function usePast(queue, range) {
  const [past, setPast] = useState(null)
  useEffect(() => {
    const gone = new AbortController()
    const ask = async () => {
      const names = queue ? [queue] : (live.get().queues ?? []).map(({ name }) => name)
      const past = (name, query) => api.history(name, query, gone.signal)
      const all = await load(names, range, now(), past).catch(() => undefined)
      // Old data stays visible during an outage.
      if (!gone.signal.aborted && all !== undefined) setPast(all && { all, range })
    }
    ask()
    const timer = setInterval(ask, EVERY)
    return () => { gone.abort(); clearInterval(timer) }
  }, [queue, range])
  return past?.range === range ? past.all : null
}

const narrow = matchMedia('(max-width: 720px)')
/** A phone has no room for it above each list; unfolded on one page, it is on the next. */
let isUnfolded = false

function useFold() {
  const [isNarrow, setNarrow] = useState(narrow.matches)
  const [isOpen, setOpen] = useState(isUnfolded)
  useEffect(() => {
    const tell = () => setNarrow(narrow.matches)
    narrow.addEventListener('change', tell)
    return () => narrow.removeEventListener('change', tell)
  }, [])
  const toggle = ({ currentTarget: { open } }) => {
    if (!isNarrow) return
    isUnfolded = open
    setOpen(open)
  }
  return { open: !isNarrow || isOpen, onToggle: toggle }
}

/** `queue`: its name, or "" for all of them together. `theme` only says that the colours have changed. */
export function Chart({ queue, theme }) {
  useSecondTick()
  const [range, setRange] = useState('hour')
  const past = usePast(queue, range)
  const box = useRef(null)
  const plot = useRef(null)
  const [hidden, setHidden] = useState([])
  const fold = useFold()
  const from = useRef(null)
  const data = () => drawnOf(queue, past, range, NAMES)
  from.current = (first) => (past ? (now() - RANGES[range].ms) / 1_000 : now() / 1_000 - span(first))
  useEffect(() => {
    // The numbers above do not depend on it.
    if (!globalThis.uPlot) return undefined
    const element = box.current
    const width = () => Math.max(element.clientWidth, 120)
    const drawn = new globalThis.uPlot(options(element, width(), (first) => from.current(first)), data(), element)
    const sizes = new ResizeObserver(() => {
      if (element.isConnected) drawn.setSize({ width: width(), height: HEIGHT })
    })
    sizes.observe(element)
    plot.current = drawn
    return () => { sizes.disconnect(); drawn.destroy(); plot.current = null }
  }, [queue])
  // Before the data: the scale is that of the lines that are shown.
  useEffect(() => {
    NAMES.forEach((name, n) => plot.current?.setSeries(n + 1, { show: !hidden.includes(name) }))
  }, [queue, hidden])
  useEffect(() => { plot.current?.setData(data()) })
  useEffect(() => { plot.current?.redraw(false, true) }, [theme])
  const rates = ratesOf(queue)
  return html`<details class="chart" ...${fold}><summary>Chart</summary>
    <figure aria-label="Rates, per minute"><figcaption>${SERIES.map(([name, label], n) => html`<button type="button"
        class="key" title="Show or hide the line" aria-pressed=${!hidden.includes(name)}
        onClick=${() => setHidden(toggled(hidden, name))}>
      <i class=${`swatch ${name}`}></i>${label}
      <b>${rate(rates?.[name] ?? null)}</b>${n === SERIES.length - 1 && html`<span>/ min</span>`}</button>`)}
    </figcaption>
    <div class="plot" ref=${box} aria-hidden="true"></div>
    ${past && html`<${Ranges} past=${past} range=${range} setRange=${setRange} />`}
  </figure></details>`
}

const toggled = (hidden, name) =>
  (hidden.includes(name) ? hidden.filter((other) => other !== name) : [...hidden, name])

/** This page has seen the end of the hour itself, to the second. */
function drawnOf(queue, past, range, names) {
  const since = history(queue, names)
  if (!past) return since
  const before = columns(past, range, names, now())
  return range === 'hour' ? joined(before, since) : before
}

/** A queue keeps so much of its history as there is room for. */
function wordsOf(past, range) {
  const since = wholeSince(past, range, now())
  if (since === null) return `in ${RANGES[range].words}`
  if (range === 'days') return `since ${day(since / 1_000)}`
  const isToday = new Date(since).toDateString() === new Date(now()).toDateString()
  return `since ${isToday ? '' : `${day(since / 1_000)} `}${clock(since / 1_000)}`
}

function counted(past, range) {
  const sums = SERIES.map(([name, label]) => [sum(past, range, name, now()), label.toLowerCase()])
  return sums.filter(([n]) => n > 0).map(([n, what]) => `${number(n)} ${what}`).join(', ') || 'nothing'
}

const Ranges = ({ past, range, setRange }) => html`<p class="ranges" role="group" aria-label="Range">
  <span class="dim">${counted(past, range)} ${wordsOf(past, range)}</span><span class="space"></span>
  ${Object.entries(RANGES).map(([name, { title }]) => html`<${Button} kind="quiet" aria-pressed=${name === range}
    onClick=${() => setRange(name)}>${title}<//>`)}
</p>`

/** A line as high as a row: completed per minute. */
export function Spark({ queue }) {
  const [seconds, values] = history(queue, ['completed'])
  const top = Math.max(1, ...values)
  const end = now() / 1_000
  const x = (n) => 100 * (1 - (end - seconds[n]) / span(seconds[0]))
  const y = (n) => 19 - 17 * values[n] / top
  const points = seconds.map((_, n) => `${x(n).toFixed(1)},${y(n).toFixed(1)}`)
  return html`<svg class="spark" viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true">
    ${points.length > 1 && html`<polyline points=${points.join(' ')} vector-effect="non-scaling-stroke" />`}</svg>`
}
