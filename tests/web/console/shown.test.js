// What is not seen, or turns other letters round, is a mark with its number, wherever a page shows what others wrote.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { visible } from '../../../web/console/shown.js'

const U = (...codes) => String.fromCodePoint(...codes)
const marked = (code) => `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`
const range = (first, last) => Array.from({ length: last - first + 1 }, (_, at) => first + at)

const UNSEEN = [
  ...range(0, 8), ...range(0xb, 0x1f), ...range(0x7f, 0xa0), 0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x1680, 0x17b4, 0x17b5,
  ...range(0x180b, 0x180f), ...range(0x2000, 0x200f), ...range(0x2028, 0x202f), ...range(0x205f, 0x206f), 0x2800, 0x3000, 0x3164,
  ...range(0xfe00, 0xfe0f), 0xfeff, 0xffa0, ...range(0xfff9, 0xfffb), ...range(0x1bca0, 0x1bca3), ...range(0x1d173, 0x1d17a),
  0xe0001, ...range(0xe0020, 0xe007f), ...range(0xe0100, 0xe01ef),
]

test('characters_that_are_not_seen_are_marks_with_their_number', () => {
  for (const code of UNSEEN) assert.equal(visible(`a${U(code)}b`), `a${marked(code)}b`)
  assert.equal(visible('a\ud800b'), 'a⟨U+D800⟩b')
  assert.equal(visible('DE\u202e0123'), 'DE⟨U+202E⟩0123')
})

test('joiners_stay_where_a_script_or_an_emoji_needs_them', () => {
  const kept = ['می\u200cخواهم', 'क्\u200dष', 'ක්\u200dර', 'ന\u0d4d\u200d', '👩\u200d💻', '👩🏽\u200d🚀', '❤\ufe0f\u200d🔥', '❤\ufe0f', '1\ufe0f\u20e3', 'a b\tc\nd', 'שלום', '\u0601']
  for (const text of kept) assert.equal(visible(text), text)
  const lost = ['ann\u200c', 'ann\u200d@shop', 'می\u200c', '\u200dمی', '👩\u200d', '👩\u200da', '5\ufe0f', 'x\ufe0f', '🏴\u{e0067}\u{e007f}']
  for (const text of lost) assert.match(visible(text), /⟨U\+/, JSON.stringify(text))
  assert.equal(visible('می\u200c\u200cخ'), 'می⟨U+200C ×2⟩خ', 'one is enough')
  assert.equal(visible('a\r\nb\rc'), 'a\nb⟨U+000D⟩c')
})

test('texts_that_pretend_to_be_others_are_found_out', () => {
  for (const [text, wanted] of [
    ['transfer\u202eknab_', 'transfer⟨U+202E⟩knab_'],
    ['DE\u202e0123', 'DE⟨U+202E⟩0123'],
    ['ann\u200b@shop.example', 'ann⟨U+200B⟩@shop.example'],
    ['a\u2066b\u2069', 'a⟨U+2066⟩b⟨U+2069⟩'],
    ['pay\u00adpal', 'pay⟨U+00AD⟩pal'],
    ['x\u{e0041}\u{e007f}', 'x⟨U+E0041⟩⟨U+E007F⟩'],
    ['a\u0007b\u001b[2J', 'a⟨U+0007⟩b⟨U+001B⟩[2J'],
    ['12\u00a0000', '12⟨U+00A0⟩000'],
    ['\u3164', '⟨U+3164⟩'],
    ['ok\ufe0e', 'ok⟨U+FE0E⟩'],
    ['left\u200dright', 'left⟨U+200D⟩right'],
    ['line\u2028line', 'line⟨U+2028⟩line'],
  ]) assert.equal(visible(text), wanted, JSON.stringify(text))
})

test('blank_lines_that_would_push_a_text_out_of_sight_are_one_mark', () => {
  const lines = '\n'.repeat(5_000)
  assert.equal(visible(`ok${lines}x`), 'ok⟨U+000A ×5000⟩x')
  assert.equal(visible(`ok\n \n\t\n  \nx\n\n\n\n`), 'ok⟨U+000A ×4⟩x⟨U+000A ×4⟩')
  assert.equal(visible('ok\r\n\r\n\r\n\r\nx'), 'ok⟨U+000A ×4⟩x')
  for (const text of ['a\n\n\nb', 'a\n \n\t\n  b', 'a\nb\nc\nd\ne\nf', '   ']) assert.equal(visible(text), text)
  // The text itself can be had back.
  for (const text of [`ok${lines}x`, '\n \n\t\n\n \n', '\n\n\n\n\u200b\n\n\n\n']) assert.equal(visible(text, ({ char }) => char), text)
})

test('accents_that_make_a_tower_are_marks_from_the_ninth', () => {
  assert.equal(visible(`a${'\u0300'.repeat(1_000)}b`), `a${'\u0300'.repeat(8)}⟨U+0300 ×992⟩b`)
  assert.equal(visible(`${'a\u0300\u0301'.repeat(9)}`), `${'a\u0300\u0301'.repeat(9)}`)
  const joined = `क${'\u094d'.repeat(8)}\u200d`
  assert.equal(visible(`${joined}${'\u094d'.repeat(2)}`), `${joined}⟨U+094D ×2⟩`, 'a joiner ends no tower')
})
