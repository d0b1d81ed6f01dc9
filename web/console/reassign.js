// What waits for a worker is given to others, or to everybody.

import { html } from './html.js'
import * as api from './api.js'
import { many } from './format.js'
import { again } from './live.js'
import { ask } from './ui.js'

const MAX = 8

/** One a line: a name may have a comma in it. */
const namesOf = (text) => [...new Set(text.split('\n').map((name) => name.trim()).filter(Boolean))]

function readTo({ names, isForAll }) {
  if (isForAll) return null
  const to = namesOf(names)
  if (to.length === 0) throw new Error('Type a name, or tick the box below.')
  if (to.length > MAX) throw new Error(`A job is for at most ${MAX} workers; these are ${to.length}.`)
  return to
}

export function reassign(queue, from, changed) {
  ask({
    title: `Reassign what waits for ${from}?`,
    text: `The jobs of ${queue} that wait for ${from} keep their places. What ${from} holds stays: release it first.`,
    action: 'Reassign',
    form: ReassignForm,
    value: { names: '', isForAll: false },
    work: async (tell, value) => {
      const to = readTo(value)
      try {
        return await api.reassign(queue, from, to, (done, waits) => tell(`${done}…`, waits))
      } finally {
        again()
        changed?.()
      }
    },
    done: ({ changed: n, refused }) => `${many(n, 'job')} reassigned${
      refused ? `; ${many(refused, 'job')} left, because the new names are excluded from them` : ''}.`,
  })
}

function ReassignForm({ value, onChange }) {
  const set = (name, kind) => (event) => onChange({ ...value, [name]: event.target[kind] })
  return html`
    <label>To, one name a line
      <textarea rows="3" autofocus spellcheck=${false} autocomplete="off" disabled=${value.isForAll}
        value=${value.names} onInput=${set('names', 'value')} /></label>
    <label class="check"><input type="checkbox" checked=${value.isForAll} onChange=${set('isForAll', 'checked')} />
      Only take the name away: a job without another name is everybody's, or needs its skill</label>`
}
