/**
 * Agents and graphs by name, and their conversations: opened when somebody writes, closed when idle, continued after a
 * restart. Every conversation belongs to a tenant and an actor (R20). Knows no protocol.
 */

import type { Agent } from '../agent/index.ts'
import {
  type Clock,
  endsWithin,
  type Ids,
  SHUTDOWN_GRACE_MS,
  systemClock,
  systemIds,
  systemTimer,
  type Timer,
} from '../base/index.ts'
import { forkContext } from '../journal/index.ts'
import {
  atLeast,
  type ContextKey,
  checkOptions,
  defined,
  HoldfastError,
  type Json,
  type JsonObject,
  keyText,
  type OptionSet,
  type Owner,
  type Principal,
  quote,
  type RequestData,
} from '../protocol/index.ts'
import { requireStore, type Store } from '../store/index.ts'
import { Catalog } from './catalog.ts'
import { Documents } from './documents.ts'
import { type Engine, embeddedEngine } from './engine.ts'
import { Erasures } from './erasures.ts'
import { checkSince, conversationEvents, type EventsOptions, type HostEvent } from './events.ts'
import { Gate } from './gate.ts'
import {
  checkSendOptions,
  type Hosted,
  type HostedAgent,
  HostedAgentConversation,
  type HostedFlow,
  type HostedGraph,
  type HostedTurn,
  type HostInput,
  type hostedTools,
  type SendOptions,
} from './hosted.ts'
import { LiveTurns } from './live-turns.ts'
import { closedError, Pool, type UseOptions } from './pool.ts'
import { HostReads, type RequestNotice } from './reads.ts'
import { type Refusal, Refusals } from './refusals.ts'
import { RequestNotices } from './request-notices.ts'
import { Retention } from './retention.ts'
import { StoreHealth } from './store-health.ts'
import { isVisitor, type Trust, type TrustLevel } from './trust.ts'

export interface HostConfig {
  readonly store: Store
  /** Agents by name: a config without contextId, owner and store, or a function of the conversation that gives one. */
  readonly agents?: Readonly<Record<string, HostedAgent>>
  /** Graphs by name, compiled with the same store. A conversation with one takes values. */
  readonly graphs?: Readonly<Record<string, HostedGraph>>
  /** Flows by name, such as `taskFlow()` of `holdfast/flows`: graphs that take messages and reply in text. */
  readonly flows?: Readonly<Record<string, HostedFlow>>
  /** The agent or graph of conversations whose id has no name. Default: the first. */
  readonly default?: string
  /** The callers that agents answer, and the remote agents that they may call. Default: `careful`. An agent may have its own. */
  readonly trust?: Trust
  /** Called when somebody was refused for lack of trust. */
  readonly onRefusal?: (refusal: Refusal) => void
  /** Lets principals other than the owner write to a conversation. */
  readonly allow?: (principal: Principal, key: ContextKey) => boolean
  /** Drives conversations that have no caller now, such as those that a process left. Default: this process. */
  readonly engine?: Engine
  /** Called when a turn ends with open requests, also one that another process began: somebody is needed. */
  readonly onRequest?: (notice: RequestNotice) => void
  /** The most conversations that are open at once. Default: 1,000. */
  readonly maxOpen?: number
  /** The most turns that run at once. Default: 100. */
  readonly maxTurns?: number
  /** The most messages that wait for a turn to end. Default: 1,000. */
  readonly maxWaiting?: number
  /** How long a conversation stays open without use. Default: 5 minutes. */
  readonly idleMs?: number
  /** How long conversations of an agent or graph are kept without use, by its name. Default: for ever. */
  readonly ttlMs?: Readonly<Record<string, number>>
  /** Time and ids, for tests. */
  readonly clock?: Clock
  readonly timer?: Timer
  readonly ids?: Ids
}

/** An agent that stays open until it is released. */
export interface AgentSession extends AsyncDisposable {
  readonly agent: Agent
  readonly release: () => Promise<void>
}

export interface HostShutdownOptions {
  /** The time that effects under way have to end. Default: 30 seconds. */
  readonly graceMs?: number
}

const SHUTDOWN: OptionSet<HostShutdownOptions> = {
  place: 'host.shutdown()',
  options: { graceMs: { leastMs: 0 } },
}

