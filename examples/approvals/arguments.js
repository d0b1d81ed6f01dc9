// The arguments of a request: as text, as a person has changed them, and what was changed.

export const pretty = (value) => JSON.stringify(value, null, 2)
const isPlain = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

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
