// One queue: how it is, and its lists.

import { html, classes, useSecondTick, useEffect, useRef } from '../html.js'
import { Chart } from '../chart.js'
import { NONE, age, countdown, number } from '../format.js'
import { lookAt, mayAct } from '../live.js'
import { TABS, link, titleOf, uploadLink } from '../router.js'
import { Act, Empty, Waiting } from '../ui.js'
import { Activity } from './activity.js'
import { Batch, Batches } from './batches.js'
import { Held } from './held.js'
import { Job } from './job.js'
import { Jobs } from './jobs.js'
import { Lines } from './lines.js'
import { Locks } from './locks.js'
import { addJob } from '../newjob.js'
import { Pause } from './overview.js'
import { Settings } from './settings.js'
import { Sheets } from './sheets.js'

const KEYS = { lines: '0', activity: 'v', sheets: 'S', settings: 's' }
/** What each list has. */
const MEANINGS = {
  waiting: 'Ready to be handed out',
  held: 'In the hands of people',
  blocked: 'Waits for a lock, or for room in its batch',
  delayed: 'Waits for its time',
  dead: 'Failed as often as the queue allows',
  completed: 'Done, and kept for a time',
  cancelled: 'Withdrawn or expired, and kept for a time',
  locks: 'What no two jobs may have at once',
  batches: 'Jobs that belong together',
  lines: 'What waits for certain workers or a skill',
  activity: 'What happens, and what operators did',
  sheets: 'What each worker did per day',
  settings: 'How the queue behaves',
}

export function Queue({ name, tab, id, only, state, theme }) {
  useEffect(() => {
    lookAt(name)
    return () => lookAt(null)
  }, [name])
  const queue = state.queues?.find((one) => one.name === name)
  if (!state.queues) return html`<main class="page"><${Waiting} rows=${8} /></main>`
  if (!queue) {
    return html`<main class="page"><${Empty} title=${`There is no queue ${name}`}>
      It comes into being with its first job. <a href="#/">All queues</a><//></main>`
  }
  const back = link(name, tab, null, only)
  const isBatch = tab === 'batches' && id?.endsWith('0000')
  return html`<main class="page">
    <${Head} queue=${queue} at=${state.at} theme=${theme} />
    <${Tabs} queue=${queue} tab=${tab} />
    <div class=${classes('split', id && 'open')}>
      <section class="main" aria-label=${titleOf(tab)}>
        <${View} queue=${queue} tab=${tab} id=${id} only=${only} /></section>
      ${id && isBatch && html`<${Batch} key=${id} name=${name} id=${id} only=${only} back=${back} />`}
      ${id && !isBatch && html`<${Job} key=${id} queue=${queue} id=${id} back=${back} />`}
    </div>
  </main>`
}

function Head({ queue, at, theme }) {
  useSecondTick()
  const { name, settings, oldest_waiting_ms: oldest, reservations, totals } = queue
  const since = Date.now() - at
  const { soonest_expires_in_ms: soonest, overdue } = reservations
  return html`<header class="head">
    <div class="title">
      <span class="which">
        <h1>${name}</h1>${settings.paused && html`<span class="state paused">paused</span>`}</span>
      <span class="acts">
        <${Act} keys="A" label="Add a job" onClick=${() => addJob(name)}>Add a job…<//>
        ${mayAct() && html`<a class="button" href=${uploadLink(name)} aria-keyshortcuts="I"
          title="Upload a table (I)">Upload…</a>`}
        <${Pause} queue=${queue} /></span>
    </div>
    <dl class="vital">
      <div title="For how long the job has waited that waits longest"><dt>Oldest waiting</dt>
        <dd>${oldest === null ? NONE : age(oldest + since)}</dd></div>
      <div title="Jobs that people have in hand"><dt>Held now</dt><dd>${number(reservations.live)}${
        overdue > 0 && html` <span class="bad">+ ${number(overdue)} overdue</span>`}</dd></div>
      <div title="When the first held job goes back, unless its page asks for more time"><dt>Next lease ends</dt>
        <dd>${soonest === null ? NONE : countdown(soonest - since)}</dd></div>
      <div title="How often the time was over, or the worker reported a failure, of all that was handed out">
        <dt>Expired or failed</dt><dd>${number(totals.expired + totals.failed)}<small>${
        ` of ${number(totals.handed_out)}`}</small></dd></div>
    </dl>
    <${Chart} queue=${name} theme=${theme} />
  </header>`
}

function Tabs({ queue, tab }) {
  const bar = useRef(null)
  /** Says at which ends there are more. */
  const edges = () => {
    if (!bar.current) return
    const { scrollLeft, scrollWidth, clientWidth, dataset } = bar.current
    dataset.more = classes(scrollLeft > 1 && 'before', scrollLeft + clientWidth < scrollWidth - 1 && 'after')
  }
  useEffect(() => {
    const sizes = new ResizeObserver(edges)
    sizes.observe(bar.current)
    return () => sizes.disconnect()
  }, [])
  useEffect(() => {
    const current = bar.current.querySelector('[aria-current]')
    bar.current.scrollLeft = current.offsetLeft - (bar.current.clientWidth - current.clientWidth) / 2
    edges()
  }, [tab, queue.name])
  const count = (name) => (name === 'held' ? queue.counts.reserved : queue.counts[name])
  const draw = (name, n) => html`
    <a href=${link(queue.name, name)} class=${classes(name, count(name) === 0 && 'zero')}
      aria-current=${name === tab ? 'page' : undefined} aria-keyshortcuts=${KEYS[name] ?? n + 1}
      title=${`${MEANINGS[name]} (${KEYS[name] ?? n + 1})`}>${titleOf(name)}${
        count(name) !== undefined && html` <b>${number(count(name))}</b>`}</a>`
  return html`<nav class="tabs" ref=${bar} aria-label="Lists" onScroll=${edges}>${TABS.map(draw)}</nav>`
}

function View({ queue, tab, id, only }) {
  const { name, counts } = queue
  if (tab === 'held') return html`<${Held} key=${name} name=${name} queue=${queue} selected=${id} />`
  if (tab === 'locks') return html`<${Locks} key=${name} name=${name} selected=${id} />`
  if (tab === 'batches') return html`<${Batches} key=${name} name=${name} selected=${id} only=${only} />`
  if (tab === 'lines') return html`<${Lines} key=${name} name=${name} />`
  if (tab === 'activity') return html`<${Activity} key=${name} name=${name} />`
  if (tab === 'sheets') return html`<${Sheets} key=${name} name=${name} settings=${queue.settings} only=${only} />`
  if (tab === 'settings') return html`<${Settings} key=${name} queue=${queue} />`
  return html`<${Jobs} key=${`${name} ${tab}`} name=${name} state=${tab} count=${counts[tab]} selected=${id}
    only=${only} />`
}
