// A page that completes its job and takes that back.
import { world } from './world.js'

/** A job, and Ann's page, which shows it. */
export async function seated(t, options) {
  const w = await world(t)
  const id = await w.enqueue('cat.png')
  const ann = await w.open(options)
  await ann.shows('cat.png')
  return { w, id, ann }
}

/** Hands in what is in hand; what came of it stays in `window.done`. */
export const handIn = (tab, result, undo = 60_000) =>
  tab.run(async ([result, undo]) => {
    window.done = await window.job.complete(result, { undo })
    const { sent, state, final, finalIn } = window.done
    return { sent, state, final, finalIn }
  }, [result, undo])
export const undo = (tab) => tab.run(() => window.done.undo().then(({ id, state, draft }) => ({ id, state, draft })))
export const refusal = (tab) => tab.run(() => window.done.undo().catch(({ name, lost, reason }) => [name, lost, reason]))
export const inHand = (tab) => tab.run(() => window.desk.job?.payload ?? null)
export const inDrawer = (tab) => tab.run(() => localStorage.length)
