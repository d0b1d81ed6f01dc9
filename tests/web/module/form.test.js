// Forms without a page: what the gate takes and refuses, and what a result is checked by. The service runs the same cases.
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { test } from 'node:test'
import { checkForm, checkText, readForm } from '../../../web/client/form.js'
import { isChoice } from '../../../web/client/form/choices.js'
import { FORMATS, wholeStep } from '../../../web/client/form/formats.js'
import { inWords, isSecret, labelsOf } from '../../../web/client/form/labels.js'

const cases = JSON.parse(readFileSync(new URL('../../forms/cases.json', import.meta.url), 'utf8'))
const pointers = (faults) => [...new Set(faults.map(({ pointer }) => pointer))].sort()
const read = (schema, how) => {
  const form = readForm(schema, how)
  assert.deepEqual(form.faults, undefined)
  return form
}

for (const { name, form: schema, valid, invalid, queue_only: isOfQueues } of cases.forms) {
  test(`form_${name}_checks_its_results`, () => {
    const form = read(schema)
    assert.deepEqual(read(JSON.stringify(schema)), form)
    assert.equal('faults' in readForm(schema, { from: 'job' }), Boolean(isOfQueues))
    for (const text of valid) {
      assert.deepEqual(checkText(form, text), [], text)
      assert.deepEqual(checkForm(form, JSON.parse(text)), [], text)
    }
    for (const { result, pointers: expected } of invalid) {
      const found = pointers(checkText(form, result))
      // A page never runs a pattern, so it finds no more than the service.
      if (isOfQueues) assert.ok(found.every((pointer) => expected.includes(pointer)), result)
      else assert.deepEqual(found, [...expected].sort(), result)
    }
  })
}

for (const { name, form, pointer, detail_contains: part, job_only: isOfJobs } of cases.refused) {
  test(`form_with_${name}_is_refused`, (t) => {
    const { faults } = readForm(form, { from: isOfJobs ? 'job' : 'queue' })
    if (!faults && /pattern/.test(pointer)) return t.skip('a page never runs a pattern')
    assert.ok(faults, form.slice(0, 500))
    assert.ok(faults.length <= 20)
    const isIt = (fault) => fault.pointer === pointer && fault.detail.includes(part)
    assert.ok(faults.some(isIt), `no ${pointer} with ${part}: ${JSON.stringify(faults, null, 1)}`)
  })
}

for (const [name, { valid, invalid }] of Object.entries(cases.formats)) {
  test(`format_${name}_is_that_of_the_service`, () => {
    for (const text of valid) assert.ok(FORMATS[name](text), text)
    for (const text of invalid) assert.ok(!FORMATS[name](text), JSON.stringify(text))
  })
}

test('all_formats_have_cases', () => assert.deepEqual(Object.keys(cases.formats).sort(), Object.keys(FORMATS).sort()))

test('schemas_are_taken_as_values_and_as_texts', () => {
  const faults = (schema) => readForm(schema).faults?.map(({ pointer }) => pointer)
  const form = { type: 'object', properties: { a: { type: 'string', title: 'half \ud83d' } } }
  assert.deepEqual(faults(form), ['/properties/a/title'])
  assert.deepEqual(faults({ type: 'object', properties: { a: { type: 'number', minimum: Infinity } } }), ['/properties/a/minimum'])
  for (const none of [undefined, null, 7, '', 'x', [], true]) assert.deepEqual(faults(none), [''], String(none))
  assert.deepEqual(checkForm(readForm({ type: 'object', properties: {} }), undefined).map(({ pointer }) => pointer), [''])
})

test('names_become_words_unless_two_would_be_one', () => {
  const words = {
    customer_id: 'Customer id', customerId: 'Customer id', 'due-date': 'Due date', URL: 'URL', baseURL: 'Base URL', x1: 'X 1',
    'a b': 'a b', größe: 'größe', _x: '_x', '': '',
  }
  for (const [name, label] of Object.entries(words)) assert.equal(inWords(name), label)
  const fields = [{ name: 'due_date' }, { name: 'dueDate' }, { name: 'x', title: 'Due date' }, { name: 'note' }]
  assert.deepEqual(labelsOf(fields), ['due_date', 'dueDate', 'Due date', 'Note'])
})

test('fields_for_passwords_are_known_by_their_names', () => {
  const secret = [
    'password', 'userPassword', 'PIN', 'pin_code', 'Your P\u200bassword', 'Pässword', 'api-key', 'Kennwort', 'パスワード', 'пароль',
    'one time token', 'P a s s w o r d', 'Verification code', 'one_time_code', 'pass', 'şifre', 'hasło', 'mật khẩu', 'पासवर्ड',
    'pаsswоrd', 'РIN', 'كلمة المرور', 'PASSW0RD', 'Your P.I.N.', 'Login code', 'Code from the SMS', 'recovery phrase', 'Sicherheitscode', 'parola', 'clave',
  ]
  for (const name of secret) assert.ok(isSecret({ name }) && isSecret({ name: 'a', title: name }), name)
  for (const name of ['opinion', 'shipping', 'tokenized', 'passenger', 'compass', 'note']) assert.ok(!isSecret({ name }), name)
  assert.ok(isSecret({ name: 'a', description: 'Type your password here.' }))
  assert.ok(!isSecret({ name: 'a', description: 'Did the checks pass?' }))
})

