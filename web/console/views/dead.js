// The dead jobs of all queues, by their last error.

import { html, useAnswer, useEffect } from '../html.js'
import * as bulk from '../bulk.js'
import { MAX_OF_A_QUEUE, commonPart, load, titleOf } from '../deaths.js'
import { many, number } from '../format.js'
import { Row, Table } from '../list.js'
import { link } from '../router.js'
import { Act, Ago, Button, Empty, Missing, Waiting } from '../ui.js'

/** How many are read again after each change; beyond that a button reads them again. */
const LITTLE = 1_000

const COLUMNS = [
  ['error', 'Last error'], ['queue', 'Queue'], ['n jobs', 'Jobs'], ['n age', 'Newest'],
  ['do', html`<span class="unseen">Actions</span>`],
]

export function Dead({ queues }) {
  const answer = useAnswer((signal) => load(queues ?? [], signal), [queues === null])
  const dead = (queues ?? []).map(({ name, counts }) => `${name} ${counts.dead}`).join()
  const total = (queues ?? []).reduce((sum, { counts }) => sum + counts.dead, 0)
  useEffect(() => { if (answer.at && total <= LITTLE) answer.reload() }, [dead])
  if (!queues) return html`<main class="page"><${Waiting} rows=${8} /></main>`
  return html`<main class="page">
    <div class="bar"><h1>Dead jobs by error</h1><span>${total > 0 && `${many(total, 'job')} of all queues`}</span>
      <span class="space"></span>
      ${total > LITTLE && html`<${Button} onClick=${answer.reload}>Read again<//>`}</div>
    <${Missing} answer=${answer}>${({ groups, parts }) => html`
      ${parts.length > 0 && html`<p class="stale" role="status">The counts are of the first ${
        number(MAX_OF_A_QUEUE)} dead jobs of a queue at most: ${parts.map(({ name, dead: all, read }) =>
        `${number(read)} of ${number(all)} in ${name}`).join(', ')}.</p>`}
      <${Table} label="dead jobs by error" columns=${COLUMNS} items=${groups} id=${({ key }) => key}
        row=${(group, fresh) => html`<${Group} key=${group.key} group=${group} fresh=${fresh}
          changed=${answer.reload} />`}
        empty=${html`<${Empty} title="Nothing has died">
          A job lands here when it has failed as often as its queue allows.<//>`} />`}
    <//>
  </main>`
}

function Group({ group, fresh, changed }) {
  const { queue, jobs, newest } = group
  const error = commonPart(group)
  const href = link(queue, 'dead', null, { error })
  return html`<${Row} href=${href} fresh=${fresh}>
    <td class="error"><a href=${href}><bdi>${titleOf(group)}</bdi></a></td>
    <td class="queue"><a href=${link(queue, 'dead')}><bdi>${queue}</bdi></a></td>
    <td class="n jobs" data-title="jobs">${number(jobs.length)}</td>
    <td class="n age"><${Ago} at=${newest} /></td>
    <td class="do always"><${Act} kind="row" keys="u" label=${`Requeue ${many(jobs.length, 'job')} of ${queue}`}
      onClick=${() => bulk.requeueGroup(queue, titleOf(group), jobs, changed)}>Requeue ${number(jobs.length)}<//></td>
  <//>`
}
