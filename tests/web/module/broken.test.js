// A browser whose storage, channel, locks or beacons fail: as good as one that has none.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { world } from '../world/world.js'
import { Drawer } from '../../../web/client/drawer.js'

/** Before the page: every use of this fails, as in a browser whose profile is damaged. */
const BREAK = {
  'storage: getItem': () => { Storage.prototype.getItem = () => { throw new DOMException('', 'NS_ERROR_FILE_CORRUPTED') } },
  'storage: setItem': () => { Storage.prototype.setItem = () => { throw new DOMException('', 'QuotaExceededError') } },
  'storage: setItem forgets': () => { Storage.prototype.setItem = () => {} },
  'storage: removeItem': () => { Storage.prototype.removeItem = () => { throw new Error('broken') } },
  'storage: removeItem forgets': () => { Storage.prototype.removeItem = () => {} },
  'storage: key': () => { Storage.prototype.key = () => { throw new Error('broken') } },
  'storage: length': () => Object.defineProperty(Storage.prototype, 'length', { get: () => { throw new Error('broken') } }),
  'storage: all': () => {
    const fail = () => { throw new Error('broken') }
    for (const name of ['getItem', 'setItem', 'removeItem', 'key']) Storage.prototype[name] = fail
    Object.defineProperty(Storage.prototype, 'length', { get: fail })
  },
  'storage: the getter': () => Object.defineProperty(window, 'localStorage', { get: () => { throw new DOMException('', 'SecurityError') } }),
  'storage: null': () => Object.defineProperty(window, 'localStorage', { value: null }),
  'channel: none': () => { delete window.BroadcastChannel },
  'channel: the constructor': () => { window.BroadcastChannel = function () { throw new DOMException('', 'SecurityError') } },
  'channel: postMessage': () => { BroadcastChannel.prototype.postMessage = () => { throw new DOMException('', 'DataCloneError') } },
  'channel: close': () => { BroadcastChannel.prototype.close = () => { throw new Error('broken') } },
  'locks: the getter': () => Object.defineProperty(Navigator.prototype, 'locks', { get: () => { throw new Error('broken') } }),
  'locks: none': () => Object.defineProperty(Navigator.prototype, 'locks', { value: undefined }),
  'locks: request throws': () => { LockManager.prototype.request = () => { throw new Error('broken') } },
  'locks: request rejects': () => { LockManager.prototype.request = () => Promise.reject(new DOMException('', 'SecurityError')) },
  'beacon': () => { Navigator.prototype.sendBeacon = () => { throw new Error('broken') } },
}

test('desk_works_when_any_browser_api_throws', async (t) => {
  const w = await world(t)
  for (const [what, before] of Object.entries(BREAK)) {
    const id = await w.enqueue(what)
    const ann = await w.open({ grace: null }, { before })
    await ann.shows(what)
    assert.equal(await ann.run(() => window.job.save({ text: 'typed' })), true, what)
    w.wire.log.length = 0
    w.wire.rule = ({ path }) => (path === '/jobs/complete' && w.wire.calls('complete').length < 2 ? 'cut' : null)
    await ann.run(() => window.job.complete({ text: 'typed' }))
    await ann.hears('ended')
    const { result, late_results } = await w.job(id)
    assert.deepEqual([result, late_results], [{ text: 'typed' }, []], what)
    const { sent, kept } = await ann.run(async () => {
      const { job } = window
      const kept = window.desk.kept()
      window.desk.close()
      return { sent: job.state, kept }
    })
    assert.deepEqual([sent, kept], ['completed', []], what)
    assert.ok(w.wire.calls('complete').length <= 4, `${what}: it is sent once, ${w.wire.calls('complete').length}`)
    assert.deepEqual(ann.errors, [], what)
    w.wire.rule = null
    await ann.close()
  }
})

test('drawer_keeps_entries_when_its_storage_fails_later', () => {
  const stored = new Map()
  let isBroken = ''
  const guard = (name, does) => (...args) => {
    if (isBroken === name || isBroken === 'all') throw new Error('broken')
    return does(...args)
  }
  const storage = {
    getItem: guard('getItem', (key) => stored.get(key) ?? null),
    setItem: guard('setItem', (key, text) => void stored.set(key, text)),
    removeItem: guard('removeItem', (key) => void stored.delete(key)),
    key: guard('key', (n) => [...stored.keys()][n] ?? null),
    get length() { return guard('length', () => stored.size)() },
  }
  for (const what of ['getItem', 'setItem', 'removeItem', 'key', 'length', 'all']) {
    isBroken = ''
    stored.clear()
    stored.set('p garbage', '{').set('p 5', '5').set('p other', '{"id":"elsewhere","queue":"a"}')
    const drawer = new Drawer(storage, 'p ')
    const entry = (draft) => ({ id: 'cat', queue: 'a', state: 'lost', draft })
    drawer.put(entry('one'))
    isBroken = what
    assert.deepEqual(drawer.kept().map(({ draft }) => draft), ['one'], what)
    drawer.put(entry('two'))
    assert.deepEqual(drawer.kept().map(({ draft }) => draft), ['two'], what)
    drawer.forget('cat')
    assert.deepEqual(drawer.kept(), [], what)
    assert.equal(drawer.get('cat'), null, what)
  }
})
