/** One conversation of a graph in this process: who asks, and whose it is. What it knows can be had again from the journal. */
import { type Clock, type Ids, processIdentity, type Timer } from '../base/index.ts'
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
import type { Continuation, LoopTerms } from '../loop/index.ts'
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
import { abandonBelow } from './abandon.ts'
import type { GraphDefinition } from './definition.ts'
import type { Asking } from './graph-options.ts'
import { playGraph } from './loop.ts'
import type { GraphLimits } from './run.ts'

export interface ThreadOptions {
  readonly definition: GraphDefinition
  readonly key: ContextKey
  readonly store: Store
  readonly terms: LoopTerms
  readonly limits: GraphLimits
  readonly clock: Clock
  readonly timer: Timer
  readonly ids: Ids
  readonly leaseMs: number
  readonly parent?: string
  readonly parentSince?: number
  readonly allow?: (principal: Principal) => boolean
  readonly credentials?: (principal: Principal) => Promise<Credentials | undefined> | Credentials | undefined
}

const MAX_HEARTBEAT_MS = 1000

export class Thread {
  readonly #options: ThreadOptions
  readonly #conversation: Conversation

  constructor(options: ThreadOptions) {
    this.#options = options
    const { definition, terms, limits, ids, leaseMs, ...ports } = options
    this.#conversation = new Conversation({
      ...ports,
      ids,
      leaseMs,
      definition: terms,
      driver: `${processIdentity()}#${ids.next('graph')}`,
      heartbeatMs: Math.min(MAX_HEARTBEAT_MS, leaseMs / 3),
      autoSave: true,
      abandoned: (task) => void abandonBelow(options.store, options.key, task).catch(() => {}),
      run: (scope) => {
        const { steps: _, ...rest } = limits
        const childScope = this.#conversation.childScope(rest)
        const own = { graph: definition, limits, childScope, entries: this.#entries }
        return playGraph({ ...scope, ...own, ...idsAround() })
      },
      onOutcome: () => {},
    })
  }

  get journal(): JournalState {
    return this.#conversation.driver.journal
  }

  /** The turn that runs, if one does and this process knows of it. */
  get turn(): TurnView | undefined {
    return this.#conversation.turn
  }

  /** Follows or takes up the turn that is open, if there is one. */
  async start(): Promise<void> {
    await this.#conversation.attach()
  }

  /** From the start with these values, or on from where it stopped. */
  begin(values: JsonObject | null, asking: Asking = {}): TurnView {
    const { key = this.#options.ids.next('input') } = asking
    const asked = this.#asked(asking)
    if (values === null) return this.#begin(asking, { continuing: asked })
    const input: NewInboxEntry = { type: 'input', key, data: { values, ...asked, ...inputOrigin() } }
    const repeats = asking.key === undefined ? {} : { repeats: asking.key }
    return this.#begin(asking, { keys: [key], ...repeats, posts: () => [input] })
  }

  /** `origins`: of answers that are handed down. */
  answer(answers: Readonly<Record<string, Json>>, asking: Asking = {}, origins?: AnswerOrigins): TurnView {
    const ports = { ...this.#options, ...defined({ origins }) }
    return this.#begin(asking, answerRequest(answers, { ...this.#asked(asking) }, ports))
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

  /** Lets go after what is under way, for anybody to go on. */
  async close(): Promise<void> {
    await this.#conversation.stop('release')
    const { contextId } = this.#options.key
    this.#conversation.close(
      new HoldfastError('shutdown', {
        message: `${contextId} is not listened to any more; nothing was lost.`,
      }),
    )
  }

  /** As somebody who runs it below a turn of their own has it. */
  asChild(values: JsonObject, asking: Asking): Child {
    const { key: _, ...going } = asking
    return {
      start: () => this.start(),
      requests: () => this.requests(),
      lastTurn: () => this.lastTurn(),
      answer: (answers, origins) => this.answer(answers, going, origins),
      goOn: () => this.begin(null, going),
      begin: () => this.begin(values, asking),
      shutdown: () => this.close(),
      turnNow: () => this.turn,
    }
  }

  #begin(asking: Asking, request: Parameters<Conversation['ask']>[1]): TurnView {
    const { store, key } = this.#options
    refuseInside(store, key, 'A run')
    return this.#conversation.ask(asking, request)
  }

  #asked({ limits, ...asking }: Asking): Continuation {
    return requestFields(this.#options.key, {
      ...asking,
      ...(limits === undefined ? {} : { limits: { ...limits } }),
    })
  }

  readonly #entries = async (seqs: readonly number[]): Promise<readonly Entry[]> => {
    const { store, key } = this.#options
    return (await Promise.all(seqs.map((seq) => store.read(key, { from: seq, to: seq })))).flat()
  }
}
