/** The options of graphs, the rules that check them, and their names in other frameworks. */
import type { Clock, Ids, Timer } from '../base/index.ts'
import type { Auth } from '../drive/index.ts'
import type { Telemetry } from '../loop/index.ts'
import type { Logger } from '../observe/index.ts'
import {
  type ForeignNames,
  type Json,
  type JsonObject,
  KEY_FORM,
  type OptionRules,
  type OptionSet,
  type Owner,
  type Principal,
} from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import type { Credentials, StandardSchema } from '../tool/index.ts'
import type { Channels, StateOf, UpdateOf } from './channel.ts'
import type { RetryPolicy, StepOptions } from './definition.ts'
import type { GraphLimits } from './run.ts'

export interface GraphConfig<C extends Channels> {
  /** The graph's name in the journal. */
  readonly name?: string
  /** The channels of the state: `{ question: value<string>(), notes: list<Note>() }`. */
  readonly state: C
}

export interface NodeOptions {
  /** Retries a failed node: the number of attempts in all, or a policy. */
  readonly retry?: number | Partial<RetryPolicy>
  /** Ends the wait for the node. Its `step` effects are still not repeated. */
  readonly timeoutMs?: number
}

/** The options of a node that is a function. */
export interface FunctionOptions<S extends StandardSchema> extends NodeOptions {
  /** The schema of the input that a `Send` brings: `context.input` has its type and its output. */
  readonly input?: S
}

export interface RunnableOptions<C extends Channels, I, O> extends NodeOptions {
  /**
   * Maps the state, and the input of a `Send` if there was one, to the child's input. Default for a graph: the channels
   * with the same names; for a model and for tools: the channel `messages`, or the messages of the `Send`.
   */
  readonly input?: (state: StateOf<C>, sent: Json | undefined) => I
  /** Maps the child's output to an update. Defaults as for `input`. */
  readonly output?: (output: O, state: StateOf<C>) => UpdateOf<C>
}

/** The options of one turn of a graph. */
export interface GraphTurnOptions {
  readonly auth?: Auth
  readonly signal?: AbortSignal
  readonly limits?: GraphLimits
  readonly metadata?: JsonObject
  readonly key?: string
}

export interface GraphOptions {
  /** The store of the journals. Default: in memory, lost with the process. */
  readonly store?: Store
  /** The limits of every run. Default: 50 steps. */
  readonly limits?: GraphLimits
  /** How long a question without its own limit stays open. Default: 7 days. */
  readonly requestTtlMs?: number
  /** How long a cancelled node may take to end. Default: 5 seconds. */
  readonly graceMs?: number
  /** Claims without progress before a run fails. Default: 5. */
  readonly maxClaims?: number
  readonly leaseMs?: number
  /** Admits principals other than the owner. */
  readonly allow?: (principal: Principal) => boolean
  /** Looks up the credentials of a principal whose run another process started. */
  readonly credentials?: (principal: Principal) => Promise<Credentials | undefined> | Credentials | undefined
  /** Observers of the runs of this graph and of what runs below it, such as `otel()` of holdfast/otel. */
  readonly telemetry?: Telemetry | readonly Telemetry[]
  /** Gets one call for each step of a run: pino, a logger of its shape, or `console`. */
  readonly logger?: Logger
  /** Time and ids, for tests. */
  readonly clock?: Clock
  readonly timer?: Timer
  readonly ids?: Ids
}

export interface ContextRef {
  /** The name of the conversation: a run starts with the state that the last run left. Default: a new conversation. */
  readonly contextId?: string
  readonly owner?: Owner
}

export interface GraphCancelOptions {
  readonly reason?: string
  /** The number of the turn. Default: the one that runs, or the last one if it waits. */
  readonly turn?: number
}

export interface GraphRunOptions extends ContextRef, GraphTurnOptions {}

/** Option rules whose `place` is set at the call. */
type Rules<T> = Omit<OptionSet<T>, 'place'>

const STEPS = 'limits: { steps }'

const FOREIGN_STEPS: ForeignNames = {
  recursionLimit: STEPS,
  recursion_limit: STEPS,
  maxSteps: STEPS,
  maxIterations: STEPS,
}

