// Who has worked in a queue lately: what is suggested, and the question before a name is sent that is not among them.

import { useEffect, useState } from './html.js'
import * as api from './api.js'

const NONE = { names: [], skills: [] }

/** Asked once for each question. A service that does not answer it is asked nothing more. */
export function recentOf(queue) {
  let answer
  return () => (answer ??= api.recentWorkers(queue).catch(() => null))
}

export function useRecent(recent) {
  const [known, setKnown] = useState(NONE)
  useEffect(() => { recent?.().then((found) => setKnown(found ?? NONE)) }, [recent])
  return known
}

/** The dialog stays, and the same once more goes on. */
class Doubt extends Error {
  isDoubt = true
}

/** Names that a question quotes; a table may have thousands. */
const MAX_QUOTED = 20

function quoted(names) {
  const shown = names.slice(0, MAX_QUOTED).map((name) => `“${name}”`).join(', ')
  return names.length > MAX_QUOTED ? `${shown} or ${names.length - MAX_QUOTED} others` : shown
}

/**
 * Throws a `Doubt` about the names and skills that have not worked in the queue lately, unless it is the one that was
 * confirmed. If not all who have are known, there is none.
 */
export async function requireSeen(recent, { names = [], skills = [] }, confirmed) {
  if (names.length === 0 && skills.length === 0) return
  const known = await recent()
  if (!known || known.more) return
  const workers = names.filter((name) => !known.names.includes(name))
  const abilities = skills.filter((skill) => !known.skills.includes(skill))
  const text = [
    workers.length > 0 && `No one called ${quoted(workers)} has worked here lately.`,
    abilities.length > 0 && `No one with the skill ${quoted(abilities)} has worked here lately.`,
  ].filter(Boolean).join(' ')
  if (text && confirmed?.message !== text) throw new Doubt(text)
}
