/** The trace of one conversation while it happens, for lines of logs. */
import { isKnown, TraceReader } from '../journal/index.ts'
import type { ObservedContext } from '../loop/index.ts'
import { type Entry, isWaiting, type TraceEntry } from '../protocol/index.ts'

export class ContextTrace {
  readonly #of: ObservedContext
  #reader = new TraceReader()

  constructor(of: ObservedContext) {
    this.#of = of
  }

  /** The trace entries that ended with this entry. */
  read(entry: Entry): readonly TraceEntry[] {
    if (!isKnown(entry)) return []
    if (entry.type === 'claim') this.#reader.resume(this.#of.session(), entry.seq)
    this.#reader.read(entry)
    const ended = this.#reader.drain()
    // A turn that waits is continued by a later one, with the same calls.
    if (entry.type === 'turn.end' && !isWaiting(entry.data.outcome)) this.#reader = this.#reader.next()
    return ended
  }
}
