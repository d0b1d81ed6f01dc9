// Reads a table to say what would be sent, and sends its rows, as the command line does: in calls under one key, by
// which a row that was added before is known, so that an upload that was stopped goes on without doubles.

import * as api from './api.js'
import { batchOf, columnOf, lineOf, namedIn } from './csv_columns.js'
import { jobsOf } from './csv_table.js'
import { IntrayError, isFinal, isForeign } from './http.js'
import { STOPPED, isTooOften, patiently } from './patience.js'

/** A call has at most so many lines and characters, so that it says soon how far it is. */
const MAX_LINES = 1_000
const MAX_LENGTH = 1 << 20
/** The jobs that are shown, and the names that are looked for, before anything is sent. */
const SHOWN = 5
const MAX_NAMES = 1_000
/** A service that is away is asked again for so long, with these pauses. */
const PATIENCE = 60_000
const [PAUSE, MAX_PAUSE] = [500, 8_000]
/** A call counts for no more of that time: the machine may have been asleep in it. */
const MAX_COUNTED = PATIENCE / 2

/** 128 bits of a text, by which its uploads know each other. A page without TLS has none of the browser's digests. */
function digest(text) {
  const parts = [0x9e3779b9, 0x243f6a88, 0xb7e15162, 0xdeadbeef]
  for (let at = 0; at < text.length; at += 1) {
    for (let n = 0; n < 4; n += 1) {
      const mixed = Math.imul(parts[n] ^ text.charCodeAt(at), 0x85ebca6b + 2 * n)
      parts[n] = (mixed ^ (mixed >>> 13) ^ parts[(n + 1) % 4]) >>> 0
    }
  }
  return parts.map((part) => part.toString(16).padStart(8, '0')).join('')
}

/** The key of an upload: of its name and of the names of the columns, so that the file may grow or be corrected. */
export const keyOf = (name, { names }) => `upload-${digest([name, ...names.filter(Boolean)].join('\n'))}`

/** What would be sent: `{jobs, refused, shown, names, skills}`. Throws if the file is no UTF-8. */
export async function check(table, tell, signal) {
  const found = { jobs: 0, refused: [], shown: [], names: new Set(), skills: new Set() }
  for await (const { jobs, refused, read } of jobsOf(table, { signal, isChecked: true })) {
    found.jobs += jobs.length
    // There may be more than a call takes arguments.
    for (const row of refused) found.refused.push(row)
    for (const [, job] of jobs) {
      if (found.shown.length < SHOWN) found.shown.push(job)
      const { names, skills } = namedIn(job)
      for (const name of names) if (found.names.size < MAX_NAMES) found.names.add(name)
      for (const skill of skills) if (found.skills.size < MAX_NAMES) found.skills.add(skill)
    }
    tell(read / table.file.size)
  }
  return found
}

/**
 * What has become of the rows so far; `next`: the first row that is not done with; `isUnsure`: whether rows from there
 * on may have arrived.
 */
export const nothingSent = () =>
  ({ sent: 0, created: 0, known: 0, equal: 0, refused: [], later: 0, next: 0, isUnsure: false, waits: false })

/**
 * Sends the rows from `report.next` on. `what`: `{table, queue, key, overlap, creates}`; `tell(report)` hears of each
 * step. Throws a refusal of all, also that the queue is not there, or that the service does not answer; it may go on
 * after that.
 */
export async function send(what, report, tell, signal) {
  const state = { ...report, refused: [...report.refused] }
  const step = what.overlap ? sendBatch : sendLines
  try {
    for await (const call of callsOf(what, state.next, signal)) {
      signal.throwIfAborted()
      await step(what, call, state, (waits) => tell({ ...state, waits }), signal)
      Object.assign(state, { sent: state.sent + call.jobs, next: call.last + 1, isUnsure: false })
      tell({ ...state, waits: false })
    }
  } finally {
    tell({ ...state, waits: false })
  }
}

/** The rows of each call, each in the line of its row. With an overlap a row is a call. */
async function* callsOf({ table, queue, overlap }, from, signal) {
  let call = null
  for await (const { jobs } of jobsOf(table, { signal })) {
    for (const [row, job] of jobs) {
      if (row < from) continue
      if (call && (overlap || row - call.first >= MAX_LINES || call.text.length >= MAX_LENGTH)) {
        yield call
        call = null
      }
      const text = overlap ? batchOf(job, queue, overlap) : lineOf(job, queue)
      call = call
        ? { ...call, last: row, jobs: call.jobs + 1, text: `${call.text}${'\n'.repeat(row - call.last)}${text}` }
        : { first: row, last: row, jobs: 1, text }
    }
  }
  if (call) yield call
}

async function sendLines(what, call, state, tell, signal) {
  const ask = (first, text) => persistently((on) => lines(what, first, text, on), state, tell, signal)
  let answer = await ask(call.first, call.text)
  for (let pause = PAUSE, rested = 0; answer.summary.retryable && rested + pause < PATIENCE; pause *= 2) {
    await rest(pause, tell, signal)
    rested += pause
    answer = await ask(call.first, call.text)
  }
  const { created, known, equal, later, refused } = await withAllNamed(call, answer, ask)
  state.created += created
  state.known += known
  state.equal += equal
  state.later += later
  state.refused.push(...refused.map(({ line, error }) => refusal(line, error, what.table)))
}

