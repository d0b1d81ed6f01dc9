// Which locks are held, by whom, and how many jobs wait for each.

import { html } from '../html.js'
import * as api from '../api.js'
import { tail } from '../format.js'
import { List, Row, usePages } from '../list.js'
import { link } from '../router.js'
import { Ago, Empty, Left, Name } from '../ui.js'

const MET = 'Those who have been met in line while it was held; the others count as waiting until then'
const COLUMNS = [
  ['lock', 'Lock'], ['n waiters', html`<span title=${MET}>Blocked by it</span>`], ['worker', 'Held by'], ['id', 'Job'],
  ['n age', 'For'], ['lease', 'Time left'],
]

export function Locks({ name, selected }) {
  const pages = usePages((page, signal) => api.locks(name, { limit: 50, ...page }, signal), [name], name)
  const row = (lock, fresh) => html`<${Row} key=${lock.lock} href=${link(name, 'locks', lock.id)}
      selected=${lock.id === selected} fresh=${fresh}>
    <td class="lock"><bdi class="chip lock">${lock.lock}</bdi></td>
    <td class="n waiters" data-title="blocked by it">${lock.blocked}</td>
    <td class="worker"><${Name} worker=${lock.worker} /></td>
    <td class="id"><a href=${link(name, 'locks', lock.id)} title=${lock.id}>${tail(lock.id)}</a></td>
    <td class="n age"><${Ago} at=${lock.reserved_at} /></td>
    <td class="lease"><${Left} until=${lock.expires_at} since=${lock.reserved_at} /></td>
  <//>`
  return html`<${List} label="locks" columns=${COLUMNS} pages=${pages} items=${(data) => data.locks}
    id=${(lock) => lock.lock} row=${row} empty=${html`<${Empty} title="No lock is held">
      A lock is held exactly as long as the job that needs it.<//>`} />`
}
