/**
 * The validated settings of a desk.
 */

/** @import * as Types from './client.d.ts' */
/** @import { Plan } from './types.js' */

/**
 * @param {Omit<Types.Settings, 'token' | 'storage' | 'signal'>} settings
 * @returns {Plan}
 */
export function planOf({ url, worker, queues, job, skills, lease, wait = 25_000, ...times }) {
  if (!worker) throw new TypeError('intray: a desk needs a worker, the name of the person')
  if (job !== undefined && queues) throw new TypeError('intray: a desk is for queues or for one job, not for both')
  const { heartbeat = 60_000, idleAfter = 300_000, grace = 15_000 } = times
  const can = skills && [...skills]
  const at = { url: addressOf(url), worker, queues: [...queues ?? ['default']], job }
  return { ...at, skills: can, lease, wait, heartbeat, idleAfter, grace }
}

/**
 * Whether the desk may have this job.
 * @param {Plan} plan
 * @param {{ id: string, queue: string }} of
 */
export function serves({ job, queues }, { id, queue }) {
  return job === undefined ? queues.includes(queue) : job === id
}

/**
 * Without a slash at its end. A name alone would be a path of the page, and nothing of intray is there.
 * @param {unknown} given
 */
function addressOf(given) {
  const text = String(given).trim()
  const isAddress = /^(https?:\/\/|\/|\.{1,2}(\/|$))/i.test(text) && URL.canParse(text, location.href)
  const url = isAddress ? new URL(text, location.href) : null
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password) {
    const rule = "url must begin with 'https://', 'http://' or '/', and hold no password"
    throw new TypeError(`intray: ${rule}; it is '${text.replace(/.*@/, '…@')}'`)
  }
  return (url.origin + url.pathname).replace(/\/+$/, '')
}
