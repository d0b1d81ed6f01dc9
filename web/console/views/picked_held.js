// What is done to held jobs that are picked, of one queue or of several.

import { html } from '../html.js'
import { releaseAll } from '../actions.js'
import { releasePicked } from '../bulk.js'
import { number } from '../format.js'
import { Button } from '../ui.js'

/** Whose jobs are picked, if they are of one worker with a name who holds several. */
function holderOf(jobs) {
  const names = new Set(jobs.map(({ worker }) => worker))
  return names.size === 1 && jobs.some(({ of }) => of > 1) ? [...names][0] : null
}

/** `queue`: of a list of one queue, where all that a worker holds is released at once. */
export function PickedHeld({ queue, picks, changed }) {
  if (picks.jobs.length === 0) return null
  const holder = queue ? holderOf(picks.jobs) : null
  return html`<div class="bar picked" role="group" aria-label="What is picked">
    <b role="status">${number(picks.jobs.length)} picked</b>
    <${Button} kind="danger" keys="r" label="Release them…" onClick=${() => releasePicked(picks, changed)}>
      Release them…<//>
    ${holder !== null && html`<${Button} kind="danger"
      onClick=${() => releaseAll(queue, holder, () => { picks.none(); changed() })}>Release all of ${holder}…<//>`}
    <${Button} kind="quiet" onClick=${picks.none}>Pick none<//>
  </div>`
}
