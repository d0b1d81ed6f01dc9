// When nobody looks at the page, and the person has asked for it, the browser says that a request has come.

import { $, reveal } from './page.js'
import { SAY, WORDS_OF_PAGE } from './words.js'

const isPossible = () => 'Notification' in globalThis && Notification.permission !== 'denied'

let isEmpty = false // since the line was empty, nothing has come

export function showBell() {
  isEmpty = true
  reveal('bell', isPossible() && Notification.permission === 'default')
}

/** One for each arrival after an empty line. It says nothing of the request: others may look at the screen. */
export function ring() {
  const hasCome = isEmpty
  isEmpty = false
  if (!hasCome || !document.hidden || !isPossible() || Notification.permission !== 'granted') return
  const notification = new Notification(WORDS_OF_PAGE.brand, { body: SAY.hasCome, tag: 'intray-desk' })
  notification.onclick = () => {
    focus()
    notification.close()
  }
}

$('bell').addEventListener('click', async () => {
  await Notification.requestPermission()
  reveal('bell', Notification.permission === 'default')
})
