// Results of random forms, as JSON texts, and what is typed and chosen in them. Most nearly fit; what fits is not for it to say.

const LETTERS = [...'abcXYZ019 .-_@/"\\<', '\n', '\t', '\u0000', 'é', 'ß', '😀', 'e\u0301', '\u2028', '\u202e', '\ufeff', '語']
const MARKS = [...'@.-_/:%#?[]T0 9Z+~t', 'é', '\n', '😀', '\u0660']
const NUMBERS = [
  '0', '-0', '-0.0', '1', '1.0', '1e0', '10e-1', '1E2', '0.1', '0.30000000000000004', '19.99', '0.07', '1e21', '1e-7', '5e-324', '1e308',
  '9007199254740993', '123456789012345678901234567890', '3.0000000000000001', '0.1e1', '-1.5', '1.7976931348623157e308', '1e-400',
]
const JUNK = ['null', 'true', 'false', '0', '""', '"a"', '[]', '{}', '[null]', '{"a":1}', '1.5', '"null"', '[[]]', '["a"]']
/** What no double, text or object can hold, or is not to be there twice. */
const UNREADABLE = ['1e400', '-1e999', '"\\ud83d"', '"a\\udc00b"', '{"x":1,"x":1}', '[{"y":[],"y":0}]', '{"\\ud83d":1}']
const EMAILS = ['a@b', 'ann@example.org', "o'neil+x@sub.example.co", 'a@b-c.d', 'a.@b', 'a@-b', 'a@b_c', 'ä@b', 'a@b..c', `a@${'x'.repeat(63)}.y`, `a@${'x'.repeat(64)}`]
const HOSTS = ['a', 'example.org', 'a_b', '127.0.0.1', '[::1]', '[1:2:3:4:5:6:7:8]', '[1:2:3:4:5:6:7::]', '[::ffff:1.2.3.4]', '[::1.2.3]', '[1::2::3]', '[12345::]', '[::01.2.3.4]', '[::256.1.1.1]', '[:1]', '[1:2:3:4:5:6:1.2.3.4]', '[]', 'ü', 'a b', '']
const OFFSETS = ['Z', 'z', '', '+00:00', '-23:59', '+24:00', '+0100', '-00:00', '+01:60']

const two = (number) => String(number).padStart(2, '0')
const written = (text) => JSON.stringify(text)

const FORMATS = {
  email: (r) => r.pick(EMAILS),
  uri: (r) => [
    r.pick(['http', 'https', 'HTTP', 'ftp', '']), r.pick(['://', '://', '://', ':', '//']), r.pick(['', '', '', 'user@', ':@']), r.pick(HOSTS),
    r.pick(['', '', ':', ':80', ':65535', ':65536', ':00080', ':x']), r.pick(['', '/', '/a%20b', '/%2', '//', '/a;b=c', '/|']),
    r.pick(['', '', '?', '?a=b?c', '?[']), r.pick(['', '', '#', '#a/b?', '##']),
  ].join(''),
  date: (r) => [r.pick(['0000', '0001', '1900', '2000', '2024', '2025', '2100', '9999', '10000', '-001']), two(r.pick([0, 1, 2, 2, 4, 12, 13])), two(r.pick([0, 1, 28, 29, 29, 30, 31, 32]))].join('-'),
  'date-time': (r) => [
    FORMATS.date(r), r.pick(['T', 'T', 'T', 't', ' ', '']), [two(r.pick([0, 9, 23, 24])), two(r.pick([0, 59, 60])), two(r.pick([0, 59, 60]))].join(':'),
    r.pick(['', '', '.0', '.123456789012', '.', ',5']), r.pick(OFFSETS),
  ].join(''),
}

/** With a character more, less or other. */
function mutated(r, text) {
  const all = [...text]
  all.splice(r.below(all.length + 1), r.below(2), ...(r.chance(0.7) ? [r.pick(MARKS)] : []))
  return all.join('')
}

/** @param {ReturnType<import('./random.js').random>} r */
function textOf(r, { minLength: least = 0, maxLength: limit = 8, format }) {
  if (format) return r.chance(0.3) ? mutated(r, FORMATS[format](r)) : FORMATS[format](r)
  const length = r.pick([0, 1, least - 1, least, least + 1, limit - 1, limit, limit + 1, r.below(12)])
  return r.times(Math.max(length, 0), () => r.pick(LETTERS)).join('')
}

