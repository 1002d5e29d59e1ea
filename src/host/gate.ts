/** Bounds the conversations that run a turn at once, and the callers that wait for a place. */
import { HoldfastError } from '../protocol/index.ts'

export class Gate {
  readonly #most: number
  readonly #mostWaiting: number
  /** Callers inside, by conversation: a message to a running one needs no place of its own. */
  readonly #inside = new Map<string, number>()
  #waiting: readonly { readonly name: string; readonly enter: () => void }[] = []

  constructor(most: number, mostWaiting: number) {
    this.#most = most
    this.#mostWaiting = mostWaiting
  }

  get running(): number {
    return this.#inside.size
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** Throws `overloaded` if a conversation that runs no turn would be refused now. */
  checkRoom(): void {
    if (this.#inside.size >= this.#most && this.#waiting.length >= this.#mostWaiting) throw this.#full()
  }

  /** Runs `work` when there is a place, in the order of the calls. Rejects at once if too many wait. */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    await this.#enter(name)
    try {
      return await work()
    } finally {
      this.#leave(name)
    }
  }

  #enter(name: string): Promise<void> | undefined {
    if (this.#inside.has(name) || this.#inside.size < this.#most) {
      this.#add(name)
      return undefined
    }
    this.checkRoom()
    return new Promise((resolve) => {
      this.#waiting = [...this.#waiting, { name, enter: resolve }]
    })
  }

  #add(name: string): void {
    this.#inside.set(name, (this.#inside.get(name) ?? 0) + 1)
  }

  #leave(name: string): void {
    const callers = (this.#inside.get(name) ?? 1) - 1
    if (callers > 0) this.#inside.set(name, callers)
    else this.#inside.delete(name)
    while (this.#inside.size < this.#most) {
      const [next] = this.#waiting
      if (next === undefined) return
      this.#admit(next.name)
    }
  }

  /** One place for all that wait for the conversation: a later message must not overtake them. */
  #admit(name: string): void {
    const admitted = this.#waiting.filter((each) => each.name === name)
    this.#waiting = this.#waiting.filter((each) => each.name !== name)
    for (const { enter } of admitted) {
      this.#add(name)
      enter()
    }
  }

  #full(): HoldfastError {
    return new HoldfastError('overloaded', {
      message: `This host runs ${this.#most} turns and ${this.#mostWaiting} messages wait. Nothing was stored. Send it again later.`,
      retry: 'later',
      details: { running: this.#most, waiting: this.#mostWaiting },
    })
  }
}
