/**
 * A clock that notices sleep, and pauses that can be ended. performance.now() may stand still while the machine sleeps;
 * Date.now() jumps when a person sets it. The one that went further counts: to ask the service too early costs a call,
 * to ask too late costs the job.
 */

/** A longer gap between two looks at the clock, in a page that is shown: the machine slept. */
export const ASLEEP = 5_000

/** @typedef {{ steady: number, wall: number }} Mark a moment, on both clocks */

/**
 * Now, or `age` milliseconds ago.
 * @returns {Mark}
 */
export function mark(age = 0) {
  return { steady: performance.now() - age, wall: Date.now() - age }
}

/** @param {Mark} then */
export function since({ steady, wall }) {
  return Math.max(performance.now() - steady, Date.now() - wall)
}

/**
 * Up to half as long again, so that not all pages ask at once.
 * @param {number} ms
 */
export function jitter(ms) {
  return ms * (1 + Math.random() / 2)
}

/**
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
export function aborted(signal) {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
