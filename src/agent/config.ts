/** What an agent is made of, and what follows from leaving something out. */
import {
  type Clock,
  type Ids,
  processIdentity,
  systemClock,
  systemIds,
  systemTimer,
  type Timer,
} from '../base/index.ts'
import { checkStore, copyJson } from '../drive/index.ts'
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
import type { Store } from '../store/index.ts'
import type { Credentials } from '../tool/index.ts'
import {
  type AutoCompact,
  compactionPlan,
  defineTurn,
  FOREIGN_CONFIG,
  TURN_CONFIG,
  type TurnConfig,
  type TurnDefinition,
} from '../turn/index.ts'

export interface AgentConfig extends TurnConfig {
  /** Names the conversation. */
  readonly contextId: string
  /** Whose conversation it is; `local` of `local` unless said otherwise. Part of every key of the store (R20). */
  readonly owner?: Owner
  /** What the agent is called, in events and logs. */
  readonly name?: string
  /** Where the journal is. In memory unless said otherwise, and then gone with the process. */
  readonly store?: Store
  /** False: what no effect depends on is held back until `saveState`, `pause`, `shutdown` or the next turn. */
  readonly autoSave?: boolean
  /** Compacts by itself. True: the oldest turns go when one ends with more than `maxMessages`. Off unless said otherwise. */
  readonly autoCompact?: boolean | AutoCompact
  /** The most messages that a prompt gets; 100 unless said otherwise. */
  readonly maxMessages?: number
  /** The most tokens that the messages of a prompt have; without system prompt and tools. No limit unless said otherwise. */
  readonly maxTokens?: number
  /** What happens to a message that comes while a turn runs; see `executeTurn`. */
  readonly whileBusy?: WhileBusy
  /** Whom besides the owner to let in (R20). */
  readonly allow?: (principal: Principal) => boolean
  /** Where a process finds the secrets of somebody whose turn it did not begin (R19). */
  readonly credentials?: (principal: Principal) => Promise<Credentials | undefined> | Credentials | undefined
  /** What a conversation without metadata of its own gets with its first turn. */
  readonly metadata?: JsonObject
  /** The conversation that this one belongs to and is erased with (R17). */
  readonly parent?: string
  /** The last known position of `parent`: if that was erased since, this one is not begun below what has its name now. */
  readonly parentSince?: number
  /** How long ownership holds without renewal; 30 seconds unless said otherwise. */
  readonly leaseMs?: number
  /** Time and ids, for tests. */
  readonly clock?: Clock
  readonly timer?: Timer
  readonly ids?: Ids
}

/**
 * `queue`: it becomes the next turn. `steer`: the running turn hears it before the next model call. `interrupt`: the
 * running turn is cancelled for it. `reject`: it is refused.
 */
export type WhileBusy = 'queue' | 'steer' | 'interrupt' | 'reject'

/** The config with everything decided. */
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
  readonly leaseMs: number
  readonly heartbeatMs: number
}

const MAX_HEARTBEAT_MS = 1000
/** What stores allow. */
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
  return {
    key: contextKey({ ...owner, contextId: config.contextId }),
    owner,
    name,
    definition: defineTurn({ ...config, ...defined({ compact }) }),
    autoSave: config.autoSave ?? true,
    maxMessages,
    ...defined({ maxTokens }),
    ...(config.metadata === undefined ? {} : { metadata: copyJson('metadata', config.metadata) }),
    whileBusy: config.whileBusy ?? 'queue',
    clock: config.clock ?? systemClock,
    timer: config.timer ?? systemTimer,
    ids,
    driver: `${processIdentity()}#${ids.next(name.replaceAll(/[^\w.-]/g, '_'))}`,
    ...defined({ parent: config.parent, parentSince: config.parentSince }),
    leaseMs,
    heartbeatMs: Math.min(MAX_HEARTBEAT_MS, leaseMs / 3),
  }
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
    leaseMs: null,
    clock: 'an object',
    timer: 'an object',
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
    authContext: '`auth` in executeTurn()',
    auth: '`auth` in executeTurn()',
    signal: '`signal` in executeTurn()',
    abortSignal: '`signal` in executeTurn()',
  },
}
