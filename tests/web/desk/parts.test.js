// The files of the desk keep its rules: they can be joined, say their words in one file, and make no markup of text.

import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { test } from 'node:test'
import { readNodes } from '../../../web/client/json_text.js'
import { imageOf, linkOf } from '../../../web/desk/links.js'
import { memberOf, twiceIn } from '../../../web/desk/request.js'
import { SAY, WORDS_OF_PAGE } from '../../../web/desk/words.js'

const desk = new URL('../../../web/desk/', import.meta.url)
const client = new URL('../../../web/client/', import.meta.url)
const read = (base, name) => readFileSync(new URL(name, base), 'utf8')
const files = readdirSync(desk).filter((name) => /\.(js|css|html)$/.test(name))
const scripts = files.filter((name) => name.endsWith('.js'))

test('files_are_short_and_make_no_markup_of_text', () => {
  for (const name of files) {
    const text = read(desk, name)
    assert.doesNotMatch(text, /innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|localStorage/, name)
    assert.doesNotMatch(text, /<script(?![^>]*\bsrc=)|\sstyle=|\son\w+="|@import|url\(/, name)
    assert.ok(text.split('\n').length <= 301, name)
    for (const line of text.split('\n')) assert.ok(line.length <= 120, `${name}: ${line}`)
  }
})

test('parts_can_be_joined_because_each_name_stands_once', () => {
  const forms = readdirSync(new URL('form/', client)).filter((name) => name.endsWith('.js')).map((name) => read(client, `form/${name}`))
  const texts = [...scripts.map((name) => read(desk, name)), ...forms, read(client, 'json_text.js')]
  const names = texts.flatMap((text) => text.match(/(?<=^(?:export )?(?:async )?(?:class|const|let|function) )\w+/gm) ?? [])
  assert.deepEqual(names.filter((name, n) => names.indexOf(name) !== n), [])
  // They are joined without indentation, which no text may have; and so is the browser module.
  const module = readdirSync(client).filter((name) => name.endsWith('.js')).map((name) => read(client, name))
  const lines = [...texts, ...module].flatMap((text) => text.split('\n'))
  assert.deepEqual(lines.filter((line) => line.split('`').length % 2 === 0 && !/[`].*\/[a-z]*[,;)]|'`'|\\`/.test(line)), [])
})

test('each_word_is_used_and_each_that_is_used_is_there', () => {
  const page = read(desk, 'index.html')
  const all = scripts.filter((name) => name !== 'words.js').map((name) => read(desk, name)).join('')
  const placed = [...page.matchAll(/data-word="(\w+)"/g)].map(([, name]) => name)
  const called = [...all.matchAll(/WORDS_OF_PAGE\.(\w+)/g)].map(([, name]) => name)
  assert.deepEqual([...new Set([...placed, ...called])].sort(), Object.keys(WORDS_OF_PAGE).sort())
  const mentioned = new Set([...all.matchAll(/\bSAY\.(\w+)/g)].map(([, name]) => name))
  assert.deepEqual([...mentioned].sort(), Object.keys(SAY).sort())
  assert.doesNotMatch(page.replaceAll(/<!--.*?-->|<title>.*?<\/title>|aria-label="Answer"/gs, ''), />\s*[A-Z][a-z]+/, 'words are in words.js')
})

test('members_that_are_twice_are_found_at_any_depth', () => {
  for (const text of ['{"a":1,"a":1}', '[[{"b":{"a":1,"c":2,"a":3}}]]', '{"x":[{"a":1},{"a":2,"a":3}]}']) assert.equal(twiceIn(readNodes(text)), 'a', text)
  for (const text of ['{"a":1,"A":1}', '[{"a":1},{"a":1}]', '{"a":{"a":1}}', '1']) assert.equal(twiceIn(readNodes(text)), undefined, text)
  assert.equal(memberOf(readNodes('{"a":1,"a":2}'), 'a'), undefined)
})

test('links_lead_to_plain_hosts_alone', () => {
  for (const [text, host] of [
    ['https://a.example', 'a.example'], ['https://A.example/x#y', 'a.example'], ['https://xn--pple-43d.example/', 'xn--pple-43d.example'],
  ]) assert.equal(linkOf(text)?.hostname, host, text)
  for (const text of [
    'http://a.example', 'https://', 'https://u@a.example/', 'https://u:p@a.example/', 'https://a.example:8443/', 'https://a.example:443/', 'https://@b.example/', 'https:\\\\a.example', ' https://a.example', 'https://a.example/ x',
    'javascript:alert(1)', 'https://a.example/\u202e', 'HTTPS://a.example',
  ]) assert.equal(linkOf(text), undefined, text)
})

test('images_are_below_a_named_address_for_browser_and_server', () => {
  const named = ['https://cdn.example/photos/', 'https://pics.example:8443/']
  for (const [text, href] of [
    ['https://cdn.example/photos/1.png', 'https://cdn.example/photos/1.png'],
    ['https://CDN.Example:443/photos/a/../b%20c.png?w=9#x', 'https://cdn.example/photos/b%20c.png?w=9#x'],
    ['https://cdn.example/photos/..a/b..;c/x..png', 'https://cdn.example/photos/..a/b..;c/x..png'],
    ['https://cdn.example/o/../photos/a%2Fb.png', 'https://cdn.example/photos/a%2Fb.png'],
    ['https://pics.example:8443', 'https://pics.example:8443/'],
  ]) assert.equal(imageOf(text, named)?.href, href, text)
  const up = ['../secret', '%2e%2e/secret', '.%2E/secret', '..%2fsecret', '%2e%2e%2fsecret', '..%252fsecret', '%252e%252e%252fsecret', '..;/secret', '..%5csecret', '..%3b/secret', '%ff', '100%']
  for (const text of [
    ...up.map((path) => `https://cdn.example/photos/${path}`), 'https://cdn.example/photos', 'https://cdn.example/photosx/1.png', 'https://cdn.example/Photos/1.png', 'https://cdn.example/photos\\1.png', 'https://cdn.example\\photos/1.png',
    'http://cdn.example/photos/1.png', '//cdn.example/photos/1.png', 'https:cdn.example/photos/1.png', 'https:///cdn.example/photos/1.png', 'https://cdn.example:444/photos/1.png', 'https://pics.example/1.png',
    'https://u@cdn.example/photos/1.png', 'https://@cdn.example/photos/1.png', 'https://cdn.example@evil.example/photos/1.png', 'https://cdn.example.evil.example/photos/1.png', 'https://cdn.example./photos/1.png',
    'https://\u0441dn.example/photos/1.png', 'https://cdn\u200b.example/photos/1.png', 'https://cdn.example/photos/1.png ', 'https://cdn.example/photos/1\n.png', 'see https://cdn.example/photos/1.png', 'data:image/png;base64,AA',
  ]) assert.equal(imageOf(text, named), undefined, text)
  for (const text of ['https://cdn.example/photos/1.png', 'https://a.example/']) assert.equal(imageOf(text, []), undefined, text)
})

test('address_that_is_encoded_many_times_is_no_image_after_three_rounds', (t) => {
  const decode = t.mock.method(globalThis, 'decodeURIComponent')
  const named = ['https://cdn.example/photos/']
  const rounds = (text) => {
    const before = decode.mock.callCount()
    const image = imageOf(`https://cdn.example/photos/${text}`, named)
    return [Boolean(image), decode.mock.callCount() - before]
  }
  assert.deepEqual(rounds('a.png'), [true, 1])
  assert.deepEqual(rounds('a%2520b.png'), [true, 3])
  assert.deepEqual(rounds(`%${'25'.repeat(20_000)}20b.png`), [false, 3])
})
