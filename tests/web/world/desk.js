// A small page that uses the module as pages do, from the service. What it shows is what a person sees; `heard` is for the
// stories.
import { Intray } from '/client.js'

const [payload, draft, state] = ['payload', 'draft', 'state'].map((id) => document.getElementById(id))
const settings = JSON.parse(new URLSearchParams(location.search).get('settings'))
const desk = new Intray(settings.storage === 'none' ? { ...settings, storage: null } : settings)
const heard = []
Object.assign(window, { desk, heard, job: null })

for (const name of ['waiting', 'warning', 'extended', 'saved', 'draft', 'lost', 'ended', 'undone', 'refused', 'retrying', 'left']) {
  desk.addEventListener(name, ({ type, detail }) => {
    const { id, reason, certain, late, action, final, expiresIn, status, delay } = detail
    heard.push({ type, id, reason, certain, late, action, final, expiresIn, status, delay, at: Date.now() })
    if (type === 'draft') draft.value = detail.draft?.text ?? ''
    if (type === 'lost') state.textContent = `You no longer have this job (${reason}). What you wrote is still here.`
    if (type === 'undone' && desk.job) show(desk.job)
    if (type === 'extended' || type === 'ended') state.textContent = window.job?.state ?? ''
  })
}

async function next() {
  state.textContent = 'waiting'
  show(await desk.next())
}

function show(job) {
  window.job = job
  payload.textContent = typeof job.payload === 'string' ? job.payload : JSON.stringify(job.payload)
  draft.value = job.draft?.text ?? ''
  draft.disabled = false
  state.textContent = job.state
}

draft.addEventListener('input', () => window.job.save({ text: draft.value }))
document.getElementById('next').addEventListener('click', () => next())
document.getElementById('complete').addEventListener('click', async () => {
  const { sent } = await window.job.complete({ text: draft.value }).catch(() => ({ sent: true }))
  if (!sent) state.textContent = 'kept here until it can be sent'
})
next().catch((error) => (state.textContent = String(error)))
