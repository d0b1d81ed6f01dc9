// The rows of a table, found in its bytes piece by piece. A row's number is that of a spreadsheet: blank rows count,
// line breaks in cells do not. The command line has the same rules in rows.rs; tests/tables.json has the cases of both.

const [TAB, LF, CR, QUOTE] = [9, 10, 13, 34]
const MARK = [0xef, 0xbb, 0xbf]
// Where the reader stands: before a row, before a cell, in a cell, in quotes, after a quote in quotes.
const [ROW, CELL, BARE, QUOTED, CLOSED] = [0, 1, 2, 3, 4]

/** Bytes that are copied one by one: a copy as a whole takes longer to begin. */
const SHORT = 32
/** A row of more bytes, or of more cells, is not kept. */
export const MAX_BYTES = (8 << 20) + (64 << 10)
const MAX_CELLS = 16 << 10

export const TOO_LONG = `is longer than ${MAX_BYTES} bytes or has too many cells; is a quote not closed?`
export const OPEN_QUOTE = 'has a quote that is not closed, so the rest of the file is in it'

const text = new TextDecoder('utf-8', { ignoreBOM: true })

export class RowReader {
  #state = ROW
  #number = 0
  #last = LF
  #kept = new Uint8Array(1 << 10)
  #length = 0
  #ends = []
  #fault = null
  #isFirst = true

  /** `separator`: one character of ASCII. `limits`: of the bytes and the cells of a row. */
  constructor(separator, limits = [MAX_BYTES, MAX_CELLS]) {
    this.separator = separator.charCodeAt(0)
    this.limits = limits
  }

  /** The rows that end in these bytes, `{number, cells, fault, isCut}`; with `isEnd` the last one too. */
  read(bytes, isEnd) {
    const rows = []
    for (let at = 0; at < bytes.length;) {
      if (this.#state === ROW) {
        at = this.#begin(bytes, at)
      } else if (this.#state === QUOTED) {
        const quote = bytes.indexOf(QUOTE, at)
        const end = quote < 0 ? bytes.length : quote
        this.#keep(bytes, at, end)
        at = end + 1
        if (quote >= 0) this.#state = CLOSED
      } else {
        at = this.#cell(bytes, at)
        if (this.#state === ROW) rows.push(this.#row(false))
      }
    }
    if (isEnd && this.#state !== ROW) rows.push(this.#end())
    return rows
  }

  /** Passes over blank rows to where the next one begins. */
  #begin(bytes, from) {
    let at = from
    for (; at < bytes.length && (bytes[at] === LF || bytes[at] === CR); at += 1) {
      if (bytes[at] === CR || this.#last !== CR) this.#number += 1
      this.#last = bytes[at]
    }
    if (at === bytes.length) return at
    this.#number += 1
    this.#state = CELL
    const isMarked = this.#isFirst && MARK.every((byte, n) => bytes[at + n] === byte)
    this.#isFirst = false
    return isMarked ? at + MARK.length : at
  }

  /** Reads what is outside of quotes, to the end of a cell or of the bytes. The state is `ROW` after the row's last. */
  #cell(bytes, from) {
    const { separator } = this
    if (bytes[from] === QUOTE && this.#state !== BARE) {
      // A second quote in quotes is one of the text.
      if (this.#state === CLOSED) this.#keep(bytes, from, from + 1)
      this.#state = QUOTED
      return from + 1
    }
    let at = from
    while (at < bytes.length && bytes[at] !== separator && bytes[at] !== LF && bytes[at] !== CR) at += 1
    if (at > from) this.#keep(bytes, from, at)
    if (at > from) this.#state = BARE
    if (at === bytes.length) return at
    if (bytes[at] === separator) {
      this.#endCell()
      this.#state = CELL
    } else {
      this.#last = bytes[at]
      this.#state = ROW
    }
    return at + 1
  }

  #keep(bytes, from, to) {
    const length = this.#length + to - from
    if (length > this.limits[0]) this.#fault = TOO_LONG
    if (this.#fault) return
    if (length > this.#kept.length) {
      const more = new Uint8Array(Math.max(length, this.#kept.length * 2))
      more.set(this.#kept)
      this.#kept = more
    }
    if (to - from < SHORT) for (let at = from; at < to; at += 1) this.#kept[this.#length + at - from] = bytes[at]
    else this.#kept.set(bytes.subarray(from, to), this.#length)
    this.#length = length
  }

  #endCell() {
    if (this.#ends.length >= this.limits[1]) this.#fault = TOO_LONG
    if (!this.#fault) this.#ends.push(this.#length)
  }

  #end() {
    if (this.#state === QUOTED) this.#fault = OPEN_QUOTE
    return this.#row(true)
  }

  #row(isCut) {
    this.#endCell()
    const { fault, cells } = { fault: this.#fault, cells: this.#fault ? [] : this.#cells() }
    this.#state = ROW
    this.#length = 0
    this.#ends = []
    this.#fault = null
    return { number: this.#number, cells, fault, isCut }
  }

  /** Decoded at once where each character is a byte. */
  #cells() {
    const bytes = this.#kept.subarray(0, this.#length)
    const whole = text.decode(bytes)
    const isPlain = whole.length === bytes.length
    return this.#ends.map((end, n) => {
      const begin = n === 0 ? 0 : this.#ends[n - 1]
      return isPlain ? whole.slice(begin, end) : text.decode(bytes.subarray(begin, end))
    })
  }
}

/** A cell of these is absent. */
export const isBlank = (cell) => /^[\t\n\f\r ]*$/.test(cell)
export const SEPARATORS = [[',', 'comma'], [';', 'semicolon'], [String.fromCharCode(TAB), 'tab'], ['|', '|']]