function numberOf(r, { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf }) {
  if (r.chance(0.25)) return r.pick(NUMBERS)
  const base = r.pick([0, 1, minimum, maximum, exclusiveMinimum, exclusiveMaximum].filter((limit) => limit !== undefined))
  const step = multipleOf ?? 1
  const number = r.pick([
    base, base + 1, base - 1, base + 0.5, base + step, base - step, base * (1 + 2 ** -52), base * 2, step * r.below(100), -step,
    Math.round(base / step) * step, Number((step * r.below(1_000)).toPrecision(12)),
  ])
  return Number.isFinite(number) ? String(number) : '0'
}

export const optionsOf = (schema) => schema.enum ?? (schema.oneOf ?? schema.anyOf)?.map((option) => option.const) ?? [schema.const]

function optionOf(r, schema) {
  const option = r.pick(optionsOf(schema))
  return written(r.chance(0.9) ? option : r.pick([`${option} `, option.toUpperCase(), option.normalize('NFD'), '']))
}

const VALUES = {
  text: (r, { schema }) => written(textOf(r, schema)),
  format: (r, { schema }) => written(textOf(r, schema)),
  choice: (r, { schema }) => optionOf(r, schema),
  number: (r, { schema }) => numberOf(r, schema),
  boolean: (r) => r.pick(['true', 'false']),
  list: (r, { schema: { items, minItems = 0, maxItems = 3 } }) => {
    const count = Math.max(r.pick([0, 1, 2, minItems, minItems - 1, maxItems, maxItems + 1]), 0)
    return `[${r.times(count, () => (r.chance(0.95) ? optionOf(r, items) : r.pick(JUNK)))}]`
  },
  group: (r, { fields }, part) => `{${r.shuffled(membersOf(r, fields, part))}}`,
}

/**
 * A JSON text for a field; of so many parts of one it is of the right kind.
 * @param {ReturnType<import('./random.js').random>} r
 */
export function valueOf(r, field, part) {
  if (field.isNullable && r.chance(0.15)) return 'null'
  if (r.chance(part)) return VALUES[field.kind](r, field, part)
  return r.pick(JUNK)
}

function membersOf(r, fields, part) {
  const members = Object.entries(fields).flatMap(([name, field]) => {
    const isThere = r.chance(field.isRequired ? 0.97 : 0.7)
    return isThere ? [`${written(name)}:${valueOf(r, field, part)}`] : []
  })
  return r.chance(0.1) ? [...members, `${written(r.pick(['other', 'a ', 'A', 'é']))}:${r.pick(JUNK)}`] : members
}

/** A result for a form. What cannot be read is once in it, since then no more of it need be read. */
export function resultOf(r, { fields }) {
  if (r.chance(0.03)) return r.pick(JUNK)
  const members = membersOf(r, fields, r.pick([1, 1, 0.95, 0.8]))
  if (r.chance(0.04)) members.push(`"spoiled":${r.pick(UNREADABLE)}`)
  else if (members.length > 0 && r.chance(0.02)) members.push(r.pick(members))
  return `{${r.shuffled(members)}}`
}

/** Fields that a person meets, in their order, each with its pointer. */
export const leavesOf = (fields, at = '') => Object.entries(fields).flatMap(([name, field]) => {
  const pointer = `${at}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
  return field.kind === 'group' ? leavesOf(field.fields, pointer) : [{ ...field, pointer }]
})

/** Half of a character, as scripts that cut texts leave it. */
export const HALF = '\ud83d'
const TYPED_NUMBERS = ['-', '1e', '1e400', '.5', '5.', '+1', '007', '1,5', '--1', '12345678901234567890', '0.1000000000000000055', 'e', '1 2']

/** What a person does to each field: types something, chooses, clears it, or leaves it alone. */
export const inputsOf = (r, { fields }) => leavesOf(fields).map(({ kind, schema, isRequired }) => {
  if (r.chance(isRequired ? 0.1 : 0.35)) return {}
  const typed = kind === 'number' ? (r.chance(0.35) ? r.pick(TYPED_NUMBERS) : numberOf(r, schema)) : textOf(r, schema)
  return {
    text: r.chance(0.1) ? '' : `${typed}${kind === 'text' && r.chance(0.03) ? HALF : ''}`,
    day: r.pick(['2024-02-29', '9999-12-31', '0001-01-01', '2026-01-31', '']),
    moment: r.pick(['2026-11-29T20:00', '2026-03-29T02:30', '0001-01-01T00:00', '9999-12-31T23:59', '2026-01-31T12:00:07', '']),
    places: r.times(r.pick([1, 1, 2, 3]), () => r.below(60)),
    isCleared: r.chance(0.1),
  }
})
