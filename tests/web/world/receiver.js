// A receiver of webhooks, and what makes a service send to it.
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startClock } from './clock.js'
import { binary } from './service.js'
import { until } from './until.js'

const HOUR = 3_600_000

/**
 * `webhooks`: {name: [queue pattern, types]}. `receiver.status(event)` decides what is answered, 0: nothing; `receiver.events` came.
 * `receiver.secrets` are those of the webhooks, in their order.
 */
export async function startReceiver(webhooks) {
  const receiver = { events: [], status: () => 204 }
  const server = http.createServer(async (request, response) => {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const { headers, url } = request
    const event = { id: headers['webhook-id'], to: url.slice(1), headers, text, ...JSON.parse(text) }
    receiver.events.push(event)
    const status = receiver.status(event)
    if (status === 0) return request.socket.destroy()
    response.writeHead(status).end()
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const folder = await mkdtemp(join(tmpdir(), 'intray-receiver-'))
  const file = join(folder, 'webhooks')
  const line = ([name, [queues, types]]) => {
    const url = `http://127.0.0.1:${server.address().port}/${name}`
    return execFileSync(binary(), ['webhook', name, url, queues, types], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  }
  const lines = Object.entries(webhooks).map(line).join('')
  await writeFile(file, lines, { mode: 0o600 })
  receiver.secrets = lines.match(/whsec_\S+/g)
  const clock = await startClock()
  receiver.advance = clock.advance
  receiver.env = clock.env
  receiver.flags = ['--webhooks-file', file]
  receiver.stop = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await clock.stop()
    await rm(folder, { recursive: true, force: true })
  }
  return receiver
}

export async function completeJob(service, queue, payload) {
  await service.enqueue(queue, payload, { dedupe: false })
  await service.complete(await service.reserve(queue, 'ann'), { verdict: 'fine' })
}

/**
 * Jobs of a queue whose deliveries are refused ten times, and have failed then. Between two attempts another delivery is
 * taken, because after five failures in a row only one would be tried.
 */
export async function failDeliveries(service, receiver, name, queue, payloads) {
  const complete = (payload) => completeJob(service, queue, payload)
  const came = (payload) => receiver.events.filter(({ to, data }) => to === name && data.payload === payload).length
  const failed = async () => (await service.call('GET', `/webhooks/${name}/deliveries?queue=${queue}&state=failed`)).deliveries
  const before = (await failed()).length
  receiver.status = ({ data }) => (payloads.includes(data.payload) ? 503 : 204)
  for (const payload of payloads) await complete(payload)
  for (let attempt = 1; attempt <= 10; attempt += 1) {
    await until(`attempt ${attempt}`, () => payloads.every((payload) => came(payload) >= attempt))
    await complete(`taken ${attempt}`)
    await until('another is taken', () => came(`taken ${attempt}`) > 0)
    if (attempt === 10) break
    await until('the attempt is counted', async () => {
      const { deliveries } = await service.call('GET', `/webhooks/${name}/deliveries?queue=${queue}`)
      return deliveries.length === payloads.length && deliveries.every((one) => one.attempts === attempt)
    })
    await receiver.advance(27 * HOUR)
    await service.call('POST', `/webhooks/${name}/redeliver`, { queue, webhook_id: `msg_${'0'.repeat(26)}` })
  }
  await until('they have failed', async () => (await failed()).length === before + payloads.length)
}
