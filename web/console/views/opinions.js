// Batches with an overlap: the item, who answered what, and how many agree.

import { html, classes, useRef } from '../html.js'
import { Row, Table } from '../list.js'
import { groups, notes, parts, placeName, placesOf, verdict } from '../opinions.js'
import { go, link, tabOf } from '../router.js'
import { Name, Payload, State } from '../ui.js'

const KINDS = [
  ['', 'all'], ['divided', 'not unanimous'], ['unanimous', 'unanimous'], ['incomplete', 'not all answered'],
]

/** Viewers are shown the answers without the names. */
const Who = ({ worker }) => (worker === null ? html`<em>name hidden</em>` : html`<${Name} worker=${worker} />`)

/** "2 of 3: fine" */
export const Verdict = ({ opinions }) => html`<b class=${classes('verdict', opinions.agreement)}>${
  opinions.agreement === 'divided' && html`<span class="unseen">Not unanimous: </span>`}<bdi>${
  verdict(opinions)}</bdi></b>`

function Parts({ opinions }) {
  const { same, others } = parts(opinions)
  if (!others.length) return null
  return html`<span class="parts">${same.length > 0 && html`agree on <bdi>${same.join(', ')}</bdi>; `}differ in <bdi>${
    others.join(', ')}</bdi></span>`
}

const Job = ({ job }) => html`<${Who} worker=${job.worker} />${job.late && ' (late)'}`

/** Who gave which answer, and what the other jobs are. */
function Sides({ opinions }) {
  const { sides, others } = groups(opinions)
  const people = (jobs) => jobs.map((job, n) => html`${n > 0 && ', '}<${Job} job=${job} />`)
  const each = sides.map(({ text, jobs }) => html`<span class="side">${people(jobs)}${
    sides.length > 1 && html`: <bdi>${text}</bdi>`}</span>`)
  const skips = opinions.jobs.filter((job) => job.skipped_by.length > 0 && job.answer === null)
  const rest = [...others, ...skips.map((job) => notes({ ...job, late: false, undoable: false, counts: {} })[0])]
  return html`${each}${rest.length > 0 && html`<span class="side dim">${rest.join(', ')}</span>`}`
}

/** The cell of a list. */
export const Agreed = ({ opinions }) => html`<${Verdict} opinions=${opinions} /><${Parts} opinions=${opinions} />
  <${Sides} opinions=${opinions} />`

export const NoMeasure = () => html`<p class="hint">There is no kappa here: such a measure needs all items at once, and
  which one is right depends on the kind of answers and on how many people gave them.${' '}
  <a href="../docs/quality">Which measure for which data</a></p>`

/** What may be compared, also after one of them was chosen. */
function usePlaces(name, batches, at) {
  const known = useRef({})
  if (known.current.name !== name) known.current = { name, places: new Set() }
  const { places } = known.current
  for (const place of [...(at ? [at] : []), ...placesOf(batches, at)]) places.add(place)
  return ['', ...places]
}

function Compared({ name, batches, only, setOnly }) {
  const at = only.at ?? ''
  const places = usePlaces(name, batches, at)
  const label = (place) => (place ? place.split('/').slice(1).map(placeName).join(' / ') : 'whole answers')
  return html`<label class="filter"><span>Compare</span>
    <select value=${at} onChange=${({ target }) => setOnly({ ...only, at: target.value })}>
      ${places.map((place) => html`<option value=${place}>${label(place)}</option>`)}</select></label>`
}

/** Over the list. */
export function OpinionFilters({ name, batches, only, setOnly, children }) {
  const setKind = ({ target }) => setOnly({ ...only, agreement: target.value })
  return html`<div class="bar">
    <label class="filter"><span>Opinions</span>
      <select value=${only.agreement ?? ''} onChange=${setKind}>
        ${KINDS.map(([kind, words]) => html`<option value=${kind}>${words}</option>`)}</select></label>
    <${Compared} name=${name} batches=${batches} only=${only} setOnly=${setOnly} />
    <span class="space"></span>${children}
  </div>`
}

const COLUMNS = [['n index', '#'], ['status', 'State'], ['worker', 'Who'], ['result', 'Answer']]

/** On the page of a batch. */
export function Opinions({ name, batch, only }) {
  const { opinions } = batch
  const setOnly = (next) => go(link(name, 'batches', batch.id, next))
  const { sides } = groups(opinions)
  const hasNotes = opinions.jobs.some((job) => notes(job).length > 0)
  const columns = hasNotes ? [...COLUMNS, ['notes', 'And']] : COLUMNS
  const isCommon = ({ answer }) => answer !== null && opinions.answers[answer].votes > 1
  const row = (job) => html`<${Row} key=${job.id} href=${link(name, tabOf(job.state), job.id)}>
    <td class="n index"><a href=${link(name, tabOf(job.state), job.id)} title=${job.id}>${
      opinions.jobs.indexOf(job) + 1}</a></td>
    <td class="status"><${State} of=${job.state} /></td>
    <td class="worker">${job.worker || job.answer !== null ? html`<${Who} worker=${job.worker} />` : ''}</td>
    <td class=${classes('result', isCommon(job) && 'common')}>${job.answer !== null
      && html`<bdi>${sides[job.answer].text}</bdi>`}</td>
    ${hasNotes && html`<td class="notes">${notes(job).join(', ')}</td>`}
  <//>`
  return html`<section class="opinions" aria-label="Opinions">
      <h3>Opinions</h3>
      <p><${Verdict} opinions=${opinions} /> <${Parts} opinions=${opinions} /></p>
      <p><${Compared} name=${name} batches=${[batch]} only=${only} setOnly=${setOnly} /></p>
      <${Table} label="opinions" columns=${columns} items=${opinions.jobs} row=${row} />
      <${NoMeasure} />
    </section>
    <${Payload} exact=${opinions.payload} title="What was asked" />`
}
