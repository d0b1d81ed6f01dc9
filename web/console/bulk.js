// What an operator does to many jobs: to those that are picked one by one, in their order, and to all that a list is
// narrowed to by the service. Either runs step by step, says how far it is, and can be stopped.

import * as api from './api.js'
import { those } from './actions.js'
import { many } from './format.js'
import { again } from './live.js'
import { jobsOf } from './matching.js'
import { STOPPED, patiently } from './patience.js'
import { ask } from './ui.js'

/** Jobs that changed state or are gone are skipped and reported. */
const PASSED = new Set([404, 409])

/**
 * `act(job)` answers why it came to nothing, if it did; `over(job)` hears of each that is done with. Answers
 * `{done, skipped}`, the latter by reason; whatever else goes wrong ends it, and says how far it was.
 */
export async function each(jobs, act, tell, over) {
  const result = { done: 0, skipped: new Map() }
  const skip = (why) => result.skipped.set(why, (result.skipped.get(why) ?? 0) + 1)
  for (const [n, job] of jobs.entries()) {
    const far = `${n} of ${jobs.length}…`
    if (tell(far) === false) break
    try {
      const why = await patiently(() => act(job), () => tell(far, true))
      if (why === STOPPED) break
      if (why) skip(why)
      else result.done += 1
    } catch (error) {
      if (!PASSED.has(error.status)) throw new Error(`${error.message} ${outcome(result, 'done before that')}`)
      skip(error.message)
    }
    over(job)
  }
  return result
}

export function outcome({ done, skipped }, what) {
  const reasons = [...skipped].map(([why, n]) => `${n} skipped: ${why}`)
  return [`${many(done, 'job')} ${what}`, ...reasons].join('; ').replace(/\.?$/, '.')
}

/** `prepare(value, confirmed, tell)` makes what each job gets of what was typed, or refuses it. */
export function onPicked(picks, changed, { act, what, prepare = (value) => value, ...question }) {
  // A second confirmation after a failure applies to the jobs that are left.
  const left = new Set(picks.jobs)
  const over = (job) => { left.delete(job); picks.drop(job) }
  ask({
    ...question,
    work: async (tell, value, confirmed) => {
      const read = await prepare(value, confirmed, tell)
      try {
        return await each([...left], (job) => act(job, read), tell, over)
      } finally {
        again()
        changed()
      }
    },
    done: (result) => outcome(result, what),
  })
}

const PRIORITY = { label: 'Priority, 0 is the most urgent', type: 'number', min: 0, max: 99, value: '10' }

const requeueOne = async ({ id }) => ((await api.requeue({ id })).requeued ? '' : 'in line already')

export const requeuePicked = (picks, changed) => onPicked(picks, changed, {
  title: `Put ${many(picks.jobs.length, 'job')} in line?`,
  text: 'Dead ones go to the end of the line and their attempts start again; delayed ones run now.',
  action: 'Put them in line',
  what: 'in line again',
  act: requeueOne,
})

/** Those of one error, which were read before: no others, so that the number is right. */
export const requeueGroup = (queue, error, jobs, changed) => onPicked({ jobs, drop() {} }, changed, {
  title: `Requeue ${many(jobs.length, 'dead job')} of ${queue}?`,
  text: `Their last error: ${error}. They go to the end of the line and their attempts start again.`,
  action: `Requeue ${many(jobs.length, 'job')}`,
  what: 'in line again',
  act: requeueOne,
})

export const cancelPicked = (picks, changed) => onPicked(picks, changed, {
  title: `Withdraw ${many(picks.jobs.length, 'job')}?`,
  text: 'They are no longer handed out. A worker who gets one before that keeps it. '
    + 'This cannot be undone.',
  action: 'Withdraw them',
  danger: true,
  what: 'withdrawn',
  act: async ({ id }) => { await api.cancel(id, false) },
})

/** They may be held by several workers. */
export const releasePicked = (picks, changed) => onPicked(picks, changed, {
  title: `Take ${many(picks.jobs.length, 'job')} from those who hold ${picks.jobs.length === 1 ? 'it' : 'them'}?`,
  text: 'What is not saved yet is lost. The jobs return to their places, and this is not an attempt.',
  action: 'Release them',
  danger: true,
  what: 'back in line',
  act: async ({ id }) => ((await api.release({ id })).released ? '' : 'no one holds it any longer'),
})

export const reprioritizePicked = (picks, changed) => onPicked(picks, changed, {
  title: `Another priority for ${many(picks.jobs.length, 'job')}?`,
  text: 'They move in line as new arrivals of it, in the order in which they were picked.',
  action: 'Set it',
  field: PRIORITY,
  what: 'moved',
  act: async ({ id }, value) => { await api.reprioritize(id, Number(value)) },
})

export function reprioritizeAll(queue, state, matching, only, changed) {
  ask({
    title: `Another priority for ${jobsOf(matching, state)} of ${queue}?`,
    text: `${those(only)}They move in line as new arrivals of it, in their order.`,
    action: 'Set it',
    field: PRIORITY,
    work: async (tell, value) => {
      const n = await api.reprioritizeAll(queue, state, Number(value), only, (done, waits) => tell(`${done}…`, waits))
      again()
      changed()
      return n
    },
    done: (n) => `${many(n, 'job')} moved.`,
  })
}
