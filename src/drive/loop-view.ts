/** The journal as a loop sees it: as of its last durable batch, with newer inbox entries. */
import type { Session } from '../journal/index.ts'
import { dataOf, type JournalView } from '../loop/index.ts'
import type { Entry, NewInboxEntry, RequestData } from '../protocol/index.ts'
import type { Ownership } from './ownership.ts'

export class LoopView implements JournalView {
  readonly #ownership: Ownership
  /** The posts that the claim will carry, as it will store them (P2). */
  readonly #carried: readonly Entry[]

  constructor(ownership: Ownership, posts: readonly NewInboxEntry[], at: number) {
    this.#ownership = ownership
    const { seq } = ownership.journal.session
    this.#carried = posts.map((post, index) => ({ seq: seq + index + 1, turn: 0, at, v: 1, ...post }))
  }

  get session(): Session {
    return this.#ownership.journal.session
  }

  get inbox(): readonly Entry[] {
    const { journal, isOwner } = this.#ownership
    return isOwner || this.#carried.length === 0 ? journal.inbox : [...journal.inbox, ...this.#carried]
  }

  async request(seq: number): Promise<RequestData | undefined> {
    const { store, key } = this.#ownership.journal
    const [entry] = await store.read(key, { from: seq, to: seq })
    return entry?.type === 'request.start' ? dataOf(entry, 'request.start') : undefined
  }
}
