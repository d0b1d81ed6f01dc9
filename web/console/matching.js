// How many jobs a list's filters let through: the service knows it of a whole state only, so that pages are counted.

import { useAnswer, useEffect } from './html.js'
import * as api from './api.js'
import { isNarrowed, onlyShows } from './filters.js'
import { many, number } from './format.js'
import { STOPPED, patiently } from './patience.js'

const PAGE = 100
/** Calls that one count may take. */
const MAX_CALLS = 20
/** A list that changes is counted again, and no sooner than this. */
const AGAIN = 5_000

async function countPages(queue, query, signal) {
  let n = 0, after
  for (let calls = 0; calls < MAX_CALLS; calls += 1) {
    const next = () => api.jobs(queue, { ...query, after, limit: PAGE }, signal)
    const page = await patiently(next, () => !signal.aborted)
    if (page === STOPPED) break
    n += page.jobs.length
    if (!page.next) return { n, isAll: true }
    after = page.next
  }
  return { n, isAll: false }
}

/**
 * `{n, isAll, isNarrowed}`; `n` is `null` until it is known. `count` is that of the whole state, `pages` the list that
 * is shown: a list that fits on its first page has been counted.
 */
export function useMatching(queue, state, only, count, pages) {
  const { data, at } = pages.answer
  const narrows = isNarrowed(only)
  const isShown = Boolean(data) && pages.number === 1 && !data.next
  // A search only shows: nothing is done to all that it finds, and to look through all of it again would be dear.
  const isCounted = narrows && !onlyShows(only) && Boolean(data) && !isShown
  const load = async (signal) => (isCounted ? countPages(queue, { state, ...only }, signal) : null)
  const answer = useAnswer(load, [queue, state, JSON.stringify(only), isCounted])
  useEffect(() => {
    if (isCounted && answer.at && Date.now() - answer.at > AGAIN) answer.reload()
  }, [at])
  const reload = () => { if (isCounted) answer.reload() }
  if (!narrows) return { n: count, isAll: true, isNarrowed: false, reload }
  if (onlyShows(only) && data) return { n: data.jobs.length, isAll: !data.next, isNarrowed: true, reload }
  if (isShown) return { n: data.jobs.length, isAll: true, isNarrowed: true, reload }
  return { n: null, isAll: false, ...answer.data, isNarrowed: true, reload }
}

/** "41 matching jobs"; of the whole state "all 300 jobs", with `state` "all 300 dead jobs". */
export function jobsOf({ n, isAll, isNarrowed: narrows }, state = '') {
  const what = narrows ? 'matching job' : [state, 'job'].filter(Boolean).join(' ')
  if (!isAll) return `more than ${number(n)} ${what}s`
  return narrows || n === 1 ? many(n, what) : `all ${many(n, what)}`
}
