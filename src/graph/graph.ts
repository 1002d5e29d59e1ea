/**
 * A runnable graph: started by values, by answers, or from where it stopped. Holds no state between runs; the journal does.
 */
import { systemClock, systemIds, systemTimer } from '../base/index.ts'
import {
  attachCause,
  type ChildContext,
  type ChildResult,
  checkUnkeyed,
  leastLimits,
  metadataBelow,
  problemOf,
  type Runnable,
  runChild,
  type TurnError,
} from '../drive/index.ts'
import { fold, forkContext, loadSession, type Session, withChanges } from '../journal/index.ts'
import { type Telemetry, telemetryOption } from '../loop/index.ts'
import { loggerObservers } from '../observe/index.ts'
import {
  atLeast,
  type ContextKey,
  checkOptions,
  checkOwner,
  childKey,
  contextKey,
  defined,
  type EntryData,
  type ErrorCode,
  HoldfastError,
  invalidOption,
  type Json,
  type JsonObject,
  keyText,
  LOCAL_OWNER,
  limitText,
  quote,
  type RequestData,
  shown,
} from '../protocol/index.ts'
import { checkStore, type Store } from '../store/index.ts'
import { memoryStore } from '../store/memory/index.ts'
import { convertedChanges } from './adopt-channels.ts'
import type { Channels, InputOf, StateOf } from './channel.ts'
import type { GraphDefinition } from './definition.ts'
import { GraphConversation, type GraphConversationOptions } from './graph-conversation.ts'
import {
  CANCEL,
  COMPILE,
  type ContextRef,
  GRAPH_LIMITS,
  type GraphCancelOptions,
  type GraphOptions,
  type GraphRunOptions,
  type GraphTurnOptions,
  RUN,
  WHERE,
} from './graph-options.ts'
import { type GraphOutcome, type GraphRun, graphRun } from './graph-run.ts'
import { type MermaidOptions, toMermaid } from './mermaid.ts'
import type { GraphLimits } from './run.ts'
import { type RunTrace, traceRun } from './run-trace.ts'
import { freezeState, plainState } from './state-view.ts'
import { checkedUpdate, initialChanges } from './update.ts'

/** The state of a graph's conversation at one position. */
export interface GraphSnapshot<C extends Channels> {
  /** The last entry included. */
  readonly seq: number
  readonly turn: number
  readonly step: number
  readonly state: StateOf<C>
  /** The nodes of the last finished step. */
  readonly after: readonly string[]
  /** Tasks that are due, or due again. */
  readonly next: readonly { readonly task: string; readonly node: string }[]
}

const WEEK_MS = 7 * 24 * 60 * 60 * 1000

export class Graph<C extends Channels> implements Runnable<InputOf<C>, StateOf<C>> {
  /** The definition, for a graph that has this one as a node. */
  readonly '~graph': GraphDefinition
  /** The graph as a child that begins with the values of its channels. */
  readonly '~fromState': Runnable<never, unknown> = {
    '~run': (below, state) => this.#runBelow(below, state, { isState: true }),
  }
  readonly #options: GraphOptions
  readonly #telemetry: readonly Telemetry[]
  readonly #store: Store
  /** Unfinished runs of this process by conversation, in the order of the calls. */
  readonly #live = new Map<string, Set<GraphConversation>>()

  constructor(definition: GraphDefinition, options: GraphOptions) {
    checkOptions(options, COMPILE)
    checkStore(options.store)
    checkLimits(options.limits)
    this['~graph'] = definition
    this.#options = options
    this.#telemetry = [...telemetryOption(options.telemetry), ...loggerObservers(options.logger)]
    this.#store = options.store ?? memoryStore()
  }

  get name(): string {
    return this['~graph'].name
  }

  get store(): Store {
    return this.#store
  }

  /**
   * Runs the graph, and resolves when it ends or has to wait: `status` says which. `null` continues where it stopped.
   * Rejects with `limit-reached`, `node-failed` or `cancelled`: the progress is in the journal, and `null` continues. A
   * run that cannot start rejects with the reason. `stream(…).outcome` reports the same without rejecting.
   */
  async invoke(input: InputOf<C> | null, options: GraphRunOptions = {}): Promise<GraphOutcome<C>> {
    const run = this.stream(input, options)
    return successOf(await run.outcome, { name: this.name, contextId: run.contextId })
  }

