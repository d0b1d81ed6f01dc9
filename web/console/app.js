// The frame: what is at the top, who is signed in, whether the service answers, and the view that the address names.

import { html, classes, render, useBeat, useEffect, useRef, useState, useStore } from './html.js'
import * as api from './api.js'
import * as focus from './focus.js'
import { age, readId } from './format.js'
import { listen } from './keys.js'
import { leave, live, refresh } from './live.js'
import { go, link, onLeave, place } from './router.js'
import { Button, Messages, Question } from './ui.js'
import { Help } from './views/help.js'
import { openById } from './views/job.js'
import { Overview } from './views/overview.js'
import { Queue } from './views/queue.js'
import { SignIn } from './views/signin.js'
import { Workers } from './views/workers.js'

const LINKS = {
  starting: ['Connecting', 'The first answer is on its way'],
  live: ['Live', 'What happens is here at once'],
  polling: ['Polling', 'Asked for every two seconds: the stream of events does not come through, or says too much'],
  away: ['Offline', 'The service does not answer'],
}

const dark = matchMedia('(prefers-color-scheme: dark)')

function App() {
  const state = useStore(live)
  const { page, queue, tab, id, only } = useStore(place)
  const isWorkers = page === 'workers'
  const [help, setHelp] = useState(false)
  useEffect(() => onLeave(() => setHelp(false)), [])
  const [filter, setFilter] = useState('')
  const [theme, setTheme] = useTheme()
  useEffect(() => { document.title = queue ? `${queue} · intray` : isWorkers ? 'Workers · intray' : 'intray console' },
    [queue, isWorkers])
  if (state.access === 'needed' || state.access === 'refused') {
    return html`<${SignIn} refused=${state.access === 'refused'} reason=${state.error?.message} /><${Messages} />`
  }
  const [connection, meaning] = LINKS[state.link]
  return html`
    <header class="top">
      <a class="brand" href="#/" aria-keyshortcuts="g" title="All queues (g)"><${Mark} />intray</a>
      ${queue && html`<span class="crumb" aria-hidden="true">/</span><a class="crumb" href=${link(queue)}>${queue}</a>`}
      <a class="everybody" href="#/workers" aria-keyshortcuts="w" aria-current=${isWorkers ? 'page' : undefined}
        title="Everybody who works (w)">Workers</a>
      <span class="space"></span>
      <${Search} queues=${state.queues ?? []} filter=${filter} setFilter=${setFilter} />
      <span class=${classes('link', state.link)} role="status" title=${meaning}>${connection}</span>
      <${Theme} isDark=${theme === 'dark'} setTheme=${setTheme} />
      <${Button} kind="quiet icon" keys="?" label="Keys" onClick=${() => setHelp(true)}>?<//>
      ${api.hasKey() && html`<${Button} kind="quiet" title=${who(state.me)} onClick=${leave}>Sign out<//>`}
    </header>
    ${state.error && html`<${Offline} state=${state} />`}
    ${isWorkers && html`<${Workers} />`}
    ${!isWorkers && (queue
      ? html`<${Queue} name=${queue} tab=${tab} id=${id} only=${only} state=${state} theme=${theme} />`
      : html`<${Overview} queues=${state.queues} at=${state.at} theme=${theme} filter=${filter} />`)}
    ${help && html`<${Help} onClose=${() => setHelp(false)} />`}
    <${Question} /><${Messages} />`
}

const who = (me) => (me ? `You are here as ${me.name}, ${me.role}` : undefined)

const Theme = ({ isDark, setTheme }) => html`<${Button} kind="quiet icon" keys="t" label=${isDark ? 'Light' : 'Dark'}
  onClick=${() => setTheme(isDark ? 'light' : 'dark')}><${isDark ? Sun : Moon} /><//>`

/** In memory only: a reload asks the system again. */
function useTheme() {
  const [chosen, setChosen] = useState(null)
  const [system, setSystem] = useState(dark.matches ? 'dark' : 'light')
  useEffect(() => { dark.addEventListener('change', () => setSystem(dark.matches ? 'dark' : 'light')) }, [])
  const set = (theme) => { document.documentElement.dataset.theme = theme; setChosen(theme) }
  return [chosen ?? system, set]
}

function Offline({ state }) {
  useBeat()
  const said = state.error.status ? `The service says: ${state.error.message}` : 'The service does not answer.'
  const since = state.at ? ` What you see is ${age(Date.now() - state.at)} old.` : ''
  return html`<div class="offline" role="alert"><span>${said}${since} It is asked again every two seconds.</span>
    <${Button} onClick=${refresh}>Now<//></div>`
}

/** An id opens its job or batch, a name its queue; among all queues, what is typed narrows the list. */
function Search({ queues, filter, setFilter }) {
  const [problem, setProblem] = useState(null)
  const field = useRef(null)
  const type = (event) => { setFilter(event.target.value.trim()); setProblem(null) }
  const search = async (event) => {
    event.preventDefault()
    const text = field.current.value.trim()
    if (!text) return
    const found = readId(text)
    const named = queues.find((queue) => queue.name === text) ?? queues.filter((queue) => queue.name.includes(text))[0]
    try {
      if (found) await openById(found)
      else if (named) go(link(named.name))
      else throw new Error('No queue has this name, and it is not the id of a job or a batch.')
      field.current.value = ''
      setFilter('')
      field.current.blur()
    } catch (error) {
      setProblem(error.message)
    }
  }
  return html`<form class="search" role="search" onSubmit=${search}>
    <input ref=${field} type="search" aria-label="Search" aria-keyshortcuts="/" placeholder="Job, batch or queue"
      autocomplete="off" spellcheck=${false} onInput=${type} onBlur=${() => setProblem(null)}
      aria-describedby="search-problem" />
    <kbd aria-hidden="true">/</kbd>
    ${problem && html`<p id="search-problem" class="problem" role="alert">${problem}</p>`}
  </form>`
}

const Icon = ({ path, children }) => html`<svg viewBox="0 0 24 24" aria-hidden="true">
  ${children}<path d=${path} /></svg>`
const Mark = () => html`<${Icon} path="M3 13l3-8h12l3 8v5a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2zm0 0h5l1.5 3h5l1.5-3h5" />`
const Sun = () => html`<${Icon}
  path="M12 2v2m0 16v2M2 12h2m16 0h2M5 5l1.4 1.4m11.2 11.2L19 19M5 19l1.4-1.4M17.6 6.4L19 5">
  <circle cx="12" cy="12" r="4" /><//>`
const Moon = () => html`<${Icon} path="M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z" />`

listen()
const root = document.getElementById('app')
root.textContent = ''
focus.listen(root)
render(html`<${App} />`, root)
refresh()
