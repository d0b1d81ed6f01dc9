// The tour by a client that openapi-typescript makes of the contract: what is not typed does not compile.
import createClient from 'openapi-fetch'

import type { components, paths } from './generated/intray.js'

declare const process: { argv: string[] }

type Schemas = components['schemas']

const client = createClient<paths>({ baseUrl: process.argv[2] ?? '' })

function must<T>(value: T | undefined | null, what: string): T {
  if (value === undefined || value === null) throw new Error(what)
  return value
}

const enqueued = await client.POST('/jobs', { body: { queue: 'typed', payload: { photo: 17 }, priority: 10 } })
const stored: Schemas['Stored'] | Schemas['Twin'] | Schemas['EnqueuedList'] | string = must(enqueued.data, 'enqueue')
if (typeof stored === 'string' || !('id' in stored)) throw new Error('one job is neither lines nor a list')

const given = must((await client.POST('/jobs/reserve', { body: { queues: ['typed'], worker: 'ann' } })).data, 'reserve')
const job: Schemas['Handout'] = must(given.jobs[0], 'a job')
if (job.id !== stored.id || job.attempt !== 1) throw new Error('another job')
const { reservation } = job

const extended = must((await client.POST('/jobs/extend', { body: { reservation, draft: 'so far' } })).data, 'extend')
if (!('expires_in_ms' in extended) || extended.expires_in_ms <= 0) throw new Error('no time')

const result = { verdict: 'fine' }
const completed = must((await client.POST('/jobs/complete', { body: { reservation, result } })).data, 'complete')
if (!('late' in completed) || completed.late || completed.duplicate) throw new Error('late')

const { error, response } = await client.POST('/jobs/abandon', { body: { reservation } })
const problem: Schemas['Problem'] = must(error, 'a problem')
if (response.status !== 409 || problem.type !== '/problems/reservation-lost' || problem.reason !== 'completed') {
  throw new Error(JSON.stringify(problem))
}

const none = must((await client.POST('/jobs/reserve', { body: { queues: ['typed'] } })).data, 'nothing to reserve')
if (!('reason' in none) || none.reason !== 'empty') throw new Error('there is another job')
const done = must((await client.GET('/jobs/{id}', { params: { path: { id: stored.id } } })).data, 'the job')
if (done.state !== 'completed') throw new Error(done.state)

console.log('openapi-typescript: the tour is done, typed')
