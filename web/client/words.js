/**
 * What is said about a job, cut to what the service takes, which is counted in bytes. The job must not stay with its
 * person for it.
 */

/** Bytes of an error, of a reason to give a job back, and of a note to the next worker. */
export const ERROR_BYTES = 1_024
export const REASON_BYTES = 256
export const NOTE_BYTES = 1_024

/**
 * As text that can be sent; `undefined` if there is none.
 * @param {unknown} words
 * @param {number} max bytes
 */
export function cut(words, max) {
  if (words === undefined || words === null) return undefined
  const bytes = new TextEncoder().encode(spelt(words)) // which replaces half a character
  // A character that the end cuts through waits for its rest, and is left out.
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, max), { stream: true })
}

/**
 * @param {any} words
 * @returns {string}
 */
function spelt(words) {
  try {
    if (typeof words === 'string') return words
    if (isError(words)) return String(words.message || words.name)
    return String((typeof words === 'object' && JSON.stringify(words)) || words)
  } catch {
    return Object.prototype.toString.call(words) // it runs in circles, or cannot be read
  }
}

/**
 * Whether it is an error, of this frame or another.
 * @param {any} words
 */
function isError(words) {
  return words instanceof Error || typeof words.message === 'string'
}
