// The arguments of a request: as text, as a person has changed them, and what was changed.

export const pretty = (value) => JSON.stringify(value, null, 2)
const isPlain = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The members that have a place of their own on the page, where they are what that place is for; and the rest, which is decided about too. */
export function readRequest(payload) {
  if (!isPlain(payload) || typeof payload.tool !== 'string' || payload.tool.trim() === '') return { known: { args: payload?.args }, rest: payload }
  const isText = (value) => typeof value === 'string'
  const places = { tool: isText, agent: isText, why: isText, args: () => true }
  const isKnown = ([name, value]) => Object.hasOwn(places, name) && places[name](value)
  const all = Object.entries(payload)
  const others = all.filter((member) => !isKnown(member))
  const known = Object.fromEntries(all.filter(isKnown))
  if (known.args === undefined) return { known, rest: payload }
  return { known, rest: others.length ? Object.fromEntries(others) : undefined }
}

/** `typed`: the text of a person, or null. Answers `{ value }`, which may be approved, or `{ mistake }`. */
export function readArguments(payload, typed) {
  const asked = payload?.args
  let value = asked ?? null
  try {
    if (typed !== null) value = JSON.parse(typed)
  } catch (error) {
    return { mistake: `This is no JSON yet: ${error.message}` }
  }
  if (isPlain(asked) && !isPlain(value)) return { mistake: 'The agent needs an object: { "name": value, … }' }
  if (isExact(asked === undefined ? payload : value)) return { value }
  return { mistake: 'A number is larger than a browser can hold exactly. The agent has to send it as text.' }
}

/** Whether each number is the one that was sent: a browser rounds those beyond 2^53. */
function isExact(value) {
  if (typeof value === 'number') return Math.abs(value) <= Number.MAX_SAFE_INTEGER
  return Object(value) !== value || Object.values(value).every(isExact)
}

/** A text for each member that is another one. */
export function differences(asked, value) {
  if (!isPlain(asked) || !isPlain(value)) return pretty(asked) === pretty(value) ? [] : ['changed']
  const names = new Set([...Object.keys(asked), ...Object.keys(value)])
  const text = (from, name) => (Object.hasOwn(from, name) ? JSON.stringify(from[name]) : 'none')
  const all = [...names].map((name) => ({ name, before: text(asked, name), after: text(value, name) }))
  const changed = all.filter(({ before, after }) => before !== after)
  return changed.map(({ name, before, after }) => `${name}: ${before} → ${after}`)
}
