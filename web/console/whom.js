// Who may have a job: the fields, for one job, for those that are picked, and for a new one.

import { html } from './html.js'
import * as api from './api.js'
import { onPicked } from './bulk.js'
import { Chips, chips, namesOf } from './chips.js'
import { SUCH_AS, duration, many, readDuration, tail } from './format.js'
import { again } from './live.js'
import { recentOf, requireSeen, useRecent } from './recent.js'
import { ask } from './ui.js'

export const MAX_ASSIGNEES = 8
const MAX_EXCLUDED = 16
export const ASSIGNEES_RULE = `A job is for at most ${MAX_ASSIGNEES} workers`
export const SKILL_RULE = 'A job asks for one skill'

export const EVERYBODY = { assignees: chips([]), skill: chips([]), excluded: chips([]), fallback: '' }

/** `rule`: the sentence that says how many there may be, without its end. */
export function atMost(max, names, rule) {
  if (names.length > max) throw new Error(`${rule}; these are ${names.length}.`)
  return names
}

/** What was typed, as the service takes it; `null` for an empty field. Throws what is wrong with it, in a sentence. */
export function readWhom({ assignees, skill, excluded, fallback }) {
  const some = (names) => (names.length > 0 ? names : null)
  const ms = fallback.trim() ? readDuration(fallback) : null
  if (Number.isNaN(ms)) throw new Error(`A time is written with its unit, ${SUCH_AS}.`)
  return {
    assignees: some(atMost(MAX_ASSIGNEES, namesOf(assignees), ASSIGNEES_RULE)),
    skill: atMost(1, namesOf(skill), SKILL_RULE)[0] ?? null,
    excluded: some(atMost(MAX_EXCLUDED, namesOf(excluded), `A job excludes at most ${MAX_EXCLUDED} workers`)),
    fallback_ms: ms,
  }
}

const isSet = ([, value]) => value !== null

/** Only what was typed. */
export const given = (value) => Object.fromEntries(Object.entries(readWhom(value)).filter(isSet))

/** The names and skills in a change. */
export const namedIn = ({ assignees, excluded, skill }) => ({
  names: [...assignees ?? [], ...excluded ?? []], skills: skill ? [skill] : [],
})

/** What a job has already was chosen before. */
const without = (named, known) => ({
  names: named.names.filter((name) => !known.names.includes(name)),
  skills: named.skills.filter((skill) => !known.skills.includes(skill)),
})

const valueOf = ({ assignees, skill, excluded, fallback_ms: ms }) => ({
  assignees: chips(assignees ?? []), skill: chips(skill ? [skill] : []), excluded: chips(excluded ?? []),
  fallback: ms ? duration(ms) : '',
})

/** `what.recent`: whom the queue knows; `what.isFirst`: whether the first field has the focus. */
export function WhomFields({ what: { recent, isFirst, hint = 'everybody' }, value, onChange }) {
  const { names, skills } = useRecent(recent)
  const set = (name) => (part) => onChange({ ...value, [name]: part })
  const field = (name, label, known, rest) => html`<${Chips} id=${`whom-${name}`} label=${label} known=${known}
    value=${value[name]} onChange=${set(name)} ...${rest} />`
  return html`
    ${field('assignees', 'Only these workers', names, { hint, isFirst })}
    ${field('skill', 'Who has the skill', skills)}
    ${field('excluded', 'Never these workers', names)}
    <label>For everybody after, such as 15 min
      <input value=${value.fallback} autocomplete="off" spellcheck=${false}
        onInput=${({ target }) => set('fallback')(target.value)} /></label>
    <p class="hint">A comma or Enter ends a name; one with a comma in it stands in quotes.</p>`
}

const Form = ({ what, ...rest }) => html`<${WhomFields} what=${{ ...what, isFirst: true }} ...${rest} />`

const isEqual = (one, other) => JSON.stringify(one) === JSON.stringify(other)

export function forWhom(job, changed) {
  const recent = recentOf(job.queue)
  const { assignees, excluded, skill, fallback_ms: ms } = job
  const before = { assignees, excluded, skill, fallback_ms: ms }
  ask({
    title: `Who may have job ${tail(job.id)}?`,
    text: `It keeps its place${job.reserved ? ', and its holder keeps it until it comes back' : ''}.${
      job.handed_to ? ' Other workers or another skill end the hand-over.' : ''}`,
    action: 'Save',
    form: Form,
    recent,
    value: valueOf(job),
    work: async (tell, value, confirmed) => {
      const parts = Object.entries(readWhom(value)).filter(([name, part]) => !isEqual(part, before[name] ?? null))
      if (parts.length === 0) throw new Error('Nothing is changed.')
      const changes = Object.fromEntries(parts)
      await requireSeen(recent, without(namedIn(changes), namedIn(before)), confirmed, tell)
      await api.change(job.id, changes)
      again()
      changed()
    },
    done: `It is changed who may have job ${tail(job.id)}.`,
  })
}

/** An empty field leaves what a job has, unless it is chosen that it goes. */
function PickedForm({ what, value, onChange }) {
  return html`<${Form} what=${{ ...what, hint: '' }} value=${value} onChange=${onChange} />
    <label class="check"><input type="checkbox" checked=${value.clears}
      onChange=${({ target }) => onChange({ ...value, clears: target.checked })} />
      Take away what is empty here; otherwise each job keeps its own</label>`
}

export function forWhomPicked(queue, picks, changed) {
  const recent = recentOf(queue)
  onPicked(picks, changed, {
    title: `Who may have ${many(picks.jobs.length, 'job')}?`,
    text: 'They keep their places. What is typed takes the place of what each job has.',
    action: 'Save',
    form: PickedForm,
    recent,
    value: { ...EVERYBODY, clears: false },
    what: 'changed',
    prepare: async (value, confirmed, tell) => {
      const changes = value.clears ? readWhom(value) : given(value)
      if (Object.keys(changes).length === 0) throw new Error('Nothing is typed.')
      await requireSeen(recent, namedIn(changes), confirmed, tell)
      return changes
    },
    act: async ({ id }, changes) => { await api.change(id, changes) },
  })
}
