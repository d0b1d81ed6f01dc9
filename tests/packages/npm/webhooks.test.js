// The reference library of Standard Webhooks for Node signs and reads the same deliveries as the service, Python and the example.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { failDeliveries, startReceiver } from '../../web/world/receiver.js'
import { startServiceWith } from '../../web/world/service.js'

const { Webhook, WebhookVerificationError } = createRequire(new URL('reference/', import.meta.url))('standardwebhooks')
const vectors = JSON.parse(await readFile(new URL('../webhook_vectors.json', import.meta.url), 'utf8'))

const freshSecret = () => `whsec_${randomBytes(32).toString('base64')}`

/** The headers of a delivery that is sent now. */
const signed = (secret, id, body) => {
  const now = new Date()
  const time = `${Math.floor(now / 1000)}`
  return { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': new Webhook(secret).sign(id, now, body) }
}

test('reference_library_makes_the_signatures_of_the_vectors', () => {
  assert.equal(vectors.length, 3)
  for (const { secrets, id, timestamp, body, signature } of vectors) {
    const each = secrets.map((secret) => new Webhook(secret).sign(id, new Date(timestamp * 1000), body))
    assert.equal(each.join(' '), signature)
  }
})

test('reference_library_reads_a_vector_by_each_of_its_secrets', (t) => {
  for (const { secrets, id, timestamp, body, signature } of vectors) {
    t.mock.timers.enable({ apis: ['Date'], now: timestamp * 1000 })
    const headers = { 'webhook-id': id, 'webhook-timestamp': `${timestamp}`, 'webhook-signature': signature }
    for (const secret of secrets) assert.deepEqual(new Webhook(secret).verify(body, headers), JSON.parse(body))
    assert.throws(() => new Webhook(freshSecret()).verify(body, headers), WebhookVerificationError)
    assert.throws(() => new Webhook(secrets[0]).verify(`${body} `, headers), WebhookVerificationError)
    t.mock.timers.reset()
  }
})

test('every_attempt_of_the_service_is_genuine_for_the_reference_library', async (t) => {
  const receiver = await startReceiver({ shop: ['reviews', 'completed'] })
  t.after(receiver.stop)
  const service = await startServiceWith(receiver.env, ...receiver.flags)
  t.after(service.stop)
  await failDeliveries(service, receiver, 'shop', 'reviews', ['poison'])
  const [webhook, other] = [new Webhook(receiver.secrets[0]), new Webhook(freshSecret())]
  const attempts = receiver.events.filter(({ data }) => data.payload === 'poison')
  assert.equal(new Set(attempts.map(({ id }) => id)).size, 1)
  assert.equal(new Set(attempts.map(({ headers }) => headers['webhook-timestamp'])).size, 10)
  for (const { headers, text, type } of receiver.events) {
    t.mock.timers.enable({ apis: ['Date'], now: headers['webhook-timestamp'] * 1000 })
    assert.equal(webhook.verify(text, headers).type, type)
    assert.throws(() => other.verify(text, headers), WebhookVerificationError)
    t.mock.timers.reset()
  }
})

test('node_receiver_accepts_what_the_reference_library_signs', async (t) => {
  const secret = freshSecret()
  const program = fileURLToPath(new URL('../../../examples/webhook_receiver.mjs', import.meta.url))
  const env = { ...process.env, WEBHOOK_SECRETS: `${freshSecret()} ${secret}`, PORT: '0' }
  const receiver = spawn(process.execPath, [program], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(async () => {
    receiver.kill()
    await once(receiver, 'exit')
  })
  const lines = createInterface({ input: receiver.stdout })[Symbol.asyncIterator]()
  const line = async () => (await lines.next()).value
  const [, url] = /^listens on (http:\S+)$/.exec(await line())
  const post = async (headers, body) => (await fetch(url, { method: 'POST', headers, body })).status
  for (const [n, { body }] of vectors.entries()) {
    assert.equal(await post(signed(freshSecret(), `msg_${n}`, body), body), 401)
    assert.equal(await post(signed(secret, `msg_${n}`, body), body), 204)
    const { type, data } = JSON.parse(body)
    assert.equal(await line(), `${type} ${data.id} ${JSON.stringify(data.result)}`)
  }
})
