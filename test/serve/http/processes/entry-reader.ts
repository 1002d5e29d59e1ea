/** Follows a conversation by the client, and keeps the entries. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ConversationClient } from '../../../../src/client/index.ts'
import type { Entry } from '../../../../src/protocol/index.ts'

export class EntryReader {
  readonly seen: Entry[] = []
  readonly #stop = new AbortController()
  readonly #reading: Promise<void>
  #lastTurn = 0
  #breaks = 0

  constructor(conversation: ConversationClient) {
    this.#reading = this.#read(conversation)
    // A failure is seen by those who wait for an entry, or for the end.
    this.#reading.catch(() => {})
  }

  /** How often the connection broke. */
  get breaks(): number {
    return this.#breaks
  }

  /** Resolves when the end of this turn was seen. */
  async reached(turn: number): Promise<void> {
    while (this.#lastTurn < turn) await this.#wait()
  }

  async until(isReached: (entry: Entry) => boolean): Promise<void> {
    while (!this.seen.some(isReached)) await this.#wait()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#reading
  }

  #wait(): Promise<void> {
    return Promise.race([sleep(10), this.#reading])
  }

  async #read(conversation: ConversationClient): Promise<void> {
    for await (const event of conversation.events({ signal: this.#stop.signal })) {
      if (event.type === 'disconnected') this.#breaks += 1
      if (event.type !== 'entry') continue
      this.seen.push(event.entry)
      if (event.entry.type === 'turn.end') this.#lastTurn = event.entry.turn
    }
  }
}
