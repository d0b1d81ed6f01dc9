/** Durations are milliseconds, everywhere. */
export interface Settings {
  /** Where intray answers, with or without a path: `https://queue.example`, or `/intray` at the page's own origin. */
  url: string | URL
  /** The person. Two pages with the same worker share one job. */
  worker: string
  /**
   * A worker token for `Authorization: Bearer`, or a function that gives one. It is asked once, and again when the
   * service has refused what it gave (`refused`). Settle calls need none. `next()` rejects with what it throws, or with a
   * `TypeError` if it gives no token. A network that fails in it (a `TypeError`, or an abort) is tried five times.
   */
  token?: string | ((about: { refused?: string }) => string | undefined | Promise<string | undefined>)
  /** Looked at in this order; `['default']`. */
  queues?: readonly string[]
  /**
   * This job and no other, in place of queues: the job of a link, or one that the person chose from a list. `next()` rejects
   * with an `IntrayError` when it cannot be had: it has ended, another person holds it, or it is not for this one.
   */
  job?: string
  /** What the person can do. A token names the skills itself, and these can only narrow them. */
  skills?: readonly string[]
  /** How long a lease is; without it, what the job says. */
  lease?: number
  /** How long a request waits for a job; 25000, at most 30000. */
  wait?: number
  /** How often a job in hand is extended; 60000, and at most a third of the lease. */
  heartbeat?: number
  /** If the page is not touched for this long, the heartbeat stops, and a hidden page takes no work; 300000. */
  idleAfter?: number
  /**
   * A closed page gives its job back after this long, unless the person returns; 15000. `null` = when its lease is over.
   */
  grace?: number | null
  /**
   * Where drafts and unsent endings outlive the page; `localStorage`. `null` = nowhere: they live as long as the page.
   */
  storage?: Storage | null
  /** Closes the desk. */
  signal?: AbortSignal
}

/**
 * `held` → `ending` → `completed`, `abandoned`, `failed`, `handed-over`; or `lost`. With `undo`: `ending` → `closing` →
 * `completed`, and from both of the former back to `held`.
 */
export type JobState = 'held' | 'lost' | 'ending' | 'closing' | 'completed' | 'abandoned' | 'failed' | 'handed-over'

/** How a reservation ended. */
export type LostReason =
  | 'expired' | 'abandoned' | 'failed' | 'released' | 'cancelled' | 'completed' | 'handed-over' | 'unknown'
  /** Something between page and service, such as a proxy, refused what was handed in. */
  | 'refused'

export type Action = 'complete' | 'abandon' | 'fail' | 'hand-over'

/** Where the service says the job is now. */
export type ServiceState = 'delayed' | 'waiting' | 'blocked' | 'reserved' | 'completed' | 'dead' | 'cancelled'

/** What became of a `complete`, `abandon`, `fail` or `handOver`. */
export type Ending =
  | { sent: true; state: ServiceState; late: boolean; duplicate: boolean }
  /** It could not be sent now. It is in the drawer, and goes as soon as it can, from this page or the next one. */
  | { sent: false; state: 'ending'; late: false; duplicate: false }

/** What became of a `complete`. */
export type Completion = Ending & {
  /** It cannot be taken back. */
  final: boolean
  /** Milliseconds until it is final, as of now; `null` = it is, or it could not be sent: then they begin when it is. */
  finalIn: number | null
  /**
   * Takes it back: the job is held again, with what was handed in as its draft, and comes before a job that was taken
   * since. Rejects with an `IntrayError` when it is final (`lost`, `reason` is `completed`). Without a network, one that
   * could not be sent is taken back at once, and for any other it tries until it is answered.
   */
  undo(): Promise<Job>
}

/** A completion that can be taken back. */
export interface Closing {
  readonly id: string
  readonly queue: string
  /** Milliseconds until it is final; it counts down. `null`: it could not be sent yet, and they begin when it is. */
  readonly finalIn: number | null
  /** As that of a `Completion`; `null` when the job is of an earlier page, and the next `next()` has to ask for it. */
  undo(): Promise<Job | null>
}