const FORK: OptionSet<{ readonly to?: string; readonly at?: number }> = {
  place: 'host.fork()',
  options: { to: 'a text', at: 'a number' },
}

const HOST: OptionSet<HostConfig> = {
  place: 'createHost()',
  options: {
    store: null,
    agents: 'an object',
    graphs: 'an object',
    flows: 'an object',
    default: 'a text',
    trust: null,
    onRefusal: 'a function',
    allow: 'a function',
    engine: 'an object',
    onRequest: 'a function',
    maxOpen: { least: 1 },
    maxTurns: { least: 1 },
    maxWaiting: { least: 0 },
    idleMs: { leastMs: 1 },
    ttlMs: 'an object',
    clock: 'an object',
    timer: 'a timer with wait() and after()',
    ids: 'an object',
  },
  foreign: { agent: 'agents: { name: … }', workflows: 'graphs', checkpointer: 'store' },
}

const MOST_OPEN = 1000
const MOST_TURNS = 100

export function createHost(config: HostConfig): Host {
  return new Host(config)
}

export class Host {
  readonly store: Store
  /** Conversations as they are stored. */
  readonly reads: HostReads
  /** Documents that protocols keep with conversations. */
  readonly documents: Documents
  readonly #config: HostConfig
  readonly #catalog: Catalog
  readonly #pool: Pool
  readonly #gate: Gate
  readonly #live = new LiveTurns()
  readonly #refusals: Refusals
  readonly #notices: RequestNotices
  readonly #engine: Engine
  readonly #retention: Retention | undefined
  readonly #timer: Timer
  readonly #erasures: Erasures
  readonly #health: StoreHealth
  #state: 'created' | 'running' | 'closed' = 'created'

  constructor(config: HostConfig) {
    checkOptions(config, HOST)
    requireStore('createHost()', config.store)
    const { maxOpen = MOST_OPEN, maxTurns = MOST_TURNS, maxWaiting = 1000 } = config
    atLeast('maxOpen', maxOpen, 1)
    this.#config = config
    this.store = config.store
    this.#timer = config.timer ?? systemTimer
    this.#catalog = new Catalog(config)
    this.#refusals = new Refusals(config.onRefusal)
    this.#notices = new RequestNotices(config.onRequest)
    this.documents = new Documents(config.store, config.ids ?? systemIds)
    const clock = config.clock ?? systemClock
    this.reads = new HostReads(config.store, (contextId) => this.#catalog.find(contextId), clock)
    this.#pool = new Pool({
      open: (key) => this.#catalog.open(key),
      most: maxOpen,
      idleMs: config.idleMs ?? 300_000,
      clock,
      timer: this.#timer,
    })
    const parts = { store: config.store, catalog: this.#catalog, pool: this.#pool, timer: this.#timer }
    this.#erasures = new Erasures(parts)
    this.#health = new StoreHealth({ ...parts, clock })
    this.#gate = new Gate(maxTurns, maxWaiting)
    this.#engine = config.engine ?? embeddedEngine()
    this.#retention = this.#retentionOf(config.ttlMs ?? {})
  }

  /** The names of the agents, graphs and flows. */
  get names(): readonly string[] {
    return this.#catalog.names
  }

  /** Those of `names` that take values, and no messages: graphs that are no flow. */
  get graphs(): readonly string[] {
    return this.#catalog.valueGraphs
  }

  /** True for the name of a flow: a graph that takes messages. */
  isFlow(name: string): boolean {
    return this.#catalog.graphs.includes(name) && !this.graphs.includes(name)
  }

