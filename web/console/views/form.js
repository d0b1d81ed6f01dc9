// The form of a queue's results: its text, what is wrong with it at its place, and how the desk draws it.

import { html, useAnswer, useEffect, useLayoutEffect, useRef, useState } from '../html.js'
import * as api from '../api.js'
import { placeIn, pretty } from '../exact_json.js'
import { changeText } from '../format.js'
import { again, mayAct } from '../live.js'
import { changed } from '../making.js'
import { Button, ask, say } from '../ui.js'

const savedText = (queue) => changeText(queue, 'The form is saved.')

/** Only this page needs it. */
const load = () => import('../../form.js')

export function ResultForm({ queue: { name, settings } }) {
  const [draft, setDraft] = useState(null)
  useLayoutEffect(() => setDraft(null), [name])
  const read = (signal) => Promise.all([api.form(name, signal), load()])
  const { data, error } = useAnswer(read, [name, settings.result_schema_sha256])
  return html`<section class="result-form" aria-labelledby="result-form">
    <h3 id="result-form">Form of the result</h3>
    <p>A JSON Schema. The <a href=${api.url('desk/', { queue: name })}>desk</a> draws it, and a result that does not
      fit is refused.</p>
    ${error && html`<p class="problem" role="alert">${error.message}</p>`}
    ${data && html`<${Editor} name=${name} stored=${data[0].isNull ? '' : pretty(data[0], false)} forms=${data[1]}
      draft=${draft} setDraft=${setDraft} />`}
  </section>`
}

/** `draft`: what was typed; nothing, if it is what is stored. */
function Editor({ name, stored, forms, draft, setDraft }) {
  const [refused, setRefused] = useState({})
  const [busy, setBusy] = useState(false)
  const box = useRef(null)
  const text = draft ?? stored
  const isDirty = text !== stored
  const found = text.trim() === '' ? [] : forms.readForm(text).faults ?? []
  const faults = refused.text === text ? refused.faults : found
  const set = async (schema, create) => {
    const answer = await api.setForm(name, schema, create)
    again(answer)
    setDraft((last) => (last === draft ? null : last))
    return answer
  }
  const save = async () => {
    setBusy(true)
    try {
      const answer = await changed(name, (create) => set(text, create), savedText(name))
      if (answer) say(savedText(name)(answer))
    } catch (error) {
      const errors = (error.problem?.errors ?? []).filter(({ pointer = '' }) => pointer.startsWith(api.FORM_POINTER))
      const own = errors.map(({ pointer, detail }) => ({ pointer: pointer.slice(api.FORM_POINTER.length), detail }))
      setRefused({ text, faults: own.length ? own : [{ pointer: '', detail: error.message }] })
    }
    setBusy(false)
  }
  const remove = () => ask({
    title: `Take the form of ${name} away?`,
    text: 'Results are no longer checked, and the desk asks for Approve or Reject.',
    action: 'Take it away',
    danger: true,
    work: () => set('null', false),
    done: 'The form is taken away.',
  })
  const goTo = ({ from, to }) => {
    box.current.focus()
    box.current.setSelectionRange(from, to)
  }
  return html`
    <textarea ref=${box} aria-label="Form of the result, as JSON" rows="12" spellcheck=${false} autocapitalize="off"
      value=${text} readonly=${!mayAct()} aria-invalid=${faults.length > 0} aria-describedby="form-faults"
      onInput=${(event) => setDraft(event.target.value)}></textarea>
    <ul id="form-faults" class="problem" role="status">${faults.map((fault) => html`<${FaultAt} text=${text}
      fault=${fault} goTo=${goTo} />`)}</ul>
    ${mayAct() && html`<p class="save">
      <${Button} kind="primary" disabled=${busy || !isDirty || text.trim() === '' || found.length > 0}
        onClick=${save}>Save the form<//>
      ${isDirty && html`<${Button} kind="quiet" onClick=${() => setDraft(null)}>Undo<//>`}
      ${stored && html`<${Button} kind="quiet" onClick=${remove}>Take it away<//>`}</p>`}
    ${text.trim() !== '' && html`<${Preview} forms=${forms} text=${found.length ? null : text} />`}`
}

/** What is wrong, and a way to the place in the text. */
function FaultAt({ text, fault: { pointer, detail }, goTo }) {
  const place = pointer ? placeIn(text, pointer) : null
  const line = place && text.slice(0, place.from).split('\n').length
  return html`<li>${place && html`<${Button} kind="quiet" onClick=${() => goTo(place)}>Line ${line}<//>`}
    ${pointer && html`<code>${pointer}</code>`} ${detail}</li>`
}

/** `text`: that of a form; else the last one is still drawn. */
function Preview({ forms, text }) {
  const place = useRef(null)
  useEffect(() => {
    if (text === null) return
    try {
      place.current.replaceChildren(forms.drawForm(text).element)
    } catch (error) {
      place.current.replaceChildren(error.message)
    }
  }, [text])
  return html`<section class="preview" aria-labelledby="preview"><h4 id="preview">As the desk draws it</h4>
    <div ref=${place}></div></section>`
}
