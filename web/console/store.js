// A value that can be watched.

export function store(state) {
  const watchers = new Set()
  return {
    get: () => state,
    set(next) {
      state = typeof next === 'function' ? next(state) : { ...state, ...next }
      watchers.forEach((tell) => tell(state))
    },
    subscribe(tell) {
      watchers.add(tell)
      return () => watchers.delete(tell)
    },
  }
}
