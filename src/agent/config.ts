/** What an agent is made of, and what follows from leaving something out. */
import { readFile } from 'node:fs/promises'
import { type Clock, type Ids, processIdentity, systemClock, systemIds, systemTimer, type Timer } from '../base/index.ts'
import { modelName, type ModelOptions, type ModelRef, resolveModel } from '../model/index.ts'
import {
  type ContextKey,
  checkOwner,
  contextKey,
  HoldfastError,
  type JsonObject,
  LOCAL_OWNER,
  type Owner,
  type Principal,
} from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import type { Credentials, Tool } from '../tool/index.ts'
import type { Limits, ModelSource, TurnDefinition, TurnInfo } from '../turn/index.ts'

export interface AgentConfig {
  /** Names the conversation. */
  readonly contextId: string
  /** Whose conversation it is; `local` of `local` unless said otherwise. Part of every key of the store (R20). */
  readonly owner?: Owner
  /** What the agent is called, in events and logs. */
  readonly name?: string
  /** An AI SDK model, a name such as `openai/gpt-4.1-mini`, or several: the others are asked when the first fails. */
  readonly model?: ModelRef | readonly ModelRef[]
  /** Temperature, keys, timeouts, retries and what else models take. */
  readonly settings?: ModelOptions
  readonly tools?: readonly Tool[] | ((turn: TurnInfo) => readonly Tool[] | Promise<readonly Tool[]>)
  /** The text, a path that ends in `.md` or `.txt`, or a function of the turn. */
  readonly systemPrompt?: string | ((turn: TurnInfo) => string | undefined | Promise<string | undefined>)
  /** Where the journal is. In memory unless said otherwise, and then gone with the process. */
  readonly store?: Store
  /** False: what no effect depends on is held back until `saveState`, `pause`, `shutdown` or the next turn. */
  readonly autoSave?: boolean
  /** Compacts the window to half of `maxMessages` when a turn ends with more than that. Off unless said otherwise. */
  readonly autoCompact?: boolean
  /** The most messages that a prompt gets; 100 unless said otherwise. */
  readonly maxMessages?: number
  readonly limits?: Limits
  /** What happens to a message that comes while a turn runs; see `executeTurn`. */
  readonly whileBusy?: WhileBusy
  /** Whom besides the owner to let in (R20). */
  readonly allow?: (principal: Principal) => boolean
  /** Where a process finds the secrets of somebody whose turn it did not begin (R19). */
  readonly credentials?: (principal: Principal) => Promise<Credentials | undefined> | Credentials | undefined
  readonly metadata?: JsonObject
  /** How long an input request waits; 7 days unless said otherwise. */
  readonly requestTtlMs?: number
  /** How long a cancelled tool may take to come to an end; 5 seconds unless said otherwise. */
  readonly graceMs?: number
  /** How long ownership holds without renewal; 30 seconds unless said otherwise. */
  readonly leaseMs?: number
  /** Claims without progress before a turn is given up (R7); 5 unless said otherwise. */
  readonly maxClaims?: number
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
  readonly whileBusy: WhileBusy
  readonly clock: Clock
  readonly timer: Timer
  readonly ids: Ids
  readonly driver: string
  readonly leaseMs: number
  readonly heartbeatMs: number
}

const DAY_MS = 24 * 60 * 60 * 1000
const MAX_HEARTBEAT_MS = 1000

export function setUp(config: AgentConfig): AgentSetup {
  const owner = checkOwner(config.owner ?? LOCAL_OWNER)
  const { name = 'agent', maxMessages = 100, leaseMs = 30_000, ids = systemIds } = config
  atLeast('maxMessages', maxMessages, 1)
  atLeast('leaseMs', leaseMs, 1)
  for (const [limit, value] of Object.entries(config.limits ?? {})) atLeast(`limits.${limit}`, value, 0)
  return {
    key: contextKey({ ...owner, contextId: config.contextId }),
    owner,
    name,
    definition: definitionOf(config, maxMessages),
    autoSave: config.autoSave ?? true,
    maxMessages,
    whileBusy: config.whileBusy ?? 'queue',
    clock: config.clock ?? systemClock,
    timer: config.timer ?? systemTimer,
    ids,
    driver: `${processIdentity()}#${ids.next(name.replaceAll(/[^\w.-]/g, '_'))}`,
    leaseMs,
    heartbeatMs: Math.min(MAX_HEARTBEAT_MS, leaseMs / 3),
  }
}

function definitionOf(config: AgentConfig, maxMessages: number): TurnDefinition {
  const { model = [], settings = {}, tools = [], systemPrompt, limits = {} } = config
  const models = Array.isArray(model) ? (model as readonly ModelRef[]) : [model as ModelRef]
  return {
    models: models.map((ref) => sourceOf(ref, settings)),
    settings,
    tools: typeof tools === 'function' ? tools : () => tools,
    system: promptOf(systemPrompt),
    limits,
    requestTtlMs: config.requestTtlMs ?? 7 * DAY_MS,
    maxClaims: config.maxClaims ?? 5,
    graceMs: config.graceMs ?? 5000,
    ...(config.autoCompact ? { compactOver: maxMessages } : {}),
  }
}

function sourceOf(ref: ModelRef, settings: ModelOptions): ModelSource {
  let resolved: ReturnType<typeof resolveModel> | undefined
  const resolve = () => {
    resolved ??= resolveModel(ref, settings)
    // A key that was missing may be there the next time.
    resolved.catch(() => {
      resolved = undefined
    })
    return resolved
  }
  return { name: modelName(ref), resolve }
}

function promptOf(prompt: AgentConfig['systemPrompt']): TurnDefinition['system'] {
  if (typeof prompt === 'function') return prompt
  if (prompt === undefined || !/^\S+\.(md|txt)$/.test(prompt)) return () => prompt
  let text: Promise<string> | undefined
  return () => {
    text ??= readPrompt(prompt)
    return text
  }
}

async function readPrompt(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    throw new HoldfastError('not-found', {
      message: `The system prompt ${path} cannot be read. Give a path from the working directory, or the text itself.`,
      details: { path },
      cause,
    })
  }
}

function atLeast(option: string, value: unknown, least: number): void {
  if (typeof value === 'number' && value >= least) return
  throw new HoldfastError('invalid-option', {
    message: `${option} must be a number from ${least} on, not ${String(value)}.`,
    details: { option },
  })
}
