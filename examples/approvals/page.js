// What the page shows, without knowing what it is about.

export const $ = (id) => document.getElementById(id)
export const show = (id, visible) => { $(id).hidden = !visible }

export function view(name) {
  if (document.body.dataset.view === name) return
  document.body.dataset.view = name
  scrollTo(0, 0)
}

export function notice(text, kind) {
  if ($('notice').textContent === (text ?? '')) return // or it would be read out again
  show('notice', Boolean(text))
  $('notice').textContent = text ?? ''
  $('notice').className = `notice ${kind ?? ''}`
}

export function toast(text) {
  $('toast').textContent = text
  $('toast').classList.add('shown')
  setTimeout(() => $('toast').textContent === text && $('toast').classList.remove('shown'), 2_600)
}

export function clock(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1_000))
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
