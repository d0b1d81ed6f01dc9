// What a service with webhooks answers, in the form of openapi.yaml, where a story needs many deliveries or another role.

const JOB = `reviews-01KAJ3V7Q2M8Z4R6T9XW5Y${'0'.repeat(3)}1`
export const deliveryId = (n) => `msg_01KAJ3V7Q2M8Z4R6T9XW5YB1${String(n).padStart(2, '0')}`
// One of a job, of a batch, and of the queue itself.
const EVENTS = [{ type: 'job.completed', job: JOB }, { type: 'batch.completed', job: `${JOB.slice(0, -4)}0000` }, { type: 'queue.paused', job: null }]
const ago = (ms) => new Date(Date.now() - ms).toISOString()

/** Two webhooks, and deliveries of the queue `reviews` to one of them. `role` is the caller's, `status` what a test gets. */
export function stubWebhooks(on, { role = 'operator', failed = 3, state = 'failing', status = 204 } = {}) {
  const hooks = {
    calls: [],
    failed: Array.from({ length: failed }, (_, n) => ({ webhook_id: deliveryId(n), ...EVENTS[Math.min(n, 2)], attempts: 10,
      last_status: n ? 503 : null, last_error: n ? null : 'connection refused', next_at: null, failed_at: ago(60_000) })),
    waiting: [],
    state,
  }
  const shop = () => ({ name: 'shop', host: 'shop.example', queues: 'reviews*', types: ['completed', 'dead'], state: hooks.state,
    waiting: hooks.waiting.length, failed: hooks.failed.length, lost: 2, oldest_ms: hooks.waiting.length ? 421_000 : null,
    last_status: 503, last_error: null, last_at: ago(30_000) })
  const audit = { name: 'audit', host: '127.0.0.1', queues: '*', types: ['enqueued', 'reserved', 'completed'], state: 'ok',
    waiting: 0, failed: 0, lost: 0, oldest_ms: null, last_status: null, last_error: null, last_at: null }
  const send = (ids) => {
    const sent = hooks.failed.filter(({ webhook_id: id }) => ids.includes(id))
    hooks.failed = hooks.failed.filter((one) => !sent.includes(one))
    hooks.waiting.push(...sent.map((one) => ({ ...one, next_at: new Date().toISOString(), failed_at: null })))
    hooks.state = hooks.state === 'gone' ? 'ok' : hooks.state
    return { redelivered: sent.length }
  }
  const page = (query) => {
    const [all, from] = [query.get('queue') === 'reviews' ? hooks[query.get('state') ?? 'waiting'] : [], Number(query.get('after') ?? 0)]
    return { deliveries: all.slice(from, from + 50), next: all.length > from + 50 ? String(from + 50) : null }
  }
  on.wire.rule = ({ method, path, body }) => {
    const { pathname, searchParams } = new URL(path, 'http://wire')
    const yes = (answer) => ({ status: 200, type: 'application/json', body: answer })
    if (method === 'POST' && pathname.startsWith('/webhooks')) hooks.calls.push([pathname, body])
    if (pathname === '/me' && role !== 'operator') return yes({ role, name: 'eve', worker: null, queues: ['*'], until: null })
    if (pathname === '/webhooks') return yes({ webhooks: [shop(), audit] })
    if (pathname === '/webhooks/shop/deliveries') return yes(page(searchParams))
    if (pathname === '/webhooks/shop/test') return yes(status ? { status, ms: 12 } : { status: null, ms: 15_000, error: 'no answer within 15 s' })
    if (pathname === '/webhooks/shop/redeliver') return yes(send(body.webhook_id ? [body.webhook_id] : hooks.failed.map((one) => one.webhook_id)))
    return null
  }
  return hooks
}
