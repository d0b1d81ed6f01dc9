/**
 * intray's browser module: one person, one job at a time, and nothing that was typed is lost.
 *
 *   const desk = new Intray({ url: 'https://queue.example', token, queues: ['reviews'], worker: 'ann' })
 *   const job = await desk.next()
 *
 * The leading tab alone waits for work and keeps the job alive, and only its closing gives the job back. Any tab may
 * save and hand in. The service joins the parts to one file, and serves that as `/client.js`.
 */
export { Intray } from './desk.js'
export { IntrayError } from './http.js'
export { Job } from './job.js'
