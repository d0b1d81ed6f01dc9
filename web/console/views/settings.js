// A queue's settings. Those that this page does not know are there too, by their kind.

import { html, classes, useLayoutEffect, useState } from '../html.js'
import * as api from '../api.js'
import { SUCH_AS, changeText, duration, inUnits, many, readDuration } from '../format.js'
import { again, mayAct } from '../live.js'
import { changed } from '../making.js'
import { Button, ask, say } from '../ui.js'
import { ResultForm } from './form.js'
import { Remove } from './remove.js'
// The service makes it of its own settings.
import { DEFAULTS } from '../words.js'

/** name → [title, what it does]. What holds where nothing is set is the service's to say. */
const KNOWN = {
  lease_ms: ['Lease', 'A worker has this long for a job, and may extend it'],
  max_hold_ms: ['Longest hold', 'No worker keeps a job longer, however often they extend it'],
  warn_ms: ['Warning', 'The worker is warned this long before the time is over'],
  max_attempts: ['Attempts', 'A job is dead after this many attempts that failed or ran out of time'],
  backoff: ['Wait after a failure', 'A job that failed is not handed out again before this time is over'],
  dedupe: ['Add equal jobs once', 'A job that equals one that has not ended is not added a second time'],
  worker_limit: ['Jobs per worker', 'A worker with a name holds at most this many jobs at once'],
  share_drafts: ['Share drafts', 'The next worker of a job sees what the last one had typed'],
  browse: ['Let workers choose', 'Workers list all jobs that they could be given, not only those assigned to them'],
  retention_ms: ['Keep finished jobs for', 'Then completed and cancelled jobs are deleted, with their results'],
  retention_max: ['Finished jobs to keep', 'When there are more completed and cancelled jobs, the oldest are deleted'],
  max_jobs: ['Largest size', 'No job is added while this many are dead or have not ended'],
  sheets: ['Day sheets', 'What each worker does per day is counted; off, all day sheets are removed'],
  sheets_days: ['Days of sheets', 'Older day sheets are removed'],
  time_zone: ['Time zone', 'Its midnight begins a day of the day sheets'],
}
/** The first has a button; the last names the queue's form, which has a part of its own. */
const ELSEWHERE = ['paused', 'result_schema_sha256']
/** What 0 means of these. */
const ZERO = {
  max_hold_ms: 'no limit', max_attempts: 'no limit', worker_limit: 'no limit', max_jobs: 'no limit', warn_ms: 'none',
}

/** Shown next to the number of attempts while there is no pause between them. */
const HASTY = 'Without a wait after a failure, all attempts may be over within a second'

const SAVED = 'The settings are saved.'
const UNREAD = `cannot be read: write it with its unit, ${SUCH_AS}`
const NO_NUMBER = 'cannot be read: write a whole number'
const DAY = 86_400_000

const isDuration = (name) => name.endsWith('_ms')
/** What is typed as a time: one in ms, one in days. */
const isTime = (name) => isDuration(name) || name === 'backoff' || name === 'sheets_days'
function write(name, value) {
  if (value === 0 && ZERO[name]) return ZERO[name]
  return isTime(name) ? duration(name === 'sheets_days' ? value * DAY : value) : String(value)
}

function usually(name, usual) {
  if (usual === null) return 'none'
  if (typeof usual === 'boolean') return usual ? 'on' : 'off'
  return write(name, usual)
}

export const title = (name) => KNOWN[name]?.[0] ?? name.replace(/_ms$/, '').replaceAll('_', ' ')

/** What was typed and is not saved, and what is wrong with it, field by field. */
function useDraft(name, settings) {
  const [draft, setDraft] = useState({})
  const [errors, setErrors] = useState({})
  const undo = () => { setDraft({}); setErrors({}) }
  useLayoutEffect(undo, [name])
  const isNew = (field) => draft[field] === null || !same(read(field, draft[field], settings), settings[field])
  const change = (field, value) => {
    setDraft((last) => ({ ...last, [field]: value }))
    setErrors((last) => ({ ...last, [field]: undefined }))
  }
  /** What was typed while it was sent stays. */
  const saved = (sent) => {
    setDraft((last) => Object.fromEntries(Object.entries(last).filter(([field, value]) => value !== sent[field])))
    setErrors({})
  }
  return { draft, dirty: Object.keys(draft).filter(isNew), change, saved, undo, errors, setErrors }
}

