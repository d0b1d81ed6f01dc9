// Server-sent events over fetch, because EventSource sends no Authorization header (WHATWG HTML, section 9.2).

const SILENCE = 40_000
const FIRST_WAIT = 1_000
const LONGEST_WAIT = 15_000

/** The events in a stream of bytes. `tell` gets `{id, event, data}`; `setRetry` what the stream says of coming back. */
export async function parse(stream, tell, setRetry = () => {}) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
  let rest = '', cr = false, event = '', data = [], id
  const line = (text) => {
    if (text === '') {
      if (data.length) tell({ id, event: event || 'message', data: data.join('\n') })
      event = ''
      data = []
      return
    }
    const colon = text.indexOf(':')
    if (colon === 0) return
    const field = colon < 0 ? text : text.slice(0, colon)
    const value = colon < 0 ? '' : text.slice(colon + 1).replace(/^ /, '')
    if (field === 'data') data.push(value)
    else if (field === 'event') event = value
    else if (field === 'id' && !value.includes('\0')) id = value
    else if (field === 'retry' && /^\d+$/.test(value)) setRetry(Number(value))
  }
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    const lines = (rest + (cr && value.startsWith('\n') ? value.slice(1) : value)).split(/\r\n|\n|\r/)
    // A CR at the end may be half of a CRLF.
    cr = value.endsWith('\r')
    rest = lines.pop()
    lines.forEach(line)
  }
}

/**
 * Follows a stream until `signal` ends it, coming back with the last id that it saw.
 * `tell(message)`; `report(state)` with 'open', 'closed' (it will try again) or 'refused' (401, 403: it will not).
 */
export async function follow({ url, headers, signal, lastId, tell, report }) {
  let wait = FIRST_WAIT
  while (!signal.aborted) {
    const connection = new AbortController()
    const end = () => connection.abort()
    signal.addEventListener('abort', end)
    let silence = setTimeout(end, SILENCE)
    try {
      const more = lastId ? { 'last-event-id': lastId } : {}
      const response = await fetch(url, {
        headers: headers({ accept: 'text/event-stream', ...more }), signal: connection.signal, cache: 'no-store',
      })
      if (response.status === 401 || response.status === 403) return report('refused')
      if (response.status === 400 || response.status === 422) lastId = undefined
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
      if (!response.ok || !isStream) throw new Error(`no stream: ${response.status}`)
      report('open')
      await parse(response.body, (message) => {
        clearTimeout(silence)
        silence = setTimeout(end, SILENCE)
        wait = FIRST_WAIT
        lastId = message.id ?? lastId
        tell(message)
      }, (ms) => { wait = ms })
    } catch {
      // Whatever it was, the answer is to come back later.
    } finally {
      clearTimeout(silence)
      signal.removeEventListener('abort', end)
      connection.abort()
    }
    if (signal.aborted) return
    report('closed')
    await pause(wait * (0.8 + Math.random() * 0.4), signal)
    wait = Math.min(wait * 2, LONGEST_WAIT)
  }
}

const pause = (ms, signal) => new Promise((resolve) => {
  const timer = setTimeout(resolve, ms)
  signal.addEventListener('abort', () => { clearTimeout(timer); resolve() }, { once: true })
})
