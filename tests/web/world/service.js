// The service itself, with a private server of its own, and what producers, operators and other people say to it.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = new URL('../../../', import.meta.url).pathname
const built = [process.env.INTRAY_BIN, ...['debug', 'quick', 'release'].map((how) => join(root, 'target', how, 'intray'))]

/** What every service of the stories is started with. */
const ALWAYS = ['--listen', '127.0.0.1:0', '--redis-timeout-ms', '30000']

export function binary() {
  const found = built.find((path) => path && existsSync(path))
  if (!found) throw new Error('there is no service: run `cargo build`, or say where it is in INTRAY_BIN')
  return found
}

export const startService = (...flags) => startServiceWith({}, ...flags)

/** `env`: further variables of its environment. */
export async function startServiceWith(env, ...flags) {
  const data = await mkdtemp(join(tmpdir(), 'intray-web-'))
  const child = spawn(binary(), [...ALWAYS, '--data-dir', data, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  let output = ''
  const url = await new Promise((resolve, reject) => {
    const hear = (chunk) => {
      output += chunk
      const ready = /ready on (http:\S+)/.exec(output)
      if (ready) resolve(ready[1])
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    ended.then(() => reject(new Error(`the service did not start:\n${output}`)))
  })
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
    await rm(data, { recursive: true, force: true })
  }
  return { url, stop, ...verbs(url) }
}

function verbs(url, credential) {
  /** A text is sent as it is. */
  const call = async (method, path, body) => {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' }
    if (credential) headers.authorization = `Bearer ${credential}`
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    const answer = await fetch(url + path, { method, headers, body: text })
    return { status: answer.status, ...(await answer.json()) }
  }
  const job = (id) => call('GET', `/jobs/${id}`)
  return {
    call,
    as: (other) => verbs(url, other),
    job,
    state: async (id) => (await job(id)).state,
    enqueue: async (queue, payload, more) => (await call('POST', '/jobs', { queue, payload, ...more })).id,
    reserve: async (queue, worker) => (await call('POST', '/jobs/reserve', { queues: [queue], worker })).jobs[0],
    fail: ({ reservation }, error) => call('POST', '/jobs/fail', { reservation, error }),
    complete: ({ reservation }, result) => call('POST', '/jobs/complete', { reservation, result }),
    set: (queue, settings) => call('PATCH', `/queues/${queue}`, settings),
    queue: (queue) => call('GET', `/queues/${queue}`),
    batch: (queue, more) => call('POST', '/batches', { queue, ...more }),
  }
}
