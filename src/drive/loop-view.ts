/** The journal as a loop sees it: as of its last durable batch, with newer inbox entries. */
import type { MaybePromise } from '../base/index.ts'
import { readTurn, type Session } from '../journal/index.ts'
import { dataOf, type JournalView } from '../loop/index.ts'
import {
  type Entry,
  type Message,
  type NewInboxEntry,
  type Principal,
  type RequestData,
  stampEntry,
} from '../protocol/index.ts'
import type { JournalState } from './journal-state.ts'
import type { Ownership } from './ownership.ts'

export class LoopView implements JournalView {
  readonly #ownership: Ownership
  readonly #journal: JournalState
  /**
   * The posts that the claim will carry, at the positions that it will store them at if it is granted: a claim with posts
   * is refused if anyone else has written since (P2, W3). None once it is granted: then the journal has them.
   */
  #carried: readonly Entry[]

  constructor(ownership: Ownership, posts: readonly NewInboxEntry[], at: number) {
    this.#ownership = ownership
    this.#journal = ownership.journal
    const { seq } = this.#journal.session
    this.#carried = posts.map((post, index) => stampEntry(post, { seq: seq + index + 1, at }))
  }

  get session(): Session {
    return this.#journal.session
  }

  get inbox(): readonly Entry[] {
    if (this.#carried.length > 0 && this.#ownership.isOwner) this.#carried = []
    const { inbox } = this.#journal
    return this.#carried.length === 0 ? inbox : [...inbox, ...this.#carried]
  }

  messages(): MaybePromise<readonly Message[]> {
    return this.#journal.messages()
  }

  window(): MaybePromise<readonly Entry[]> {
    return this.#journal.window()
  }

  turnEntries(): MaybePromise<readonly Entry[]> {
    return this.#journal.turnEntries()
  }

  async request(seq: number): Promise<RequestData | undefined> {
    const { store, key } = this.#journal
    const [entry] = await store.read(key, { from: seq, to: seq })
    return entry?.type === 'request.start' ? dataOf(entry, 'request.start') : undefined
  }

  async askedBy(seq: number): Promise<Principal | undefined> {
    const { store, key } = this.#journal
    const [request] = await store.read(key, { from: seq, to: seq })
    if (request === undefined) return undefined
    const start = (await readTurn(store, key, request.turn)).find(({ type }) => type === 'turn.start')
    return start && dataOf(start, 'turn.start').principal
  }
}
