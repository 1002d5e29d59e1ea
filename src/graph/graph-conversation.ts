/**
 * One conversation of a graph in this process: its owner, its callers and its driver. All state can be rebuilt from the
 * journal.
 */
import {
  type Clock,
  endsWithin,
  type Ids,
  processIdentity,
  SHUTDOWN_GRACE_MS,
  type Timer,
} from '../base/index.ts'
import {
  type AnswerOrigins,
  answerRequest,
  type Child,
  Conversation,
  idsAround,
  type JournalState,
  refuseInside,
  requestFields,
  type TurnView,
} from '../drive/index.ts'
import { clearWaitingBelow } from '../journal/index.ts'
import type { Continuation, LoopSettings, Telemetry } from '../loop/index.ts'
import {
  type ContextKey,
  defined,
  type Entry,
  HoldfastError,
  type Json,
  type JsonObject,
  type NewInboxEntry,
  type Principal,
  type RequestData,
} from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import { type Credentials, inputOrigin } from '../tool/index.ts'
import type { GraphDefinition } from './definition.ts'
import type { GraphTurnOptions } from './graph-options.ts'
import { graphLoop } from './loop.ts'
import type { GraphLimits } from './run.ts'

export interface GraphConversationOptions {
  readonly definition: GraphDefinition
  readonly key: ContextKey
  readonly store: Store
  readonly terms: LoopSettings
  readonly limits: GraphLimits
  readonly clock: Clock
  readonly timer: Timer
  readonly ids: Ids
  readonly leaseMs: number
  readonly telemetry: readonly Telemetry[]
  readonly parent?: string
  readonly parentSince?: number
  /** True: inputs hold the values of channels, not updates of their initial values. */
  readonly isState?: boolean
  readonly allow?: (principal: Principal) => boolean
  readonly credentials?: (principal: Principal) => Promise<Credentials | undefined> | Credentials | undefined
}

const MAX_HEARTBEAT_MS = 1000

export class GraphConversation {
  readonly #options: GraphConversationOptions
  readonly #conversation: Conversation
  /** The newest turn that this process began for a queued run. */
  #queuedTurn: number | undefined
  #closed: Promise<void> | undefined

  constructor(options: GraphConversationOptions) {
    this.#options = options
    const { definition, terms, limits, ids, leaseMs, isState = false, ...ports } = options
    this.#conversation = new Conversation({
      ...ports,
      ids,
      leaseMs,
      definition: terms,
      observed: { name: definition.name, kind: 'graph' },
      driver: `${processIdentity()}#${ids.next('graph')}`,
      heartbeatMs: Math.min(MAX_HEARTBEAT_MS, leaseMs / 3),
      autoSave: true,
      abandoned: (task) => void clearBelowTask(options, task).catch(() => {}),
      run: (scope) => {
        const { steps: _, ...rest } = limits
        const childScope = this.#conversation.childScope(rest)
        const onQueuedTurn = (turn: number): void => void (this.#queuedTurn = turn)
        const own = { graph: definition, limits, childScope, onQueuedTurn, entries: this.#entries, isState }
        return graphLoop({ ...scope, ...own, above: idsAround() })
      },
      onOutcome: () => {},
    })
  }

  get journal(): JournalState {
    return this.#conversation.driver.journal
  }

  /** The running turn, if this process knows of one. */
  get turn(): TurnView | undefined {
    return this.#conversation.turn
  }

  /** Follows or resumes the open turn, if there is one. */
  async start(): Promise<void> {
    await this.#conversation.attach()
  }

