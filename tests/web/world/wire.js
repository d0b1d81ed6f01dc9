// What lies between a page and the service: writes down every call, and breaks when a story says so. Pages themselves always
// come through.
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Up to so many ms each answer is on its way, and each hang-up: shows a story that looks at a page, or at the log, before that
 * has it, and one that takes a page for gone before the service knows.
 */
const SLOW = Number(process.env.INTRAY_SLOW_WIRE_MS ?? 0)

const isPage = (path) => /^\/(console|demo|desk|docs)(\/|$)|^\/(client|form)\.(js|d\.ts|css)$/.test(path)
const isScript = (path) => /^\/(desk|demo)\/\w+\.js$/.test(path)

/**
 * `rule(call)` decides what becomes of a call: 'cut' nobody answers, 'lose' the service did it and the answer is lost,
 * `{status, body, type, more}` an answer of something else (`more`: headers); or nothing. `offline`: all are cut. `script(text)`
 * makes another text of each script of the desk and the demo.
 */
export async function startWire(service) {
  const log = []
  const wire = { log, rule: null, script: null, offline: false, open: 0 } // `open`: calls that are not answered, nor hung up at the service
  const serve = async (request, response) => {
    const { pathname } = new URL(request.url, 'http://wire')
    const { method, url: path, headers } = request
    const entry = { method, path, headers, at: Date.now(), isOver: false }
    wire.open += 1
    const gone = new AbortController() // who hangs up here, hangs up there
    response.on('close', async () => {
      if (SLOW) await sleep(Math.random() * SLOW)
      gone.abort()
      wire.open -= 1
      entry.isOver = true
    })
    const text = await read(request)
    entry.text = text.toString()
    entry.body = parse(text)
    let fate
    if (!isPage(pathname)) {
      log.push(entry)
      fate = wire.offline ? 'cut' : await wire.rule?.(entry)
    }
    if (fate === 'cut') return request.socket.destroy()
    if (fate?.status) return answer(entry, response, fate)
    const isRewritten = wire.script && isScript(pathname)
    if (isRewritten) for (const name of ['accept-encoding', 'if-none-match']) delete headers[name]
    const reply = await send(service.url, entry, text, gone.signal)
    const { 'transfer-encoding': _, connection: __, ...known } = reply.headers
    const isStream = /^text\/event-stream/.test(known['content-type'])
    let body = isStream ? null : await read(reply)
    if (isRewritten) {
      body = Buffer.from(wire.script(`${body}`))
      known['content-length'] = body.length
    }
    if (SLOW && body && !isPage(pathname)) await sleep(Math.random() * SLOW)
    Object.assign(entry, { status: reply.statusCode, answered: reply.headers, answer: body && parse(body) })
    if (isStream) return reply.pipe(response.writeHead(reply.statusCode, known))
    if (fate === 'lose') return request.socket.destroy()
    response.writeHead(reply.statusCode, known).end(body)
  }
  const server = http.createServer((request, response) =>
    serve(request, response).catch(() => request.socket.destroy()),
  )
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  wire.url = `http://127.0.0.1:${server.address().port}`
  /** All connections break, those of streams and of waiting calls too. */
  wire.cut = () => server.closeAllConnections()
  wire.stop = () => {
    wire.cut()
    return new Promise((resolve) => server.close(resolve))
  }
  wire.calls = (action) => log.filter(({ method, path }) => method === 'POST' && path === `/jobs/${action}`)
  wire.preflights = (action) => log.filter(({ method, path }) => method === 'OPTIONS' && path === `/jobs/${action}`)
  return wire
}

async function read(stream) {
  const chunks = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

function parse(bytes) {
  try {
    return JSON.parse(bytes)
  } catch {
    return bytes.toString()
  }
}

function send(url, { method, path, headers: { connection: _, ...headers } }, text, signal) {
  return new Promise((resolve, reject) => {
    const request = http.request(url + path, { method, headers, signal, agent: false }, resolve)
    request.on('error', reject)
    request.end(text)
  })
}

const OPEN = { 'access-control-expose-headers': 'retry-after' }

function answer({ headers }, response, { status, body = '', type = 'application/problem+json', more = {} }) {
  const allowed = headers.origin ? { ...OPEN, 'access-control-allow-origin': headers.origin } : {}
  response.writeHead(status, { 'content-type': type, ...allowed, ...more })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}
