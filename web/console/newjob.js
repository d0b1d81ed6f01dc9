// A job that an operator makes by hand: of a payload that is typed, or of that of a job that has ended.

import { html, useState } from './html.js'
import * as api from './api.js'
import { pretty } from './exact_json.js'
import { tail } from './format.js'
import { again, live } from './live.js'
import { isUnknownQueue } from './making.js'
import { go, link } from './router.js'
import { recentOf, requireSeen } from './recent.js'
import { ask } from './ui.js'
import { EVERYBODY, WhomFields, given, namedIn } from './whom.js'

/** Unsent texts by queue or job, because dialogs are closed by accident. */
const drafts = new Map()
live.subscribe(({ access }) => { if (access === 'needed' || access === 'refused') drafts.clear() })

/** The error of a text as JSON, in a sentence; nothing if it is valid. */
export function jsonProblem(text) {
  if (!text.trim()) return 'A job needs a payload. It may be any JSON, such as {"photo": 17}.'
  try {
    JSON.parse(text)
    return ''
  } catch (error) {
    return `The payload is not JSON: ${error.message}`
  }
}

/** The same body again, after an answer that was lost, makes no second job. */
function idempotencyKeys() {
  let body, key
  return (text) => {
    if (text !== body) {
      body = text
      key = `console-${[...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join('-')}`
    }
    return key
  }
}

/** `more`: the job's other fields; the payload is sent as typed. */
async function send(payload, more, keyOf, isMade) {
  const problem = jsonProblem(payload)
  if (problem) throw new Error(problem)
  const text = `${JSON.stringify(more).slice(0, -1)},"payload":${payload.trim()}}`
  const answer = await api.enqueue(text, keyOf(text), isMade).catch((error) => {
    if (!isUnknownQueue(error)) throw error
    throw new Error(`Nothing was added: there is no queue ${more.queue}. Correct the name, or choose to make it.`)
  })
  if (answer.duplicate) {
    throw new Error(`Nothing was added: job ${tail(answer.id)} is equal and has not ended. `
      + 'Change the payload, or choose to add it all the same.')
  }
  return answer.id
}

function askFor(draft, value, { work, ...question }) {
  const keyOf = idempotencyKeys()
  ask({
    ...question,
    form: JobForm,
    value: { ...value, ...drafts.get(draft) },
    onChange: (typed) => drafts.set(draft, typed),
    work: async (tell, typed, confirmed) => {
      const { payload, priority, client, isTwin, whom } = typed
      const rights = given(whom)
      await requireSeen(question.recent ?? recentOf(typed.queue), namedIn(rights), confirmed, tell)
      const others = { ...(client && { client }), ...(isTwin && { dedupe: false }) }
      const more = { priority: Number(priority), ...others, ...rights }
      const isMade = !question.asksQueue || typed.isMade
      const answer = await work((rest) => send(payload, { ...more, ...rest }, keyOf, isMade), typed, tell)
      drafts.delete(draft)
      again()
      return answer
    },
  })
}

/** `queue`: its name; without one it is asked for. */
export const addJob = (queue) => askFor(`queue ${queue ?? ''}`, {
  queue, payload: '', priority: '50', client: '', isTwin: false, whom: EVERYBODY,
  isMade: live.get().queues?.length === 0,
}, {
  recent: queue && recentOf(queue),
  title: queue ? `Add a job to ${queue}` : 'Add a job',
  asksQueue: !queue,
  text: 'It is put in line like any other job.',
  action: 'Add the job',
  work: (put, typed) => put({ queue: typed.queue }),
  done: (id) => `Job ${tail(id)} is added.`,
})

const NOT_COPIED = { batch: 'It is not in the batch of the old one.' }

export function runAgain(job) {
  const { id, queue, state, locks, lease_ms, max_attempts, backoff } = job
  const isDead = state === 'dead'
  const copied = {
    ...(locks.length && { locks }), ...(lease_ms && { lease_ms }), ...(max_attempts !== null && { max_attempts }),
    ...(backoff && { backoff: Object.fromEntries(Object.entries(backoff).filter(([, part]) => part !== null)) }),
  }
  askFor(`job ${id}`, {
    queue, payload: pretty(job.payload, false), priority: String(job.priority), client: job.client ?? '', isTwin: false,
    isWithdrawn: false, whom: EVERYBODY,
  }, {
    recent: recentOf(queue),
    title: `Run job ${tail(id)} again with another payload`,
    isDead,
    text: ['This makes a new job with an id of its own. The old one stays as it is',
      isDead ? ', unless you withdraw it below.' : '.', job.batch ? ` ${NOT_COPIED.batch}` : ''].join(''),
    action: 'Add the new job',
    work: async (put, { isWithdrawn }, tell) => {
      const made = await put({ queue, ...copied })
      if (tell('…') === false) return { made, isWithdrawn, problem: 'you stopped before it was withdrawn.' }
      // A failure here is reported; the new job exists and is not made again.
      const problem = isWithdrawn ? await api.cancel(id, false).then(() => '', ({ message }) => message) : ''
      go(link(queue, 'waiting', made))
      return { made, isWithdrawn, problem }
    },
    done: ({ made, isWithdrawn, problem }) => [`New job ${tail(made)} is added.`,
      isWithdrawn && (problem ? `Job ${tail(id)} is still there: ${problem}` : `Job ${tail(id)} is withdrawn.`)]
      .filter(Boolean).join(' '),
  })
}

function JobForm({ what, value, onChange }) {
  const [isLeft, setLeft] = useState(false)
  const set = (name, kind = 'value') => (event) => onChange({ ...value, [name]: event.target[kind] })
  // Only marked: a line of words would move the button away from under the press that leaves the field.
  const isWrong = isLeft && Boolean(jsonProblem(value.payload))
  return html`
    ${what.asksQueue && html`<label>Queue
      <input value=${value.queue ?? ''} required autofocus autocomplete="off" spellcheck=${false}
        onInput=${set('queue')} /></label>
      <label class="check"><input type="checkbox" checked=${value.isMade} onChange=${set('isMade', 'checked')} />
        Make it if there is none of this name</label>`}
    <label>Payload, as JSON
      <textarea rows="10" required autofocus spellcheck=${false} autocomplete="off" aria-invalid=${isWrong}
        value=${value.payload} onInput=${set('payload')}
        onBlur=${() => setLeft(true)} /></label>
    <div class="pair">
      <label>Priority, 0 is first
        <input type="number" min="0" max="99" required value=${value.priority} onInput=${set('priority')} /></label>
      <label>Client, may be empty
        <input value=${value.client} autocomplete="off" spellcheck=${false} onInput=${set('client')} /></label></div>
    ${what.isDead && html`<label class="check"><input type="checkbox" checked=${value.isWithdrawn}
      onChange=${set('isWithdrawn', 'checked')} /> Withdraw the old job</label>`}
    <details><summary>For whom</summary>
      <${WhomFields} what=${what} value=${value.whom} onChange=${(whom) => onChange({ ...value, whom })} /></details>
    <label class="check"><input type="checkbox" checked=${value.isTwin} onChange=${set('isTwin', 'checked')} />
      Add it even if an equal job has not ended</label>`
}
