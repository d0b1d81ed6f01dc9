// Queues come into being by what is put into them, so a mistyped name would make one. This asks first.

import { ask } from './ui.js'

export const isUnknownQueue = (error) => error.problem?.type === '/problems/unknown-queue'

/**
 * `change(create)` sends a change of settings; returns its answer. A page may show a queue that is gone: then a dialog
 * asks whether to make it, and this returns `undefined`.
 */
export async function changed(queue, change, done) {
  try {
    return await change(false)
  } catch (error) {
    if (!isUnknownQueue(error)) throw error
    askToMake(queue, 'change', () => change(true), done)
    return undefined
  }
}

/** `what` would make the queue. */
export const askToMake = (queue, what, work, done) => ask({
  title: `Make the queue ${queue}?`,
  text: `There is no queue ${queue}: it was removed, or its name is mistyped. This ${what} would make it.`,
  action: 'Make the queue',
  work,
  done,
})
