// A clock that both Redis and the service go by. As in the service's own stories, time is moved, and no story sleeps through it.
import { execFileSync } from 'node:child_process'
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const source = new URL('../../shims/clock.c', import.meta.url).pathname

/** `env` makes a program go by it. Time passes, and `advance(ms)` lets more of it pass. */
export async function startClock() {
  const folder = await mkdtemp(join(tmpdir(), 'intray-clock-'))
  const [clock, shim] = ['clock', 'clock.so'].map((name) => join(folder, name))
  execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', shim, source])
  await writeFile(clock, new Uint8Array(16))
  let ahead = 0n
  const advance = async (ms) => {
    ahead += BigInt(ms)
    const handle = await open(clock, 'r+')
    await handle.write(new Uint8Array(new BigInt64Array([ahead]).buffer), 0, 8, 0)
    await handle.close()
  }
  const now = () => Date.now() + Number(ahead)
  return { env: { LD_PRELOAD: shim, INTRAY_CLOCK: clock }, advance, now, stop: () => rm(folder, { recursive: true, force: true }) }
}
