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

const fold = (name) => name.toLowerCase()

/** Which names were seen lately in another case, in a sentence; nothing if there are none. */
export function twins(names, known) {
  const seen = new Map()
  for (const name of known) seen.set(fold(name), [...seen.get(fold(name)) ?? [], name])
  const pairs = names.flatMap((name) => (seen.get(fold(name)) ?? []).filter((other) => other !== name)
    .map((other) => `“${name}” is not “${other}”`))
  if (pairs.length === 0) return ''
  const rest = pairs.length > MAX_QUOTED ? ` (and ${pairs.length - MAX_QUOTED} more)` : ''
  return `${pairs.slice(0, MAX_QUOTED).join(', ')}${rest}, seen here lately: upper and lower case count.`
}

/**
 * Throws a `Doubt` about the names and skills that have not worked in the queue lately, unless it is the one that was
 * confirmed. If not all who have are known, there is one only about those that differ from a known one by case. Throws,
 * too, if the dialog of `tell` was closed meanwhile.
 */
export async function requireSeen(recent, { names = [], skills = [] }, confirmed, tell) {
  if (names.length === 0 && skills.length === 0) return
  const known = await recent()
  if (tell('…') === false) throw new Error('Stopped. Nothing was sent.')
  if (!known) return
  const workers = names.filter((name) => !known.names.includes(name))
  const abilities = skills.filter((skill) => !known.skills.includes(skill))
  const text = [
    !known.more && workers.length > 0 && `No one called ${quoted(workers)} has worked here lately.`,
    !known.more && abilities.length > 0 && `No one with the skill ${quoted(abilities)} has worked here lately.`,
    twins(workers, known.names),
    twins(abilities, known.skills),
  ].filter(Boolean).join(' ')
  if (text && confirmed?.message !== text) throw new Doubt(text)
}
