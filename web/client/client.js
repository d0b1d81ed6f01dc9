/**
 * intray's browser module: one person, one job at a time, and nothing that was typed is lost.
 *
 *   const desk = new Intray({ url: 'https://queue.example', token, queues: ['reviews'], worker: 'ann' })
 *   const job = await desk.next()
 *
 * One thought each, and what each of them needs:
 *
 *   desk      what a page sees: who is here, which tab works, when something has changed
 *   job       what a page works with
 *   search    asking for work
 *   lease     keeping the job in hand, saving drafts
 *   endings   handing in, now or later
 *   ledger    the one writer of what is known of a job
 *   record    what that is, and its states
 *   tabs      the tabs of a person: one leads, all know the same
 *   words     what is said about a job, cut to what the service takes
 *   plan      what a page wants of its desk
 *   drawer    what outlives the page: drafts, and endings that are still to be sent
 *   calls     what is asked of the service, and how long to wait before it is asked again
 *   http      one request, and what the service has refused
 *   clock     a clock that notices sleep
 *
 * The leading tab alone waits for work and keeps the job alive, and only its closing gives the job back. Any tab may
 * save and hand in. The service joins the parts to one file, and serves that as `/client.js`.
 */
export { Intray } from './desk.js'
export { IntrayError } from './http.js'
export { Job } from './job.js'
