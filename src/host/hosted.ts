/** A conversation as a host runs it, whether an agent's or a graph's. */
import { Agent, type AgentConfig } from '../agent/index.ts'
import { debugThrown } from '../base/index.ts'
import { type Auth, CONTINUE_AFTER, runWithApprovals, type TurnOutcome } from '../drive/index.ts'
import type { Channels, Graph } from '../graph/index.ts'
import type { ImportOptions } from '../journal/index.ts'
import {
  type ContextKey,
  checkOptions,
  defined,
  HoldfastError,
  invalidOption,
  isObject,
  type Json,
  type JsonObject,
  type OptionSet,
  quote,
  type RequestData,
  type TurnEvent,
} from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import { type Approvals, type Tool, toolsFrom } from '../tool/index.ts'
import type { MessageInput } from '../turn/index.ts'
import type { Trust } from './trust.ts'

/** An agent without the fields that the host sets. */
export interface HostedAgentConfig
  extends Omit<AgentConfig, 'contextId' | 'owner' | 'store' | 'allow' | 'clock' | 'timer' | 'ids'> {
  /** The callers that the agent answers, and the remote agents that it may call. Default: that of the host. */
  readonly trust?: Trust
}

/** The conversation that an agent is opened for. */
export type HostSession = ContextKey

/** The agent of one conversation. Its trust is the host's: lists and visitors are decided before a conversation opens. */
export interface SessionAgentConfig extends Omit<HostedAgentConfig, 'trust'> {
  readonly trust?: never
}

export type HostedAgent =
  | HostedAgentConfig
  | ((session: HostSession) => SessionAgentConfig | Promise<SessionAgentConfig>)

export type HostedGraph = Graph<Channels>

/** A graph for the host's store that takes messages as people write them, and replies in text. */
export interface HostedFlow {
  readonly build: (store: Store) => HostedGraph | Promise<HostedGraph>
  /** The values of a run, from a message. */
  readonly values: (message: string) => JsonObject
  /** The reply, from the state that a run has reached. Undefined if there is none yet, or if it throws. */
  readonly reply?: (state: JsonObject) => string | undefined
}

/** The tools of an agent; undefined if they depend on the conversation, without a `session`, or on the turn. */
export async function hostedTools(
  agent: HostedAgent,
  session?: HostSession,
): Promise<readonly Pick<Tool, 'name' | 'description' | 'public'>[] | undefined> {
  if (typeof agent === 'function' && session === undefined) return undefined
  const { tools = [] } = typeof agent === 'function' ? await agent(session as HostSession) : agent
  return typeof tools === 'function' ? undefined : toolsFrom(tools)
}

/** The sender, and how a message is taken. */
export interface SendOptions {
  readonly auth?: Auth
  /** A message sent twice under one key is posted once. */
  readonly key?: string
  readonly whileBusy?: 'queue' | 'steer' | 'interrupt' | 'reject'
  readonly metadata?: JsonObject
  /** With null: the newest turn that the sender knows. If a later one has begun, you get the first of them, and nothing runs. */
  readonly after?: number
  /** The messages before this one, for an agent: imported once the turn has a place, the same ones only once. */
  readonly history?: { readonly messages: unknown; readonly format?: ImportOptions['format'] }
}

const SEND: OptionSet<SendOptions>['options'] = {
  auth: null,
  key: null,
  whileBusy: null,
  metadata: 'an object',
  after: { least: 0 },
  history: 'an object',
}

/** Throws `invalid-option`. `place`: the method that takes them. */
export function checkSendOptions(place: string, options: SendOptions): void {
  checkOptions(options, { place, options: SEND })
}

/** A message for an agent, or the values of a graph's run; null continues what was cut short. */
export type HostInput = MessageInput | JsonObject | null

export type HostOutcome = Omit<TurnOutcome, 'text'> &
  Partial<Pick<TurnOutcome, 'text'>> & {
    /** Of a graph. */
    readonly state?: unknown
  }

