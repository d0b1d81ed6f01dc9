// Forms at random, as docs/forms.md describes them: it knows neither the module nor the service, and checks nothing.
import { valueOf } from './random_result.js'

const NAMES = [
  'a', 'verdict', 'due_date', 'dueDate', 'two words', 'größe', '😀', '', '0', '10', 'a/b', 'm~n', '~1', '__proto__', 'constructor',
  'toString', 'length', 'type', 'properties', 'a\nb', 'value',
]
const OPTIONS = ['', 'a', 'A', 'fine', 'two words', 'é', 'e\u0301', '😀', '1', '01', 'null', 'true', '__proto__', 'x\u202ey', '<b>', 'ß', 'SS', 'a ']
const LIMITS = [-100, -1.5, -1, 0, 0.1, 0.5, 1, 2.5, 3, 5, 9, 10, 100, 1e21, 1e-7]
const STEPS = [1, 2, 3, 7, 20, 0.5, 2.5, 0.1, 0.01, 0.3, 1e-7, 1e300, 1e-300]
const FORMATS = ['email', 'uri', 'date', 'date-time']
const PATTERNS = ['^a', '\\d+', '^\\w*$', 'é|x']
const DIALECT = 'https://json-schema.org/draft/2020-12/schema'

/** How schemas of each kind are written, without what all can have. */
const KINDS = {
  text: (r) => ({
    type: 'string',
    ...(r.chance(0.4) && { minLength: r.below(5) }),
    ...(r.chance(0.5) && { maxLength: r.pick([0, 1, 3, 5, 12, 120, 121]) }),
    ...(r.chance(0.1) && { pattern: r.pick(PATTERNS) }),
  }),
  format: (r) => ({ type: 'string', format: r.pick(FORMATS), ...(r.chance(0.1) && { maxLength: 20 }) }),
  choice: (r) => {
    const count = r.pick([1, 2, 3, 9, 10, 12])
    const values = r.shuffled(OPTIONS).slice(0, count)
    const titled = () => values.map((value, n) => ({
      const: value, title: r.pick([value, 'title', `title ${n}`, '']), ...(r.chance(0.2) && { description: 'what it is' }),
      ...(r.chance(0.1) && { type: 'string' }),
    }))
    const ways = [() => ({ enum: values }), () => ({ oneOf: titled() }), () => ({ anyOf: titled() }), () => ({ const: values[0] })]
    return { ...(r.chance(0.5) && { type: 'string' }), ...r.pick(ways)() }
  },
  number: (r) => ({
    type: r.pick(['number', 'integer']),
    ...(r.chance(0.4) && { minimum: r.pick(LIMITS) }),
    ...(r.chance(0.4) && { maximum: r.pick(LIMITS) }),
    ...(r.chance(0.15) && { exclusiveMinimum: r.pick(LIMITS) }),
    ...(r.chance(0.15) && { exclusiveMaximum: r.pick(LIMITS) }),
    ...(r.chance(0.3) && { multipleOf: r.pick(STEPS) }),
  }),
  boolean: () => ({ type: 'boolean' }),
  list: (r) => ({
    type: 'array',
    items: KINDS.choice(r),
    ...(r.chance(0.3) && { minItems: r.below(3) }),
    ...(r.chance(0.3) && { maxItems: r.below(5) }),
    ...(r.chance(0.5) && { uniqueItems: r.chance(0.8) }),
  }),
}

/**
 * A field: its `schema`, where it is `written`, `isNullable`, `isRequired`, `isFilled` by a default, `kind`; a group has `fields`.
 * @param {ReturnType<import('./random.js').random>} r
 */
function fieldOf(r, definitions, depth) {
  const kind = depth === 0 && r.chance(0.15) ? 'group' : r.pick(Object.keys(KINDS))
  const inner = kind === 'group' ? objectOf(r, definitions, depth + 1) : { schema: KINDS[kind](r) }
  const field = { kind, ...inner, isFilled: false, isNullable: false, isRequired: r.chance(0.4) }
  let written = field.schema
  if (r.chance(0.2)) {
    field.isNullable = true
    const isNamed = kind !== 'choice' && r.chance(0.5)
    if (isNamed) written.type = r.shuffled([written.type, 'null'])
    else written = { anyOf: r.shuffled([written, { type: 'null' }]) }
  }
  written = noted(r, field, written)
  if (r.chance(0.15)) {
    const name = `D${Object.keys(definitions).length}`
    definitions[name] = written
    const reference = { $ref: `#/$defs/${name}` }
    written = noted(r, field, r.chance(0.7) ? reference : { allOf: [reference] })
  }
  return { ...field, written }
}

