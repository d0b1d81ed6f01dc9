// Queues come into being by what is put into them, so a mistyped name would make one. This asks first.

import * as api from './api.js'
import { live } from './live.js'
import { ask } from './ui.js'

const isUnknown = (error) => error.problem?.type === '/problems/unknown-queue'

/**
 * `change(create)` sends a change of settings; returns its answer. A page may show a queue that is gone: then a dialog
 * asks whether to make it, and this returns `undefined`.
 */
export async function changed(queue, change, done) {
  try {
    return await change(false)
  } catch (error) {
    if (!isUnknown(error)) throw error
    ask({
      title: `Make the queue ${queue}?`,
      text: `There is no queue ${queue}: it was removed, or its name is mistyped. This change would make it.`,
      action: 'Make the queue',
      work: () => change(true),
      done,
    })
    return undefined
  }
}

/** Refuses a job that would make a queue, unless that is wanted. */
export async function requireQueue(name, isMade) {
  if (isMade || live.get().queues?.some((queue) => queue.name === name)) return
  try {
    await api.inspectQueue(name)
  } catch (error) {
    if (!isUnknown(error)) throw error
    throw new Error(`Nothing was added: there is no queue ${name}. Correct the name, or choose to make it.`)
  }
}
