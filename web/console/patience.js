// A step of a run of many calls, made again when the service says that it is called too often.

/** The types of such an answer, by the service or by a proxy in front of it. A queue that is full says 429 too. */
const TOO_OFTEN = new Set(['/problems/rate-limited', 'about:blank'])
const USUALLY = 1_000
const LOOK = 200

/** It is there, and will take the call in a moment. */
export const isTooOften = (error) => error.status === 429 && TOO_OFTEN.has(error.type)

/** The result of a cancelled step. */
export const STOPPED = Symbol('stopped')

/** What `step()` answers. `isWanted()` is asked for as long as it must wait; with `false` it does not wait further. */
export async function patiently(step, isWanted) {
  for (;;) {
    try {
      return await step()
    } catch (error) {
      if (!isTooOften(error)) throw error
      if (!await wait(error.retryAfter ?? USUALLY, isWanted)) return STOPPED
    }
  }
}

async function wait(ms, isWanted) {
  for (let left = ms; left > 0; left -= LOOK) {
    if (isWanted() === false) return false
    await new Promise((turn) => { setTimeout(turn, Math.min(left, LOOK)) })
  }
  return isWanted() !== false
}