export interface HostedTurn extends AsyncIterable<TurnEvent> {
  /** Never rejects. */
  readonly outcome: Promise<HostOutcome>
  /** Cancels this turn, and no other: one that has not begun, as soon as it begins; one that has ended stays as it is. */
  cancel(reason?: string): Promise<void>
}

/** The options of the turn itself. */
type TurnRequestOptions = Omit<SendOptions, 'history'>

export interface Hosted {
  importHistory(history: NonNullable<SendOptions['history']>): Promise<void>
  send(input: HostInput, options: TurnRequestOptions): HostedTurn
  answer(answers: Readonly<Record<string, Json>>, options: SendOptions): HostedTurn
  /** Cancels the running turn, or `turn` and no other. */
  cancel(reason?: string, turn?: number): Promise<void>
  requests(): Promise<readonly RequestData[]>
  /** Goes on with an open turn, unread input or an expired request. `follow` gets each turn that can be followed. */
  drive(follow: (turn: HostedTurn) => void): Promise<void>
  /** Leaves effects that have not ended after `graceMs`. */
  close(graceMs?: number): Promise<void>
}

export class HostedAgentConversation implements Hosted {
  readonly agent: Agent

  constructor(config: AgentConfig) {
    this.agent = new Agent(config)
  }

  async importHistory({ messages, format }: NonNullable<SendOptions['history']>): Promise<void> {
    await this.agent.importMessages(messages, defined({ format }))
  }

  send(input: HostInput, { after, ...options }: TurnRequestOptions): HostedTurn {
    const { contextId } = this.agent
    if (isObject(input))
      throw new HoldfastError('wrong-kind', {
        message: `${quote(contextId)} is a conversation with an agent: send it a message, not values.`,
        details: { contextId },
      })
    return this.agent.executeTurn(input, { ...options, ...continuedAfter(after) })
  }

  answer(answers: Readonly<Record<string, Json>>, { auth, key, metadata }: SendOptions): HostedTurn {
    return this.agent.answer(answers, defined({ auth, key, metadata }))
  }

  cancel(reason?: string, turn?: number): Promise<void> {
    return this.agent.cancel(reason, defined({ turn }))
  }

  requests(): Promise<readonly RequestData[]> {
    return this.agent.requests()
  }

  async drive(follow: (turn: HostedTurn) => void): Promise<void> {
    await this.agent.start()
    if (this.agent.turn !== undefined) follow(this.agent.turn)
    while ((await this.agent.drive()).state === 'again');
  }

  close(graceMs?: number): Promise<void> {
    return this.agent.shutdown({ save: false, ...defined({ graceMs }) })
  }
}

interface HostedGraphParts {
  readonly graph: HostedGraph
  readonly key: ContextKey
  readonly flow?: HostedFlow | undefined
  /** The policies for its calls. */
  readonly approvals: Approvals
}

export class HostedGraphConversation implements Hosted {
  readonly #graph: HostedGraph
  readonly #key: ContextKey
  readonly #flow: HostedFlow | undefined
  readonly #approvals: Approvals

  constructor({ graph, key, flow, approvals }: HostedGraphParts) {
    this.#graph = graph
    this.#key = key
    this.#flow = flow
    this.#approvals = approvals
  }

  get #where(): { readonly contextId: string; readonly owner: ContextKey } {
    return { contextId: this.#key.contextId, owner: this.#key }
  }