/**
 * An answer names so many refused lines and counts the rest, which are asked for once more. What refused them may have
 * passed: then they are taken, and are new, equal to others, or known if another page has added them.
 */
async function withAllNamed(call, { refused, summary }, ask) {
  const all = { created: summary.created, refused: [...refused] }
  let unnamed = summary.errors - refused.length, taken = 0, equal = summary.duplicates
  for (let last = refused.at(-1); unnamed > 0 && last;) {
    const next = last.line + 1
    const text = call.text.split('\n').slice(next - call.first).join('\n')
    if (!text) break
    const more = await ask(next, text)
    const { created, duplicates, errors } = more.summary
    taken += unnamed - errors
    equal = Math.max(equal, duplicates)
    all.created += created
    all.refused.push(...more.refused)
    unnamed = errors - more.refused.length
    last = more.refused.at(-1)
  }
  // Each line is one of these.
  const others = Math.max(call.jobs - all.created - all.refused.length, 0)
  all.equal = Math.min(equal, others)
  all.known = others - all.equal
  all.later = Math.max((summary.retryable ?? 0) - taken, 0)
  return all
}

const CHANGED = 'This row was added before under this name, and has changed since.'

const refusal = (row, { type, detail }, table) => (type === '/problems/idempotency-key-reused'
  ? { row, column: '', detail: CHANGED } : { row, column: columnOf(detail, table), detail })

/** The queue is the reason, for each row of the table: it is not there, not the caller's, or has no such name. */
const isOfAll = ({ error: { status, detail } }) => [403, 404].includes(status) || detail.startsWith('queue: ')

async function lines({ key, creates }, first, text, signal) {
  const answer = await api.addLines(text, { key, first, create: creates, signal })
  const [summary, ...refused] = [answer].flat().reverse()
  if (summary.lines === undefined) throw new Error('The answer is cut.')
  const ofAll = summary.complete ? refused.find(isOfAll)?.error : summary.error
  if (!ofAll) return { refused: refused.reverse(), summary }
  const isPartial = !summary.complete || summary.created + summary.known + summary.duplicates > 0
  throw Object.assign(new IntrayError(ofAll.status, ofAll), { isPartial })
}

async function sendBatch({ key, creates, table }, { first, text }, state, tell, signal) {
  const how = { key: `${key}-${first}`, create: creates }
  const { error, known } = await persistently((on) => batch(text, { ...how, signal: on }), state, tell, signal)
  if (error) state.refused.push(refusal(first, error, table))
  else if (known) state.known += 1
  else state.created += 1
}

/** The batch of a row, or the `error` that it was refused by. */
async function batch(text, how) {
  const { batches: [made] } = await api.addBatches(`[${text}]`, how).catch((error) => {
    // What was sent is too large, or was another row before.
    if (error.status !== 413 && error.status !== 422) throw error
    return { batches: [{ error: { ...error.problem, detail: error.message } }] }
  })
  if (!made.error) return made
  const problem = new IntrayError(made.error.status, made.error)
  if (!isFinal(problem) || isOfAll(made)) throw problem
  return made
}

/** What `step(signal)` answers, as soon as a service that is away does; it hears `tell(waits)` meanwhile. */
async function persistently(step, state, tell, signal) {
  const isWanted = () => { tell(true); return !signal.aborted }
  let pause, left, began
  const start = () => { [pause, left] = [PAUSE, null] }
  const once = () => {
    began = Date.now()
    return surely(() => step(signal), state).catch((error) => {
      // It answers, and asks for a while.
      if (isTooOften(error)) start()
      throw error
    })
  }
  for (start(); ; pause = Math.min(pause * 2, MAX_PAUSE)) {
    try {
      const answer = await patiently(once, isWanted)
      if (answer === STOPPED) signal.throwIfAborted()
      return answer
    } catch (error) {
      signal.throwIfAborted()
      const wait = Math.max(pause, error.retryAfter ?? 0)
      // It counts from the first failure in a row.
      left = left === null ? PATIENCE : left - Math.min(Date.now() - began, MAX_COUNTED)
      if (isFinal(error) || isForeign(error) || wait > left) throw error
      left -= wait
      await rest(wait, tell, signal)
    }
  }
}

/** Nothing of a call that is refused has arrived. Without that answer, or the one that it is done, it may have. */
async function surely(step, state) {
  const { isUnsure } = state
  state.isUnsure = true
  return step().catch((error) => {
    if ((isFinal(error) || error.status === 429) && !error.isPartial) state.isUnsure = isUnsure
    throw error
  })
}

async function rest(ms, tell, signal) {
  tell(true)
  await new Promise((turn) => {
    const timer = setTimeout(turn, ms)
    signal.addEventListener('abort', () => { clearTimeout(timer); turn() }, { once: true })
  })
  signal.throwIfAborted()
}