/** With what is only shown, and a default, which may be wrong now and then. */
function noted(r, field, schema) {
  const written = {
    ...schema,
    ...(r.chance(0.3) && { title: r.pick(['Title', '', 'x\u200by', 'שלום']) }),
    ...(r.chance(0.1) && { description: 'A line.' }),
    ...(r.chance(0.05) && { examples: [1, null], deprecated: true, readOnly: false, $comment: 'none' }),
    ...(r.chance(0.1) && { default: JSON.parse(valueOf(r, field, 0.97)) }),
  }
  field.isFilled ||= 'default' in written
  return written
}

function objectOf(r, definitions, depth) {
  const names = r.shuffled(NAMES).slice(0, r.below(depth === 0 ? 7 : 4))
  const fields = Object.fromEntries(names.map((name) => [name, fieldOf(r, definitions, depth)]))
  const properties = Object.fromEntries(Object.entries(fields).map(([name, { written }]) => [name, written]))
  const required = r.shuffled(names.filter((name) => fields[name].isRequired))
  const schema = {
    type: 'object', properties,
    ...((required.length > 0 || r.chance(0.3)) && { required }),
    ...(r.chance(0.4) && { additionalProperties: r.chance(0.3) }),
  }
  return { schema, fields }
}

const MISTAKES = [
  (r, node) => (node[r.pick(['nullable', 'contentEncoding', 'not', 'if', 'prefixItems', 'Type', 'a/b', '😀'.repeat(50)])] = r.pick([true, {}, 'x'])),
  (r, node) => delete node[r.pick(Object.keys(node))],
  (r, node) => (node[r.pick(Object.keys(node))] = r.pick([null, -1, 1.5, '', 'x', [], ['a', 'a'], [null], {}, true, 0])),
  (r, node) => (node[r.pick(KEYWORDS)] = r.pick([null, -1, 1.5, 2, '', 'x', [], ['a', 'a'], ['a'], {}, { x: 1 }, true])),
  (r, node) => (node.required = ['absent', 'other']),
  (r, node, root) => (root.$defs = { ...root.$defs, Unused: { type: 'string' } }),
  (r, node) => (node.default = r.pick([null, -1, 'x', [], ['x'], {}, true])),
]
const KEYWORDS = [
  'type', 'properties', 'required', 'additionalProperties', 'title', 'description', 'default', 'enum', 'const', 'oneOf', 'anyOf',
  'format', 'minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'items',
  'minItems', 'maxItems', 'uniqueItems', '$ref', 'allOf', '$defs', '$schema', '$id', '$comment', 'examples', 'deprecated', 'readOnly',
]

const objectsIn = (node) => (
  typeof node !== 'object' || node === null ? [] : [...(Array.isArray(node) ? [] : [node]), ...Object.values(node).flatMap(objectsIn)])

/**
 * A form: its `text`, and the form's `fields` by name, as the other generators take them. Where it `isMistaken` they may be others.
 * @param {ReturnType<import('./random.js').random>} r
 */
export function formOf(r) {
  const definitions = {}
  const { schema, fields } = objectOf(r, definitions, 0)
  const isReference = r.chance(0.05)
  if (isReference) definitions.Root = schema
  const root = {
    ...(isReference ? { $ref: '#/$defs/Root' } : schema),
    ...(r.chance(0.2) && { $schema: DIALECT, $id: 'https://example.org/form', title: 'A form' }),
    ...(Object.keys(definitions).length > 0 && { $defs: definitions }),
  }
  const written = structuredClone(root)
  const isMistaken = r.chance(0.3)
  if (isMistaken) r.pick(MISTAKES)(r, r.pick(objectsIn(written)), written)
  return { text: JSON.stringify(written), fields, isMistaken }
}
