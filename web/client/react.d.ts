/** `intray-client/react`: the desk as a hook. */
import type { Closing, CompleteWith, Completion, Ending, Intray, Job, JobState, Kept, Left, LostReason, ServiceState, Settings, WaitReason } from './client.js'

/** The settings of the module. The token may change at each render; any other change makes a new desk. */
export type DeskSettings = Omit<Settings, 'signal'>

/** What a page does. */
export type Hands = Pick<
  Desk, 'save' | 'complete' | 'abandon' | 'fail' | 'handOver' | 'undo' | 'next' | 'forget' | 'touch' | 'leave'
>

/** What a page shows. It is a new object whenever something in it has changed. */
export interface Desk<Payload = any, Draft = any, Result = any> {
  /** The job on the screen. It stays there when it is lost, until it has ended after all or `next` lets it go. */
  readonly job: Job<Payload, Draft, Result> | null
  /** The state of the job; `null`: there is none, and the desk waits for the next. */
  readonly state: JobState | null
  /** What was typed. */
  readonly draft: Draft | null
  /** See `Job.otherDraft`. */
  readonly otherDraft: Draft | null | undefined
  /** Why there is no job. */
  readonly waiting: WaitReason | null
  /** How many jobs were in line when the service was last asked for one. */
  readonly remaining: number | null
  /** The lease is about to expire and is not being extended: ask the person to touch the page. */
  readonly warning: boolean
  /** The last call did not get through, and is tried again. */
  readonly retrying: boolean
  /**
   * The job is no longer this person's. `complete` may still succeed, unless `jobState` is `reserved`: a colleague has it; `next` lets it go, and `desk.kept()` has what was
   * typed.
   */
  readonly lost: { readonly reason: LostReason; readonly jobState: ServiceState | null; readonly certain: boolean } | null
  /** The person has logged out, here or in another tab. */
  readonly left: boolean
  /** What can be taken back: for a button, for `useFinalIn(closing)` milliseconds. */
  readonly closing: Closing | null
  /** Drafts and refused results of jobs that were lost, also before a reload: see `Intray.kept()`. */
  readonly kept: readonly Kept<Draft, Result>[]
  /** The refusal of the last call, an `IntrayError`; or the error that prevented it, such as one that `token` threw. */
  readonly error: unknown
  /** The desk itself, once the component is on the page. */
  readonly desk: Intray<Payload, Draft, Result> | null

  /** Like those of the job, but they never reject: a refusal is in `error`, and the answer is `null`. */
  complete(...result: CompleteWith<Result, Draft>): Promise<Completion | null>
  abandon(how?: { skip?: boolean; reason?: string; delay?: number }): Promise<Ending | null>
  fail(error?: unknown): Promise<Ending | null>
  handOver(to: string | null, how?: { note?: string; skill?: string; fallback?: number }): Promise<Ending | null>
  /** `false`: the service does not have it (yet). */
  save(draft: Draft | null): Promise<boolean>
  /** Takes back what is `closing`: that job is on the screen again. `false`: it is final, or there is none. */
  undo(): Promise<boolean>
  /** Moves on to the next job when this one is lost, and asks again when the service had refused. */
  next(): void
  /** Throws away what was kept of a job. */
  forget(id: string): void
  /** The person is present, without a key or a pointer. */
  touch(): void
  /** The person logs out, as `Intray.leave()` says: nothing is asked until the hook is given other settings. */
  leave(): Promise<Left<Draft, Result>>
}

/**
 * The desk of one person. It takes a job when the component is mounted, the next one when that has ended, and gives it
 * back after `grace` when the component is unmounted. `null`: the person is not known yet.
 */
export declare function useDesk<Payload = any, Draft = any, Result = any>(
  settings: DeskSettings | null,
): Desk<Payload, Draft, Result>

/** Milliseconds until it is final, looked at as often as `every` says, 1000; `null` without one, or while it is unsent. */
export declare function useFinalIn(closing: Closing | null, every?: number): number | null

/** Milliseconds left of the job's lease, looked at every second, or as often as `every` says; `null` without a job. */
export declare function useExpiresIn(job: Job | null, every?: number): number | null
