/**
 * intray's browser module: one person, one job at a time, and nothing that was typed is lost.
 *
 *   const desk = new Intray({ url: 'https://queue.example', token, queues: ['reviews'], worker: 'ann' })
 *   const job = await desk.next()
 *
 * Six thoughts, in the order of this file:
 *
 *   Intray   the desk: asks for work, keeps what it holds alive, hands in
 *   Job      what a page works with
 *   Tabs     the tabs of a person: one leads, all know the same
 *   Drawer   what outlives the page: drafts, and endings that are still to be sent
 *   call     one request, and IntrayError, what the service has refused
 *   since    a clock that notices sleep
 *
 * What is known of a job is a record (`r`), the same in all tabs: #change changes it here, in the drawer and in the
 * other tabs, with the event that goes with it. The leading tab alone waits for work and keeps the job alive, and only
 * its closing gives the job back. Any tab may save and hand in.
 */

const TICK = 500 // how often we look at the clock
const ASLEEP = 5_000 // a longer gap between two looks, in a page that is shown: the machine slept
const PATIENCE = 400 // so long the service may take to confirm that a lease is over; then we say so ourselves
const DRAFTS_APART = 1_000 // drafts are sent no faster
const ANSWER_WITHIN = 15_000 // a call that takes longer is tried again
const RETRY_WITHIN = 30_000 // the longest pause between two tries
const KEEPALIVE = 20_000 // characters, which may be 60 KB: for a page that is gone the browser sends no more
const REMEMBERED = 30 * 24 * 3_600_000 // so long the drawer keeps what nobody has asked for

/** @implements {Types.Intray} */
export class Intray extends EventTarget {
  #settings
  #token
  #drawer
  #tabs
  #timer
  #r = null // the record of the job in hand, or of the last one
  #asking = null // the one search for work that all callers of next() share
  #remaining = null
  #flights = {} // what is under way, by name: see once()
  #seen = mark() // when somebody was here last
  #ticked = mark()
  #stir = new AbortController() // ends all pauses
  #line = new AbortController() // ends the calls that may hang on a dead connection
  #life = new AbortController()

