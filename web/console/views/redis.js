// How full Redis is, and whether it writes down what it holds.

import { html, classes, useAnswer, useEffect } from '../html.js'
import * as api from '../api.js'
import { bytes } from '../format.js'

const EVERY = 15_000
/** The part of `maxmemory` in use from which on finished jobs are forgotten early. */
const FULL = 0.7

export function Redis() {
  const { data, reload } = useAnswer((signal) => api.redis(signal), [])
  useEffect(() => {
    const timer = setInterval(() => reload(), EVERY)
    return () => clearInterval(timer)
  }, [])
  if (!data) return null
  return html`<ul class="redis" aria-label="Redis">${data.nodes.map((node, n) => html`<li>
    <span class="dim">Redis${data.nodes.length > 1 && ` ${n + 1}`}</span> <${Memory} node=${node} />
    <${Disk} node=${node} /></li>`)}</ul>`
}

function Memory({ node: { used_bytes: used, max_bytes: max } }) {
  if (max === null) return html`<span>${bytes(used)} used, no limit set</span>`
  const percent = Math.round((100 * used) / max)
  return html`<span class=${classes(used / max >= FULL && 'bad')}>${bytes(used)} of ${bytes(max)} used${
    percent > 0 && ` (${percent} %)`}</span>`
}

function Disk({ node: { append_only: isOn, last_write_ok: isWritten } }) {
  if (isOn === null) return html`<span class="dim">persistence unknown</span>`
  if (!isOn) return html`<span class="bad">no append-only file: jobs are lost when Redis stops</span>`
  if (isWritten === false) return html`<span class="bad">the append-only file cannot be written</span>`
  return html`<span>append-only file on</span>`
}
