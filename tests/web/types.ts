// Never run: the compiler reads how a page would use the module, and what it must not do.
import { Intray, IntrayError, type Closing, type Completion, type Ending, type Job, type Kept, type ProblemType } from '../../web/client/client.js'
import { useDesk, useExpiresIn, useFinalIn } from '../../web/client/react.js'

type Photo = { photo: number }
type Draft = { note: string }
type Verdict = { verdict: 'fine' | 'bad' }

const desk = new Intray<Photo, Draft, Verdict>({
  url: new URL('https://queue.example/'),
  token: async ({ refused }) => (refused ? 'another' : 'first'),
  queues: ['reviews'] as const,
  worker: 'ann',
  idleAfter: 60_000,
  grace: null,
  signal: AbortSignal.timeout(1_000),
})

const job: Job<Photo, Draft, Verdict> = await desk.next({ signal: AbortSignal.timeout(1_000) })
const photo: number = job.payload.photo
const note: string | undefined = job.draft?.note
const saved: boolean = await job.save({ note: `${photo} ${note}` })
await job.save(null)
const ending: Ending = await job.complete({ verdict: 'fine' })
if (ending.sent) console.log(ending.late, ending.duplicate, ending.state)
const other = desk as unknown as Intray<Photo, Draft, Draft & { by: string }>
const completion: Completion = await (await other.next()).complete({ note: 'a cat', by: 'ann' }, { undo: 10_000 })
if (!completion.final) console.log(completion.finalIn?.toFixed(), (await completion.undo()).draft, completion.sent)
// @ts-expect-error an undo would make a draft of it, and it is none
await job.complete({ verdict: 'fine' }, { undo: 10_000 })
await job.complete({ verdict: 'fine' }, {})
const closing: Closing | null = desk.closing
console.log(closing?.finalIn?.toFixed(), (await closing?.undo())?.id)
desk.addEventListener('undone', ({ detail }) => detail.draft?.note)
desk.addEventListener('ended', ({ detail }) => detail.final || detail.finalIn?.toFixed())
await job.abandon({ skip: true, reason: 'not my language', delay: 1_000 })
await job.abandon()
await job.fail(new Error('the picture does not load'))
const left: number = job.expiresIn

job.addEventListener('lost', function ({ detail }) {
  const text: string | undefined = detail.draft?.note
  if (detail.reason === 'released' && !detail.certain) console.log(text, this.id, detail.jobState)
})
job.addEventListener('warning', ({ detail: { expiresIn } }) => expiresIn - left, { once: true })
job.addEventListener('saved', { handleEvent: (event) => event.detail.draft?.note })
desk.addEventListener('waiting', ({ detail: { reason, remaining } }) => reason === 'skipped' && remaining + 1)
desk.addEventListener('retrying', ({ detail }) => detail.delay)
desk.addEventListener('ended', ({ detail }) => detail.action === 'complete' && detail.id)
const kept: Kept<Draft, Verdict>[] = desk.kept()
for (const { id, draft, result, words } of kept) console.log(draft?.note, result?.verdict, words?.length, desk.forget(id))
const done: Job<Photo, Draft, undefined> | null = null
if (done !== null) await (done as Job<Photo, Draft, undefined>).complete()
if (done !== null) await (done as Job).complete()
try { console.log(photo) } catch (error) { await job.fail(error) }
desk.addEventListener('refused', ({ detail }) => detail.status === 403 && detail.problem.detail)
const now: Job<Photo, Draft, Verdict> | null = desk.job
desk.touch()
const line: number | null = desk.remaining
desk.close()
console.log(saved, now, line)

try {
  await desk.next()
} catch (error) {
  if (error instanceof IntrayError && error.lost) {
    const { applied, batch_state, total, errors = [] } = error.problem
    const type: ProblemType = error.type
    console.log(type === '/problems/reservation-lost', type === 'about:blank')
    const places: string[] = errors.map((place) => 'pointer' in place ? place.pointer : 'header' in place ? place.header : place.parameter)
    const unsure: boolean = applied === 'unknown'
    console.log(error.reason, places, unsure, batch_state?.length, total?.toFixed())
  }
}

// @ts-expect-error a desk has a worker
new Intray({ url: 'https://queue.example' })
// @ts-expect-error jobs come from a desk
new Job()
// @ts-expect-error only the service makes these
new IntrayError()
// @ts-expect-error a draft has a shape
await job.save({ text: '' })
// @ts-expect-error a result has a shape
await job.complete({ verdict: 'perhaps' })
// @ts-expect-error one that is declared is needed
await job.complete()
// @ts-expect-error what was typed may have been removed
job.addEventListener('draft', ({ detail }) => detail.draft.note)
// @ts-expect-error a job may be lost before anything was typed
desk.addEventListener('lost', ({ detail }) => detail.draft.note)
// @ts-expect-error there is no such problem
if (new Error() instanceof IntrayError) console.log((null as unknown as IntrayError).type === '/problems/reservation-lots')
// @ts-expect-error there is no such reason
desk.addEventListener('waiting', ({ detail }) => detail.reason === 'tired')
// @ts-expect-error there is no such action
desk.addEventListener('ended', ({ detail }) => detail.action === 'finish')
// @ts-expect-error the desk alone changes it
job.draft = null

// The hook of React.
const view = useDesk<Photo, Draft, Verdict>({ url: 'https://queue.example', worker: 'ann', token: () => 'newest' })
const shown: Photo | undefined = view.job?.payload
const typed: string | undefined = view.draft?.note
const settled: Ending | null = await view.complete({ verdict: 'bad' })
if (view.lost?.reason === 'released' && view.error instanceof IntrayError) view.next()
const rest: number | null = useExpiresIn(view.job, 5_000)
const untilFinal: number | null = useFinalIn(view.closing)
const noted = useDesk<Photo, Draft, Draft>({ url: 'https://queue.example', worker: 'ann' })
console.log(untilFinal, await view.undo(), (await noted.complete({ note: 'a cat' }, { undo: 10_000 }))?.final, noted.lost?.jobState)
// @ts-expect-error an undo would make a draft of it, and it is none
await view.complete({ verdict: 'bad' }, { undo: 10_000 })
const noJob: Job | null = useDesk(null).job
console.log(shown, typed, settled?.sent, await view.save(null), rest, noJob, view.desk?.kept())
// @ts-expect-error a component is what ends it
useDesk({ url: 'https://queue.example', worker: 'ann', signal: AbortSignal.timeout(1) })
// @ts-expect-error a draft has a shape
await view.save({ text: '' })
// @ts-expect-error one that is declared is needed
await view.complete()
for (const { id, draft } of view.kept) view.forget(draft ? id : '')
// @ts-expect-error a view is looked at
view.job = null
