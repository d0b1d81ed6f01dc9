// What several people say of the same item, in words. Which answers are equal is what the service says.

import { membersOf, step } from './columns.js'
import { brief } from './exact_json.js'
import { many } from './format.js'

/** The longest answer that is taken apart. */
const MAX_READ = 4_000
/** How many places can be compared are offered. */
const MAX_PLACES = 20
/** Signs of an answer in a row, and of each member of it. */
const LONG = 60
const MEMBER = 30
/** A text that begins so would be taken for another value without its quotes. */
const LIKE_JSON = /^(?:[-\d[{"\s]|(?:true|false|null)$|$)/

const cut = (text, length) => (text.length > length ? `${text.slice(0, length)}…` : text)
const membersIf = (exact) => (exact.text.length <= MAX_READ ? membersOf(exact) : null)

/**
 * An answer in a few words: a text without its quotes, an object by its members. A single member needs no name, unless
 * it `isNamed`.
 */
export function short(exact, length = LONG, isNamed = false) {
  if (exact.text.length > MAX_READ) return brief(exact, length)
  if (exact.text.startsWith('"')) {
    const text = JSON.parse(exact.text).replace(/\s+/g, ' ')
    return LIKE_JSON.test(text) ? brief(exact, length) : cut(text, length)
  }
  const members = membersIf(exact)
  if (!members?.size) return brief(exact, length)
  const all = [...members]
  if (all.length === 1 && !isNamed) return short(all[0][1], length)
  return cut(all.map(([name, value]) => `${name}: ${short(value, MEMBER)}`).join(', '), length)
}

/** Among these answers is one of several members: then the others are named too. */
const isNamed = ({ answers }) => answers.some(({ value }) => membersIf(value)?.size > 1)

const given = ({ answers }) => answers.reduce((sum, { votes }) => sum + votes, 0)

/** "2 of 3: fine" */
export function verdict(opinions) {
  const { answers, jobs } = opinions
  const [first, second] = answers
  const named = isNamed(opinions)
  if (!first) return `0 of ${jobs.length} answered`
  if (first.votes !== second?.votes) return `${first.votes} of ${jobs.length}: ${short(first.value, LONG, named)}`
  if (first.votes === 1) return `${given(opinions)} of ${jobs.length} answered, no two agree`
  const tied = answers.filter(({ votes }) => votes === first.votes)
  return `${first.votes} of ${jobs.length} each: ${tied.map(({ value }) => short(value, MEMBER, named)).join(' / ')}`
}

/** The last step of a pointer, in words. */
export const placeName = (pointer) => (
  pointer.slice(pointer.lastIndexOf('/') + 1).replaceAll('~1', '/').replaceAll('~0', '~'))

/** Where answers of several members differ in some: the members that are the same, and the names of the others. */
export function parts({ answers, differs }) {
  if (!differs.length || !isNamed({ answers })) return { same: [], others: [] }
  const others = differs.map(placeName)
  const members = [...(membersIf(answers[0].value) ?? [])].filter(([name]) => !others.includes(name))
  // The service names so many: what comes after may differ too.
  const same = others.length < 50 ? members.map(([name, value]) => `${name}: ${short(value, MEMBER)}`) : []
  return { same, others }
}

/** What a job without an answer is. */
const condition = ({ state, undoable }) => {
  if (undoable) return 'closing'
  if (state === 'completed') return 'without an answer'
  return state === 'reserved' ? 'held' : state
}

/** The jobs by their answers, `[{text, jobs}]`, and how many of the others are what: "1 waiting". */
export function groups({ answers, jobs }) {
  const named = isNamed({ answers })
  const sides = answers.map(({ value }, at) => (
    { text: short(value, LONG, named), jobs: jobs.filter(({ answer }) => answer === at) }))
  const counts = new Map()
  for (const job of jobs.filter(({ answer }) => answer === null)) {
    counts.set(condition(job), (counts.get(condition(job)) ?? 0) + 1)
  }
  return { sides, others: [...counts].map(([what, n]) => `${n} ${what}`) }
}

/** What happened to a job besides its state. `skipped_by` has no names for a viewer. */
export function notes({ late, undoable, skipped_by: skips, counts }) {
  const names = skips.filter((name) => name !== null)
  const skipped = names.length < skips.length ? `skipped by ${skips.length}` : `skipped by ${names.join(', ')}`
  const back = counts.abandoned - skips.length
  return [
    late && 'late',
    undoable && 'can be taken back',
    skips.length > 0 && skipped,
    back > 0 && `given back ${many(back, 'time')}`,
    counts.failed > 0 && `failed ${many(counts.failed, 'time')}`,
    counts.expired > 0 && `ran out of time ${many(counts.expired, 'time')}`,
  ].filter(Boolean)
}

/** The pointers to the members of the answers: what may be compared instead of them. */
export function placesOf(batches, at) {
  const found = new Set()
  for (const { opinions } of batches) {
    for (const { value } of opinions?.answers ?? []) {
      for (const name of membersIf(value)?.keys() ?? []) {
        if (found.size < MAX_PLACES) found.add(`${at}/${step(name)}`)
      }
    }
  }
  return [...found]
}
