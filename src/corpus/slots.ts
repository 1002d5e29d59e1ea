/** A bound on work that runs at the same time. Waiting work starts in its order, and leaves the queue when it is aborted. */
export class Slots {
  #free: number
  readonly #waiting = new Set<() => void>()

  constructor(slots: number) {
    this.#free = Math.floor(slots)
  }

  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    await this.#enter(signal)
    try {
      return await work()
    } finally {
      this.#leave()
    }
  }

  async #enter(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted()
    if (this.#free > 0) {
      this.#free--
      return
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const abort = (): void => {
      this.#waiting.delete(resolve)
      reject(signal?.reason as Error)
    }
    this.#waiting.add(resolve)
    signal?.addEventListener('abort', abort)
    try {
      await promise
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  /** Hands the slot to the next one: nobody else can take it in between. */
  #leave(): void {
    const [next] = this.#waiting
    if (next === undefined) {
      this.#free++
      return
    }
    this.#waiting.delete(next)
    next()
  }
}
