/** The config of an agent: its options, their defaults and their checks. */
import {
  type Clock,
  type Ids,
  processIdentity,
  systemClock,
  systemIds,
  systemTimer,
  type Timer,
} from '../base/index.ts'
import { copyJson } from '../drive/index.ts'
import { type LoopScope, type Telemetry, telemetryOption } from '../loop/index.ts'
import { type LogConfig, logTelemetry } from '../observe/index.ts'
import {
  atLeast,
  type ContextKey,
  checkMs,
  checkOptions,
  checkOwner,
  contextKey,
  defined,
  invalidOption,
  type JsonObject,
  LOCAL_OWNER,
  type OptionSet,
  type Owner,
  type Principal,
  shown,
} from '../protocol/index.ts'
import { checkStore, type Store } from '../store/index.ts'
import type { Credentials } from '../tool/index.ts'
import {
  type AutoCompact,
  compactionPlan,
  defineTurn,
  FOREIGN_CONFIG,
  type NodeTurn,
  TURN_CONFIG,
  type TurnConfig,
  type TurnDefinition,
} from '../turn/index.ts'

export interface AgentConfig<Output = unknown> extends TurnConfig<Output>, LogConfig {
  /** The name of the conversation. */
  readonly contextId: string
  /** The owner of the conversation; part of every key in the store. Default: actor `local` of tenant `local`. */
  readonly owner?: Owner
  /** The agent's name in events and logs. */
  readonly name?: string
  /** The store of the journal. Default: in memory, lost with the process. */
  readonly store?: Store
  /** False: entries that no effect depends on are buffered until `saveState`, `pause`, `shutdown` or the next turn. */
  readonly autoSave?: boolean
  /** Automatic compaction. True: drops the oldest turns when a turn ends with more than `maxMessages`. Default: off. */
  readonly autoCompact?: boolean | AutoCompact
  /** The most messages in a prompt. Default: 100. */
  readonly maxMessages?: number
  /** The most tokens of a prompt's messages, without system prompt and tools. Default: no limit. */
  readonly maxTokens?: number
  /** How a message is handled that arrives while a turn runs; see `executeTurn`. */
  readonly whileBusy?: WhileBusy
  /** Admits principals other than the owner. */
  readonly allow?: (principal: Principal) => boolean
  /** Looks up the credentials of a principal whose turn another process started. */
  readonly credentials?: (principal: Principal) => Promise<Credentials | undefined> | Credentials | undefined
  /** The metadata that a new conversation gets with its first turn. */
  readonly metadata?: JsonObject
  /** The parent conversation; erasing the parent erases this one. */
  readonly parent?: string
  /**
   * The last known position of `parent`. If the parent was erased since then, this conversation is not created below
   * its successor.
   */
  readonly parentSince?: number
  /** Observers of the turns of this agent and of those below it, such as `otel()` of holdfast/otel. */
  readonly telemetry?: Telemetry | readonly Telemetry[]
  /** How long ownership holds without renewal. Default: 30 seconds. */
  readonly leaseMs?: number
  /** Time and ids, for tests. */
  readonly clock?: Clock
  readonly timer?: Timer
  readonly ids?: Ids
}

/**
 * `queue`: becomes the next turn. `steer`: joins the running turn before its next model call. `interrupt`: cancels the
 * running turn. `reject`: is refused.
 */
export type WhileBusy = 'queue' | 'steer' | 'interrupt' | 'reject'

/** Set by nodes of graphs alone: the turn that they run, and the artifacts of the graph. */
export const NODE_SETUP: unique symbol = Symbol('holdfast.node-setup')

export interface NodeSetup {
  readonly nodeTurn?: NodeTurn
  readonly artifacts?: LoopScope['artifacts'] | undefined
}

/** The config with all defaults applied. */
export interface AgentSetup {
  readonly key: ContextKey
  readonly owner: Owner
  readonly name: string
  readonly definition: TurnDefinition
  readonly autoSave: boolean
  readonly maxMessages: number
  readonly maxTokens?: number
  readonly metadata?: JsonObject
  readonly whileBusy: WhileBusy
  readonly clock: Clock
  readonly timer: Timer
  readonly ids: Ids
  readonly driver: string
  readonly parent?: string
  readonly parentSince?: number
  readonly telemetry: readonly Telemetry[]
  readonly leaseMs: number
  readonly heartbeatMs: number
  /** The artifacts of tools, if they are not the conversation's own. */
  readonly artifacts?: LoopScope['artifacts']
}

