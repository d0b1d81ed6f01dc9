// The frame: what is at the top, who is signed in, whether the service answers, and the view that the address names.

import { html, classes, render, useSecondTick, useEffect, useLayoutEffect, useRef, useState, useStore } from './html.js'
import * as api from './api.js'
import * as focus from './focus.js'
import { age, readId } from './format.js'
import { listen } from './keys.js'
import { leave, live, refresh } from './live.js'
import { go, link, onLeave, overviewLink, place, replace } from './router.js'
import { Button, Messages, Question } from './ui.js'
import { Dead } from './views/dead.js'
import { Help } from './views/help.js'
import { placeOf } from './views/job.js'
import { Overview } from './views/overview.js'
import { Queue } from './views/queue.js'
import { SignIn } from './views/signin.js'
import { Upload } from './views/upload.js'
import { Webhooks } from './views/webhooks.js'
import { Worker } from './views/worker.js'
import { Workers } from './views/workers.js'

const LINKS = {
  starting: ['Connecting', 'The first answer is on its way'],
  live: ['Live', 'What happens is here at once'],
  polling: ['Every 2 s', 'Asked for every two seconds: the stream of events does not come through, or says too much'],
  away: ['Offline', 'The service does not answer'],
}

const TITLES = {
  overview: 'intray console', workers: 'Workers · intray', dead: 'Dead jobs · intray', webhooks: 'Webhooks · intray',
  upload: 'Upload · intray',
}

const dark = matchMedia('(prefers-color-scheme: dark)')

function App() {
  const state = useStore(live)
  const { page, queue, tab, id, webhook, worker, only } = useStore(place)
  const current = (name) => (page === name ? 'page' : undefined)
  const [help, setHelp] = useState(false)
  useEffect(() => onLeave(() => setHelp(false)), [])
  const [theme, setTheme] = useTheme()
  const title = queue ?? worker
  useEffect(() => { document.title = title ? `${title} · intray` : TITLES[page] }, [title, page])
  if (state.access === 'needed' || state.access === 'refused') {
    return html`<${SignIn} refused=${state.access === 'refused'} reason=${state.error?.message} /><${Messages} />`
  }
  const [connection, meaning] = LINKS[state.link]
  return html`
    <header class="top">
      <a class="brand" href="#/" aria-keyshortcuts="g" title="All queues (g)"><${Mark} />intray</a>
      ${queue && html`<span class="crumb" aria-hidden="true">/</span><a class="crumb" href=${link(queue)}>${queue}</a>`}
      <a class="everybody" href="#/workers" aria-keyshortcuts="w" aria-current=${current('workers')}
        title="Everybody who works (w)">Workers</a>
      <a class="everybody" href="#/webhooks" aria-keyshortcuts="W" aria-current=${current('webhooks')}
        title="Where events are sent (W)">Webhooks</a>
      <span class="space"></span>
      <${Search} queues=${state.queues ?? []} page=${page} only=${only} />
      <span class=${classes('link', state.link)} role="status" title=${meaning}>${connection}</span>
      <${Theme} isDark=${theme === 'dark'} setTheme=${setTheme} />
      <${Button} kind="quiet icon" keys="?" label="Keys" onClick=${() => setHelp(true)}>?<//>
      ${api.hasKey() && html`<${Button} kind="quiet" title=${who(state.me)} onClick=${leave}>Sign out<//>`}
    </header>
    ${state.error && html`<${Offline} state=${state} />`}
    ${page === 'workers' && (worker ? html`<${Worker} key=${worker} name=${worker} />` : html`<${Workers} />`)}
    ${page === 'webhooks' && html`<${Webhooks} name=${webhook} only=${only} queues=${state.queues} />`}
    ${page === 'upload' && html`<${Upload} key=${only.queue} queue=${only.queue} queues=${state.queues} />`}
    ${page === 'dead' && html`<${Dead} queues=${state.queues} />`}
    ${page === 'overview' && html`<${Overview} queues=${state.queues} at=${state.at} theme=${theme} only=${only} />`}
    ${queue && html`<${Queue} name=${queue} tab=${tab} id=${id} only=${only} state=${state} theme=${theme} />`}
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
  useSecondTick()
  const notice = state.error.status ? `The service says: ${state.error.message}` : 'The service does not answer.'
  const since = state.at ? ` What you see is ${age(Date.now() - state.at)} old.` : ''
  return html`<div class="offline" role="alert"><span>${notice}${since} It is asked again every two seconds.</span>
    <${Button} onClick=${refresh}>Now<//></div>`
}

/** An id opens its job or batch, a name its queue; in the overview the text filters the list. */
function Search({ queues, page, only }) {
  const [problem, setProblem] = useState(null)
  const field = useRef(null)
  useLayoutEffect(() => {
    if (field.current.value.trim() !== (only.find ?? '')) field.current.value = only.find ?? ''
  }, [page, only.find])
  const narrow = (find) => { if (page === 'overview') replace(overviewLink({ ...only, find })) }
  const type = (event) => { narrow(event.target.value.trim()); setProblem(null) }
  const search = async (event) => {
    event.preventDefault()
    const text = field.current.value.trim()
    if (!text) return
    const found = readId(text)
    const named = queues.find((queue) => queue.name === text) ?? queues.filter((queue) => queue.name.includes(text))[0]
    try {
      if (!found && !named) throw new Error('No queue has this name, and it is not the id of a job or a batch.')
      const target = found ? await placeOf(found) : link(named.name)
      // Back leads to all queues again, and not to those that are called like an id.
      narrow('')
      go(target)
      field.current.value = ''
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

listen(focus.letGo)
const root = document.getElementById('app')
root.textContent = ''
focus.listen(root)
render(html`<${App} />`, root)
refresh()
