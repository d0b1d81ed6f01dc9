// A person's code from the address that the operator names: it knows who is signed in there. Nothing is asked for again
// by itself but for a code that has ended, once.

import { settingOf } from './page.js'
import { SIGN_IN_WORDS } from './words.js'

const WITHIN_MS = 10_000
const MAX_ANSWER_BYTES = 16_384
/** A code that is refused so soon after it was given would be followed by others without end. */
const AT_LEAST_MS = 10_000

const source = settingOf('token-url')
export const hasTokenUrl = source !== ''

let underway, ended
let givenAt = -Infinity

/** The code that follows one that has ended, or the first one. */
export function codeAfter(code) {
  if (!ended || ended.code !== code) ended = { code, next: isTooSoon() ? Promise.reject(notGiven()) : askForCode() }
  return ended.next
}

const isTooSoon = () => performance.now() - givenAt < AT_LEAST_MS

/** A person may ask as often as they like, one at a time. */
export function askForCode() {
  underway ??= given().finally(() => { underway = undefined })
  return underway
}

/** A page for signing in, a redirect to one, or nothing at all is no code. */
async function given() {
  try {
    const answer = await fetch(source, {
      credentials: 'include', redirect: 'error', cache: 'no-store', referrerPolicy: 'no-referrer',
      headers: { accept: 'application/json' }, signal: AbortSignal.timeout(WITHIN_MS),
    })
    const { token } = JSON.parse(answer.ok ? await bodyText(answer.body) : '{}')
    if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) throw notGiven()
    givenAt = performance.now()
    return token
  } catch {
    throw notGiven()
  }
}

async function bodyText(body) {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (let size = 0; ;) {
    const { done, value } = await reader.read()
    if (done) return text
    size += value.length
    if (size > MAX_ANSWER_BYTES) {
      reader.cancel()
      throw notGiven()
    }
    text += decoder.decode(value, { stream: true })
  }
}

export const notGiven = () => Object.assign(new Error(SIGN_IN_WORDS.notGiven), { needsCode: true })
