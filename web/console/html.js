// The building blocks of all views.

import { h } from './vendor/preact.mjs'
import { useEffect, useRef, useState } from './vendor/hooks.mjs'
import htm from './vendor/htm.mjs'
import { onPulse } from './live.js'
import { visible } from './shown.js'

export { render } from './vendor/preact.mjs'
// What another queue, list or value makes forgotten is forgotten by `useLayoutEffect`, before anybody can act on what
// is drawn. `useEffect` comes a frame later, and would take what was typed or picked meanwhile.
export { useEffect, useLayoutEffect, useMemo, useRef, useState } from './vendor/hooks.mjs'
/** Every text that is drawn: others wrote most of them. */
const drawn = (child) => {
  if (Array.isArray(child)) return child.map(drawn)
  return typeof child === 'string' && /[^\n\t -~]/.test(child) ? visible(child) : child
}
export const html = htm.bind((type, props, ...children) => h(type, props, ...drawn(children)))

export const classes = (...names) => names.filter(Boolean).join(' ')

/** A store's state, now and whenever it changes. */
export function useStore(store) {
  const [state, setState] = useState(store.get())
  useEffect(() => {
    setState(store.get())
    return store.subscribe(setState)
  }, [store])
  return state
}

const beat = new Set()
setInterval(() => beat.forEach((tell) => tell(Date.now())), 1_000)

/** Draws again every second. */
export function useSecondTick() {
  const [, tell] = useState(0)
  useEffect(() => {
    beat.add(tell)
    return () => beat.delete(tell)
  }, [])
}

/**
 * What `load(signal)` answers: `{data, error, at, reload}`. Asked again when something happens in `queue`. What was
 * there stays to be seen while it is asked again, and when that fails.
 */
export function useAnswer(load, parts, queue) {
  const [state, setState] = useState({})
  const ask = useRef(() => {})
  useEffect(() => {
    const gone = new AbortController()
    let turn = 0
    setState({})
    ask.current = async () => {
      const mine = ++turn
      try {
        const data = await load(gone.signal)
        if (mine === turn && !gone.signal.aborted) setState({ data, at: Date.now() })
      } catch (error) {
        if (mine === turn && !gone.signal.aborted) setState((last) => ({ ...last, error }))
      }
    }
    ask.current()
    const forget = queue ? onPulse(queue, () => ask.current()) : undefined
    return () => { gone.abort(); forget?.() }
  }, parts)
  return { ...state, reload: () => ask.current() }
}
