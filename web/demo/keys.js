// The keyboard. What a key does is written at the element itself, in `aria-keyshortcuts`; Enter hands in.

import { element as $ } from './draw.js'
import { isAsked, sendForm } from './to_whom.js'

export const listenToKeys = (desk) => document.addEventListener('keydown', (event) => onKey(event, desk))

function onKey(event, { hasJob, handIn }) {
  if (isAsked()) return sendForm(event)
  if (event.ctrlKey || event.metaKey || event.altKey) {
    if (event.key === 'Enter' && hasJob()) handIn()
    return
  }
  const { key } = event
  // A dialog that was closed this instant has the focus until the page is redrawn.
  const target = event.target.closest('dialog:not([open])') ? document.body : event.target
  if (target.matches('textarea')) return key === 'Escape' ? target.blur() : undefined
  if (target.matches('input:not([type=radio])')) return undefined
  if (key === 'u' && !$('why-skip').open) return $('undo').click()
  if (key === 'Enter' && hasJob() && !target.matches('button, dialog *')) { event.preventDefault(); return handIn() }
  if (key === 'n' && hasJob() && !$('why-skip').open) { event.preventDefault(); return $('note').focus() }
  const place = $('why-skip').open ? $('why-skip') : document.querySelector(`[data-for=${document.body.dataset.view}]`)
  const has = `[aria-keyshortcuts="${CSS.escape(key)}"]`
  const found = place?.querySelector(`fieldset:not([hidden]) ${has}, button${has}`)
  if (!found) return undefined
  event.preventDefault()
  return found.click()
}
