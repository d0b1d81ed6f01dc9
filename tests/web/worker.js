// Runs files of stories in one process, one after the other, with one browser. INTRAY_STORIES is a folder that all workers
// share: its `files` are named in their order, and a worker claims one by making a file of the same number.
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe } from 'node:test'
import './world/shared.js' // here, so that what is shared ends with this process and not with the first file that uses it

const FILE_TIMEOUT_MS = 600_000

const folder = process.env.INTRAY_STORIES
const files = JSON.parse(readFileSync(join(folder, 'files'), 'utf8'))

function claim(n) {
  try {
    return closeSync(openSync(join(folder, `${n}`), 'wx')) ?? true
  } catch ({ code }) {
    if (code === 'EEXIST') return false
    throw new Error(`file ${n} cannot be claimed: ${code}`)
  }
}

for (const [n, file] of files.entries()) {
  if (!claim(n)) continue
  await new Promise((ended) => {
    describe(file, { timeout: FILE_TIMEOUT_MS }, async () => {
      try {
        await import(new URL(file, import.meta.url))
      } finally {
        after(ended)
      }
    })
  })
}
