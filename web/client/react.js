/**
 * The desk as a hook of React, 18 or newer. One desk for as long as the component is on the page, StrictMode's
 * rehearsals included.
 */
import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { DeskView } from './desk_view.js'

/** @import * as Types from './client.d.ts' */
/** @import * as React from './react.d.ts' */

/**
 * A person's desk, and the job on it. `null`: no person is known yet.
 * @param {React.DeskSettings | null} settings
 */
export function useDesk(settings) {
  const [deskView] = useState(() => new DeskView())
  const latest = useRef(settings)
  useEffect(() => {
    latest.current = settings
  })
  const name = settings && nameOf(settings)
  useEffect(() => {
    const { current } = latest
    if (!current || name === null) return
    const { token } = current
    /** @type {Types.Settings['token']} The newest token: it may have been renewed since the desk was made. */
    const newest = (about) => {
      const given = latest.current?.token
      return typeof given === 'function' ? given(about) : given
    }
    return deskView.open({ ...current, token: token && newest }, name)
  }, [deskView, name])
  return useSyncExternalStore(deskView.watch, deskView.view, deskView.view)
}

/**
 * The milliseconds that are left of the job's lease, looked at every second.
 * @param {Types.Job | null} job
 * @param {number} [every]
 */
export function useExpiresIn(job, every = 1_000) {
  return useLeft(job && (() => job.expiresIn), every)
}

/**
 * The milliseconds until a completion is final.
 * @param {Types.Closing | null} closing
 * @param {number} [every]
 */
export function useFinalIn(closing, every = 1_000) {
  return useLeft(closing && (() => closing.finalIn), every)
}

/**
 * @param {(() => number | null) | null} left
 * @param {number} every
 */
function useLeft(left, every) {
  const watch = useCallback((/** @type {() => void} */ tell) => {
    const timer = setInterval(tell, every)
    return () => clearInterval(timer)
  }, [every])
  const look = () => {
    const ms = left?.() ?? null
    return ms === null ? null : Math.ceil(ms / every) * every
  }
  return useSyncExternalStore(watch, look, () => null)
}

/**
 * What makes it this desk and no other. A token may be renewed, and a function is another one at each rendering.
 * @param {React.DeskSettings} settings
 */
function nameOf({ url, token, storage, ...rest }) {
  const sorted = Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify([String(url), Boolean(token), storage === null, sorted])
}
