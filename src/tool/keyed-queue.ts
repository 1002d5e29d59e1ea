/** Runs work in order per key, and side by side for different keys. */

export interface KeyedQueue {
  /** Runs `work` after all earlier work under this key has settled, and returns its result. */
  run<T>(key: string, work: () => Promise<T>): Promise<T>
  /** The number of keys with unfinished work. */
  readonly busy: number
}

export function keyedQueue(): KeyedQueue {
  const last = new Map<string, Promise<unknown>>()
  return {
    run: (key, work) => {
      const result = (last.get(key) ?? Promise.resolve()).then(work)
      const forget = (): void => {
        if (last.get(key) === done) last.delete(key)
      }
      const done: Promise<void> = result.then(forget, forget)
      last.set(key, done)
      return result
    },
    get busy() {
      return last.size
    },
  }
}
