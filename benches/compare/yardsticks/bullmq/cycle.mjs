// A closed loop in one process: so many jobs are on their way, and each that is completed is followed by the next. Arguments:
// the socket of Redis, jobs on their way, milliseconds before it counts, milliseconds that count.
import { Queue, Worker } from 'bullmq'

const [path, crowd, warmUp, measured] = process.argv.slice(2)
const connection = { path, maxRetriesPerRequest: null }
const queue = new Queue('bench', { connection })
await queue.obliterate({ force: true })

const began = new Map()
const latencies = []
let next = 0
let counts = false

const add = () => {
  const n = next++
  const head = `{"n":${n},"text":"`
  began.set(n, performance.now())
  return queue.add('job', { n, text: 'x'.repeat(200 - head.length - 2) }, { removeOnComplete: true })
}

const worker = new Worker('bench', async () => undefined, { connection, concurrency: Number(crowd) })
worker.on('completed', (job) => {
  if (counts) latencies.push(performance.now() - began.get(job.data.n))
  began.delete(job.data.n)
  void add()
})
for (let i = 0; i < Number(crowd); i++) void add()

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
await sleep(Number(warmUp))
counts = true
console.log('begin')
await sleep(Number(measured))
counts = false
// All of it is out before it ends.
process.stdout.write(`${JSON.stringify(latencies)}\n`, () => process.exit(0))
