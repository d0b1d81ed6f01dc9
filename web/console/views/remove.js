// The end of a queue.

import { html } from '../html.js'
import { forget } from '../actions.js'
import { Button } from '../ui.js'

export const Remove = ({ name }) => html`<section class="result-form" aria-labelledby="remove-queue">
  <h3 id="remove-queue">Remove the queue</h3>
  <p>It must have no job and no batch: remove these first, also those that are completed or cancelled.</p>
  <p class="save"><${Button} kind="danger" onClick=${() => forget(name)}>Remove the queue…<//></p>
</section>`
