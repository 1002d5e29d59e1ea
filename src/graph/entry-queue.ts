/**
 * Serialises the entries of tasks that run side by side: one writes at a time, in order of arrival, and is notified
 * once its entries are durable.
 */
import { defined } from '../protocol/index.ts'

interface QueuedWrite {
  readonly write: () => void
  /** Settled once the entry is durable, or never will be. */
  readonly durable?: { readonly resolve: () => void; readonly reject: (why: unknown) => void }
  /** Called instead of `write` if the queue closes first. */
  readonly onDropped?: () => void
}

export class EntryQueue {
  #writes: QueuedWrite[] = []
  #wake = Promise.withResolvers<void>()
  #tracked = 0
  #closed: { readonly why: unknown } | undefined

  /** False once appended entries are no longer written. */
  get isOpen(): boolean {
    return this.#closed === undefined
  }

  get isDone(): boolean {
    return this.#tracked === 0 && this.#writes.length === 0
  }

  /** Registers work that may append until it settles. */
  track(work: Promise<void>): Promise<void> {
    this.#tracked += 1
    return work.finally(() => {
      this.#tracked -= 1
      this.#wake.resolve()
    })
  }

  append(write: () => void, onDropped?: () => void): void {
    if (!this.isOpen) onDropped?.()
    else this.#enqueue({ write, ...defined({ onDropped }) })
  }

  /** Resolves once the entry is durable; rejects if it never will be. */
  appendDurably(write: () => void): Promise<void> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed.why)
    const durable = Promise.withResolvers<void>()
    this.#enqueue({ write, durable })
    return durable.promise
  }

  /** The queued writes, as soon as there is one or some work has settled. */
  async next(): Promise<readonly QueuedWrite[]> {
    await this.#wake.promise
    this.#wake = Promise.withResolvers<void>()
    return this.#writes.splice(0)
  }

  /** Runs the writes that arrived after the run stopped waiting for their tasks. */
  drain(): void {
    for (const { write } of this.#writes.splice(0)) write()
  }

  close(why: unknown, failed: readonly QueuedWrite[] = []): void {
    this.#closed = { why }
    for (const { durable } of failed) durable?.reject(why)
    for (const { durable, onDropped } of this.#writes.splice(0)) {
      durable?.reject(why)
      onDropped?.()
    }
  }

  #enqueue(queued: QueuedWrite): void {
    this.#writes.push(queued)
    this.#wake.resolve()
  }
}
