/** Work in order per key, and side by side for different keys. It does not know what is done. */

export interface KeyedQueue {
  /**
   * Runs `work` after everything that was asked for before under this key has come to its end, in whichever way, and
   * returns what it gives.
   */
  run<T>(key: string, work: () => Promise<T>): Promise<T>
  /** How many keys have work that has not ended. */
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
