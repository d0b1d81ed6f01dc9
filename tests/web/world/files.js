// The pages as the service serves them, for a service that does not yet: when every service does, this file goes, with the
// lines of wire.js and stage.js that name it (and stage.js says `--demo`).
import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { extname, join, normalize } from 'node:path'
import { POLICY } from './served.js'
import { binary } from './service.js'

const WEB = new URL('../../../web/', import.meta.url).pathname
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.ts': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.LICENSE': 'text/plain; charset=utf-8',
}

/** Sends a page's file; `null` if the service has them. */
export async function filesUnlessServed(service) {
  const { status } = await fetch(`${service.url}/console/`)
  return status === 404 ? send : null
}

/** The flag that switches the demo on, if the service knows it. */
export const demoFlag = () => (execFileSync(binary(), ['serve', '--help']).includes('--demo') ? ['--demo'] : [])

async function send(path, response) {
  if (/^\/(console|demo)$/.test(path)) return response.writeHead(308, { location: `${path.slice(1)}/` }).end()
  const clean = normalize(decodeURIComponent(path))
  const file = join(WEB, clean.startsWith('/client.') ? `client${clean}` : clean.endsWith('/') ? `${clean}index.html` : clean)
  const bytes = TYPES[extname(file)] && (await readFile(file).catch(() => null))
  if (!bytes) return response.writeHead(404).end()
  const headers = {
    'content-type': TYPES[extname(file)],
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  }
  if (clean.startsWith('/client.')) headers['access-control-allow-origin'] = '*'
  else headers['content-security-policy'] = POLICY
  response.writeHead(200, headers).end(bytes)
}
