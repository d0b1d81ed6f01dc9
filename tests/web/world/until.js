// Waiting for what must come about. Nothing here sleeps longer than it must.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

/** How long what must come about may take on a machine that is busy. */
export const WITHIN_MS = 60_000

/** Asks until the answer is yes, and gives it back. */
export async function until(what, ask) {
  const end = Date.now() + WITHIN_MS
  for (;;) {
    const answer = await ask()
    if (answer) return answer
    if (Date.now() > end) assert.fail(`never: ${what}`)
    await sleep(25)
  }
}

/** Asks until the answer is this one. */
export async function becomes(ask, wanted = true) {
  const end = Date.now() + WITHIN_MS
  for (;;) {
    const seen = await ask()
    try {
      return assert.deepEqual(seen, wanted)
    } catch (difference) {
      if (Date.now() > end) throw difference
    }
    await sleep(50)
  }
}

/** After so many ms the service has looked for jobs itself, should a hint be lost. */
export const UNHINTED = 5_000

/** What came at `at` came far ahead of what would bring it without the rule that is looked at: `otherwise` ms after `since`. */
export function early(since, otherwise, at = Date.now()) {
  const took = at - since
  assert.ok(took >= 0 && took < otherwise / 2, `${took} ms, and ${otherwise} ms without it`)
}

/** Looks until the text is such. What a click leads to may be on its way still, and what was there before still be there. */
export async function reads(look, wanted) {
  const end = Date.now() + WITHIN_MS
  for (;;) {
    const seen = await look.innerText()
    if (wanted.test(seen)) return
    if (Date.now() > end) assert.match(seen, wanted)
    await sleep(50)
  }
}
