/**
 * intray's browser module: one person, one job at a time, and nothing that was typed is lost.
 *
 *   const desk = new Intray({ url: 'https://queue.example', token, queues: ['reviews'], worker: 'ann' })
 *   const job = await desk.next()
 *
 * Each part has one subject:
 *
 *   desk      the page's interface: presence, the leading tab, change events
 *   page_events  coming and going
 *   job       a job as the page sees it
 *   acquire   reserving the next job
 *   lease     extending the lease, saving drafts
 *   leaving   logging out
 *   endings   complete, abandon, fail and hand-over, sent now or later
 *   undo      taking completions back
 *   reopening what becomes of their records
 *   job_store the only writer of job records
 *   records   the records of a page
 *   record    a job record and its states
 *   tabs      the tabs of a person: one leads, all share the state
 *   words     errors and reasons, cut to the service's limits
 *   plan      the settings of a desk
 *   drawer    what outlives the page: drafts and unsent endings
 *   calls     the calls to the service, and the delays between retries
 *   http      one request, and the service's refusals
 *   clock     a clock that notices sleep
 *   json_text payloads as they were sent
 *
 * The leading tab alone waits for work and keeps the job alive, and only its closing gives the job back. Any tab may
 * save and hand in. The service joins the parts to one file, and serves that as `/client.js`.
 */
export { Intray } from './desk.js'
export { IntrayError } from './http.js'
export { Job } from './job.js'
