// Runs files of stories, all of them or those that are named, and says how long each took: `node stories.js [FILE…]`.
// INTRAY_WEB_WORKERS says how many processes with a browser each share them.
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { run } from 'node:test'
import { report } from './report.js'

const here = new URL('./', import.meta.url).pathname
const WORKERS = Number(process.env.INTRAY_WEB_WORKERS ?? 3)

/** All files, the longest first, so that no worker begins one while the others have nothing left to do. */
async function everyFile() {
  const names = (await readdir(here, { recursive: true })).filter((name) => /^\w+\/[^/]+\.test\.js$/.test(name))
  const sizes = new Map(await Promise.all(names.map(async (name) => [name, (await stat(join(here, name))).size])))
  return names.sort((a, b) => sizes.get(b) - sizes.get(a))
}

const named = process.argv.slice(2).map((path) => relative(here, resolve(path)))
const files = named.length ? named : await everyFile()
const folder = await mkdtemp(join(tmpdir(), 'intray-stories-'))
await writeFile(join(folder, 'files'), JSON.stringify(files))
process.env.INTRAY_STORIES = folder
const workers = Array.from({ length: Math.min(WORKERS, files.length) }, () => run({ files: [join(here, 'worker.js')] }))
process.exitCode = (await report(workers, files)) ? 0 : 1
await rm(folder, { recursive: true })
