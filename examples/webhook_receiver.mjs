// Takes the deliveries of a webhook, prints each event once, and answers 204. WEBHOOK_SECRETS: those of the webhooks file.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const keys = process.env.WEBHOOK_SECRETS.split(' ').map((secret) => Buffer.from(secret.replace('whsec_', ''), 'base64'))
const seen = new Set() // in production: a table, written in the transaction that does the work

function isGenuine({ 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': given = '' }, body) {
  const wanted = keys.map((key) => 'v1,' + createHmac('sha256', key).update(`${id}.${time}.`).update(body).digest('base64'))
  const isEqual = (one, other) => one.length === other.length && timingSafeEqual(one, other)
  const isSigned = given.split(' ').some((one) => wanted.some((other) => isEqual(Buffer.from(one), Buffer.from(other))))
  return isSigned && Math.abs(Date.now() / 1000 - time) <= 300
}

const server = createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.length < 1000 && chunks.push(chunk)).on('end', () => {
    const [body, id] = [Buffer.concat(chunks), request.headers['webhook-id']]
    if (!isGenuine(request.headers, body)) return response.writeHead(401).end()
    const { type, data } = JSON.parse(body)
    if (!seen.has(id)) console.log(type, data.id, JSON.stringify(data.result))
    seen.add(id)
    response.writeHead(204).end()
  })
})
server.listen(process.env.PORT ?? 9000, '127.0.0.1', () => console.log(`listens on http://127.0.0.1:${server.address().port}`))
