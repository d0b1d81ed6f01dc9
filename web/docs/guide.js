// A search over all pages, and a button at each block that copies it. Text only ever becomes text.

const MAX = 20
const AROUND = 60

const make = (name, properties, ...inside) => {
  const element = Object.assign(document.createElement(name), properties)
  element.append(...inside)
  return element
}

/** Without the clipboard of a secure context, the selection is copied. */
async function copy(block) {
  if (navigator.clipboard) return navigator.clipboard.writeText(block.textContent)
  getSelection().selectAllChildren(block)
  document.execCommand('copy')
  getSelection().removeAllRanges()
}

for (const pre of document.querySelectorAll('pre')) {
  const button = make('button', { type: 'button', className: 'copy', textContent: 'Copy' })
  const say = (text) => {
    button.textContent = text
    setTimeout(() => (button.textContent = 'Copy'), 2_000)
  }
  button.onclick = () => copy(pre).then(() => say('Copied'), () => say('Not copied'))
  const block = make('div', { className: 'block' })
  pre.replaceWith(block)
  block.append(pre, button)
}

/** All sections, asked for once, at the first search. */
let index = null
async function sections() {
  index ??= fetch('search.json').then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(answer.status))))
  const all = await index.catch((error) => {
    index = null
    throw error
  })
  return all.map(([page, title, anchor, heading, text]) => ({ page, title, anchor, heading, text }))
}

/** Those that have every word; a heading that has them comes first, then the title of a page. */
function found(all, words) {
  const has = (text) => words.every((word) => text.toLowerCase().includes(word))
  const rank = ({ title, heading, text }) => {
    if (!has(`${title} ${heading} ${text}`)) return 0
    if (heading && has(heading)) return 4
    if (has(title)) return heading ? 2 : 5
    return has(text) ? 3 : 1
  }
  const ranked = all.map((section) => ({ section, rank: rank(section) })).filter(({ rank }) => rank > 0)
  return ranked.sort((a, b) => b.rank - a.rank).map(({ section }) => section)
}

/** The text around the first word, with each word marked. */
function excerpt(text, words) {
  const places = words.map((word) => text.toLowerCase().indexOf(word)).filter((at) => at >= 0)
  const from = Math.max(0, Math.min(...places, text.length) - AROUND)
  const part = text.slice(places.length ? from : 0).slice(0, 3 * AROUND)
  const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  const parts = part.split(new RegExp(`(${escaped.join('|')})`, 'i'))
  return parts.map((some, n) => (n % 2 ? make('mark', { textContent: some }) : some))
}

function place({ page, title, anchor, heading, text }, words) {
  const href = (page || './') + (anchor && `#${anchor}`)
  const name = make('strong', { textContent: heading ? `${title} › ${heading}` : title })
  return make('li', {}, make('a', { href }, name, make('span', {}, ...excerpt(text, words))))
}

const input = make('input', { type: 'search', placeholder: 'Search', title: 'Press / to search', autocomplete: 'off' })
input.setAttribute('aria-label', 'Search all pages')
const summary = make('p', {})
summary.setAttribute('role', 'status')
const list = make('ol', {})
const panel = make('div', { className: 'found', hidden: true }, summary, list)
const box = make('div', { className: 'search' }, input, panel)
document.querySelector('header').append(box)

async function search() {
  const asked = input.value
  const words = asked.toLowerCase().split(/\s+/).filter(Boolean)
  panel.hidden = words.length === 0
  if (panel.hidden) return
  try {
    const places = found(await sections(), words)
    if (asked !== input.value) return // another was asked for meanwhile
    const more = places.length > MAX ? `, the first ${MAX} are shown` : ''
    summary.textContent = places.length ? `${places.length} ${places.length === 1 ? 'section' : 'sections'}${more}` : 'No section has these words'
    list.replaceChildren(...places.slice(0, MAX).map((section) => place(section, words)))
  } catch {
    summary.textContent = 'The search index cannot be loaded'
    list.replaceChildren()
  }
}

const close = () => {
  panel.hidden = true
  input.value = ''
  input.blur()
}

/** Arrows go from the field through the list, and back. */
function step(by) {
  const stops = [input, ...list.querySelectorAll('a')]
  const next = stops.indexOf(document.activeElement) + by
  stops[Math.min(Math.max(next, 0), stops.length - 1)].focus()
}

input.addEventListener('input', search)
list.addEventListener('click', close)
box.addEventListener('keydown', (event) => {
  const does = {
    Escape: close,
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    Enter: event.target === input && (() => list.querySelector('a')?.click()),
  }[event.key]
  if (!does) return
  event.preventDefault()
  does()
})
document.addEventListener('click', (event) => box.contains(event.target) || (panel.hidden = true))
document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
  event.preventDefault()
  input.focus()
})
