// A worker's name is taken out of all that the service keeps, unless they have a job in hand.

import { html, useState } from './html.js'
import * as api from './api.js'
import { many, number, tail } from './format.js'
import { again, mayAct } from './live.js'
import { link } from './router.js'
import { visible } from './shown.js'
import { Button, ask } from './ui.js'

/** So many jobs in hand are named, and looked for in so many pages of queues. */
const MAX_NAMED = 20
const MAX_PAGES = 32

const About = () => html`The name goes out of all queues of your key: out of jobs, reasons, notes, drafts, day sheets,
  waiting deliveries and the list of what operators did. Results, times and counts stay, as the work of a worker without
  a name. A job for them alone becomes everybody's: reassign those first. This cannot be undone.${' '}
  <a href="../docs/personal-data">What is removed, and what stays</a>`

/** What is typed first: the name, unless it has characters that are not seen, or blanks that a page joins. */
const typedFor = (name) => (visible(name) === name && !name.includes('  ') ? name : 'erase')

/** What the worker holds, or has completed and can take back. */
async function inHand(name) {
  const found = []
  for (let n = 0, after; n < MAX_PAGES && after !== null && found.length < MAX_NAMED; n += 1) {
    const { holds, ended, next } = await api.worker(name, { after })
    const closing = ended.filter(({ type }) => type === 'closing')
    found.push(...holds, ...closing.map(({ queue, job: id }) => ({ queue, id, isClosing: true })))
    after = next
  }
  return found.slice(0, MAX_NAMED)
}

const InHand = ({ jobs }) => html`<ul>${jobs.map(({ queue, id, isClosing }) => html`<li key=${id}>
  <a href=${link(queue, 'held', id)}>${queue} ${tail(id)}</a>${
    isClosing && ', which can be taken back'}</li>`)}</ul>`

const outcome = (name, { jobs, removed, deliveries }, isDone) => [
  `${many(jobs, 'job')}, ${many(removed, 'line')} of day sheets and ${many(deliveries, 'delivery', 'deliveries')} `,
  `no longer name ${name}. `,
  isDone ? 'Events that do go within ten minutes.' : 'There is more: erase the name again.',
].join('')

function erase(name, changed, report) {
  // A second confirmation goes on, and counts on.
  const sum = { jobs: 0, removed: 0, deliveries: 0 }
  ask({
    title: `Erase the name ${name}?`,
    text: html`<${About} />`,
    action: 'Erase the name',
    danger: true,
    typed: typedFor(name),
    work: async (tell) => {
      try {
        return await api.erase(name, sum, (jobs, waits) => tell(`${number(jobs)} jobs…`, waits))
      } catch (error) {
        const jobs = error.status === 409 ? await inHand(name).catch(() => []) : []
        throw Object.assign(error, { more: jobs.length > 0 && html`<${InHand} jobs=${jobs} />` })
      } finally {
        again()
        changed()
      }
    },
    done: (isDone) => {
      const text = outcome(name, sum, isDone)
      report(text)
      return text
    },
  })
}

/** At the end of the worker's page. */
export function Erase({ name, changed }) {
  const [report, setReport] = useState('')
  if (!mayAct()) return null
  return html`<section class="leaver" aria-labelledby="leaver">
    <h2 id="leaver">When someone leaves</h2>
    <p>Release what they hold and reassign what waits for them. Then their name can be erased.</p>
    ${report && html`<p>${report}</p>`}
    <p><${Button} kind="danger" onClick=${() => erase(name, changed, setReport)}>Erase the name…<//></p>
  </section>`
}