/** Why intray refused; `about:blank`: something between page and service refused. */
export type ProblemType =
  | 'about:blank'
  | '/problems/closing'
  | '/problems/forbidden' | '/problems/host-not-allowed' | '/problems/idempotency-key-reused' | '/problems/internal'
  | '/problems/invalid-request' | '/problems/invalid-result' | '/problems/method-not-allowed' | '/problems/not-eligible' | '/problems/not-found'
  | '/problems/not-json'
  | '/problems/offset-mismatch' | '/problems/origin-not-allowed' | '/problems/queue-full' | '/problems/rate-limited'
  | '/problems/request-timeout' | '/problems/reservation-lost' | '/problems/storage-full' | '/problems/too-large'
  | '/problems/too-many-items' | '/problems/too-many-queues' | '/problems/unauthorized' | '/problems/undone' | '/problems/unavailable'
  | '/problems/unknown-batch' | '/problems/unknown-job' | '/problems/unknown-queue' | '/problems/unknown-webhook'
  | '/problems/unsupported-media-type' | '/problems/worker-limit' | '/problems/wrong-state'

/** An RFC 9457 problem, as intray answers it. */
export interface Problem {
  type: ProblemType
  title: string
  status: number
  detail: string
  reason?: string
  job_state?: string
  batch_state?: string
  /** Why a worker may not have the job. */
  rule?: 'assignees' | 'skill' | 'excluded' | 'overlap'
  /** How many jobs a batch has. */
  total?: number
  retry_after_ms?: number
  /** When a completion that can still be taken back becomes final. */
  final_in_ms?: number
  /** Whether a call that got no whole answer had an effect. */
  applied?: false | 'unknown'
  /** Each place that breaks a rule: in the body, in the address, or in a header. */
  errors?: ({ detail: string } & ({ pointer: string } | { parameter: string } | { header: string }))[]
}

interface About {
  id: string
  queue: string
}

/** What has arrived. `final: false`: it can be taken back, for `finalIn`. */
export interface Ended {
  action: Action
  late: boolean
  duplicate: boolean
  final: boolean
  finalIn: number | null
}

/** The events of a job. Each is fired on the job, and then on the desk. */
export interface JobEvents<Draft = any> {
  /** The lease is about to expire and is not being extended: ask the person to touch the page. */
  warning: CustomEvent<About & { expiresIn: number }>
  /** The lease is longer again. */
  extended: CustomEvent<About & { expiresIn: number }>
  /** The service has this draft. */
  saved: CustomEvent<About & { draft: Draft | null }>
  /** The draft was changed elsewhere, in another tab or on another machine: show it. */
  draft: CustomEvent<About & { draft: Draft | null }>
  /**
   * The job is no longer this person's. The draft stays, and `complete` may still succeed if no one else took the job.
   * `certain: false`: the time is over and the service cannot be asked; once it can, `lost` or `extended` is
   * fired.
   */
  lost: CustomEvent<About & { reason: LostReason; jobState: ServiceState | null; certain: boolean; draft: Draft | null }>
  /** A `complete`, `abandon`, `fail` or `handOver` has arrived, perhaps one of an earlier page, perhaps from another tab. */
  ended: CustomEvent<About & Ended>
  /** Its completion was taken back: it is `desk.job` again. Show that one, with its draft. */
  undone: CustomEvent<About & { draft: Draft | null }>
  /**
   * It was refused for good. `status` is that of the answer. If intray itself refused, the job stays in hand. If something
   * between page and service did (`problem.type` is `about:blank`, five tries), the job is lost, what was typed is in
   * `kept()`, and the next `next()` gives the job to others.
   */
  refused: CustomEvent<About & { action: Action; status: number; problem: Problem }>
}

/** Why there is nothing: the first that applies to any of the queues. `closing`: what this person handed in last can be taken back. */
export type WaitReason = 'closing' | 'paused' | 'skipped' | 'ineligible' | 'blocked' | 'delayed' | 'reserved' | 'empty'