  async importHistory(): Promise<void> {
    throw new HoldfastError('wrong-kind', {
      message: `${quote(this.#key.contextId)} is a conversation of a graph: it takes no history.`,
      details: { contextId: this.#key.contextId },
    })
  }

  send(input: HostInput, { after, ...rest }: TurnRequestOptions): HostedTurn {
    const { auth, key, metadata } = checkedForGraph(rest)
    const values = this.#values(input)
    const options = { ...this.#where, ...defined({ auth, key, metadata }), ...continuedAfter(after) }
    return this.#begin(() => this.#graph.stream(values, options))
  }

  answer(answers: Readonly<Record<string, Json>>, { auth, key, metadata }: SendOptions): HostedTurn {
    const options = { ...this.#where, ...defined({ auth, key, metadata }) }
    return this.#begin(() => this.#graph.answer(answers, options))
  }

  /** Everything that the run calls is below the policies. */
  #begin(begin: () => HostedTurn): HostedTurn {
    let run: HostedTurn | undefined
    void runWithApprovals(this.#approvals, () => {
      run = begin()
      return run.outcome
    })
    return this.#withReply(run as HostedTurn)
  }

  #values(input: HostInput): JsonObject | null {
    const message = messageText(input)
    if (message === undefined) return input as JsonObject | null
    if (this.#flow === undefined)
      throw new HoldfastError('wrong-kind', {
        message: `${quote(this.#key.contextId)} is a conversation with a graph: send it values, not a message.`,
        details: { contextId: this.#key.contextId },
      })
    if (Array.isArray(input) && input.some(({ type }) => type === 'file'))
      throw new HoldfastError('wrong-kind', {
        message: `${quote(this.#key.contextId)} is a conversation with a flow: it takes text, and no files.`,
        details: { contextId: this.#key.contextId },
      })
    return this.#flow.values(message)
  }

  #withReply(run: HostedTurn): HostedTurn {
    const flow = this.#flow
    if (flow === undefined) return run
    const outcome = run.outcome.then((ended) => {
      // The state of a turn that has not completed may have the reply of an earlier one.
      const isReplied = ended.status === 'completed' && ended.state !== undefined
      return { ...ended, ...defined({ text: isReplied ? replyOf(flow, ended.state) : undefined }) }
    })
    return {
      outcome,
      cancel: (reason) => run.cancel(reason),
      [Symbol.asyncIterator]: () => run[Symbol.asyncIterator](),
    }
  }

  cancel(reason?: string, turn?: number): Promise<void> {
    return this.#graph.cancel({ ...this.#where, ...defined({ reason, turn }) })
  }

  requests(): Promise<readonly RequestData[]> {
    return this.#graph.requests(this.#where)
  }

  drive(): Promise<void> {
    return runWithApprovals(this.#approvals, () => this.#graph.drive(this.#where))
  }

  close(graceMs?: number): Promise<void> {
    return this.#graph.shutdown({ ...this.#where, ...defined({ graceMs }) })
  }
}

/** A reply that throws is none: the run has completed, its outcome never rejects, and its events are read to the end. */
export function replyOf(flow: HostedFlow, state: unknown): string | undefined {
  try {
    return flow.reply?.(state as JsonObject)
  } catch (error) {
    debugThrown('The function reply of a flow', error)
    return undefined
  }
}

const GRAPH_TURN: OptionSet<Omit<TurnRequestOptions, 'after'>> = {
  place: 'host.send() to a graph or flow',
  options: { auth: null, key: null, metadata: null, whileBusy: null },
}

/** Runs of a graph queue: another way would be promised and not kept. */
function checkedForGraph<T extends Omit<TurnRequestOptions, 'after'>>(options: T): T {
  checkOptions(options, GRAPH_TURN)
  const { whileBusy = 'queue' } = options
  if (whileBusy === 'queue') return options
  throw invalidOption('whileBusy', `of a graph or flow is always "queue", not ${quote(whileBusy)}`)
}

function continuedAfter(turn: number | undefined): { readonly [CONTINUE_AFTER]?: number } {
  return turn === undefined ? {} : { [CONTINUE_AFTER]: turn }
}

/** The text of a message; undefined for values and null. */
function messageText(input: HostInput): string | undefined {
  if (typeof input === 'string') return input
  const parts = Array.isArray(input) ? (input as readonly { readonly text?: unknown }[]) : undefined
  return parts?.map(({ text }) => (typeof text === 'string' ? text : '')).join('\n')
}
