// Which jobs of a list are picked, over its pages.

import { html, useLayoutEffect, useRef, useState } from './html.js'
import { tail } from './format.js'

/** `items`: those on the page. Another list, `key`, begins with nothing. */
export function usePicks(items, key) {
  const [jobs, setJobs] = useState(new Map())
  const anchor = useRef(null)
  useLayoutEffect(() => { setJobs(new Map()); anchor.current = null }, [key])
  const set = (those, isPicked) => setJobs((last) => {
    const next = new Map(last)
    for (const job of those) if (isPicked) next.set(job.id, job); else next.delete(job.id)
    return next
  })
  const at = (id) => items.findIndex((job) => job.id === id)
  return {
    jobs: [...jobs.values()],
    has: (id) => jobs.has(id),
    /** With `isRange` all between this one and the one before become as this one does. */
    toggle(job, isRange) {
      const [from, to] = [at(anchor.current), at(job.id)].toSorted((a, b) => a - b)
      set(isRange && from >= 0 ? items.slice(from, to + 1) : [job], !jobs.has(job.id))
      anchor.current = job.id
    },
    /** Those on the page, and no others. */
    all: (isPicked) => set(items, isPicked),
    drop: (job) => set([job], false),
    none: () => setJobs(new Map()),
    hasAll: items.length > 0 && items.every((job) => jobs.has(job.id)),
  }
}

export const Pick = ({ job, picks }) => html`<td class="pick"><label><input type="checkbox"
  aria-label=${`Pick job ${tail(job.id)}`} aria-keyshortcuts="x X" checked=${picks.has(job.id)}
  onClick=${(event) => picks.toggle(job, event.shiftKey)} /></label></td>`

export const PickAll = ({ picks }) => html`<label><input type="checkbox" aria-label="Pick all on this page"
  aria-keyshortcuts="a" title="Pick all on this page (a)" checked=${picks.hasAll}
  onClick=${() => picks.all(!picks.hasAll)} /><span aria-hidden="true">all on this page</span></label>`
