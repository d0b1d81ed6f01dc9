// The rows of a table are sent: asked for, stopped, refused, left, and gone on with.

import { useEffect, useMemo, useRef, useState } from '../html.js'
import { FileChanged } from '../csv_table.js'
import { many, number } from '../format.js'
import { again } from '../live.js'
import { askToMake, isUnknownQueue } from '../making.js'
import { recentOf, requireSeen } from '../recent.js'
import { link } from '../router.js'
import { ask, say } from '../ui.js'
import { keyOf, nothingSent, send } from '../upload.js'
import { end } from '../upload_left.js'

/**
 * `{report, phase, problem, isOver, ask, go, stop, href}`; `phase`: 'sending', 'stopped' or 'done'; `isOver`: it does
 * not go on with this file. `upload`: what stays when the page is left.
 */
export function useSending(upload, table, typed, found, onSent) {
  const { report: left } = upload
  const [state, setState] = useState({ report: left, phase: left ? 'stopped' : '', problem: '', isOver: false })
  const isThere = useRef(true)
  const going = useRef(null)
  const set = (part) => { if (isThere.current) setState((last) => ({ ...last, ...part })) }
  useEffect(() => () => { isThere.current = false; leave(upload, going.current) }, [upload])
  useWarning(state.phase === 'sending')
  const queue = typed.queue.trim()
  const start = async (creates) => {
    if (!isThere.current) return
    going.current = new AbortController()
    const { signal } = going.current
    const tell = (report) => { upload.report = report; if (!signal.aborted) set({ report }) }
    const what = { table, queue, key: keyOf(typed.name.trim(), table), overlap: typed.overlap, creates }
    Object.assign(upload, { report: upload.report ?? nothingSent(), rows: found.jobs, isSending: true })
    set({ phase: 'sending', problem: '', report: upload.report })
    onSent(true)
    try {
      await send(what, upload.report, tell, signal)
      set({ phase: 'done' })
      end(upload)
    } catch (error) {
      // What was chosen may be the reason. If any row may have arrived, the others go the same way.
      const isBegun = upload.report.sent > 0 || upload.report.isUnsure
      if (!isBegun) upload.report = null
      set({ phase: 'stopped', report: upload.report, ...failure(error, signal.aborted, isBegun) })
      onSent(isBegun)
      // After its words have the focus, to which it returns.
      if (!signal.aborted && isUnknownQueue(error)) setTimeout(() => { if (isThere.current) askForQueue(queue, start) })
    }
    upload.isSending = false
    again()
  }
  const recent = useMemo(() => recentOf(queue), [queue])
  return {
    ...state,
    go: () => start(false),
    stop: () => going.current.abort(),
    href: link(queue),
    ask: () => askToAdd(queue, typed.overlap, found, recent, start),
  }
}

/** The page is left: what was under way may have arrived. */
function leave(upload, going) {
  if (!upload.isSending) return
  going.abort()
  Object.assign(upload, { report: { ...upload.report, isUnsure: true }, isSending: false })
  const { file: { name }, rows, report: { sent } } = upload
  say(`The upload of ${name} is stopped: ${number(sent)} of ${many(rows, 'row')} are sent. Go back to go on.`, 'bad')
}

function failure(error, isStopped, isBegun) {
  if (error instanceof FileChanged) return { problem: `The file ${error.message}.`, isOver: true }
  if (!isStopped) return { problem: error.message, isOver: false }
  return { problem: isBegun ? '' : 'Stopped before anything was sent.', isOver: false }
}

// After a dialog is closed, so that the focus goes to what becomes of the rows.
const afterDialog = (start, creates) => { setTimeout(start, 0, creates) }

const askForQueue = (queue, start) =>
  askToMake(queue, 'upload', () => afterDialog(start, true), `${queue} will be made by its first row.`)

const askToAdd = (queue, overlap, found, recent, start) => ask({
  title: `Add ${many(found.jobs, 'row')} to ${queue}?`,
  text: overlap
    ? `Each becomes ${overlap} equal jobs, which as many people answer.`
    : 'Each becomes a job. Rows that this upload has added before are known and not added again.',
  action: 'Add them',
  work: async (tell, value, confirmed) => {
    await requireSeen(recent, { names: [...found.names], skills: [...found.skills] }, confirmed, tell)
    afterDialog(start, false)
  },
  done: 'The upload has begun.',
})

/** Closing the page asks first while rows are sent. */
function useWarning(isOn) {
  useEffect(() => {
    if (!isOn) return undefined
    const warn = (event) => event.preventDefault()
    addEventListener('beforeunload', warn)
    return () => removeEventListener('beforeunload', warn)
  }, [isOn])
}