  /** Runs the graph and streams its events. Starts at once, with or without a listener; its outcome never rejects. */
  stream(input: InputOf<C> | null, options: GraphRunOptions = {}): GraphRun<C> {
    return this.#run(options, (conversation) => {
      checkOptions(options, RUN)
      checkUnkeyed(input, options.key)
      checkKey(options)
      checkLimits(options.limits)
      const values =
        input === null ? null : checkedUpdate(this['~graph'].channels, { source: 'the input' }, input)
      return conversation.begin(values, options)
    })
  }

  /** Answers some or all open requests by their ids; the answered tasks continue. */
  answer(
    answers: Readonly<Record<string, Json>>,
    options: GraphRunOptions & { readonly contextId: string },
  ): GraphRun<C> {
    return this.#run(options, (conversation) => {
      if (options?.contextId === undefined)
        throw invalidOption('contextId', 'is missing: write answer(answers, { contextId })')
      checkOptions(options, RUN)
      checkLimits(options.limits)
      return conversation.answer(answers, options)
    })
  }

  /** Requests that wait for an answer, oldest first. */
  async requests(where: ContextRef & { readonly contextId: string }): Promise<readonly RequestData[]> {
    checkOptions(where, { place: 'requests()', ...WHERE })
    return this.#conversation(this.#key(where)).requests()
  }

  /** Cancels the current run, or the one of `turn` and no other, whichever process drives it. */
  async cancel(where: ContextRef & { readonly contextId: string } & GraphCancelOptions): Promise<void> {
    checkOptions(where, { place: 'cancel()', ...WHERE, options: { ...WHERE.options, ...CANCEL } })
    const { reason, turn } = where
    const key = this.#key(where)
    const [first = this.#conversation(key)] = this.#live.get(keyText(key)) ?? []
    await (turn === undefined ? first.cancel(reason) : first.cancelTurn(turn, reason))
  }

  /** For hosts: continues an open run, unread values or an expired request, until no work is left. */
  async drive(where: ContextRef & { readonly contextId: string }): Promise<void> {
    checkOptions(where, { place: 'drive()', ...WHERE })
    const key = this.#key(where)
    const conversation = this.#conversation(key)
    const leave = this.#enter(key, conversation)
    try {
      await conversation.drive()
    } finally {
      leave()
      await conversation.close()
    }
  }

  /**
   * Releases a conversation that this process runs, after the effects under way; any process may go on with it. Effects
   * that have not ended after `graceMs` (default: 30 seconds) are left: the run stays owned by this process until they end.
   */
  async shutdown(
    where: ContextRef & { readonly contextId: string; readonly graceMs?: number },
  ): Promise<void> {
    checkOptions(where, {
      place: 'shutdown()',
      ...WHERE,
      options: { ...WHERE.options, graceMs: { leastMs: 0 } },
    })
    const conversations = [...(this.#live.get(keyText(this.#key(where))) ?? [])]
    await Promise.all(conversations.map((conversation) => conversation.close(where.graceMs)))
  }

  /** The current state, or the state after entry `at`; undefined if the graph never ran. */
  async getState(
    where: ContextRef & { readonly contextId: string; readonly at?: number },
  ): Promise<GraphSnapshot<C> | undefined> {
    checkOptions(where, { place: 'getState()', ...WHERE, options: { ...WHERE.options, at: { least: 0 } } })
    const session = await loadSession(this.#store, this.#key(where), where.at)
    return session.graph === undefined ? undefined : this.#snapshot(session)
  }

  /** The state after each step, oldest first. */
  async *history(where: ContextRef & { readonly contextId: string }): AsyncGenerator<GraphSnapshot<C>> {
    checkOptions(where, { place: 'history()', ...WHERE })
    const key = this.#key(where)
    // Pruned steps are gone; the history starts at the base.
    const { upTo = 0 } = ((await this.#store.base(key))?.data ?? {}) as Partial<EntryData['base']>
    let session = await loadSession(this.#store, key, upTo)
    for (;;) {
      const entries = await this.#store.read(key, { from: session.seq + 1, limit: 200 })
      for (const entry of entries) {
        session = fold([entry], session)
        if (entry.type !== 'graph.start' && entry.type !== 'graph.step') continue
        // The caller must not change what later snapshots are folded from.
        freezeState(session.graph?.state ?? {})
        yield this.#snapshot(session)
      }
      if (entries.length === 0) return
    }
  }

  /** Creates a new conversation from this one's state, up to its end or to entry `at`. */
  async fork(
    where: ContextRef & { readonly contextId: string; readonly to: string; readonly at?: number },
  ): Promise<void> {
    checkOptions(where, {
      place: 'fork()',
      ...WHERE,
      options: { ...WHERE.options, to: null, at: { least: 0 } },
    })
    const { to, at } = where
    if (to === undefined)
      throw invalidOption('to', "is missing: write fork({ contextId, to: 'the name of the branch' })")
    await forkContext(this.#store, this.#key(where), { contextId: to, ...defined({ at }) })
  }

  /** A Mermaid flowchart: GitHub, editors and mermaid.live draw it. With a trace, it shows the run. */
  toMermaid(options: MermaidOptions = {}): string {
    return toMermaid(this['~graph'], options)
  }

  /** The nodes and edges used by a conversation's newest run, or by the run up to the end of `turn`. */
  async trace(where: ContextRef & { readonly contextId: string; readonly turn?: number }): Promise<RunTrace> {
    checkOptions(where, { place: 'trace()', ...WHERE, options: { ...WHERE.options, turn: { least: 1 } } })
    return traceRun(this.#store, this.#key(where), where.turn)
  }

  /** Runs the graph as a child, such as a node of another graph. */
  '~run'(below: ChildContext, input: InputOf<C>): Promise<ChildResult<StateOf<C>>> {
    return this.#runBelow(below, input)
  }

  async #runBelow(
    below: ChildContext,
    input: InputOf<C>,
    given: Pick<GraphConversationOptions, 'isState'> = {},
  ): Promise<ChildResult<StateOf<C>>> {
    const { childScope, name, principal, credentials, signal, limits } = below
    const metadata = metadataBelow(below)
    const { contextId, owner, ...ports } = childScope.config
    const key = childKey({ ...owner, contextId }, name)
    const conversation = this.#conversation(key, {
      ...ports,
      ...given,
      parent: contextId,
      // The caller has let the principal in; only an `allow` of the graph's own can refuse it.
      allow: this.#options.allow ?? (() => true),
      credentials: () => credentials,
    })
    const values = checkedUpdate(this['~graph'].channels, { source: `the input of ${name}` }, input)
    const own = leastLimits(this.#options.limits, limits)
    const options: GraphTurnOptions = {
      auth: { ...principal, ...defined({ credentials }) },
      signal,
      ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
      ...(Object.keys(own).length === 0 ? {} : { limits: own }),
      key: `call:${name}`,
    }
    const outcome = await runChild(conversation.asChild(values, options), below)
    const session = await loadSession(ports.store, key)
    const seen = session.graph?.seen
    return {
      outcome: attachCause({ ...outcome, usage: session.totals.usage }, outcome.cause),
      output: this.#stateOf(session),
      ...defined({ seen }),
    }
  }

  #run(
    options: GraphRunOptions | undefined,
    begin: (conversation: GraphConversation) => ReturnType<GraphConversation['begin']>,
  ): GraphRun<C> {
    const contextId = options?.contextId ?? (this.#options.ids ?? systemIds).next('run')
    const key = this.#key({ ...options, contextId })
    const conversation = this.#conversation(key)
    const leave = this.#enter(key, conversation)
    let turn: ReturnType<GraphConversation['begin']>
    try {
      turn = begin(conversation)
    } catch (error) {
      turn = conversation.refused(error)
    }
    return graphRun<C>({
      contextId,
      turn,
      stateAt: async (seq) => {
        const { session, isLoaded } = conversation.journal
        const isThere = isLoaded && seq !== undefined && session.seq === seq
        return this.#stateOf(isThere ? session : await loadSession(this.#store, key, seq))
      },
      lastState: () => this.#stateOf(conversation.journal.session),
      done: async () => {
        await conversation.queuedRuns()
        leave()
        await conversation.close()
      },
    })
  }

  /** Makes a run of this process known to `cancel` and `shutdown`, until the returned function is called. */
  #enter(key: ContextKey, conversation: GraphConversation): () => void {
    const name = keyText(key)
    const live = this.#live.get(name) ?? new Set()
    this.#live.set(name, live.add(conversation))
    return () => {
      live.delete(conversation)
      if (live.size === 0) this.#live.delete(name)
    }
  }

  #key({ contextId, owner }: ContextRef & { readonly contextId: string }): ContextKey {
    return contextKey({ ...checkOwner(owner ?? LOCAL_OWNER), contextId })
  }

  #conversation(key: ContextKey, ports: Partial<GraphConversationOptions> = {}): GraphConversation {
    const { clock = systemClock, timer = systemTimer, ids = systemIds, leaseMs = 30_000 } = this.#options
    const { requestTtlMs = WEEK_MS, maxClaims = 5, graceMs = 5000, limits = {} } = this.#options
    const { allow, credentials } = this.#options
    return new GraphConversation({
      definition: this['~graph'],
      key,
      store: this.#store,
      terms: { requestTtlMs, maxClaims, graceMs },
      limits,
      clock,
      timer,
      ids,
      leaseMs,
      telemetry: this.#telemetry,
      ...defined({ allow, credentials }),
      ...ports,
    })
  }

  /** The state that the next run would begin with: initial values for new channels, converted values for changed ones. */
  #stateOf({ graph }: Session): StateOf<C> {
    const definition = this['~graph']
    const { channels, kinds } = definition
    const state = graph?.state ?? {}
    const changes = { ...initialChanges(definition, state), ...convertedChanges(definition, graph) }
    const whole = withChanges(state, kinds, changes)
    return plainState(whole, channels) as StateOf<C>
  }

  #snapshot(session: Session): GraphSnapshot<C> {
    const { seq, turn, graph } = session
    const open = graph?.tasks.filter(({ state }) => state !== 'ended') ?? []
    return {
      seq,
      turn,
      step: graph?.step ?? 0,
      state: this.#stateOf(session),
      after: graph?.after ?? [],
      next: open.map(({ task, node }) => ({ task, node })),
    }
  }
}

/** A key is looked up in one conversation: in a new one it would never be found again. */
function checkKey({ key, contextId }: GraphRunOptions): void {
  if (key === undefined || contextId !== undefined) return
  throw invalidOption(
    'key',
    `needs a contextId: a key is known in one conversation, and without a contextId each run has one of its own. Write { contextId: "order-7", key: ${quote(key)} }`,
  )
}

function checkLimits(limits: GraphLimits = {}): void {
  if (typeof limits !== 'object' || limits === null)
    throw invalidOption('limits', `must be an object such as { steps: 100 }, not ${shown(limits)}`)
  checkOptions(limits, GRAPH_LIMITS)
  for (const [name, value] of Object.entries(limits) as [string, JsonObject[string]][]) {
    if (value !== undefined) atLeast(`limits.${name}`, value, name === 'steps' ? 1 : 0)
  }
}

function successOf<C extends Channels>(
  outcome: GraphOutcome<C>,
  { name, contextId }: { readonly name: string; readonly contextId: string },
): GraphOutcome<C> {
  const { status, reason, error, turn, limit, maximum } = outcome
  if (limit !== undefined)
    throw new HoldfastError('limit-reached', {
      message: `${name} was stopped by its limit on ${limitText(outcome)} and is not finished. Its progress is stored: invoke(null, { contextId: ${quote(contextId)} }) goes on, \`limits: { ${limit} }\` allows more.`,
      details: { limit, maximum: maximum ?? null, turn, contextId },
    })
  if (status !== 'failed' && status !== 'cancelled') return outcome
  const { code, message } = error ?? problemOf(new Error(`The run of ${name} was ${reason}.`))
  const { node, task = null }: Partial<TurnError> = error ?? {}
  // A turn that never began has no number.
  const known = turn === 0 ? (code as ErrorCode) : 'node-failed'
  throw new HoldfastError(status === 'cancelled' ? 'cancelled' : known, {
    message: typeof node === 'string' ? `Node ${node} failed: ${message}` : message,
    details: { code, turn, ...(node === undefined ? {} : { node, task }) },
    cause: outcome.cause,
  })
}
