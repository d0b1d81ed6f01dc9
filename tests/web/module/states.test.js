// What becomes of a record, event by event: from each state, in this page (a record) and left by an earlier one (an entry).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newRecord } from '../../../web/client/record.js'
import * as states from '../../../web/client/states.js'
import * as undo from '../../../web/client/states_of_undo.js'

const HANDOUT = {
  id: 'j1', queue: 'q', payload: {}, reservation: 'r1', resumes: 0, expires_in_ms: 60_000, warn_in_ms: 50_000, resumed: false,
}
const LOST = { lost: true, reason: 'expired', jobState: 'waiting', status: 410, isOurs: true, problem: {} }
const IN_TIME = { expires_in_ms: 60_000, resumes: 1, duplicate: false, draft: { text: 'dog' } }
const complete = { action: 'complete', body: { reservation: 'r1', result: { text: 'dog' }, undo_ms: 60_000 } }

/** Where a record can be, and how it got there. */
const PLACES = {
  held: [],
  doubtful: [(r) => states.lost(r, { reason: 'expired', certain: false })],
  lost: [(r) => states.lost(r, { reason: 'expired', certain: true })],
  ending: [(r) => states.handedIn(r, complete.action, complete.body)],
  closing: [
    (r) => states.handedIn(r, complete.action, complete.body),
    (r) => states.accepted(r, accept(60_000)),
  ],
  completed: [(r) => states.handedIn(r, 'complete', { result: 1 }), (r) => states.accepted(r, accept(null))],
}

/** What can happen to a record in each state, and the state that follows. */
const TABLE = {
  handedOut: [(r) => states.handedOut(r, HANDOUT, { after: false, isKnown: true }), {
    held: 'held', doubtful: 'held', lost: 'held', ending: 'held', closing: 'held', completed: 'held',
  }],
  typed: [(r) => states.typed(r, { text: 'cat' }), { held: 'held', doubtful: 'lost', lost: 'lost' }],
  extended: [(r) => states.extended(r, 60_000, '1'), { held: 'held', doubtful: 'held' }],
  lost: [(r) => states.lost(r, { reason: 'replaced', certain: true }), { held: 'lost', doubtful: 'lost', closing: 'lost' }],
  handedIn: [(r) => states.handedIn(r, 'fail', { error: 'torn' }), { held: 'ending', doubtful: 'ending', lost: 'ending' }],
  accepted: [(r) => states.accepted(r, accept(null)), { ending: 'completed' }],
  refusedAsLost: [(r) => states.refused(r, LOST, true), { ending: 'lost' }],
  takenBack: [(r) => undo.takenBack(r), { ending: 'held', closing: 'closing' }],
  reopened: [(r) => undo.reopened(r, IN_TIME), { held: 'held', closing: 'held', completed: 'held', ending: 'ending' }],
  takenBackElsewhere: [(r) => undo.takenBackElsewhere(r), { ending: 'held' }],
  undoRefused: [(r) => undo.undoRefused(r, LOST), { held: 'lost', closing: 'completed', ending: 'ending' }],
  final: [() => undo.final(), { closing: 'completed' }],
}

function accept(finalIn) {
  return { action: 'complete', late: false, duplicate: false, final: finalIn === null, finalIn, announced: false }
}

/** Takes steps as the job store does; the news go through JSON, as they do between tabs and in the drawer. */
function take(r, steps) {
  for (const { own, news } of steps) {
    for (const [name, value] of Object.entries(news)) {
      const text = JSON.stringify(value)
      assert.deepEqual(text === undefined ? undefined : JSON.parse(text), value, name)
    }
    Object.assign(r, own, news)
  }
  return r
}

function recordIn(place) {
  const r = newRecord(HANDOUT, null, () => ({}))
  take(r, states.handedOut(r, HANDOUT, { after: false, isKnown: false }))
  for (const event of PLACES[place]) take(r, event(r))
  return r
}

/** An unsent call lies only in what is being ended, and a time to be taken back only in what is closing. */
function holdsTogether(r, what) {
  assert.equal(Boolean(r.ending), r.state === 'ending', `${what}: an ending in ${r.state}`)
  assert.ok(!r.closing || r.state === 'closing' || r.state === 'lost', `${what}: closing in ${r.state}`)
  assert.ok(!r.doubtful || r.state === 'lost', `${what}: doubtful in ${r.state}`)
}

for (const [event, [steps, follows]] of Object.entries(TABLE)) {
  for (const [place, expected] of Object.entries(follows)) {
    test(`a_record_that_is_${place}_and_${event}_is_then_${expected}`, () => {
      const r = recordIn(place)
      const before = structuredClone({ ...r, job: undefined })
      const taken = steps(r)
      assert.deepEqual({ ...r, job: undefined }, before, 'the machine changes nothing itself')
      take(r, taken)
      assert.equal(r.state, expected)
      holdsTogether(r, event)
    })
  }
}

test('any_course_of_events_leaves_a_record_that_holds_together', () => {
  let seed = 7
  const random = (n) => (seed = (seed * 48_271) % 0x7fff_ffff) % n
  for (let course = 0; course < 500; course++) {
    const r = recordIn('held')
    const names = []
    for (let i = 0; i < 12; i++) {
      const place = r.doubtful ? 'doubtful' : r.state
      const fitting = Object.entries(TABLE).filter(([, [, follows]]) => place in follows)
      if (!fitting.length) break
      const [name, [steps]] = fitting[random(fitting.length)]
      names.push(name)
      take(r, steps(r))
      holdsTogether(r, names.join(', '))
    }
  }
})

test('an_entry_of_an_earlier_page_waits_until_it_is_fetched', () => {
  const entry = { id: 'j1', queue: 'q', state: 'ending', ending: complete, unsent: false }
  take(entry, undo.takenBack(entry))
  assert.deepEqual([entry.state, entry.undo, entry.ending, entry.draft], ['closing', 'r1', undefined, { text: 'dog' }])
  take(entry, undo.reopened(entry, IN_TIME))
  assert.deepEqual([entry.state, entry.undo, entry.again], ['held', undefined, true])
  assert.equal(undo.fetched(entry)[0].event, 'undone')
})

test('what_is_final_tells_the_drawer_and_what_can_be_taken_back_its_time', () => {
  const thenOf = (steps) => steps.map(({ then, keptAs }) => then ?? keptAs)
  const r = recordIn('ending')
  assert.deepEqual(thenOf(states.accepted(r, accept(60_000))), ['watch'])
  assert.deepEqual(thenOf(states.accepted(r, accept(null))), ['drop'])
  const failed = recordIn('held')
  take(failed, states.typed(failed, { text: 'half' }))
  take(failed, states.handedIn(failed, 'fail', { error: 'torn' }))
  assert.deepEqual(thenOf(states.accepted(failed, { ...accept(null), action: 'fail' })), ['failed'])
  assert.deepEqual(thenOf(undo.undoRefused(recordIn('closing'), LOST)), [undefined, 'drop'])
  assert.deepEqual(thenOf(undo.undoRefused(recordIn('closing'), { ...LOST, lost: false })), ['watch'])
})
