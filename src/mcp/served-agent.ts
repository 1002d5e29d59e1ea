/** The shape of an agent that is served, and its conversations: one call at a time in each. */
import type { Json, RequestData } from '../protocol/index.ts'

export interface ServedOutcome {
  readonly status: string
  readonly text: string
  readonly error?: { readonly message: string }
  readonly requests: readonly RequestData[]
}

export interface ServedTurn extends AsyncIterable<{ readonly type: string; readonly data: unknown }> {
  readonly outcome: Promise<ServedOutcome>
  readonly cancel: (reason?: string) => Promise<void>
}

/** The part of an `Agent` that is served. */
export interface ServedAgent {
  readonly executeTurn: (message: string) => ServedTurn
  readonly answer: (answers: Readonly<Record<string, Json>>) => ServedTurn
  readonly requests: () => Promise<readonly RequestData[]>
  readonly shutdown: () => Promise<void>
}

/** One call of a client. */
export interface ServedCall {
  /** Begins a turn, or gives an outcome without one. */
  readonly begin: (agent: ServedAgent) => Promise<ServedTurn | ServedOutcome>
  /** Aborts when the client cancels, or is gone. */
  readonly signal: AbortSignal
  readonly onEvent: (event: { readonly type: string; readonly data: unknown }) => void
}

export class Conversations {
  /** Set when the client is gone: turns stay open then, and the next call resumes them. */
  isClosing = false
  readonly #open: (conversation: string) => ServedAgent | Promise<ServedAgent>
  readonly #onError: (error: Error) => void
  readonly #last = new Map<string, Promise<unknown>>()

  constructor(
    open: (conversation: string) => ServedAgent | Promise<ServedAgent>,
    onError: (error: Error) => void,
  ) {
    this.#open = open
    this.#onError = onError
  }

  /** Runs one turn of a conversation, after the calls before it. */
  async run(conversation: string, call: ServedCall): Promise<ServedOutcome> {
    const before = this.#last.get(conversation) ?? Promise.resolve()
    const running = before.then(() => this.#turn(conversation, call))
    const settled = running.catch(() => {})
    this.#last.set(conversation, settled)
    try {
      return await running
    } finally {
      if (this.#last.get(conversation) === settled) this.#last.delete(conversation)
    }
  }

  /** Resolves when no call runs. */
  async idle(): Promise<void> {
    await Promise.all(this.#last.values())
  }

  async #turn(conversation: string, { begin, signal, onEvent }: ServedCall): Promise<ServedOutcome> {
    signal.throwIfAborted()
    const agent = await this.#open(conversation)
    try {
      const turn = await begin(agent)
      if (!('outcome' in turn)) return turn
      const stop = (): void => void this.#stop(agent, turn)
      signal.addEventListener('abort', stop, { once: true })
      if (signal.aborted) stop()
      for await (const event of turn) onEvent(event)
      return await turn.outcome
    } finally {
      await agent.shutdown()
    }
  }

  /** No call waits for this: a failure is reported. */
  async #stop(agent: ServedAgent, turn: ServedTurn): Promise<void> {
    try {
      await (this.isClosing ? agent.shutdown() : turn.cancel('cancelled by the MCP client'))
    } catch (error) {
      this.#onError(error instanceof Error ? error : new Error(String(error)))
    }
  }
}
