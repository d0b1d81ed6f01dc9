// Who may have a job, and what comes next: the end of a hand-over, or the fallback.

import { html, useSecondTick } from '../html.js'
import { now } from '../api.js'
import { countdown, duration } from '../format.js'
import { Name } from '../name.js'
import { link } from '../router.js'

/** The lines that a job waits in, or would; none: it is everybody's. */
export function linesOf({ assignees, skill, handed_to: to }) {
  if (to) return [to.worker === null ? `+${to.skill}` : `@${to.worker}`]
  if (assignees) return assignees.map((name) => `@${name}`)
  return skill === null || skill === undefined ? [] : [`+${skill}`]
}

export const Lines = ({ of }) => of.map((line) => html`<bdi class="chip line" key=${line}>${line}</bdi> `)

const Names = ({ of }) => of.map((name) => html`<span class="chip" key=${name}><${Name} worker=${name} /></span>`)

/** 4:12, as long as there is time. */
function In({ at }) {
  useSecondTick()
  const left = Date.parse(at) - now()
  return html`<time datetime=${at} title=${at}>${left > 0 ? `in ${countdown(left)}` : 'due'}</time>`
}

/** It counts from when the job is ready, which a delayed one is not yet. */
function Fallback({ job: { fallback_ms: ms, fallback_at: at, assignees, skill, excluded } }) {
  if (!ms || !(assignees || skill)) return null
  const rest = excluded ? 'then for everybody but those' : 'then for everybody'
  return html`<dt>Fallback</dt><dd>${at
    ? html`<${In} at=${at} />, ${rest}` : `${duration(ms)} after it is ready, ${rest}`}</dd>`
}

export function ForWhom({ job }) {
  const { assignees, excluded, skill, handed_to: to } = job
  if (!assignees && !excluded && !skill && !to) return null
  return html`<section><h3>For whom</h3><dl>
    ${to && html`<dt>Handed to</dt><dd><${Lines} of=${linesOf(job)} /> by <${Name} worker=${to.from} /></dd>
      <dt>Until</dt><dd><${In} at=${to.until} />, then as before</dd>`}
    ${assignees && html`<dt>Only</dt><dd class="chips"><${Names} of=${assignees} /></dd>`}
    ${skill && html`<dt>Skill</dt><dd><bdi class="chip">${skill}</bdi></dd>`}
    ${excluded && html`<dt>Never</dt><dd class="chips"><${Names} of=${excluded} /></dd>`}
    <${Fallback} job=${job} />
    ${job.state === 'waiting' && linesOf(job).length > 0 && html`<dt>Waits in</dt><dd>${linesOf(job).map((line) => html`
      <a key=${line} href=${link(job.queue, 'waiting', job.id, { line })}><bdi>${line}</bdi></a> `)}</dd>`}
  </dl></section>`
}
