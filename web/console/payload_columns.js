// One or two members of the payloads as columns of a queue's lists, in place of the JSON text. The tab remembers which.

import { html, useLayoutEffect, useState } from './html.js'
import { membersOf } from './columns.js'
import { Exact, brief } from './exact_json.js'
import { many } from './format.js'
import { MAX_SHOWN, recall, remember } from './remembered.js'
import { Brief, Button, ask } from './ui.js'

/** No more of a payload is read for a list, which is drawn again with each event. */
const READ = 16_384
/** So many members are offered, the most common ones. */
const OFFERED = 50
const MAX_NAME = 40
const NO_NAME = '“” (no name)'

const read = new WeakMap()
/** The members of a payload; `null` where it is no object. */
function members(exact) {
  if (!read.has(exact)) read.set(exact, membersOf(new Exact(exact.text.slice(0, READ))))
  return read.get(exact)
}

/** How many of these payloads have each member, the most common first. */
function found(payloads) {
  const counts = new Map()
  for (const name of payloads.flatMap((exact) => [...members(exact)?.keys() ?? []])) {
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return [...counts].toSorted(([, a], [, b]) => b - a).slice(0, OFFERED)
}

const short = (name) => (name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name || NO_NAME)

/** A text as it reads, other values as JSON. */
function Value({ exact }) {
  if (!exact.text.startsWith('"')) return html`<${Brief} exact=${exact} />`
  const text = JSON.parse(exact.text).trim()
  return html`<bdi>${brief(new Exact(text))}</bdi>`
}

/** `lead`: what stands before the payload. A payload without the members that are asked for is shown whole. */
function cells(names, exact, lead) {
  const all = exact && names.length > 0 ? members(exact) : null
  if (!names.some((name) => all?.has(name))) {
    return html`<td class="what" colspan=${Math.max(names.length, 1)}>${lead}${
      exact && html`<${Brief} exact=${exact} />`}</td>`
  }
  return names.map((name, n) => html`<td class="what" data-title=${short(name)}>${n === 0 && lead}${
    all.has(name) && html`<${Value} exact=${all.get(name)} />`}</td>`)
}

function Choice({ what: { offered, rows }, value, onChange }) {
  const isFull = value.length >= MAX_SHOWN
  const toggle = (name) => onChange(value.includes(name) ? value.filter((other) => other !== name) : [...value, name])
  return html`<div class="columns"><fieldset><legend>Members of the payloads</legend>
    ${offered.map(([name, count]) => html`<label class="check" key=${name}>
      <input type="checkbox" checked=${value.includes(name)} disabled=${isFull && !value.includes(name)}
        onChange=${() => toggle(name)} />
      <bdi>${short(name)}</bdi> ${count < rows && html`<small>in ${many(count, 'row')}</small>`}</label>`)}
  </fieldset></div>`
}

function choose(queue, payloads, names, chosen) {
  const known = found(payloads)
  const gone = names.filter((name) => !known.some(([other]) => other === name)).map((name) => [name, 0])
  ask({
    title: `Which columns of the payloads of ${queue}?`,
    text: `At most ${MAX_SHOWN}, in all lists of the queue. With none the payload is shown as JSON.`,
    action: 'Show',
    form: Choice,
    offered: [...gone, ...known],
    rows: payloads.length,
    value: names,
    work: async (tell, value) => chosen(value),
    done: 'The columns of the payload are changed.',
  })
}

/** `payloads`: those on the page; `title` of the whole of one. `{heads, cells(exact, lead), button}` for the list. */
export function usePayloadColumns(queue, payloads, title = 'Payload') {
  const [names, setNames] = useState(() => recall(queue).shown)
  useLayoutEffect(() => setNames(recall(queue).shown), [queue])
  const chosen = (shown) => { remember(queue, { shown }); setNames(shown) }
  const isOffered = names.length > 0 || payloads.some((exact) => members(exact)?.size > 0)
  return {
    heads: names.length > 0 ? names.map((name) => ['what', short(name)]) : [['what', title]],
    cells: (exact, lead) => cells(names, exact, lead),
    button: isOffered && html`<${Button} kind="quiet" keys="C" label="Columns of the payload"
      onClick=${() => choose(queue, payloads, names, chosen)}>Columns…<//>`,
  }
}
