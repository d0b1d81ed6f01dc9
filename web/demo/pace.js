// How many posts were handed in, and how long one takes.

import { clock, element as $ } from './draw.js'

const spent = [] // milliseconds, of each post

export function count(ms) {
  spent.push(ms)
  tell()
}

/** The last one was taken back. */
export function uncount() {
  spent.pop()
  tell()
}

function tell() {
  $('done').textContent = spent.length
  $('pace').textContent = spent.length ? clock(spent.reduce((sum, time) => sum + time) / spent.length) : '–'
}
