// Why jobs of all queues are dead: read page by page, up to a bound, and put together by their last error.

import * as api from './api.js'
import { STOPPED, patiently } from './patience.js'

const PAGE = 100
/** Jobs that are read of one queue, and of all of them. */
export const MAX_OF_A_QUEUE = 1_000
const MAX = 10_000

const WITHOUT = 'ran out of time'
/** Parts of an error that differ between jobs: numbers and hexadecimal ids. */
const VARIES = /\b[0-9a-f]{8,}(?:-[0-9a-f]{4,})*\b|\d+/gi

const lastError = ({ errors }) => errors.toSorted((a, b) => (a.at < b.at ? 1 : -1))[0]?.error

/** The dead jobs of one queue, the first of them: `{jobs, isAll}`, a job as `{id, error, at}`. */
async function ofQueue(name, max, signal) {
  const jobs = []
  for (let after; jobs.length < max;) {
    const next = () => api.jobs(name, { state: 'dead', after, limit: Math.min(PAGE, max - jobs.length) }, signal)
    const page = await patiently(next, () => !signal.aborted)
    if (page === STOPPED) break
    jobs.push(...page.jobs.map((job) => ({ id: job.id, error: lastError(job), at: job.ended_at })))
    after = page.next
    if (!after) return { jobs, isAll: true }
  }
  return { jobs, isAll: false }
}

/** `queues`: the queues with dead jobs. `{groups, parts}`: `parts` are the queues that were read only in part. */
export async function load(queues, signal) {
  const wanted = queues.filter(({ counts }) => counts.dead > 0).sort((a, b) => b.counts.dead - a.counts.dead)
  const groups = new Map(), parts = []
  let left = MAX
  for (const { name, counts: { dead } } of wanted) {
    const { jobs, isAll } = left > 0
      ? await ofQueue(name, Math.min(left, MAX_OF_A_QUEUE), signal) : { jobs: [], isAll: false }
    left -= jobs.length
    if (!isAll) parts.push({ name, dead, read: jobs.length })
    jobs.forEach((job) => put(groups, name, job))
  }
  return { groups: [...groups.values()].sort((a, b) => b.jobs.length - a.jobs.length), parts }
}

function put(groups, queue, job) {
  const pattern = (job.error ?? WITHOUT).replace(VARIES, '#')
  const key = JSON.stringify([queue, pattern])
  const group = groups.get(key) ?? { key, queue, pattern, jobs: [], errors: new Set(), newest: job.at }
  group.jobs.push(job)
  group.errors.add(job.error)
  if (job.at > group.newest) group.newest = job.at
  groups.set(key, group)
}

/** The common error text; the pattern if the texts differ. */
export const titleOf = ({ errors, pattern }) => (errors.size === 1 ? [...errors][0] ?? WITHOUT : pattern)

/** A text that all errors of a group contain, which the service can look for. */
export function commonPart({ errors, pattern }) {
  const exact = errors.size === 1 ? [...errors][0] ?? '' : ''
  const part = exact || pattern.split('#').reduce((one, other) => (other.length > one.length ? other : one), '')
  let end = part.trim().length
  while (new TextEncoder().encode(part.trim().slice(0, end)).length > 256) end -= 1
  return errors.has(undefined) ? '' : part.trim().slice(0, end)
}