test('texts_that_may_ask_for_a_password_are_read_once', (t) => {
  const normalize = t.mock.method(String.prototype, 'normalize')
  const long = '\ufdfa'.repeat(240)
  assert.equal(isSecret({ name: 'note', title: long, description: long }), false)
  const texts = 6
  assert.ok(normalize.mock.callCount() <= 2 * texts, `${normalize.mock.callCount()}`)
})

test('parts_of_the_form_are_short_and_can_be_joined', async () => {
  const folder = new URL('../../../web/client/form/', import.meta.url)
  const parts = readdirSync(folder).filter((name) => name.endsWith('.js'))
  parts.push('../json_text.js')
  const texts = parts.map((name) => readFileSync(new URL(name, folder), 'utf8'))
  const names = texts.flatMap((text) => text.match(/(?<=^(?:export )?(?:async )?(?:class|const|let|function) )\w+/gm))
  assert.deepEqual(names.filter((name, n) => names.indexOf(name) !== n), [], 'a name stands once')
  for (const [n, text] of texts.entries()) {
    assert.doesNotMatch(text, /innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function/, parts[n])
    for (const line of text.split('\n')) assert.ok(line.length <= 120, `${parts[n]}: ${line}`)
    assert.ok(text.split('\n').length <= 301, parts[n])
  }
  const exported = Object.keys(await import('../../../web/client/form.js'))
  assert.deepEqual(exported, ['checkForm', 'checkText', 'drawForm', 'readForm', 'shown', 'visible'])
})

test('form_with_any_value_in_any_place_is_read_or_refused', () => {
  const whole = {
    type: 'object', required: ['g'], $defs: { O: { enum: ['a'] } },
    properties: { g: { type: 'object', properties: { o: { $ref: '#/$defs/O' } }, required: ['o'], default: { o: 'a' } }, l: { type: 'array', items: { enum: ['x'] } } },
  }
  const places = (node, way = []) => (node && typeof node === 'object' ? [way, ...Object.entries(node).flatMap(([name, one]) => places(one, [...way, name]))] : [way])
  for (const way of places(whole).filter(({ length }) => length)) {
    for (const value of [null, 7, '', 'x', [], [null], {}, { properties: null }, true]) {
      const form = structuredClone(whole)
      way.slice(0, -1).reduce((node, name) => node[name], form)[way.at(-1)] = value
      for (const from of ['queue', 'job']) assert.ok(readForm(form, { from }), JSON.stringify(form))
    }
  }
})

/** The processor's time for it, in µs: the least of three, whatever else the process does. */
const costOf = (does) => Math.min(...[1, 2, 3].map(() => {
  const before = process.cpuUsage()
  does()
  const { user, system } = process.cpuUsage(before)
  return user + system
}))

test('range_of_few_whole_numbers_is_found_without_a_list', () => {
  const drawn = (range) => isChoice({ kind: 'integer', ...range })
  for (const range of [{ minimum: 1, maximum: 9 }, { minimum: -4, maximum: 4 }, { minimum: 0, maximum: 10, multipleOf: 2.5 }, { minimum: 0, maximum: 100_000, multipleOf: 20_000 }]) assert.ok(drawn(range), JSON.stringify(range))
  for (const range of [{ minimum: 0, maximum: 9 }, { minimum: 1, maximum: 2, multipleOf: 7 }, { minimum: 5, maximum: 4 }, { minimum: 0 }, {}]) assert.ok(!drawn(range), JSON.stringify(range))
  for (const [step, whole] of [[1, 1n], [0.7, 7n], [1.5, 3n], [1e-300, 1n], [20, 20n], [0.25, 1n]]) assert.equal(wholeStep(step), whole)
  const upTo = (maximum) => costOf(() => {
    for (let n = 0; n < 240; n += 1) assert.ok(!drawn({ minimum: 0, maximum, multipleOf: 1e-300 }))
  })
  const [few, many] = [upTo(10), upTo(10_000)]
  assert.ok(many < 50 * few, `${many} µs for a thousand times as many as in ${few} µs`)
})

test('many_names_have_their_labels_at_once', () => {
  const labelled = (length) => {
    const fields = Array.from({ length }, (_, n) => ({ name: `name_${n}` }))
    return costOf(() => assert.equal(labelsOf(fields).length, length))
  }
  const [few, many] = [labelled(1_000), labelled(20_000)]
  assert.ok(many < 40 * few, `${many} µs for twenty times as many as in ${few} µs`)
})

test('form_of_many_references_is_read_at_once', () => {
  const group = Object.fromEntries(Array.from({ length: 31 }, (_, n) => [`f${n}`, { $ref: '#/$defs/O' }]))
  const properties = Object.fromEntries(Array.from({ length: 32 }, (_, n) => [`g${n}`, { $ref: '#/$defs/G' }]))
  const formOf = (length) => {
    const O = { enum: Array.from({ length }, (_, n) => `option ${n}`), default: `option ${length - 1}` }
    return { type: 'object', properties, $defs: { O, G: { type: 'object', properties: group } } }
  }
  const [few, many] = [4, 255].map((length) => costOf(() => assert.equal(readForm(formOf(length)).fields.length, 32)))
  assert.ok(many < 10 * few, `${many} µs for sixty times as many options as in ${few} µs`)
})