  constructor({ url, worker, token, storage = localStorageIfAllowed(), signal, ...settings }) {
    super()
    if (!worker) throw new TypeError('intray: a desk needs a worker, the name of the person')
    const base = new URL(url, location.href).href.replace(/\/$/, '')
    const { queues = ['default'], lease, wait = 25_000 } = settings
    const { heartbeat = 60_000, idleAfter = 300_000, grace = 15_000 } = settings
    this.#settings = { url: base, worker, queues: [...queues], lease, wait, heartbeat, idleAfter, grace }
    this.#token = typeof token === 'function' ? { get: token } : { value: token }
    const name = `intray ${base} ${encodeURIComponent(worker)} `
    this.#drawer = new Drawer(storage, name)
    this.#tabs = new Tabs(name + [...queues].sort().join(' '), {
      hears: (message) => this.#hear(message),
      follows: () => this.#giveUpCalls(),
      leads: (inherits) => {
        if (inherits) this.#inherit()
        else this.#revive()
      },
    })
    this.#listen()
    this.#enter()
    signal?.addEventListener('abort', () => this.close(), { signal: this.#life.signal })
    if (signal?.aborted) this.close()
  }

  /** The job in hand, or else the next one: waits until there is one. */
  async next({ signal = undefined } = {}) {
    signal?.throwIfAborted()
    this.#life.signal.throwIfAborted()
    if (this.job) return this.job
    if (!this.#asking?.callers) this.#asking = this.#ask()
    const asking = this.#asking
    const given = signal ? [aborted(signal).then(() => signal.throwIfAborted())] : []
    asking.callers++
    try {
      return await Promise.race([asking.answer, ...given])
    } finally {
      if (!--asking.callers) asking.stop.abort()
    }
  }

  /** The job in hand, if there is one. */
  get job() {
    return this.#r?.state === 'held' ? this.#r.job : null
  }

  /** How many jobs were in line when the service was last asked for one. */
  get remaining() {
    return this.#remaining
  }

  /** Work on jobs that are no longer ours: drafts, and results that were refused. */
  kept() {
    const lost = this.#drawer.all().filter((entry) => entry.state === 'lost' && worked(entry))
    return lost.map((entry) => {
      const { id, queue, draft = null, result = null, reason = null, at } = entry
      return { id, queue, draft, result, reason, at }
    })
  }

  /** Throws away what was kept of a job. */
  forget(id) {
    if (this.#drawer.get(id)?.state === 'lost') this.#drawer.drop(id)
  }

  /** Somebody is here. The desk sees keys and pointers itself; tell it of a film that plays or a frame that is used. */
  touch() {
    const back = !this.#present
    this.#seen = mark()
    if (shown()) this.#tabs.lead()
    if (back) this.#revive()
  }

  /** Leaves the desk, as closing the tab does. */
  close() {
    if (this.#life.signal.aborted) return
    this.#leave()
    this.#life.abort(new DOMException('the desk is closed', 'AbortError'))
    this.#asking?.stop.abort(this.#life.signal.reason)
  }

  get #present() {
    return since(this.#seen) < this.#settings.idleAfter
  }

  // -- coming and going

  #listen() {
    const on = (target, names, does) => {
      const how = { signal: this.#life.signal, passive: true, capture: true }
      for (const name of names) target.addEventListener(name, does, how)
    }
    const here = ['pointerdown', 'pointermove', 'keydown', 'input', 'wheel', 'scroll', 'touchstart', 'focus']
    on(window, here, () => this.touch())
    on(window, ['online'], () => this.#revive({ anew: true }))
    on(window, ['pagehide'], () => this.#leave())
    on(window, ['pageshow'], ({ persisted }) => persisted && this.#enter())
    on(document, ['resume'], () => this.#wake())
    on(document, ['visibilitychange'], () => {
      this.#seen = mark()
      if (!shown()) return
      this.touch()
      this.#revive()
    })
  }

  /** When the page is made, and when the browser brings it back from its cache. */
  #enter() {
    this.#tabs.enter()
    this.#timer = setInterval(() => this.#tick(), TICK)
    if (!this.#r) return
    this.#r.regain = true
    this.#wake()
  }

  /**
   * The page goes, perhaps for good: what is to be sent goes by beacon, and the job is given back if nobody returns.
   */
  #leave() {
    if (!this.#tabs.open) return
    this.#giveUpCalls() // an extend that overtook the farewell would undo it
    const { grace } = this.#settings
    const r = this.#r
    for (const { ending } of this.#drawer.all()) if (ending) this.#beacon(ending.action, ending.body)
    if (this.job && this.#tabs.last && grace !== null) {
      const farewell = { reservation: r.handout.reservation, grace_ms: grace, resumes: r.handout.resumes }
      const sent = sendable(r) && this.#beacon('abandon', { ...farewell, draft: r.draft })
      if (!sent) this.#beacon('abandon', farewell)
      this.#tabs.post({ farewell: true })
      Object.assign(r, { left: Math.min(left(r), grace), from: mark() })
    }
    clearInterval(this.#timer)
    this.#tabs.leave()
  }

  /** Somebody has closed a tab and is here. Its farewell may still be on its way: only a resume outruns that one. */
  #inherit() {
    this.#seen = mark()
    if (this.#r) this.#r.regain = true
    if (this.#tabs.leads) this.#revive()
  }

  #beacon(action, body) {
    return navigator.sendBeacon(`${this.#settings.url}/jobs/${action}`, JSON.stringify(body))
  }

  /** The machine slept, or the page was frozen, and somebody has opened it again. */
  #wake() {
    this.#giveUpCalls()
    if (shown()) this.touch()
    this.#revive()
  }

  /** Things may have changed: nobody goes on waiting, what is due is done now. `anew`: connections may be dead. */
  #revive({ anew = false } = {}) {
    if (anew) this.#giveUpCalls()
    this.#nudge()
    if (!this.#tabs.leads) return
    this.#carry()
    if (this.#r) this.#r.due = true
    this.#tick()
  }

  #tick() {
    const slept = shown() && since(this.#ticked) > ASLEEP
    this.#ticked = mark()
    if (slept) return this.#wake()
    const r = this.#r
    if (!ours(r)) return
    // An idle desk does not keep the job. It only asks what has become of it, when that can no longer be to keep it.
    const over = left(r) <= -1_000
    if (over && !r.over) r.due = true
    r.over = over ? (r.over ?? mark()) : null
    if (over && r.state === 'held' && since(r.over) > PATIENCE) this.#lose(r, { reason: 'expired', certain: false })
    if (this.#tabs.leads && (this.#present || sendable(r) || over) && (r.due || since(r.asked) > r.pause)) {
      const then = () => r.due && this.#tick()
      this.#extend(r).then(then, then) // if a draft is refused, save() says so
      return
    }
    const short = !over && left(r) <= Math.min(r.warn, r.lease / 2)
    if (short && !r.warned) this.#emit(r, 'warning', { expiresIn: r.job.expiresIn })
    r.warned = short
  }

  // -- asking for work

  #ask() {
    const stop = new AbortController()
    const answer = this.#search(stop.signal)
    answer.catch(() => {}) // when nobody asks any more
    return { callers: 0, stop, answer }
  }

  /** Looks first, so that the page can say at once why there is nothing; then waits. */
  async #search(stop) {
    for (let failures = 0, key = unique(), wait = 0, looked = false; !this.job; ) {
      stop.throwIfAborted()
      if (!this.#tabs.leads || !(shown() || this.#present)) {
        await this.#pause(Infinity, stop) // for the lead, for somebody to look, for another tab's news
        continue
      }
      const asked = mark()
      try {
        await this.#carry() // or we would be given again what is done
        const answer = await this.#reserve(key, wait, stop)
        this.#remaining = answer.remaining
        if (answer.jobs.length) {
          this.#take(answer.jobs[0])
          if (since(asked) > wait + ASLEEP) this.#r.due = true // we slept over the answer
        } else if (answer.reason === 'replaced') {
          await this.#pause(RETRY_WITHIN, stop) // the same person waits elsewhere, where they came last
        } else {
          const { reason, remaining } = answer
          if (reason !== 'shutdown') this.#emit(null, 'waiting', { reason, remaining })
          const waited = wait >= 1_000 && since(asked) >= wait - 1_000
          if (looked) await this.#pause(jitter(waited ? 100 : (answer.retry_after_ms ?? 1_000)), stop)
          wait = this.#settings.wait
          looked = true
        }
        failures = 0
        key = unique()
      } catch (error) {
        stop.throwIfAborted()
        if (isFinal(error)) throw error
        await this.#pause(this.#retry(error, failures++), stop)
      }
    }
    return this.job
  }

  /** First the very job that we held: the page was reloaded, or its lease ran out and perhaps nobody has it. */
  async #reserve(key, wait, stop) {
    const { queues } = this.#settings
    const held = this.#drawer.all().find((entry) => entry.again && queues.includes(entry.queue))
    if (held) {
      try {
        return await this.#call('reserve', { id: held.id }, { stop })
      } catch (error) {
        if (!isFinal(error) || error.status === 401) throw error
        this.#letGo(held)
      }
    }
    return this.#call('reserve', { queues, wait_ms: wait }, { stop, key, within: wait + ANSWER_WITHIN })
  }

  /** It is no longer ours; what was typed is. */
  #letGo(entry) {
    if (!worked(entry)) return this.#drawer.drop(entry.id)
    this.#drawer.put({ ...entry, state: 'lost', reason: entry.reason ?? 'unknown', again: false })
  }

  /**
   * A job was handed to us. What was typed here and has not arrived goes before what the service has, unless both are
   * new.
   */
  #take(handout) {
    const { id, queue, draft: theirs = null, expires_in_ms: lasts } = handout
    const entry = this.#drawer.get(id) ?? {}
    if (entry.ending) return // we are done with it: that must get there first
    for (const other of this.#drawer.all()) {
      if (other.again && other.id !== id && this.#settings.queues.includes(other.queue)) this.#letGo(other)
    }
    const r = this.#record({ ...entry, id, queue })
    const known = JSON.stringify(theirs)
    const unsent = Boolean(r.unsent) && JSON.stringify(r.draft) !== known
    const clash = unsent && r.base !== known
    const draft = unsent ? r.draft : theirs
    const elsewhere = r.handout && JSON.stringify(draft) !== JSON.stringify(r.draft ?? null)
    const warn = Math.max(r.warn ?? 0, lasts - handout.warn_in_ms)
    const held = { handout, state: 'held', doubtful: false, reason: undefined, again: true, left: lasts, warn }
    const drafts = { draft, unsent, base: clash ? r.base : known, other: clash ? theirs : undefined }
    this.#change(r, { ...held, ...drafts, due: handout.resumed }, elsewhere ? 'draft' : undefined, { draft })
  }

  /** The record of this job: the one we have, or a new one. */
  #record(entry) {
    if (this.#r?.id === entry.id) return this.#r
    const r = { ...entry, asked: mark(), lease: 0, job: undefined }
    r.job = new Job(
      r,
      (draft) => this.#save(r, draft),
      (action, body) => this.#settle(r, action, body),
    )
    return (this.#r = r)
  }

  // -- keeping it

  async #save(r, draft = null) {
    if (r.state !== 'held' && r.state !== 'lost') throw isNow(r.state)
    const base = r.other === undefined ? r.base : JSON.stringify(r.other)
    const news = { draft: asJson(draft), base, unsent: JSON.stringify(draft) !== base, other: undefined }
    this.#change(r, news, 'draft', { draft: news.draft }, { here: false })
    while (r.state === 'held' && sendable(r) && (await this.#extend(r)));
    return !r.unsent
  }

  /** Says that we are here, with the draft if there is news. True: the job is ours. */
  #extend(r) {
    return once(this.#flights, 'extend', () => this.#extendNow(r))
  }

  async #extendNow(r) {
    r.due = false
    r.asked = mark()
    if (r.regain && !(await this.#regain(r))) return false
    if (sendable(r) && r.sent) await this.#pause(DRAFTS_APART - since(r.sent))
    if (!this.#tabs.open || !ours(r)) return false
    const draft = sendable(r) ? r.draft : undefined
    const text = JSON.stringify(draft)
    const asked = (r.asked = mark())
    if (text) r.sent = asked
    try {
      const answer = await this.#call('extend', { reservation: r.handout.reservation, draft })
      if (!ours(r)) return false
      const expiresIn = Math.round(answer.expires_in_ms - since(asked))
      const found = r.doubtful && { state: 'held', doubtful: false, reason: undefined }
      this.#change(r, { ...found, left: expiresIn }, 'extended', { expiresIn })
      if (text) this.#change(r, { base: text, unsent: text !== JSON.stringify(r.draft) }, 'saved', { draft })
      return true
    } catch (error) {
      if (error.lost) {
        if (ours(r)) this.#lose(r, { reason: error.reason, jobState: error.jobState, certain: true })
      } else if (text && isFinal(error)) {
        Object.assign(r, { refused: text, due: true }) // the drawer has it; the job must not be lost for it
        throw error
      } else {
        r.pause = Math.min(r.beat, this.#retry(error, r.failures++))
      }
      return false
    }
  }

  async #regain(r) {
    try {
      if (left(r) > 0) this.#take((await this.#call('reserve', { id: r.id })).jobs[0])
    } catch (error) {
      if (!isFinal(error)) return false // else it is gone, and the extend learns why
    }
    r.regain = false
    return true
  }

  /** The draft stays. A job that only ran out is asked for again by the next next(): perhaps nobody has taken it. */
  #lose(r, { reason, jobState = null, certain }) {
    const again = ['expired', 'abandoned'].includes(reason)
    const detail = { reason, jobState, certain, draft: r.draft }
    this.#change(r, { state: 'lost', doubtful: !certain, reason, again }, 'lost', detail)
  }

  // -- handing in

  /**
   * First into the drawer, then to the service. What cannot be sent now is sent later, by whichever page is open then.
   */
  async #settle(r, action, body) {
    if (r.state !== 'held' && r.state !== 'lost') throw isNow(r.state)
    const draft = action === 'abandon' && sendable(r) ? r.draft : undefined
    const ending = asJson({ action, body: { reservation: r.handout.reservation, ...body, draft } })
    this.#change(r, { state: 'ending', doubtful: false, again: false, ending })
    try {
      return { sent: true, ...(await this.#send(r)) }
    } catch (error) {
      if (isFinal(error)) throw error
      this.#carry()
      return { sent: false, state: 'ending', late: false, duplicate: false }
    }
  }

  #send(r) {
    return once(this.#flights, r.id, () => this.#sendNow(r))
  }

  async #sendNow(r) {
    const { action, body } = r.ending
    try {
      const { state, late = false, duplicate } = await this.#call(action, body)
      const done = { complete: 'completed', abandon: 'abandoned', fail: 'failed' }[action]
      const told = !this.#drawer.get(r.id)?.ending // by another tab, which tried as well
      this.#change(r, { state: done, ending: undefined }, told ? undefined : 'ended', { action, late, duplicate })
      // What was typed before a job was failed, and is nowhere else, is kept.
      if (action !== 'complete' && r.unsent && body.draft === undefined) this.#letGo({ ...r, reason: done })
      else this.#drawer.drop(r.id)
      return { state, late, duplicate }
    } catch (error) {
      if (!isFinal(error)) throw error
      const held = { state: r.job ? 'held' : 'lost', again: true }
      const news = error.lost ? { state: 'lost', reason: error.reason } : held
      const result = body.result ?? r.result
      this.#change(r, { ...news, ending: undefined, result }, 'refused', { action, problem: error.problem })
      throw error
    }
  }

  /** Sends all endings in the drawer, until the service has said yes or no to each. */
  #carry() {
    return once(this.#flights, 'carry', () => this.#carryOn())
  }

  async #carryOn() {
    for (let failures = 0; !this.#life.signal.aborted; ) {
      const entry = this.#drawer.all().find(({ ending }) => ending)
      if (!entry) return
      try {
        await this.#send(entry.id === this.#r?.id && this.#r.ending ? this.#r : entry)
        failures = 0
      } catch (error) {
        if (!isFinal(error)) await this.#pause(this.#retry(error, failures++))
      }
    }
  }

  // -- what is known

  #change(r, news, event, detail, { here = true } = {}) {
    const at = Date.now()
    this.#assign(r, news, at)
    if (Object.keys(news).some((name) => KEPT.includes(name))) this.#drawer.put(r)
    this.#tabs.post({ id: r.id, queue: r.queue, news, event, detail, at })
    if (event && here) this.#emit(r, event, detail)
  }

  #hear({ farewell, id, queue, news, event, detail, at }) {
    if (farewell) return this.#inherit()
    const another = news.handout && !this.job && this.#settings.queues.includes(queue)
    const r = this.#r?.id === id || another ? this.#record({ id, queue }) : { id, queue }
    const same = news.handout && news.handout.reservation === r.handout?.reservation
    if (same && news.handout.resumes < r.handout.resumes) return // older than ours
    this.#assign(r, news, at)
    if (event) this.#emit(r, event, detail)
    this.#nudge()
  }

  #assign(r, news, at) {
    Object.assign(r, news)
    if (news.left === undefined) return
    r.from = mark(Date.now() - at)
    r.lease = Math.max(r.lease, r.left)
    r.failures = 0
    r.beat = Math.min(this.#settings.heartbeat, r.lease / 3) * (0.85 + 0.15 * Math.random())
    r.pause = r.beat
  }

  /** On the job, and then on the desk. */
  #emit(r, type, detail) {
    const all = r ? { id: r.id, queue: r.queue, ...detail } : detail
    r?.job?.dispatchEvent(new CustomEvent(type, { detail: all }))
    this.dispatchEvent(new CustomEvent(type, { detail: all }))
  }

  // -- pauses and calls

  /** Sleeps, unless something happens first. */
  #pause(ms, stop = this.#life.signal) {
    const ends = [this.#stir.signal, stop, ...(ms < Infinity ? [AbortSignal.timeout(Math.max(0, ms))] : [])]
    return aborted(AbortSignal.any(ends))
  }

  #nudge() {
    this.#stir.abort()
    this.#stir = new AbortController()
  }

  #giveUpCalls() {
    this.#line.abort()
    this.#line = new AbortController()
  }

  /** How long to wait after this failure. What we gave up ourselves is tried again at once. */
  #retry(error, failures) {
    if (error?.name === 'AbortError') return 0
    const delay = jitter(error?.retryAfter ?? Math.min(RETRY_WITHIN / 1.5, 400 * 2 ** Math.min(failures, 10)))
    this.#emit(null, 'retrying', { error, delay })
    return delay
  }

  /** Settle calls need no credential and go as plain text, like a beacon: no preflight. Endings outlive the page. */
  #call(action, body, { stop = undefined, key = undefined, within = ANSWER_WITHIN } = {}) {
    const { url, worker, lease } = this.#settings
    const ending = action !== 'reserve' && action !== 'extend'
    const signals = [AbortSignal.timeout(within)]
    if (stop) signals.push(stop)
    if (!ending) signals.push(this.#line.signal)
    const signal = AbortSignal.any(signals)
    if (ending) return call(`${url}/jobs/${action}`, body, { signal, keepalive: true })
    if (action === 'extend') return call(`${url}/jobs/extend`, { ...body, lease_ms: lease }, { signal })
    const headers = { 'content-type': 'application/json', ...(key && { 'idempotency-key': key }) }
    return call(`${url}/jobs/reserve`, { ...body, worker, lease_ms: lease }, { signal, headers, token: this.#token })
  }
}

/**
 * A job in somebody's hands.
 * @implements {Types.Job}
 */
export class Job extends EventTarget {
  #r
  #save
  #settle

  constructor(r, save, settle) {
    super()
    this.#r = r
    this.#save = save
    this.#settle = settle
  }

  get id() { return this.#r.id }
  get queue() { return this.#r.queue }
  get payload() { return this.#r.handout.payload }
  get attempt() { return this.#r.handout.attempt }
  get priority() { return this.#r.handout.priority }
  get client() { return this.#r.handout.client }
  get locks() { return this.#r.handout.locks }
  get batch() { return this.#r.handout.batch }
  get enqueuedAt() { return this.#r.handout.enqueued_at }
  get traceparent() { return this.#r.handout.traceparent }
  get reservation() { return this.#r.handout.reservation }
  get resumed() { return this.#r.handout.resumed }
  get state() { return this.#r.state }
  get draft() { return this.#r.draft }
  get otherDraft() { return this.#r.other }
  get expiresIn() { return Math.max(0, Math.round(left(this.#r))) }

  save(draft) {
    return this.#save(draft)
  }

  complete(result) {
    return this.#settle('complete', { result })
  }

  abandon({ skip = undefined, reason = undefined, delay = undefined } = {}) {
    return this.#settle('abandon', { skip, reason, delay_ms: delay })
  }

  fail(error) {
    return this.#settle('fail', { error: error instanceof Error ? error.message : error })
  }
}

/**
 * The tabs of a person: a channel for what one of them learns, and a lock that is held by the one that leads, which is
 * the one that was touched last. Whoever comes to the lock in line inherits from a tab that is gone; whoever takes
 * it hears the farewell of one that goes. Without Web Locks (a page over plain http) every tab leads, and none knows
 * itself to be the last.
 */
class Tabs {
  leads = false
  #name
  #on
  #channel = null
  #claim = null // our place in line

  constructor(name, on) {
    this.#name = name
    this.#on = on
  }

  get open() {
    return this.#channel !== null
  }

  /** Whether the job goes back when this tab is closed. If there are others, one of them inherits, and keeps it. */
  get last() {
    return this.leads && Boolean(navigator.locks)
  }

  enter() {
    this.#channel = new BroadcastChannel(this.#name)
    this.#channel.onmessage = ({ data }) => this.#on.hears(data)
    this.#line(shown())
  }

  leave() {
    this.#channel.close()
    this.#channel = null
    this.leads = false
    this.#claim.end()
  }

  post(message) {
    this.#channel?.postMessage(message)
  }

  /** Takes the lead from whoever has it. */
  lead() {
    if (!this.leads && this.open && !this.#claim.steal) this.#line(true)
  }

  async #line(steal) {
    this.#claim?.end()
    const place = new AbortController()
    const claim = (this.#claim = { steal, end: () => place.abort() })
    const lead = () => {
      if (place.signal.aborted) return
      this.leads = true
      this.#on.leads(!steal)
      return aborted(place.signal)
    }
    if (!navigator.locks) return lead()
    await navigator.locks.request(this.#name, steal ? { steal } : { signal: place.signal }, lead).catch(() => {})
    if (this.#claim !== claim || place.signal.aborted) return
    this.leads = false // it was taken from us
    this.#on.follows()
    this.#line(false)
  }
}

/** What the drawer keeps of a record, beside `id` and `queue`. */
const KEPT = ['state', 'reason', 'draft', 'unsent', 'base', 'again', 'ending', 'result', 'warn']

/**
 * What outlives the page, an entry per job: its `state`, and the `reason` why it was lost; the `draft`, whether it is
 * still `unsent`, and the `base` that it was typed upon; if that very job is to be asked for `again`; an `ending` that
 * is still to be sent; a `result` that was refused. Where there is no storage, or no room in it, memory must do.
 */
class Drawer {
  #storage
  #prefix
  #memory = new Map()

  constructor(storage, prefix) {
    this.#storage = storage
    this.#prefix = prefix
    for (const { id, at, ending } of this.all()) if (at < Date.now() - REMEMBERED && !ending) this.drop(id)
  }

  get(id) {
    return this.#read(this.#prefix + id)
  }

  all() {
    const stored = Array.from({ length: this.#storage?.length ?? 0 }, (_, i) => this.#storage.key(i))
    const ours = [...new Set([...stored, ...this.#memory.keys()])].filter((key) => key?.startsWith(this.#prefix))
    return ours.map((key) => this.#read(key)).filter(Boolean)
  }

  put(record) {
    const key = this.#prefix + record.id
    const kept = Object.fromEntries(KEPT.map((name) => [name, record[name]]))
    const text = JSON.stringify({ ...kept, id: record.id, queue: record.queue, at: Date.now() })
    try {
      this.#storage.setItem(key, text)
      this.#memory.delete(key)
    } catch {
      this.#memory.set(key, text)
    }
  }

  drop(id) {
    this.#memory.delete(this.#prefix + id)
    this.#storage?.removeItem(this.#prefix + id)
  }

  #read(key) {
    try {
      return JSON.parse(this.#memory.get(key) ?? this.#storage?.getItem(key) ?? 'null')
    } catch {
      return null
    }
  }
}

function localStorageIfAllowed() {
  try {
    return localStorage
  } catch {
    return null
  }
}

/**
 * What the service has refused.
 * @implements {Types.IntrayError}
 */
export class IntrayError extends Error {
  constructor(status, problem, retryAfter) {
    super(problem.detail ?? problem.title ?? `status ${status}`)
    this.name = 'IntrayError'
    this.status = status
    this.type = String(problem.type ?? 'about:blank')
    this.problem = problem
    this.reason = problem.reason
    this.jobState = problem.job_state
    this.retryAfter = problem.retry_after_ms ?? retryAfter
  }

  get lost() {
    return this.type === '/problems/reservation-lost'
  }
}

/** Only intray's own word is final. A proxy's error page, a portal's form, a dead network: all that passes. */
function isFinal(error) {
  if (!(error instanceof IntrayError)) return false
  return error.status < 500 && ![408, 429].includes(error.status) && error.type.startsWith('/problems/')
}

/** One request; `keepalive`: it may outlive the page. A token that is refused is asked for once more. */
async function call(url, body, { signal, headers = {}, token = undefined, keepalive = false }) {
  const text = JSON.stringify(body)
  const how = { method: 'POST', body: text, signal, keepalive: keepalive && text.length < KEEPALIVE }
  const send = async () => {
    const bearer = token && (token.value ??= await token.get?.({ refused: token.refused }))
    const authorization = bearer && { authorization: `Bearer ${bearer}` }
    return fetch(url, { ...how, headers: { ...headers, ...authorization }, credentials: 'omit' })
  }
  let response = await send()
  if (response.status === 401 && token?.get) {
    Object.assign(token, { refused: token.value, value: undefined })
    response = await send()
  }
  const answer = await response.json().catch((error) => (response.ok ? Promise.reject(error) : {}))
  const retryAfter = Number(response.headers.get('retry-after')) * 1_000 || undefined
  if (!response.ok) throw new IntrayError(response.status, answer ?? {}, retryAfter)
  if (!answer?.jobs && !answer?.state) throw new TypeError('this is not an answer of intray')
  return answer
}

/**
 * Now, on two clocks. performance.now() may stand still while the machine sleeps; Date.now() jumps when somebody sets
 * it. The one that went further counts: to ask the service too early costs a call, to ask too late costs the job.
 */
function mark(age = 0) {
  return { steady: performance.now() - age, wall: Date.now() - age }
}

function since({ steady, wall }) {
  return Math.max(performance.now() - steady, Date.now() - wall)
}

function left(r) {
  return r.left - since(r.from)
}

/** Whether the job is in our hands, or may be. */
function ours(r) {
  return r?.state === 'held' || Boolean(r?.doubtful)
}

/** Whether there is a draft that the service should have and can take. */
function sendable(r) {
  return Boolean(r.unsent) && r.other === undefined && r.refused !== JSON.stringify(r.draft)
}

/** A copy as it will arrive; throws what could not be sent. */
function asJson(value) {
  return JSON.parse(JSON.stringify(value))
}

/** Whether somebody has put work into it. */
function worked({ draft, result }) {
  return (draft ?? result ?? null) !== null
}

function isNow(state) {
  return new DOMException(`the job is ${state}`, 'InvalidStateError')
}

function jitter(ms) {
  return ms * (1 + Math.random() / 2)
}

function unique() {
  return `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`
}

function shown() {
  return document.visibilityState === 'visible'
}

/** Who asks for what is under way gets the same answer. */
function once(flights, name, run) {
  return (flights[name] ??= run().finally(() => delete flights[name]))
}

function aborted(signal) {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(null)
    else signal.addEventListener('abort', resolve, { once: true })
  })
}

/** @import * as Types from './client.d.ts' */
