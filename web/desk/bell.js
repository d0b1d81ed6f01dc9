// When the page is hidden, and the person has asked for it, the browser says that a request has come.

import { $, reveal } from './page.js'
import { SAY, WORDS_OF_PAGE } from './words.js'

/** Where only a service worker may notify, as on phones, this throws. Without permission it shows nothing. */
function canNotify() {
  try {
    return Boolean(new Notification(''))
  } catch {
    return false
  }
}

const isPossible = () => 'Notification' in globalThis && Notification.permission !== 'denied'

// Since the line was empty, nothing has come.
let isEmpty = false

export function showBell() {
  isEmpty = true
  reveal('bell', isPossible() && Notification.permission === 'default' && canNotify())
}

/** One for each arrival after an empty line. It says nothing of the request: others may look at the screen. */
export function ring() {
  const hasCome = isEmpty
  isEmpty = false
  if (!hasCome || !document.hidden || !isPossible() || Notification.permission !== 'granted') return
  try {
    const notification = new Notification(WORDS_OF_PAGE.brand, { body: SAY.hasCome, tag: 'intray-desk' })
    notification.onclick = () => {
      focus()
      notification.close()
    }
  // A phone that has given the permission.
  } catch {}
}

$('bell').addEventListener('click', async () => {
  await Notification.requestPermission()
  reveal('bell', Notification.permission === 'default')
})
