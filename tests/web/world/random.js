// What looks random, and is the same for the same seed (mulberry32).

export function random(seed) {
  let state = seed >>> 0
  const fraction = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (count) => Math.floor(fraction() * count)
  const chance = (part) => fraction() < part
  const pick = (list) => list[below(list.length)]
  /** In another order, some are left out. */
  const some = (list, part = 0.5) => shuffled(list.filter(() => chance(part)))
  const shuffled = (list) => {
    const all = [...list]
    for (let n = all.length - 1; n > 0; n -= 1) {
      const other = below(n + 1)
      ;[all[n], all[other]] = [all[other], all[n]]
    }
    return all
  }
  const times = (count, make) => Array.from({ length: count }, (_, n) => make(n))
  return { below, chance, pick, some, shuffled, times }
}
