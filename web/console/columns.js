// The columns that a table of jobs may have: what each job has, and each member of the payloads and of the results.

import { Exact } from './exact_json.js'
import { JSON_TOKEN } from './json_text.js'

/** How many members of the payloads, and of the results, may be columns. */
export const MAX_MEMBERS = 50
/** How many different ones are counted. */
const MAX_COUNTED = 10_000

const OWN = [
  'id', 'queue', 'state', 'priority', 'client', 'batch', 'attempts', 'enqueued_at', 'due_at', 'ended_at', 'worker',
  'error',
]
export const PARTS = ['payload', 'result']

const lastError = ({ errors }) => errors.toSorted((a, b) => (a.at < b.at ? 1 : -1))[0]?.error
const lastWorker = ({ reserved, completed, died }) => (reserved ?? completed ?? died)?.worker
const OF = { worker: lastWorker, error: lastError }

/** The members of an object by their names; the last of one name counts. `null`: it is no object. */
export function membersOf({ text }) {
  const found = new Map()
  let depth = 0, name = null, from = 0
  for (const { 0: all, 1: token, index } of text.matchAll(JSON_TOKEN)) {
    if (depth === 0 && token !== '{') return null
    if (depth === 1) {
      if (token === ':') from = index + all.length
      else if (name === null && token.startsWith('"')) name = JSON.parse(token)
      else if (name !== null && (token === ',' || token === '}')) {
        found.set(name, new Exact(text.slice(from, index).trim()))
        name = null
      }
    }
    if (token === '{' || token === '[') depth += 1
    if (token === '}' || token === ']') depth -= 1
  }
  return found
}

/** Reads a part of a job once for all of its columns: they stand side by side in a row. */
function memberReader() {
  let last, members
  return (exact, name) => {
    if (exact !== last) members = exact instanceof Exact ? membersOf(exact) : null
    last = exact
    return members?.get(name)
  }
}

/** What the payloads or the results of the jobs have. */
function part() {
  const counts = new Map()
  let others = 0
  return {
    counts,
    add(exact) {
      if (!(exact instanceof Exact) || exact.isNull) return
      const members = membersOf(exact)
      if (members === null) others += 1
      for (const name of members?.keys() ?? []) {
        if (counts.has(name) || counts.size < MAX_COUNTED) counts.set(name, (counts.get(name) ?? 0) + 1)
      }
    },
    /** Whether its members, as columns, would not have all of it. */
    isMore: () => others > 0 || counts.size === 0 || counts.size > MAX_MEMBERS,
    /** The most common members, in the order in which they came. */
    names() {
      const common = [...counts.keys()].toSorted((a, b) => counts.get(b) - counts.get(a)).slice(0, MAX_MEMBERS)
      const chosen = new Set(common)
      return [...counts.keys()].filter((name) => chosen.has(name))
    },
  }
}

/** A member as in a JSON pointer: the service has the same names for its columns. */
export const step = (name) => name.replaceAll('~', '~0').replaceAll('/', '~1')

const own = (name) => ({ name, label: name, isTicked: true, of: OF[name] ?? ((job) => job[name]) })

/** Hears of all jobs, and answers the columns for them in groups. */
export function columnsOf() {
  const parts = Object.fromEntries(PARTS.map((name) => [name, part()]))
  const group = (name) => {
    const read = memberReader()
    const { counts, names, isMore } = parts[name]
    const isFlat = name === 'result'
    const all = { name, label: name, isWhole: true, isTicked: !isFlat || isMore(), of: (job) => job[name] }
    const members = names().map((member) => ({
      name: `${name}/${step(member)}`, label: member, count: counts.get(member), isTicked: isFlat,
      of: (job) => read(job[name], member),
    }))
    return { name, columns: [all, ...members], found: counts.size }
  }
  return {
    add: (jobs) => jobs.forEach((job) => PARTS.forEach((name) => parts[name].add(job[name]))),
    groups: () => [
      { name: 'job', columns: OWN.map(own) },
      ...PARTS.map(group),
    ],
  }
}
