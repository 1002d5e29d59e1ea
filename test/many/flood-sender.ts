/**
 * One of several processes that flood one conversation: it sends all its messages at once, good and bad ones, tells its
 * parent every outcome, and sends a good message again under the same key when it was pushed back.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from '../../src/agent/index.ts'
import { MAX_ENTRY_BYTES } from '../../src/protocol/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'

/** `good`: sent until it is played. `once`: sent once, whatever comes of it. The others must be refused. */
export type Kind = 'good' | 'once' | 'reused' | 'large' | 'bad-key' | 'bad-message'

export interface Sent {
  readonly kind: Kind
  readonly key: string
}

export interface Sending {
  readonly path: string
  readonly contextId: string
  readonly leaseMs: number
  readonly sent: readonly Sent[]
}

export interface Outcome {
  readonly key: string
  readonly kind: Kind
  readonly turn: number
  readonly reason: string
  readonly code?: string
  readonly stored?: true
}

/** The key of a message that was played before the flood. */
export const USED = 'used'

const RETRY_MS = 1000
/** How many messages are sent again when nothing was heard for a while. */
const RETRIES = 10

export function floodAgent({ path, contextId, leaseMs }: Omit<Sending, 'sent'>): {
  readonly agent: Agent
  readonly close: () => Promise<void>
} {
  const store = sqliteStore(path, { synchronous: 'NORMAL' })
  const model = ScriptedModel.forever('ok')
  return { agent: new Agent({ contextId, store, model, leaseMs }), close: () => store.close() }
}

class Sender {
  readonly #agent: Agent
  readonly #large = 'x'.repeat(MAX_ENTRY_BYTES + 1)
  /** Pushed back: to be sent again. */
  readonly #waiting: Sent[] = []

  constructor(agent: Agent) {
    this.#agent = agent
  }

  async run(sent: readonly Sent[]): Promise<void> {
    for (const one of sent) void this.#send(one)
    for (;;) {
      await sleep(RETRY_MS)
      for (let n = 0; n < RETRIES; n++) this.#sendAgain()
    }
  }

  async #send(sent: Sent): Promise<void> {
    const { kind, key } = sent
    const { turn, reason, error } = await this.#agent.executeTurn(this.#messageOf(sent), {
      key: kind === 'reused' ? USED : key,
    }).outcome
    const stored = error?.['stored'] === true ? ({ stored: true } as const) : {}
    const code = error === undefined ? {} : { code: error.code }
    process.send?.({ key, kind, turn, reason, ...code, ...stored } satisfies Outcome)
    if (kind === 'good' && turn === 0) this.#waiting.push(sent)
    // Where one was played there is room for another.
    if (turn > 0) this.#sendAgain()
  }

  #sendAgain(): void {
    const sent = this.#waiting.shift()
    if (sent !== undefined) void this.#send(sent)
  }

  #messageOf({ kind, key }: Sent): string {
    if (kind === 'large') return this.#large
    if (kind === 'bad-message') return { not: 'a message' } as unknown as string
    return `Hear ${key}`
  }
}

function live(sending: Sending): void {
  // Whoever started it is gone: nothing is left to do.
  process.on('disconnect', () => process.exit())
  void new Sender(floodAgent(sending).agent).run(sending.sent)
}

if (import.meta.main) process.once('message', (sending: Sending) => live(sending))
