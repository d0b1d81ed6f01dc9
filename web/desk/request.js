// A request as it was sent: its order, its digits, each of its texts as it can be relied on. All of it is on the page.

import { make, tell } from '../client/form/elements.js'
import { labelsOf } from '../client/form/labels.js'
import { visible } from '../client/form/shown.js'
import { linksOf } from './links.js'
import { SAY } from './words.js'

const MAX_COLUMNS = 20
const MAX_CELLS_PER_VALUE = 4

const isScalar = ({ kind }) => kind !== 'object' && kind !== 'array'
const isFlat = (node) => node.kind === 'object' && node.members.length > 0 && !twiceIn(node)
  && node.members.every(({ value }) => isScalar(value))

/** The name of a member that is there twice, at any depth. */
export function twiceIn(node) {
  if (node.kind === 'array') return firstOf(node.items)
  if (node.kind !== 'object') return undefined
  const names = new Set()
  for (const { name } of node.members) {
    if (names.has(name)) return visible(name) || SAY.empty
    names.add(name)
  }
  return firstOf(node.members.map(({ value }) => value))
}

function firstOf(nodes) {
  for (const node of nodes) {
    const found = twiceIn(node)
    if (found) return found
  }
  return undefined
}

/** The only member of this name; undefined if there is none or more. */
export function memberOf(node, name) {
  const found = node.kind === 'object' ? node.members.filter((member) => member.name === name) : []
  return found.length === 1 ? found[0].value : undefined
}

/** How many values there are in one, with itself. */
export function partsOf({ members = [], items = members.map(({ value }) => value) }) {
  return items.reduce((sum, item) => sum + partsOf(item), 1)
}

export function drawNode(node) {
  if (node.kind === 'object') return drawMembers(node.members)
  return node.kind === 'array' ? drawItems(node.items) : drawScalar(node)
}

/** Without the members that have a place of their own on the page. */
export function drawMembers(members, placed = new Set()) {
  const labels = labelsOf(members)
  const rows = members.flatMap(({ name, value }, n) => (placed.has(name) ? [] : make('div', {}, [
    tell(make('dt'), labels[n] || SAY.empty), make('dd', {}, [drawNode(value)]),
  ])))
  if (members.length === 0) return make('span', { className: 'literal', textContent: SAY.emptyObject })
  return make('dl', { className: 'members' }, rows)
}

function drawItems(items) {
  if (items.length === 0) return make('span', { className: 'literal', textContent: SAY.emptyList })
  const names = items.every(isFlat) ? namesOf(items) : []
  if (isTable(items, names)) return drawTable(items, names)
  return make('ul', { className: 'items' }, items.map((item) => make('li', {}, [drawNode(item)])))
}

const namesOf = (items) => [...new Set(items.flatMap(({ members }) => members.map(({ name }) => name)))]

/** Rows that share their columns: each has a cell for each name, so few may be empty. */
function isTable(items, names) {
  if (names.length === 0 || names.length > MAX_COLUMNS) return false
  const values = items.reduce((sum, { members }) => sum + members.length, 0)
  return names.length * items.length <= values * MAX_CELLS_PER_VALUE
}

function drawTable(items, names) {
  const labels = labelsOf(names.map((name) => ({ name })))
  const head = labels.map((label) => tell(make('th', { scope: 'col' }), label || SAY.empty))
  const rows = items.map((item) => make('tr', {}, names.map((name) => {
    const value = memberOf(item, name)
    return make('td', {}, value ? [drawScalar(value)] : [])
  })))
  const table = make('table', {}, [
    make('thead', {}, [make('tr', {}, head)]), make('tbody', {}, rows),
  ])
  const box = make('div', { className: 'table', tabIndex: 0 }, [table])
  box.setAttribute('role', 'region')
  box.setAttribute('aria-label', labels.map((label) => visible(label)).join(', '))
  return box
}

function drawScalar(node) {
  if (node.kind !== 'string') return make('span', { className: 'literal', textContent: node.text })
  if (node.value === '') return make('span', { className: 'literal', textContent: SAY.empty })
  const own = tell(make('span', { className: 'value' }), node.value)
  const links = linksOf(node.value)
  return links.length ? make('span', {}, [own, ' ', ...links]) : own
}