  async drive(): Promise<void> {
    await this.start()
    while ((await this.#conversation.drive()).state === 'again');
  }

  /** Starts a run with these values, or continues the last one. */
  begin(values: JsonObject | null, options: GraphTurnOptions = {}): TurnView {
    const { key = this.#options.ids.next('input') } = options
    const sender = this.#sender(options)
    if (values === null) return this.#begin(options, { continuing: sender })
    const input: NewInboxEntry = { type: 'input', key, data: { values, ...sender, ...inputOrigin() } }
    const repeats = options.key === undefined ? {} : { repeats: options.key }
    return this.#begin(options, { keys: [key], ...repeats, posts: () => [input] })
  }

  /** `origins`: of answers that a parent hands down. */
  answer(
    answers: Readonly<Record<string, Json>>,
    options: GraphTurnOptions = {},
    origins?: AnswerOrigins,
  ): TurnView {
    const ports = { ...this.#options, ...defined({ origins, idempotencyKey: options.key }) }
    return this.#begin(options, answerRequest(answers, { ...this.#sender(options) }, ports))
  }

  refused(error: unknown): TurnView {
    return this.#conversation.refused(error)
  }

  requests(): Promise<readonly RequestData[]> {
    return this.#conversation.requests()
  }

  lastTurn(): Promise<TurnView | undefined> {
    return this.#conversation.lastTurn()
  }

  async cancel(reason?: string): Promise<void> {
    await this.#conversation.cancel(reason)
  }

  /** Cancels the run of one turn, and no other: it may run in any process, wait, or have a caller here and not have begun. */
  async cancelTurn(turn: number, reason?: string): Promise<void> {
    await this.#conversation.cancel(reason, turn)
  }

  /** Resolves when the queued runs that followed a run of this process have ended. */
  async queuedRuns(): Promise<void> {
    const { open } = this.journal.session
    if (this.#closed === undefined && open !== undefined && open.turn === this.#queuedTurn)
      await this.#conversation.whenIdle()
  }

  /**
   * Releases the conversation once its current work settles; any process may continue it. Work that has not ended after
   * `graceMs` is left: the run stays owned until it ends.
   */
  close(graceMs: number = SHUTDOWN_GRACE_MS): Promise<void> {
    this.#closed ??= this.#close(graceMs)
    return this.#closed
  }

  async #close(graceMs: number): Promise<void> {
    const { key, timer } = this.#options
    try {
      await endsWithin(this.#conversation.stop('release'), graceMs, timer)
    } finally {
      this.#conversation.close(
        new HoldfastError('shutdown', {
          message: `${key.contextId} was closed in this process; nothing was lost.`,
        }),
      )
    }
  }

  /** The conversation as a child of another loop. */
  asChild(values: JsonObject, options: GraphTurnOptions): Child {
    const { key: _, ...unkeyed } = options
    return {
      start: () => this.start(),
      requests: () => this.requests(),
      lastTurn: () => this.lastTurn(),
      answer: (answers, origins) => this.answer(answers, unkeyed, origins),
      continueTurn: () => this.begin(null, unkeyed),
      begin: () => this.begin(values, options),
      shutdown: () => this.close(),
      turnNow: () => this.turn,
    }
  }

  #begin(options: GraphTurnOptions, request: Parameters<Conversation['ask']>[1]): TurnView {
    const { store, key } = this.#options
    refuseInside(store, key, 'run')
    return this.#conversation.ask(options, request)
  }

  #sender({ limits, ...options }: GraphTurnOptions): Continuation {
    return requestFields(this.#options.key, {
      ...options,
      ...(limits === undefined ? {} : { limits: { ...limits } }),
    })
  }

  readonly #entries = async (seqs: readonly number[]): Promise<readonly Entry[]> => {
    const { store, key } = this.#options
    return (await Promise.all(seqs.map((seq) => store.read(key, { from: seq, to: seq })))).flat()
  }
}

/** Ends the waits of an abandoned task's children; running ones are cancelled with it. */
function clearBelowTask(
  { store, key }: Pick<GraphConversationOptions, 'store' | 'key'>,
  task: string,
): Promise<void> {
  const isOver = (name: string): boolean => name === task || name.startsWith(`${task}.`)
  return clearWaitingBelow(store, key, { reason: 'its caller went on', isOver })
}
