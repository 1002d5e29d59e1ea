/** A conversation as a host runs it, whether an agent's or a graph's. */
import { Agent, type AgentConfig } from '../agent/index.ts'
import type { Auth, TurnOutcome } from '../drive/index.ts'
import type { Channels, Graph } from '../graph/index.ts'
import {
  type ContextKey,
  defined,
  type Json,
  type JsonObject,
  type RequestData,
  type TurnEvent,
} from '../protocol/index.ts'
import { type Tool, toolsFrom } from '../tool/index.ts'
import type { MessageInput } from '../turn/index.ts'

/** An agent without the fields that the host sets. */
export type HostedAgentConfig = Omit<
  AgentConfig,
  'contextId' | 'owner' | 'store' | 'allow' | 'clock' | 'timer' | 'ids'
>

/** The conversation that an agent is opened for. */
export type HostSession = ContextKey

export type HostedAgent =
  | HostedAgentConfig
  | ((session: HostSession) => HostedAgentConfig | Promise<HostedAgentConfig>)

export type HostedGraph = Graph<Channels>

/** The tools of an agent; undefined if they depend on the conversation, without a `session`, or on the turn. */
export async function hostedTools(
  agent: HostedAgent,
  session?: HostSession,
): Promise<readonly Pick<Tool, 'name' | 'description'>[] | undefined> {
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
}

export interface Hosted {
  send(input: HostInput, options: SendOptions): HostedTurn
  answer(answers: Readonly<Record<string, Json>>, options: SendOptions): HostedTurn
  cancel(reason?: string): Promise<void>
  requests(): Promise<readonly RequestData[]>
  /** Goes on with an open turn, unread input or an expired request. `follow` gets each turn that can be followed. */
  drive(follow: (turn: HostedTurn) => void): Promise<void>
  close(): Promise<void>
}

export class HostedAgentConversation implements Hosted {
  readonly agent: Agent

  constructor(config: AgentConfig) {
    this.agent = new Agent(config)
  }

  send(input: HostInput, options: SendOptions): HostedTurn {
    return this.agent.executeTurn(input as MessageInput | null, options)
  }

  answer(answers: Readonly<Record<string, Json>>, { auth, key, metadata }: SendOptions): HostedTurn {
    return this.agent.answer(answers, defined({ auth, key, metadata }))
  }

  cancel(reason?: string): Promise<void> {
    return this.agent.cancel(reason)
  }

  requests(): Promise<readonly RequestData[]> {
    return this.agent.requests()
  }

  async drive(follow: (turn: HostedTurn) => void): Promise<void> {
    await this.agent.start()
    if (this.agent.turn !== undefined) follow(this.agent.turn)
    while ((await this.agent.drive()).state === 'again');
  }

  close(): Promise<void> {
    return this.agent.shutdown({ save: false })
  }
}

export class HostedGraphConversation implements Hosted {
  readonly #graph: HostedGraph
  readonly #key: ContextKey

  constructor(graph: HostedGraph, key: ContextKey) {
    this.#graph = graph
    this.#key = key
  }

  get #where(): { readonly contextId: string; readonly owner: ContextKey } {
    return { contextId: this.#key.contextId, owner: this.#key }
  }

  send(input: HostInput, { auth, key, metadata }: SendOptions): HostedTurn {
    return this.#graph.stream(input as JsonObject | null, {
      ...this.#where,
      ...defined({ auth, key, metadata }),
    })
  }

  answer(answers: Readonly<Record<string, Json>>, { auth, key, metadata }: SendOptions): HostedTurn {
    return this.#graph.answer(answers, { ...this.#where, ...defined({ auth, key, metadata }) })
  }

  cancel(reason?: string): Promise<void> {
    return this.#graph.cancel({ ...this.#where, ...defined({ reason }) })
  }

  requests(): Promise<readonly RequestData[]> {
    return this.#graph.requests(this.#where)
  }

  drive(): Promise<void> {
    return this.#graph.drive(this.#where)
  }

  close(): Promise<void> {
    return this.#graph.shutdown(this.#where)
  }
}
