// A worker's name.

import { html } from './html.js'
import { workerLink } from './router.js'

/** Leads to what they hold and have done; a note if there is none. */
export const Name = ({ worker }) => (worker === null ? html`<em>no name</em>`
  : html`<a href=${workerLink(worker)}><bdi>${worker}</bdi></a>`)
