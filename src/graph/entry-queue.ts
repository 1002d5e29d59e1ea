/**
 * Where tasks that run side by side hand in what they have to say. One at a time says it, in the order of coming, and
 * those who asked for it are told when it is durable.
 */
import { defined } from '../protocol/index.ts'

interface Saying {
  readonly write: () => void
  /** To be told when it is durable, or never will be. */
  readonly durable?: { readonly resolve: () => void; readonly reject: (why: unknown) => void }
  /** Called instead, if it is never said. */
  readonly unheard?: () => void
}

export class EntryQueue {
  #sayings: Saying[] = []
  #bell = Promise.withResolvers<void>()
  #atWork = 0
  #closed: { readonly why: unknown } | undefined

  /** False once nothing that is said here is heard any more. */
  get isOpen(): boolean {
    return this.#closed === undefined
  }

  get isDone(): boolean {
    return this.#atWork === 0 && this.#sayings.length === 0
  }

  /** Somebody who may have something to say until it is done. */
  employ(work: Promise<void>): Promise<void> {
    this.#atWork += 1
    return work.finally(() => {
      this.#atWork -= 1
      this.#bell.resolve()
    })
  }

  say(write: () => void, unheard?: () => void): void {
    if (!this.isOpen) unheard?.()
    else this.#hand({ write, ...defined({ unheard }) })
  }

  /** Resolves when it is durable; rejects if that never happens. */
  sayDurably(write: () => void): Promise<void> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed.why)
    const durable = Promise.withResolvers<void>()
    this.#hand({ write, durable })
    return durable.promise
  }

  /** What has been handed in, as soon as there is anything, or somebody is done. */
  async next(): Promise<readonly Saying[]> {
    await this.#bell.promise
    this.#bell = Promise.withResolvers<void>()
    return this.#sayings.splice(0)
  }

  /** Says what has come in while nobody was at work: from those who were not waited for any longer. */
  drain(): void {
    for (const { write } of this.#sayings.splice(0)) write()
  }

  close(why: unknown, unsaid: readonly Saying[] = []): void {
    this.#closed = { why }
    for (const { durable } of unsaid) durable?.reject(why)
    for (const { durable, unheard } of this.#sayings.splice(0)) {
      durable?.reject(why)
      unheard?.()
    }
  }

  #hand(saying: Saying): void {
    this.#sayings.push(saying)
    this.#bell.resolve()
  }
}