export interface DeskEvents<Draft = any> extends JobEvents<Draft> {
  /** There is nothing now, and this is why; `next()` keeps waiting. Fired again after each wait without a job. */
  waiting: CustomEvent<{ reason: WaitReason; remaining: number }>
  /** A call did not get through, and is tried again after `delay`. */
  retrying: CustomEvent<{ error: unknown; delay: number }>
  /** The person has logged out, here or in another tab: take their work off the screen. */
  left: CustomEvent<{ here: boolean }>
  /** A readable property of the desk or its job has changed, here or through another tab: draw it again. */
  change: Event
}

type Listener<Target, Event> = ((this: Target, event: Event) => unknown) | { handleEvent(event: Event): unknown }

/** A result that is taken back becomes the draft, so only a result that is a draft too can be taken back. */
export type CompleteHow<Result, Draft> =
  { exact?: string } & ([Result] extends [Draft | null | undefined] ? { undo?: number } : { undo?: never })

/** A result is needed, unless it may be `undefined`. */
export type CompleteWith<Result, Draft = any> =
  undefined extends Result
    ? [result?: Result, how?: CompleteHow<Result, Draft>]
    : [result: Result, how?: CompleteHow<Result, Draft>]

/** What goes with a job that is handed over. `from`: `null` for a worker without a name. */
export interface Note {
  /** Never empty. */
  readonly text: string
  readonly from: string | null
  /** RFC 3339, by the service's clock. */
  readonly at: string
}

/** A reserved job: the desk makes them. */
export declare class Job<Payload = any, Draft = any, Result = any> extends EventTarget {
  private constructor()
  readonly id: string
  readonly queue: string
  /** What the producer sent. Show it as text: it is whatever anybody has put there. */
  readonly payload: Payload
  /**
   * The same as the JSON text that was sent: its order, its digits, members that are there twice. `JSON.parse` rounds a number that a
   * double does not hold.
   */
  readonly exact: { readonly payload: string }
  /** 1 at the first hand-out. */
  readonly attempt: number
  readonly priority: number
  readonly client: string | null
  readonly locks: readonly string[]
  readonly batch: string | null
  /** RFC 3339, by the service's clock. */
  readonly enqueuedAt: string
  readonly traceparent: string | null
  /** The note of the person who handed the job over; `null` = it was not handed over, or without a word. Show it as text. */
  readonly note: Note | null
  /** The only handle and the only credential to settle the job: keep it to yourself. */
  readonly reservation: string
  /** Whether it was this person's before: the page was reloaded, or another tab has it. */
  readonly resumed: boolean
  readonly state: JobState
  /** What was last saved, here or elsewhere; `null` = nothing. */
  readonly draft: Draft | null
  /**
   * Only if this browser holds a draft that could not be sent, and another one was saved on another machine:
   * that one. Nothing is sent until `save` decides.
   */
  readonly otherDraft: Draft | null | undefined
  /** Milliseconds left; 0 when the lease is over. Sleep counts, and the person's clock may be wrong. */
  readonly expiresIn: number

  /**
   * Keeps a draft: at once in this browser, then at the service, not faster than once a second. `true`: the service has
   * it. `false`: it does not yet (no network), or no longer (the job is lost); this browser has it. Rejects with an
   * `IntrayError` when it was refused; the job is kept all the same, and later drafts are sent.
   */
  save(draft: Draft | null): Promise<boolean>
  /**
   * Hands in. Also late, when the job was lost: it counts if no other worker took it, and is final at once. `undo`: how long
   * it can be taken back; at most 60000, and only a result that is a draft too. `exact`: the JSON text that is sent in place of the result,
   * whose value it is: numbers that a double does not hold, as they came in `job.exact.payload`.
   */
  complete(...result: CompleteWith<Result, Draft>): Promise<Completion>
  /**
   * Gives it back to its place in line. `skip`: never again to this person. `delay`: not to anybody before. `reason`:
   * text, of which the first 256 bytes are sent.
   */
  abandon(how?: { skip?: boolean; reason?: string; delay?: number }): Promise<Ending>
  /** It could not be done. Counts an attempt. The first 1024 bytes are sent; a value that is not text is sent as text. */
  fail(error?: unknown): Promise<Ending>
  /**
   * Gives it to another worker, with the draft; or, with `null` and a `skill`, to those who have it. They alone are given it
   * for `fallback`, 900000 if it is absent. `note`: text, of which the first 1024 bytes are sent. If the receiver may not have the job: `refused`,
   * with the problem's `rule`, and it stays in hand.
   */
  handOver(to: string | null, how?: { note?: string; skill?: string; fallback?: number }): Promise<Ending>