  /** Those of `names` that a caller may talk to by the rules of trust alone. */
  namesFor(principal: Principal): readonly string[] {
    return this.names.filter((name) => this.#catalog.trustOf(name).mayAdmit(name, principal))
  }

  /** Throws `forbidden` if the rules or the policy of trust refuse a caller, as for a turn that begins. Stores nothing. */
  async checkTrust(name: string, { tenant, actor }: Principal): Promise<void> {
    await this.#decided({ tenant, actor, contextId: this.#catalog.contextId(name, '') }, { tenant, actor })
  }

  trustLevelOf(name: string): TrustLevel {
    return this.#catalog.trustOf(name).level
  }

  /** True if some agent answers callers who are not authenticated. */
  get admitsVisitors(): boolean {
    return this.names.some((name) => this.#catalog.trustOf(name).admitsVisitors)
  }

  /** The newest refusals for lack of trust, at most 1,000. */
  get refusals(): readonly Refusal[] {
    return this.#refusals.newest
  }

  /** The tools of an agent, as an owner's conversation has them; undefined if they are not known, and for a graph. */
  async toolsOf(name: string, owner?: Owner): ReturnType<typeof hostedTools> {
    const { tenant, actor } = owner ?? {}
    if (tenant === undefined || actor === undefined) return this.#catalog.toolsOf(name)
    return this.#catalog.toolsOf(name, { tenant, actor, contextId: this.newContextId(name) })
  }

  /** The tools of an agent that callers who are not authenticated may use; undefined as for `toolsOf`. */
  async publicToolsOf(name: string): ReturnType<typeof hostedTools> {
    const tools = await this.#catalog.toolsOf(name)
    return tools && this.#catalog.trustOf(name).forVisitors(tools)
  }

  get load(): { readonly open: number; readonly running: number; readonly waiting: number } {
    return { open: this.#pool.size, running: this.#gate.running, waiting: this.#gate.waiting }
  }

  /**
   * Throws `shutdown` while and after the host shuts down, `overloaded` if a message to a further conversation would be
   * refused now, and the failure of a store that does not answer, or not in time, or that has just refused a message.
   */
  async checkReady(): Promise<void> {
    if (this.#state === 'closed') throw closedError()
    this.#gate.checkRoom()
    this.#pool.checkRoom()
    await this.#health.check()
  }

  /** Continues what earlier processes left, from now on. Messages are accepted with or without it. */
  start(): void {
    if (this.#state !== 'created') return
    this.#state = 'running'
    const { maxTurns = MOST_TURNS, maxOpen = MOST_OPEN } = this.#config
    this.#engine.start({
      store: this.store,
      timer: this.#timer,
      isHosted: (contextId) => this.#catalog.find(contextId) !== undefined,
      most: Math.min(maxTurns, maxOpen),
      drive: (key) => this.#drive(key),
    })
    this.#retention?.start()
    this.#erasures.start()
  }

  /** A new id for a conversation with one of the agents or graphs. Nothing is stored before the first message. */
  newContextId(name: string): string {
    return this.#catalog.contextId(name, (this.#config.ids ?? systemIds).next('conversation'))
  }

  /** The name of the agent or graph that a conversation belongs to. Throws `not-found` for one that is not here. */
  nameOf(contextId: string): string {
    return this.#catalog.nameOf(contextId)
  }

  /**
   * Sends a message, or values to a graph; null continues a turn that was cut short. Resolves when the turn is requested,
   * as soon as there is a place; its outcome comes later, whether or not anybody waits for it.
   */
  async send(key: ContextKey, input: HostInput, send: SendOptions = {}): Promise<HostedTurn> {
    checkSendOptions('host.send()', send)
    const { history, ...options } = send
    const trusted = await this.#trusted(key, options)
    return this.#begin(key, async (hosted) => {
      if (history !== undefined) await hosted.importHistory(history)
      return hosted.send(input, trusted)
    })
  }

  /** Answers some or all open requests by their ids. */
  async answer(
    key: ContextKey,
    answers: Readonly<Record<string, Json>>,
    options: SendOptions = {},
  ): Promise<HostedTurn> {
    checkSendOptions('host.answer()', options)
    const trusted = await this.#trusted(key, options)
    return this.#begin(key, (hosted) => hosted.answer(answers, trusted))
  }

  /** Cancels the running turn, or `turn` and no other, whichever process drives it. Never `overloaded`: it ends work. */
  async cancel(key: ContextKey, reason?: string, turn?: number): Promise<void> {
    await this.#use(key, (hosted) => hosted.cancel(reason, turn), { isUrgent: true })
  }

  /** The requests of a conversation that wait for an answer. One that is not open here is read, and not opened. */
  async requests(key: ContextKey): Promise<readonly RequestData[]> {
    const checked = this.#catalog.checked(key)
    return this.#pool.isOpen(checked)
      ? this.#use(checked, (hosted) => hosted.requests())
      : this.reads.requests(checked)
  }

  /** The requests of all conversations of an owner, a page at a time. */
  async openRequests(
    owner: Owner,
    page: { readonly limit?: number; readonly cursor?: string } = {},
  ): Promise<{ readonly notices: readonly RequestNotice[]; readonly next?: string }> {
    return this.reads.openRequests(owner, page)
  }

  /** Throws `erased` or `invalid-option` if `events` would refuse the position. */
  async checkSince(key: ContextKey, since: number): Promise<void> {
    await checkSince(this.store, this.#catalog.checked(key), since)
  }

  /**
   * Entries after a position, from any process, and deltas of turns that run here. Leaving it stops no turn. Throws `erased` if the
   * conversation is erased, also if it was since the reader had `since`, and `invalid-option` for a position beyond its end.
   */
  events(key: ContextKey, options: EventsOptions = {}): AsyncGenerator<HostEvent, void, undefined> {
    return conversationEvents(
      this.#catalog.checked(key),
      { store: this.store, live: this.#live, timer: this.#timer },
      options,
    )
  }

  /** The agent of a conversation, for programs that need more than the host has. It stays open while `work` runs. */
  async withAgent<T>(key: ContextKey, work: (agent: Agent) => T | Promise<T>): Promise<T> {
    return this.#use(key, (hosted) => {
      if (hosted instanceof HostedAgentConversation) return work(hosted.agent)
      throw new HoldfastError('wrong-kind', {
        message: `${quote(key.contextId)} is a conversation of a graph, not of an agent.`,
        details: { contextId: key.contextId },
      })
    })
  }

  /**
   * The agent of a conversation, created if it does not exist. It stays open until it is released, by
   * `await using session = …` or `session.release()`. `withAgent` does both.
   */
  async getOrCreateAgent(key: ContextKey): Promise<AgentSession> {
    const { promise: agent, resolve, reject } = Promise.withResolvers<Agent>()
    const released = Promise.withResolvers<void>()
    const use = this.withAgent(key, (opened) => {
      resolve(opened)
      return released.promise
    })
    use.catch(reject)
    const release = async (): Promise<void> => {
      released.resolve()
      await use
    }
    return { agent: await agent, release, [Symbol.asyncDispose]: release }
  }

  /** Creates a conversation from this one's history, up to its end or to entry `at`, and returns its id. */
  async fork(key: ContextKey, options: { readonly to?: string; readonly at?: number } = {}): Promise<string> {
    checkOptions(options, FORK)
    const { to, at } = options
    const checked = this.#catalog.checked(key)
    const contextId = to ?? this.newContextId(this.nameOf(key.contextId))
    if (this.nameOf(contextId) !== this.nameOf(key.contextId))
      throw new HoldfastError('invalid-option', {
        message: `A fork of ${quote(key.contextId)} belongs to the same agent: begin its id with ${quote(`${this.nameOf(key.contextId)}:`)}.`,
      })
    await forkContext(this.store, checked, { contextId, ...(at === undefined ? {} : { at }) })
    return contextId
  }

  /**
   * Erases a conversation and all below it, with their session files and their lines in text logs. Its id stays refused with
   * `erased` until `recreate`. Returns the number of those erased.
   */
  async erase(key: ContextKey): Promise<number> {
    return this.#erasures.erase(this.#catalog.checked(key))
  }

  /**
   * Begins an erased conversation anew under its id, empty. Keys of messages count from now on. Rejects with `exists` if it is
   * not erased, and with `not-found` if there never was one.
   */
  async recreate(key: ContextKey): Promise<void> {
    const checked = this.#catalog.checked(key)
    await this.#decided(checked, checked)
    await this.#erasures.recreate(checked)
  }

  /**
   * Accepts nothing more, gives up model calls, waits for the effects under way, and releases every turn: any process may go
   * on with it, and asks the model again. A turn whose effects have not ended after `graceMs` stays owned by this process: another
   * takes it over once this one has ended. The store stays open.
   */
  async shutdown(options: HostShutdownOptions = {}): Promise<void> {
    checkOptions(options, SHUTDOWN)
    const { graceMs = SHUTDOWN_GRACE_MS } = options
    this.#state = 'closed'
    const closed = Promise.all([
      this.#engine.stop(),
      this.#retention?.stop(),
      this.#pool.closeAll(graceMs),
      this.#erasures.stop(),
    ])
    await endsWithin(closed, graceMs, this.#timer)
  }

  #retentionOf(ttlMs: Readonly<Record<string, number>>): Retention | undefined {
    for (const [name, ms] of Object.entries(ttlMs)) {
      this.#catalog.checkName(name)
      atLeast(`ttlMs of ${quote(name)}`, ms, 1)
    }
    if (Object.keys(ttlMs).length === 0) return undefined
    return new Retention({
      store: this.store,
      clock: this.#config.clock ?? systemClock,
      timer: this.#timer,
      ttlOf: (contextId) => ttlMs[this.#catalog.find(contextId)?.name ?? ''],
      erase: (key, at) => this.#erasures.eraseUnused(key, at),
    })
  }

  /** The options with the decision (T3). Throws `forbidden`. */
  async #trusted(key: ContextKey, options: SendOptions): Promise<SendOptions> {
    const { tenant, actor } = this.#catalog.checked(key)
    const principal = { tenant: options.auth?.tenant ?? tenant, actor: options.auth?.actor ?? actor }
    const record = await this.#decided(key, principal)
    return { ...options, metadata: { ...options.metadata, trust: record } }
  }

  /** The decision as it is stored. Throws `forbidden`, and notes the refusal. */
  async #decided(key: ContextKey, principal: Principal): Promise<JsonObject> {
    const { contextId } = key
    const name = this.#catalog.nameOf(contextId)
    const isKnown = !isVisitor(principal)
    const {
      isAllowed,
      reason = '',
      record,
    } = await this.#catalog.trustOf(name).decide({ kind: 'turn', name, contextId, principal, isKnown })
    if (isAllowed) return record
    const at = new Date((this.#config.clock ?? systemClock).now()).toISOString()
    this.#refusals.add({ at, key, name, reason })
    throw new HoldfastError('forbidden', { message: reason, details: { contextId } })
  }

  async #begin(
    key: ContextKey,
    begin: (hosted: Hosted) => HostedTurn | Promise<HostedTurn>,
  ): Promise<HostedTurn> {
    if (this.#state === 'closed') throw closedError()
    const checked = this.#catalog.checked(key)
    const begun = Promise.withResolvers<HostedTurn>()
    const run = this.#gate.run(keyText(checked), async () => {
      const head = await this.#erasures.writable(checked)
      const work = async (hosted: Hosted): Promise<void> => {
        const turn = this.#erasures.erasable(checked, await begin(hosted))
        begun.resolve(turn)
        await this.#follow(hosted, checked, turn)
      }
      await this.#pool.use(checked, work, defined({ begunAfter: head?.erasedUpTo }))
    })
    run.catch((error: unknown) => begun.reject(error))
    return begun.promise
  }

  /** Another process may have erased the conversation and begun it anew since it was opened here. */
  async #use<T>(
    key: ContextKey,
    work: (hosted: Hosted) => T | Promise<T>,
    options: Pick<UseOptions, 'isUrgent'> = {},
  ): Promise<T> {
    const checked = this.#catalog.checked(key)
    const { erasedUpTo } = (await this.store.head(checked)) ?? {}
    return this.#pool.use(checked, work, { ...options, ...defined({ begunAfter: erasedUpTo }) })
  }

  async #drive(key: ContextKey): Promise<void> {
    await this.#gate.run(keyText(key), () =>
      this.#use(key, async (hosted) => {
        await hosted.drive((turn) => void this.#live.follow(key, turn))
        // A drive may run turns that nobody follows, so the journal says who is needed after it.
        await this.#notices.notify(hosted, key)
      }),
    )
  }

  async #follow(hosted: Hosted, key: ContextKey, turn: HostedTurn): Promise<void> {
    void turn.outcome.then((outcome) => this.#health.note(outcome))
    await this.#live.follow(key, turn)
    if ((await turn.outcome).requests.length > 0) await this.#notices.notify(hosted, key)
  }
}
