// Forms without a page: what the gate takes and refuses, and what a result is checked by. The service runs the same cases.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { checkForm, checkText, readForm } from '../../../web/client/form.js'
import { FORMATS } from '../../../web/client/form/formats.js'

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
