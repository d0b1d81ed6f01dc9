// What waits for a worker or a skill is given to others, or to everybody.

import { html } from './html.js'
import * as api from './api.js'
import { each, outcome } from './bulk.js'
import { Chips, chips, namesOf } from './chips.js'
import { many } from './format.js'
import { again } from './live.js'
import { recentOf, requireSeen, useRecent } from './recent.js'
import { ask } from './ui.js'
import { ASSIGNEES_RULE, MAX_ASSIGNEES, SKILL_RULE, atMost } from './whom.js'

/** Jobs on a page of a line. */
const PAGE = 100

const KINDS = {
  '@': {
    text: (from, queue) =>
      `The jobs of ${queue} that wait for ${from} keep their places. What ${from} holds stays: release it first.`,
    label: 'To whom',
    none: 'Only take the name away: a job without another name is everybody\'s, or needs its skill',
    missing: 'Type a name, or tick the box below.',
    read: (names) => atMost(MAX_ASSIGNEES, names, ASSIGNEES_RULE),
    named: (names) => ({ names }),
    send: api.reassign,
    done: ({ changed: n, refused }) => `${many(n, 'job')} reassigned${
      refused ? `; ${many(refused, 'job')} left, because the new names are excluded from them` : ''}.`,
  },
  '+': {
    text: (from, queue) =>
      `The jobs of ${queue} that wait for the skill ${from} get another one, and keep their places. A hand-over ends.`,
    label: 'To those with the skill',
    none: 'Only take the skill away: a job without names is everybody\'s',
    missing: 'Type a skill, or tick the box below.',
    read: (skills) => atMost(1, skills, SKILL_RULE),
    named: (skills) => ({ skills }),
    send: (queue, from, to, tell) => changeSkill(queue, `+${from}`, to?.[0] ?? null, tell),
    done: (result) => outcome(result, 'reassigned'),
  },
}

/** The service reassigns workers; a skill is changed job by job, page by page. */
async function changeSkill(queue, line, skill, tell) {
  const result = { done: 0, skipped: new Map() }
  const heard = (_, waits) => tell(result.done, waits)
  for (let after; after !== null;) {
    const page = await api.jobs(queue, { state: 'waiting', line, limit: PAGE, after })
    const part = await each(page.jobs, ({ id }) => api.change(id, { skill }).then(() => ''), heard, () => {})
    result.done += part.done
    for (const [why, n] of part.skipped) result.skipped.set(why, (result.skipped.get(why) ?? 0) + n)
    after = tell(result.done) === false ? null : page.next
  }
  return result
}

/** `line`: as the service writes it, `@` and a name, or `+` and a skill. */
export function reassign(queue, line, changed) {
  const [kind, from, recent] = [KINDS[line[0]], line.slice(1), recentOf(queue)]
  ask({
    title: `Reassign what waits for ${line[0] === '+' ? 'the skill ' : ''}${from}?`,
    text: kind.text(from, queue),
    action: 'Reassign',
    form: ReassignForm,
    kind,
    recent,
    value: { to: chips([]), isForAll: false },
    work: async (tell, { to, isForAll }, confirmed) => {
      const names = isForAll ? null : kind.read(namesOf(to))
      if (names?.length === 0) throw new Error(kind.missing)
      await requireSeen(recent, kind.named(names ?? []), confirmed, tell)
      try {
        return await kind.send(queue, from, names, (done, waits) => tell(`${done}…`, waits))
      } finally {
        again()
        changed?.()
      }
    },
    done: kind.done,
  })
}

function ReassignForm({ what: { kind, recent }, value, onChange }) {
  const known = useRecent(recent)
  return html`
    <${Chips} id="reassign-to" label=${kind.label} isFirst known=${kind === KINDS['@'] ? known.names : known.skills}
      value=${value.to} isOff=${value.isForAll} onChange=${(to) => onChange({ ...value, to })} />
    <label class="check"><input type="checkbox" checked=${value.isForAll}
      onChange=${({ target }) => onChange({ ...value, isForAll: target.checked })} /> ${kind.none}</label>`
}