const MAX_HEARTBEAT_MS = 1000
/** The id of a driver is bounded by stores, and a name is not. */
const MAX_NAME_IN_ID = 64
/** The longest lease that stores accept. */
const MAX_LEASE_MS = 24 * 60 * 60 * 1000

export function setUp(config: AgentConfig): AgentSetup {
  checkOptions(config, AGENT_CONFIG)
  checkStore(config.store)
  const owner = checkOwner(config.owner ?? LOCAL_OWNER)
  const { name = 'agent', maxMessages = 100, maxTokens, leaseMs = 30_000, ids = systemIds } = config
  atLeast('maxMessages', maxMessages, 1)
  if (maxTokens !== undefined) atLeast('maxTokens', maxTokens, 1)
  const compact = compactionPlan(config.autoCompact, maxMessages)
  checkMs('leaseMs', leaseMs, 1)
  if (!Number.isSafeInteger(leaseMs) || leaseMs > MAX_LEASE_MS)
    throw invalidOption('leaseMs', `must be whole milliseconds, at most a day, not ${shown(leaseMs)}`)
  const key = contextKey({ ...owner, contextId: config.contextId })
  const { nodeTurn, artifacts } = (config as { readonly [NODE_SETUP]?: NodeSetup })[NODE_SETUP] ?? {}
  const definition = { ...defineTurn({ ...config, ...defined({ compact }) }), ...defined({ nodeTurn }) }
  return {
    key,
    owner,
    name,
    definition,
    autoSave: config.autoSave ?? true,
    maxMessages,
    ...defined({ maxTokens }),
    ...(config.metadata === undefined ? {} : { metadata: copyJson('metadata', config.metadata) }),
    whileBusy: config.whileBusy ?? 'queue',
    clock: config.clock ?? systemClock,
    timer: config.timer ?? systemTimer,
    ids,
    driver: `${processIdentity()}#${ids.next(name.slice(0, MAX_NAME_IN_ID).replaceAll(/[^\w.-]/g, '_'))}`,
    ...defined({ parent: config.parent, parentSince: config.parentSince }),
    telemetry: [...telemetryOption(config.telemetry), ...logsOf(config, { key, name, definition })],
    leaseMs,
    heartbeatMs: Math.min(MAX_HEARTBEAT_MS, leaseMs / 3),
    ...defined({ artifacts }),
  }
}

function logsOf(
  config: AgentConfig,
  { key, name, definition }: Pick<AgentSetup, 'key' | 'name' | 'definition'>,
): readonly Telemetry[] {
  return logTelemetry(config, {
    key,
    name,
    isNamed: config.name !== undefined,
    model: definition.models[0]?.name ?? '',
    clock: config.clock ?? systemClock,
    storePath: config.store?.path,
  })
}

export const WHILE_BUSY: readonly WhileBusy[] = ['queue', 'steer', 'interrupt', 'reject']

const AGENT_CONFIG: OptionSet<AgentConfig> = {
  place: 'The config of an agent',
  options: {
    ...TURN_CONFIG,
    contextId: null,
    owner: 'an object',
    name: 'a text',
    store: null,
    autoSave: 'true or false',
    autoCompact: null,
    maxMessages: null,
    maxTokens: null,
    whileBusy: WHILE_BUSY,
    allow: 'a function',
    credentials: 'a function',
    metadata: 'an object',
    parent: 'a text',
    parentSince: null,
    telemetry: null,
    quiet: 'true or false',
    log: null,
    sessions: null,
    logger: null,
    leaseMs: null,
    clock: 'an object',
    timer: 'a timer with wait() and after()',
    ids: 'an object',
  },
  foreign: {
    ...FOREIGN_CONFIG,
    id: 'contextId',
    threadId: 'contextId',
    thread_id: 'contextId',
    sessionId: 'contextId',
    conversationId: 'contextId',
    actorId: 'owner: { tenant, actor }',
    userId: 'owner: { tenant, actor }',
    actor: 'owner: { tenant, actor }',
    tenant: 'owner: { tenant, actor }',
    checkpointer: 'store',
    session: 'store',
    memory: 'store',
    messageStore: 'store',
    stateStore: 'store',
    artifactStore: 'store',
    tracing: 'telemetry',
    trust: '`trust` in createHost({ agents })',
    authContext: '`auth` in executeTurn()',
    auth: '`auth` in executeTurn()',
    signal: '`signal` in executeTurn()',
    abortSignal: '`signal` in executeTurn()',
  },
}
