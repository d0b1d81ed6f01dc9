// Names of workers, or skills, one after the other: each is a chip, which a comma or Enter ends.

import { html, useRef, useState } from './html.js'
import { twins } from './recent.js'
import { visible } from './shown.js'

/** A part that a comma or a line break ends. Between quotes a comma is a part of the name. */
const ENDED = /^\s*(?:"([^"]*)"\s*|((?!\s*")[^,\n]*))[,\n]/

/** What a text has that is ended, and the rest. */
function split(text) {
  const done = []
  let rest = text
  for (let found; (found = ENDED.exec(rest)); rest = rest.slice(found[0].length)) {
    done.push((found[1] ?? found[2]).trim())
  }
  return { done, rest }
}

const distinct = (names) => [...new Set(names.filter(Boolean))]

export const chips = (names) => ({ names, text: '' })

/** All of them: what was typed last counts, ended or not. */
export function namesOf({ names, text }) {
  const { done, rest } = split(`${text},`)
  return distinct([...names, ...done, rest.replace(/^\s*"|,$/g, '').trim()])
}

/** What a browser puts in from its list of suggestions: a name with its commas. */
const isChosen = ({ inputType }) => inputType === undefined || inputType === 'insertReplacementText'

/** `known`: what is suggested; `hint`: what it says without any. */
export function Chips({ id, label, hint, value, known, isFirst, isOff, onChange }) {
  const input = useRef(null)
  const [news, tell] = useState('')
  const { names, text } = value
  const added = (more) => {
    const twin = twins(more, known)
    tell(`${more.map((name) => visible(name)).join(', ')} added${twin && `. ${twin}`}`)
  }
  const add = (more, rest) => {
    if (more.length > 0) added(more)
    onChange({ names: distinct([...names, ...more]), text: rest })
  }
  const remove = (name) => {
    tell(`${visible(name)} removed`)
    onChange({ names: names.filter((other) => other !== name), text })
    input.current.focus()
  }
  const type = (event) => {
    const typed = event.target.value
    if (isChosen(event) && known.includes(typed)) return add([typed], '')
    const { done, rest } = split(typed)
    add(distinct(done), rest)
  }
  const press = (event) => {
    if (event.isComposing) return
    if (event.key === 'Enter' && text.trim()) {
      event.preventDefault()
      onChange(chips(namesOf(value)))
      added([text.trim()])
    }
    if (event.key === 'Backspace' && !text && names.length > 0) remove(names.at(-1))
  }
  const twin = twins(namesOf(value), known)
  return html`<div class="whom" role="group" aria-label=${label}>
    <label for=${id}>${label}</label>
    <div class="entry">
      ${names.map((name) => html`<span class="chip" key=${name}><bdi>${name}</bdi><button type="button"
        disabled=${isOff} aria-label=${`Remove ${visible(name)}`} onClick=${() => remove(name)}>×</button></span>`)}
      <input id=${id} ref=${input} list=${`${id}-known`} value=${text} autofocus=${isFirst} disabled=${isOff}
        placeholder=${names.length > 0 ? '' : hint} autocomplete="off" spellcheck=${false} autocapitalize="off"
        aria-describedby=${twin ? `${id}-twins` : undefined}
        onInput=${type} onKeyDown=${press} />
      <${Known} id=${`${id}-known`} of=${known.filter((name) => !names.includes(name))} />
    </div>
    ${twin && html`<p class="hint twins" id=${`${id}-twins`}>${twin}</p>`}
    <span class="unseen" role="status">${news}</span>
  </div>`
}

/** A name with characters that are not seen is not offered: a browser shows it as it is. */
const Known = ({ id, of }) => html`<datalist id=${id}>${
  of.filter((name) => visible(name) === name).map((name) => html`<option key=${name} value=${name} />`)}</datalist>`
