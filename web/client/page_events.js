/**
 * What happens to a page: the person is here, it goes, it comes back, it is shown, the network is there again.
 */
import { shown } from './tabs.js'

/** Events that show the person's presence. */
const PRESENCE = ['pointerdown', 'pointermove', 'keydown', 'input', 'wheel', 'scroll', 'touchstart', 'focus']

/**
 * @typedef {object} PageEvents
 * @property {() => void} present
 * @property {() => void} online
 * @property {() => void} goes
 * @property {() => void} returns the browser brings the page back from its cache
 * @property {() => void} wakes
 * @property {() => void} looks it is shown, or hidden
 * @property {() => void} shows it is shown
 */

/**
 * @param {AbortSignal} signal ends it
 * @param {PageEvents} does
 */
export function listen(signal, { present, online, goes, returns, wakes, looks, shows }) {
  /** @type {(target: EventTarget, names: string[], does: (event: any) => unknown) => void} */
  const on = (target, names, does) => {
    for (const name of names) target.addEventListener(name, does, { signal, passive: true, capture: true })
  }
  on(window, PRESENCE, present)
  on(window, ['online'], online)
  on(window, ['pagehide'], goes)
  on(window, ['pageshow'], ({ persisted }) => persisted && returns())
  on(document, ['resume'], wakes)
  on(document, ['visibilitychange'], () => {
    looks()
    if (!shown()) return
    present()
    shows()
  })
}
