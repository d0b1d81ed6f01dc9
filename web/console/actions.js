// An operator's actions on jobs, batches and queues. Destructive ones need a confirmation.

import * as api from './api.js'
import { narrowed } from './filters.js'
import { changeText, many, tail } from './format.js'
import { again } from './live.js'
import { changed as changedOrAsked } from './making.js'
import { jobsOf } from './matching.js'
import { go, overviewLink } from './router.js'
import { act, ask, say } from './ui.js'

/** Notifies the views of the changed object. */
const then = (work, changed) => async (tell) => {
  const answer = await work(tell)
  again(answer.settings ? answer : undefined)
  changed?.()
  return answer
}

const name = (worker) => worker ?? 'An unnamed worker'

export function cancel(job, changed) {
  const holder = job.state === 'reserved' ? job.reserved : null
  ask({
    title: `Withdraw job ${tail(job.id)}?`,
    text: holder
      ? `${name(holder.worker)} is at work on it and loses it. This cannot be undone.`
      : 'It is no longer handed out. This cannot be undone.',
    action: holder ? 'Take it away and withdraw' : 'Withdraw the job',
    danger: true,
    work: then(() => api.cancel(job.id, Boolean(holder)), changed),
    done: `Job ${tail(job.id)} is withdrawn.`,
  })
}

export function release(id, worker, changed) {
  ask({
    title: `Take job ${tail(id)} from ${worker ?? 'its holder'}?`,
    text: `${name(worker)} loses the job; what is not saved yet is lost. `
      + 'The job returns to its place, and this is not an attempt.',
    action: 'Release the job',
    danger: true,
    work: then(() => api.release({ id }), changed),
    done: ({ released }) => (released ? `Job ${tail(id)} is back in line.` : 'No one holds it any longer.'),
  })
}

export function releaseAll(queue, worker, changed) {
  ask({
    title: `Take everything from ${worker}?`,
    text: `All jobs of ${queue} that ${worker} holds return to their place. What is not saved yet is lost.`,
    action: 'Release all',
    danger: true,
    work: then((tell) => api.releaseAll(queue, worker, (released, waits) => tell(`${released}…`, waits)), changed),
    done: (released) => `${many(released, 'job')} back in line.`,
  })
}

export const requeue = (job, changed) => act(
  then(() => api.requeue({ id: job.id }), changed),
  ({ requeued }) => (requeued ? `Job ${tail(job.id)} is in line.` : 'It is in line already.'),
)

/** These actions affect only the filtered list. */
export const those = (only) => (narrowed(only) ? `Only the jobs${narrowed(only)}. ` : '')

/** `matching`: how many that are. */
export function requeueAll(queue, matching, only, changed) {
  ask({
    title: `Requeue ${jobsOf(matching, 'dead')} of ${queue}?`,
    text: `${those(only)}They go to the end of the line and their attempts start again.`,
    action: `Requeue ${jobsOf(matching)}`,
    work: then((tell) => api.requeueAll(queue, only, (requeued, waits) => tell(`${requeued}…`, waits)), changed),
    done: (requeued) => `${many(requeued, 'job')} in line again.`,
  })
}

export function purge(queue, state, matching, only, changed) {
  ask({
    title: `Remove ${jobsOf(matching, state)} of ${queue}?`,
    text: `${those(only)}They are removed with their payloads and results. This cannot be undone.`,
    action: `Remove ${jobsOf(matching)}`,
    danger: true,
    typed: queue,
    work: then((tell) => api.purge(queue, state, only, (removed, waits) => tell(`${removed}…`, waits)), changed),
    done: (removed) => `${many(removed, 'job')} removed.`,
  })
}

export async function pause(queue, paused, changed) {
  const change = then((create) => api.configure(queue, { paused: paused || null }, create), changed)
  const done = changeText(queue, paused ? `${queue} is paused: nothing new is handed out.` : `${queue} is resumed.`)
  return act(() => changedOrAsked(queue, change, done), (answer) => answer && done(answer))
}

/** The queue is gone: its page closes. */
export const forget = (queue) => ask({
  title: `Remove the queue ${queue}?`,
  text: 'Its settings, totals, history, events, day sheets and the list of what operators did are removed. '
    + 'This cannot be undone.',
  action: 'Remove the queue',
  danger: true,
  typed: queue,
  work: async () => {
    await api.forget(queue)
    again()
    go(overviewLink())
  },
  done: `${queue} is removed.`,
})

export const returnOverdue = (queue) => act(
  then(() => api.returnOverdue(queue)),
  ({ expired, due, forgotten }) => `Checked: ${many(expired, 'job')} taken back, ${due} due, ${forgotten} forgotten.`,
)

export const reprioritize = (job, priority, changed) => act(
  then(() => api.reprioritize(job.id, priority), changed),
  `Job ${tail(job.id)} has priority ${priority}.`,
)

export function seal(batch, changed) {
  ask({
    title: `Seal batch ${tail(batch.id)}?`,
    text: 'Nothing more can be put into it, and it ends when its last job has. This cannot be undone.',
    action: 'Seal the batch',
    work: then(() => api.seal(batch.id), changed),
    done: `Batch ${tail(batch.id)} is sealed.`,
  })
}

export function cancelBatch(batch, changed) {
  const { waiting, blocked, delayed, reserved } = batch.counts
  ask({
    title: `Withdraw batch ${tail(batch.id)}?`,
    text: `${many(waiting + blocked + delayed, 'job')} will not be done. ${
      reserved ? `${many(reserved, 'job')} at work may be finished. ` : ''}This cannot be undone.`,
    action: 'Withdraw the batch',
    danger: true,
    work: then(() => api.cancelBatch(batch.id), changed),
    done: `Batch ${tail(batch.id)} is withdrawn.`,
  })
}

const answered = ({ status, ms, error }) =>
  (status === null ? `There was no answer: ${error} (${ms} ms).` : `The receiver answers ${status} after ${ms} ms.`)

/** A receiver that refuses is bad news, though the call went well. */
export async function testWebhook(name, changed) {
  try {
    const answer = await api.testWebhook(name)
    say(answered(answer), answer.status >= 200 && answer.status < 300 ? 'good' : 'bad')
  } catch (error) {
    say(error.message, 'bad')
  }
  changed()
}

export const redeliver = (name, queue, { webhook_id: id }, changed) => act(
  then(() => api.redeliver(name, { queue, webhook_id: id }), changed),
  ({ redelivered }) => (redelivered ? `Delivery ${tail(id)} is due now.` : 'It is no longer among the failed.'),
)

export function redeliverAll(name, queue, changed) {
  ask({
    title: `Send all that has failed of ${queue} to ${name} again?`,
    text: 'The deliveries are due now, under the ids that they had, so a receiver that knows one of them ignores it. '
      + 'A webhook that its receiver has stopped starts again.',
    action: 'Send all again',
    work: then(() => api.redeliver(name, { queue }), changed),
    done: ({ redelivered }) => `${many(redelivered, 'delivery', 'deliveries')} due now.`,
  })
}