const FOREIGN_CONTEXT: ForeignNames = Object.fromEntries(
  ['configurable', 'thread_id', 'threadId', 'sessionId', 'conversationId'].map((name) => [name, 'contextId']),
)

export const GRAPH_CONFIG: OptionSet<GraphConfig<Channels>> = {
  place: 'graph()',
  options: { name: 'a text', state: null },
  foreign: { channels: 'state', stateSchema: 'state', ...FOREIGN_STEPS, store: '`store` in compile()' },
}

export const COMPILE: OptionSet<GraphOptions> = {
  place: 'compile()',
  options: {
    store: null,
    limits: null,
    requestTtlMs: { leastMs: 1 },
    graceMs: { leastMs: 0 },
    maxClaims: { least: 1 },
    leaseMs: { leastMs: 1 },
    telemetry: null,
    logger: null,
    allow: 'a function',
    credentials: 'a function',
    clock: 'an object',
    timer: 'a timer with wait() and after()',
    ids: 'an object',
  },
  foreign: {
    ...FOREIGN_STEPS,
    checkpointer: 'store',
    name: '`name` in graph()',
    interruptBefore: 'context.interrupt() in the node',
    interruptAfter: 'context.interrupt() in the node',
  },
}

export const RUN: OptionSet<GraphRunOptions> = {
  place: 'A run of a graph',
  options: {
    contextId: null,
    owner: 'an object',
    auth: null,
    signal: 'an AbortSignal',
    limits: null,
    metadata: null,
    key: KEY_FORM,
  },
  foreign: {
    ...FOREIGN_STEPS,
    ...FOREIGN_CONTEXT,
    abortSignal: 'signal',
    timeout: 'limits: { durationMs }',
    timeoutMs: 'limits: { durationMs }',
    ...Object.fromEntries(
      ['actorId', 'credentials', 'authContext', 'principal'].map((name) => [
        name,
        'auth: { actor, credentials }',
      ]),
    ),
    context: 'metadata',
    idempotencyKey: 'key',
    streamMode: 'nothing: stream() gives all events, with `type` and `path`,',
  },
}

export const WHERE: Rules<ContextRef> = {
  options: { contextId: null, owner: 'an object' },
  foreign: FOREIGN_CONTEXT,
}

export const CANCEL: OptionRules<GraphCancelOptions> = { reason: 'a text', turn: 'a number' }

export const GRAPH_LIMITS: OptionSet<GraphLimits> = {
  place: 'limits',
  options: { steps: null, durationMs: null, tokens: null, costUsd: null },
  foreign: {
    ...Object.fromEntries(
      ['recursionLimit', 'maxSteps', 'iterations', 'maxIterations'].map((name) => [name, 'steps']),
    ),
    timeoutMs: 'durationMs',
    maxTokens: 'tokens',
  },
}

const FOREIGN_NODE: ForeignNames = { retryPolicy: 'retry', timeout: 'timeoutMs' }

export const NODE: Rules<FunctionOptions<StandardSchema>> = {
  options: { retry: null, timeoutMs: null, input: null },
  foreign: FOREIGN_NODE,
}

export const RUNNABLE: Rules<RunnableOptions<Channels, never, never>> = {
  options: { retry: null, timeoutMs: null, input: 'a function', output: 'a function' },
  foreign: FOREIGN_NODE,
}

export const RETRY: Rules<RetryPolicy> = {
  options: { attempts: null, waitMs: null, factor: null, maxWaitMs: null, when: 'a function' },
  foreign: {
    maxAttempts: 'attempts',
    initialInterval: 'waitMs',
    backoffFactor: 'factor',
    maxInterval: 'maxWaitMs',
    retryOn: 'when',
  },
}

export const STEP: Rules<StepOptions<unknown>> = {
  options: { replay: ['never', 'safe'], timeoutMs: { leastMs: 1 }, verify: 'a function' },
  foreign: { timeout: 'timeoutMs', idempotent: "replay: 'safe'", retry: '`retry` of the node' },
}
