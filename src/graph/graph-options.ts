/** The options of graphs, the rules that check them, and what other frameworks call them. */
import type { Clock, Ids, Timer } from '../base/index.ts'
import type { Auth } from '../drive/index.ts'
import type { ForeignNames, JsonObject, OptionSet, Owner, Principal } from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import type { Credentials } from '../tool/index.ts'
import type { Channels, StateOf, UpdateOf } from './channel.ts'
import type { RetryPolicy, StepOptions } from './definition.ts'
import type { GraphLimits } from './run.ts'

export interface GraphConfig<C extends Channels> {
  /** What it is called, in the journal. */
  readonly name?: string
  /** The parts of the state: `{ question: value<string>(), notes: list<Note>() }`. */
  readonly state: C
}

export interface NodeOptions {
  /** Tries again when it fails: so often in all, waiting in between. */
  readonly retry?: number | Partial<RetryPolicy>
  /** When to stop waiting for it. What it does in steps is safe from being done twice. */
  readonly timeoutMs?: number
}

export interface RunnableOptions<C extends Channels, I, O> extends NodeOptions {
  /** What an agent is asked, or what a graph is given. A graph is given what has the same name, unless said otherwise. */
  readonly input?: (state: StateOf<C>) => I
  /** What it says, from what came out. Of a graph it is what has the same name, unless said otherwise. */
  readonly output?: (output: O, state: StateOf<C>) => UpdateOf<C>
}

/** How one turn of it is asked for. */
export interface Asking {
  readonly auth?: Auth
  readonly signal?: AbortSignal
  readonly limits?: GraphLimits
  readonly metadata?: JsonObject
  readonly key?: string
}

export interface GraphOptions {
  /** Where the journals are. In memory unless said otherwise, and then gone with the process. */
  readonly store?: Store
  /** What every run may use at most; 50 steps unless said otherwise. */
  readonly limits?: GraphLimits
  /** How long somebody may take to answer a question that does not say; 7 days unless said otherwise. */
  readonly requestTtlMs?: number
  /** How long a node that is cancelled may take to come to an end; 5 seconds unless said otherwise. */
  readonly graceMs?: number
  /** Claims without progress before a run is given up (R7); 5 unless said otherwise. */
  readonly maxClaims?: number
  readonly leaseMs?: number
  /** Whom besides the owner to let in (R20). */
  readonly allow?: (principal: Principal) => boolean
  /** Where a process finds the secrets of somebody whose run it did not begin (R19). */
  readonly credentials?: (principal: Principal) => Promise<Credentials | undefined> | Credentials | undefined
  /** Time and ids, for tests. */
  readonly clock?: Clock
  readonly timer?: Timer
  readonly ids?: Ids
}

export interface Where {
  /** Names the conversation: a run on the same one begins with the state that the last one left. A new one unless said otherwise. */
  readonly contextId?: string
  readonly owner?: Owner
}

export interface GraphRunOptions extends Where, Asking {}

/** The place of these is known where they are used. */
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
    allow: 'a function',
    credentials: 'a function',
    clock: 'an object',
    timer: 'an object',
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
    key: 'a text',
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

export const WHERE: Rules<Where> = {
  options: { contextId: null, owner: 'an object' },
  foreign: FOREIGN_CONTEXT,
}

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

export const NODE: Rules<NodeOptions> = { options: { retry: null, timeoutMs: null }, foreign: FOREIGN_NODE }

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
  options: { replay: ['never', 'safe'], timeoutMs: null, verify: 'a function' },
  foreign: { timeout: 'timeoutMs', idempotent: "replay: 'safe'", retry: '`retry` of the node' },
}
