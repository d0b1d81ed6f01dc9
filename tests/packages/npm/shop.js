// The world of these stories: a service, a wire to it, pages built of the package which that service serves, and a browser.
// One for all stories of a file.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { after, before } from 'node:test'
import { isDeepStrictEqual, promisify } from 'node:util'
import { startBrowser } from '../../web/world/browser.js'
import { startService } from '../../web/world/service.js'
import { becomes, until } from '../../web/world/until.js'
import { startWire } from '../../web/world/wire.js'

const KINDS = { '.html': 'text/html', '.js': 'text/javascript' }
const run = promisify(execFile)

const document = (name) => readFile(new URL(`../../../${name}`, import.meta.url), 'utf8')

/** An example of a kind below a heading of the guide, the first or the one at `at`, with the service's address in it. */
export async function example(kind, heading, url, at = 0) {
  const section = (await document('docs/browser.md')).split(`\n## ${heading}\n`)[1]
  return [...section.matchAll(new RegExp(`\`\`\`${kind}\n(.*?)\`\`\``, 'gs'))][at][1].replaceAll('https://queue.example', url)
}

/** All examples of a kind on a page. */
export async function examples(kind, page) {
  return [...(await document(page)).matchAll(new RegExp(`^\`\`\`${kind}\n(.*?)^\`\`\``, 'gms'))].map(([, text]) => text)
}

/** A site of a folder, which is named later. */
async function startSite() {
  const site = { folder: null }
  const server = http.createServer(async ({ url }, response) => {
    const path = new URL(url, 'http://site').pathname
    if (path === '/favicon.ico') return response.writeHead(204).end() // a browser asks for it anyway
    const file = await readFile(join(site.folder, path.endsWith('/') ? `${path}index.html` : path)).catch(() => null)
    if (!file) return response.writeHead(404).end()
    response.writeHead(200, { 'content-type': `${KINDS[extname(path) || '.html']}; charset=utf-8` }).end(file)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stop = () => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  }
  return Object.assign(site, { origin: `http://localhost:${server.address().port}`, stop })
}

/** `build(on)` fills `on.folder`, an empty one, and answers the folder of the site; `prepare(on)` the service's flags. */
export function shop(build, prepare = () => []) {
  const on = {}
  const ends = []
  before(async () => {
    on.folder = await mkdtemp(join(tmpdir(), 'intray-page-'))
    ends.push(() => rm(on.folder, { recursive: true, force: true }))
    on.site = await startSite()
    ends.push(on.site.stop)
    on.run = (program, ...args) => run(program, args, { cwd: on.folder, maxBuffer: 16 << 20 }).catch(tell)
    on.write = (name, text) => writeFile(join(on.folder, name), text)
    on.service = await startService('--cors-origin', on.site.origin, '--sweep-interval-ms', '100', ...(await prepare(on)))
    ends.push(on.service.stop)
    on.wire = await startWire(on.service)
    ends.push(on.wire.stop)
    on.bring = (folder) => cp(new URL(folder, import.meta.url), on.folder, { recursive: true })
    on.site.folder = await build(on)
    on.chromium = await startBrowser()
    ends.push(on.chromium.stop)
  })
  after(async () => {
    for (const end of ends.reverse()) await end()
  })
  /** A person's tab, in a browser of its own; `t` closes it. */
  on.open = async (t, path, before = () => {}) => {
    const context = await on.chromium.browser.newContext()
    t.after(() => context.close())
    const page = await context.newPage()
    await page.addInitScript(before)
    page.wrong = []
    page.on('pageerror', (error) => page.wrong.push(String(error)))
    page.on('console', (line) => line.type() === 'error' && page.wrong.push(line.text()))
    await page.goto(on.site.origin + path)
    return page
  }
  on.saved = (draft) => {
    const isIt = ({ status, body }) => status === 200 && isDeepStrictEqual(body.draft, draft)
    return until(`${JSON.stringify(draft)} is saved`, () => on.wire.calls('extend').some(isIt))
  }
  return on
}

function tell(error) {
  throw new Error(`${error.message}\n${error.stdout}\n${error.stderr}`)
}

/** A page takes a job, keeps what is typed over a reload, and hands it in. */
export async function worksOffACat(t, on, path) {
  const cat = await on.service.enqueue('reviews', { title: 'A cat' })
  const page = await on.open(t, path)
  await page.getByRole('heading', { name: 'A cat' }).waitFor()
  await page.getByLabel('Note').pressSequentially('it purrs')
  await on.saved({ note: 'it purrs' })
  await page.reload()
  await page.getByRole('heading', { name: 'A cat' }).waitFor()
  assert.equal(await page.getByLabel('Note').inputValue(), 'it purrs')
  await page.getByRole('button', { name: 'Done' }).click()
  await becomes(async () => (await on.service.job(cat)).result, { note: 'it purrs' })
  await page.getByText('Nothing to do').waitFor()
  assert.deepEqual(page.wrong, [])
}
