// Whether the machine let the stories run: a thread that is woken so much too late shows one that stood still, not one that is busy.
// A file says so at once; tests/web/stalled.js, a reporter, looks for the line.
import { Worker } from 'node:worker_threads'

const TICK_MS = 20
const STALL_MS = 500

const watch = `
const { parentPort } = require('node:worker_threads')
let before = performance.now()
setInterval(() => {
  const late = performance.now() - before - ${TICK_MS}
  before += late + ${TICK_MS}
  if (late >= ${STALL_MS}) parentPort.postMessage(Math.round(late))
}, ${TICK_MS})`

const thread = new Worker(watch, { eval: true, execArgv: [] })
thread.on('message', (ms) => console.log(`the machine stood still for ${ms} ms`))
thread.unref()