  addEventListener<Name extends keyof JobEvents>(
    type: Name,
    listener: Listener<this, JobEvents<Draft>[Name]> | null,
    options?: boolean | AddEventListenerOptions,
  ): void
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: boolean | AddEventListenerOptions,
  ): void
}

/** The work on a job that is no longer this person's. */
export interface Kept<Draft = any, Result = any> {
  id: string
  queue: string
  draft: Draft | null
  /** The result of a `complete` that was refused. */
  result: Result | null
  /** The error, reason or note of a `fail`, an `abandon` or a `handOver` that was refused. */
  words: string | null
  reason: LostReason | null
  /** When it was last touched: milliseconds since 1970, by this person's clock. */
  at: number
}

/** What became of a `leave()`. */
export interface Left<Draft = any, Result = any> {
  /** The service has heard everything. If not, jobs in hand go back when their leases end. */
  sent: boolean
  /** Work that the service does not have, and that is no longer in this browser. */
  unsent: Kept<Draft, Result>[]
}

/**
 * The desk of one person. Without Web Locks, which need https or localhost, tabs share the job but nothing is sent at
 * closing.
 */
export declare class Intray<Payload = any, Draft = any, Result = any> extends EventTarget {
  constructor(settings: Settings)

  /**
   * The job in hand, or else the next one; waits until there is one, over broken networks and reloads of the service.
   * Rejects when `signal` or `close()` says so; with an `IntrayError` when the service has refused, or something else
   * five times; and with what `token` threw. Then nothing is asked until it is called again.
   */
  next(how?: { signal?: AbortSignal }): Promise<Job<Payload, Draft, Result>>
  /**
   * The job in hand, if there is one; `null` as soon as it is lost. Keep what `next()` gave you: that one can still be
   * completed.
   */
  readonly job: Job<Payload, Draft, Result> | null
  /** How many jobs were in line when the service was last asked for one; `null` before that. */
  readonly remaining: number | null
  /** The last completion that can be taken back, also one of an earlier page or another tab; `null` = there is none. */
  readonly closing: Closing | null
  /** Drafts and refused results of jobs that were lost. */
  kept(): Kept<Draft, Result>[]
  /** Throws away what was kept of a job. */
  forget(id: string): void
  /** The person is present. The desk notices keys, pointers and scrolling itself. */
  touch(): void
  /**
   * The person logs out: gives back now what is in hand, sends once more what is unsent, and removes all of this worker from
   * this browser, at once. Their other tabs leave too. Nothing is asked after it; resolves without a network too.
   */
  leave(): Promise<Left<Draft, Result>>
  /** Leaves the desk, as closing the tab does. A job in hand goes back after `grace`. */
  close(): void

  addEventListener<Name extends keyof DeskEvents>(
    type: Name,
    listener: Listener<this, DeskEvents<Draft>[Name]> | null,
    options?: boolean | AddEventListenerOptions,
  ): void
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: boolean | AddEventListenerOptions,
  ): void
}

/** What the service has refused. */
export declare class IntrayError extends Error {
  private constructor()
  readonly status: number
  /** Switch on this. */
  readonly type: ProblemType
  readonly problem: Partial<Problem>
  /** The reservation has ended; `reason` says how, `jobState` where the job is now. */
  readonly lost: boolean
  readonly reason: string | undefined
  readonly jobState: string | undefined
  /** Milliseconds; at most five minutes if intray says so, and a minute if anything else does. */
  readonly retryAfter: number | undefined
}