export const Settings = ({ queue }) => html`
  ${mayAct() ? html`<${Form} queue=${queue} />` : html`<${Seen} queue=${queue} />`}
  <${ResultForm} key=${queue.name} queue=${queue} />
  ${mayAct() && html`<${Remove} name=${queue.name} />`}`

/** For who may look and change nothing. */
const Seen = ({ queue: { settings } }) => html`<div class="settings">
  ${Object.keys(settings).filter((field) => !ELSEWHERE.includes(field)).map((field) => html`<div class="field">
    <span>${title(field)}</span><p>${KNOWN[field]?.[1]}</p>
    <div class="value"><b>${describe(field, settings[field])}</b></div></div>`)}
</div>`

export function describe(name, value) {
  if (name !== 'backoff' || value === null) return usually(name, value)
  const longest = value.max_ms ? `, at most ${duration(value.max_ms)}` : ''
  return `${value.type}, ${duration(value.delay_ms)}${longest}`
}

function Form({ queue }) {
  const { name, settings } = queue
  const { draft, dirty, change, saved, undo, errors, setErrors } = useDraft(name, settings)
  const [busy, setBusy] = useState(false)
  const [isSaved, setSaved] = useState(false)
  useLayoutEffect(() => setSaved(false), [name])
  const fields = Object.keys(settings).filter((field) => !ELSEWHERE.includes(field))

  const send = async (patch, create = false) => {
    const answer = await api.configure(name, patch, create)
    again(answer)
    saved(draft)
    setSaved(true)
    return answer
  }
  const save = async (event) => {
    event.preventDefault()
    const patch = Object.fromEntries(dirty.map((field) => [field, read(field, draft[field], settings)]))
    const unread = Object.entries(patch).filter(([, value]) => Number.isNaN(value))
    if (unread.length) {
      return setErrors(Object.fromEntries(unread.map(([field]) => [field, isTime(field) ? UNREAD : NO_NUMBER])))
    }
    if (keepsLess(patch, settings)) return askToKeepLess(name, () => send(patch))
    setBusy(true)
    try {
      const done = changeText(name, SAVED)
      const answer = await changed(name, (create) => send(patch, create), done)
      if (answer) say(done(answer))
    } catch (error) {
      const known = (error.problem?.errors ?? []).map(({ pointer = '', detail }) => {
        const path = pointer.split('/').slice(1)
        return [path[0], isDuration(path.at(-1) ?? '') ? inUnits(detail) : detail]
      }).filter(([field]) => field in settings)
      setErrors(known.length ? Object.fromEntries(known) : { '': error.message })
    }
    setBusy(false)
  }
  const chosen = (field) => (draft[field] === undefined ? settings[field] : read(field, draft[field], settings))
  const hints = chosen('max_attempts') > 1 && chosen('backoff') === null ? { max_attempts: HASTY } : {}
  return html`<form class="settings" onSubmit=${save} novalidate>
    ${fields.map((field) => html`<${Field} key=${field} name=${field} value=${draft[field]} now=${settings[field]}
      error=${errors[field]} hint=${hints[field]} onChange=${(value) => change(field, value)} />`)}
    ${errors[''] && html`<p class="problem" role="alert">${errors['']}</p>`}
    <p class=${classes('save', dirty.length && 'dirty')}>
      <button class="button primary" type="submit" disabled=${busy || dirty.length === 0}>${
        dirty.length ? `Save ${many(dirty.length, 'change')}` : 'Save'}</button>
      ${dirty.length > 0 && html`<${Button} kind="quiet" onClick=${undo}>Undo<//>`}
      <span class="dim" role="status">${isSaved && dirty.length === 0 && 'Saved'}</span>
    </p>
  </form>`
}

function keepsLess(patch, settings) {
  const isLess = (field) => field in patch && (patch[field] ?? DEFAULTS[field]) < settings[field]
  // `false` is less than `true`.
  return ['retention_ms', 'retention_max', 'sheets', 'sheets_days'].some(isLess)
}

function askToKeepLess(name, work) {
  ask({
    title: `Keep less of ${name}?`,
    text: 'Completed and cancelled jobs beyond it are deleted with their results, and day sheets too. '
      + 'This cannot be undone.',
    action: 'Keep less',
    danger: true,
    work,
    done: changeText(name, SAVED),
  })
}

/** `value`: what was typed; `undefined` nothing, `null` back to the default. */
function Field({ name, value, now, error, hint, onChange }) {
  const [, text = ''] = KNOWN[name] ?? []
  const usual = DEFAULTS[name] ?? null
  const shown = value === undefined ? now : value === null ? usual : value
  const isUsual = value === null || (value === undefined && same(now, usual))
  const id = `set-${name}`
  const back = `Back to ${usually(name, usual)}`
  return html`<div class=${classes('field', error && 'bad')}>
    <label for=${id}>${title(name)}</label>
    <p id=${`${id}-about`}>${text}${isTime(name) && html`<span class="dim"> · ${SUCH_AS}</span>`}</p>
    <div class="value"><${Input} id=${id} name=${name} value=${value ?? shown} raw=${typeof value === 'string'}
      kind=${typeof (now ?? usual)} onChange=${onChange} />
      ${!isUsual && name in DEFAULTS && html`<${Button} kind="quiet" label=${`${back}: ${title(name)}`}
        onClick=${() => onChange(null)}>${back}<//>`}
      ${isUsual && html`<span class="dim">default</span>`}
    </div>
    ${hint && html`<p class="hint" role="status">${hint}.</p>`}
    ${error && html`<p class="problem" role="alert">${error}</p>`}
  </div>`
}

function Input({ id, name, value, raw, kind, onChange }) {
  if (name === 'backoff') return html`<${Backoff} id=${id} value=${value} onChange=${onChange} />`
  if (kind === 'boolean') {
    return html`<input id=${id} type="checkbox" checked=${value}
      onChange=${(event) => onChange(event.target.checked)} />`
  }
  const text = raw ? value : write(name, value)
  return html`<input id=${id} type="text" inputmode=${isTime(name) ? 'text' : 'numeric'} value=${text}
    aria-describedby=${`${id}-about`} autocomplete="off" spellcheck=${false}
    onInput=${(event) => onChange(event.target.value)} />`
}

function Backoff({ id, value, onChange }) {
  const set = (part) => onChange({ ...(value ?? { delay_ms: '30 s', max_ms: null }), ...part })
  const kind = ({ target: { value: type } }) => (type === 'none' ? onChange({ type }) : set({ type, max_ms: null }))
  const text = (ms) => (typeof ms === 'number' ? duration(ms) : ms ?? '')
  return html`<span class="backoff"><select id=${id} value=${value?.type ?? 'none'} onChange=${kind}>
      ${['none', 'fixed', 'exponential'].map((type) => html`<option value=${type}>${type}</option>`)}</select>
    ${value && value.type !== 'none' && html`<input type="text" aria-label="Delay" value=${text(value.delay_ms)}
      onInput=${(event) => set({ delay_ms: event.target.value })} />`}
    ${value?.type === 'exponential' && html`<input type="text" aria-label="At most" placeholder="no longest"
      value=${text(value.max_ms)} onInput=${(event) => set({ max_ms: event.target.value || null })} />`}</span>`
}

/** What was typed, as the service takes it; NaN if it cannot be read. */
function read(name, value, settings) {
  if (value === null || typeof value === 'boolean') return value
  if (name === 'backoff') return readBackoff(value)
  if (name in ZERO && ['', 'none', 'no limit'].includes(value.trim().toLowerCase())) return 0
  if (isDuration(name)) return readDuration(value)
  if (name === 'sheets_days') return readDays(value)
  if (typeof settings[name] === 'number') return /^\d+$/.test(value.trim()) ? Number(value) : NaN
  return value
}

/** A number alone is one of days. */
function readDays(text) {
  const days = /^\d+$/.test(text.trim()) ? Number(text) : readDuration(text) / DAY
  return Number.isInteger(days) ? days : NaN
}

function readBackoff({ type, delay_ms: delay, max_ms: longest }) {
  if (type === 'none') return null
  const ms = (part) => (typeof part === 'string' ? readDuration(part) : part)
  const max = type === 'exponential' && longest ? { max_ms: ms(longest) } : {}
  const read = { type, delay_ms: ms(delay ?? '30 s'), ...max }
  return Object.values(read).some(Number.isNaN) ? NaN : read
}

function same(a, b) {
  const isThing = (part) => part && typeof part === 'object'
  const whole = (value) => (isThing(value) ? { max_ms: null, ...value } : value ?? null)
  const inOrder = (_, part) => (isThing(part) ? Object.fromEntries(Object.entries(part).sort()) : part)
  const text = (value) => JSON.stringify(whole(value), inOrder)
  return text(a) === text(b)
}
