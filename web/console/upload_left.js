// The upload that a person has chosen: it stays while they look at another page, or sign in again, until it is done.

import { live } from './live.js'
import { say } from './ui.js'

let current = null

const who = () => live.get().me?.name

// Who signs out is done; who must sign in again, as the key has ended, is not.
live.subscribe(() => queueMicrotask(() => { if (live.get().access === 'needed') current = null }))

/** The one that was chosen for this queue by who is here; else nothing. */
export const leftFor = (queue) => (current?.queue === queue && current.owner === who() ? current : null)

/**
 * Begins with another file. Nothing while rows are sent. The page keeps in it what it would need again: `typed`,
 * `mapped`, the `report` of rows that were sent, and whether it `isSending`.
 */
export function begin(file, queue) {
  if (current?.isSending) {
    say(`${current.file.name} is being sent: stop it first, or wait until it is done.`, 'bad')
    return null
  }
  current = { file, queue, owner: who(), typed: null, mapped: null, report: null, isSending: false }
  return current
}

export function end(upload) {
  if (current === upload) current = null
}
