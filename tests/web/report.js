// Prints the stories of several workers as they end, each with its time, and at the end the slowest and what failed.
import { inspect } from 'node:util'

const SLOWEST = 20
const seconds = (ms) => `${(ms / 1_000).toFixed(1).padStart(6)} s`

/**
 * `workers`: of each the events of node's test runner. Each of `files` is a suite of one of them; its stories are what is in it.
 * Answers whether all of them were run and none failed.
 */
export async function report(workers, files) {
  const begun = performance.now()
  const ended = (await Promise.all(workers.map(follow))).flat()
  const suites = ended.filter(({ kind }) => kind === 'file')
  const stories = ended.filter(({ kind }) => kind === 'story')
  const failed = ended.filter(({ error }) => error)
  for (const [title, all] of Object.entries({ stories, files: suites })) {
    console.log(`\nThe slowest ${title}:`)
    const slowest = all.sort((a, b) => b.ms - a.ms).slice(0, SLOWEST)
    for (const { name, ms } of slowest) console.log(`${seconds(ms)}  ${name}`)
  }
  const missing = files.filter((file) => !suites.some(({ name }) => name === file))
  for (const { name, error } of failed) console.log(`\nFAILED ${name}\n${inspect(error.cause ?? error)}`)
  for (const file of missing) console.log(`\nNOT RUN ${file}`)
  const took = seconds(performance.now() - begun).trim()
  console.log(`\n${stories.length} stories in ${suites.length} files, ${failed.length} failures, ${took}`)
  return failed.length + missing.length === 0
}

/** What ended in one worker, in this order. A worker that fails without a story that did has been ended by something else. */
async function follow(events) {
  const ended = []
  let file
  for await (const { type, data } of events) {
    if (type === 'test:stdout' || type === 'test:stderr') process.stdout.write(data.message)
    if (type === 'test:diagnostic' && data.nesting > 0) console.log(`${' '.repeat(10)}${data.message}`)
    if (type === 'test:dequeue' && data.nesting === 0) file = { name: data.name, at: performance.now() }
    if (type !== 'test:complete') continue
    const { duration_ms: took, error, type: of } = data.details
    const kind = data.nesting > 0 ? 'story' : of === 'suite' ? 'file' : 'worker'
    const isNamed = error?.failureType === 'subtestsFailed' && ended.some((one) => one.error)
    if (kind === 'worker' && (!error || isNamed)) continue
    const name = kind === 'story' ? `${file.name}: ${data.name}` : data.name
    const ms = kind === 'file' ? performance.now() - file.at : took
    ended.push({ kind, name, ms, error: isNamed ? undefined : error })
    console.log(`${error ? '  FAILED' : seconds(ms)}  ${name}`)
  }
  return ended
}
