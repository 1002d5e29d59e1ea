/** Runs a conversation below another loop: a turn of an agent, or a part of one (R17). */
import {
  ANSWER_ORIGINS,
  type AnswerOrigins,
  attachCause,
  type ChildContext,
  type ChildResult,
  leastLimits,
  metadataBelow,
  runChild,
} from '../drive/index.ts'
import { loadSession } from '../journal/index.ts'
import type { LogConfig } from '../observe/index.ts'
import {
  type ContextKey,
  childKey,
  defined,
  HoldfastError,
  invalidOption,
  moreUsage,
  NO_USAGE,
  type UserContent,
} from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import type { StandardSchema } from '../tool/index.ts'
import type { NodeTurn } from '../turn/index.ts'
import { Agent } from './agent.ts'
import { type AgentConfig, NODE_SETUP, setUp } from './config.ts'
import { enterLasting } from './lasting-child.ts'
import { newestSightings } from './sightings.ts'
import { type TurnOptions, UNPROMPTED } from './turn-options.ts'

/** The config of a sub-agent: an agent without a conversation of its own. */
export type SubAgentConfig<Output = unknown> = Omit<AgentConfig<Output>, FromAbove> & {
  /** Never set: derived from the call. Keeps an `Agent` from matching this type. */
  readonly contextId?: never
}

/** The config of a sub-agent with structured output. */
export type WithOutput<Output> = SubAgentConfig<Output> & {
  readonly output: StandardSchema<unknown, Output>
}

type FromAbove =
  | 'contextId'
  | 'owner'
  | 'store'
  | 'autoSave'
  | 'allow'
  | 'credentials'
  | 'clock'
  | 'timer'
  | 'ids'
  | 'parent'
  | 'parentSince'
  | 'leaseMs'
  | 'telemetry'
  | keyof LogConfig

const FROM_ABOVE: readonly FromAbove[] = [
  ...(['contextId', 'owner', 'store', 'autoSave', 'allow'] as const),
  ...(['credentials', 'clock', 'timer', 'ids', 'parent', 'parentSince', 'leaseMs', 'telemetry'] as const),
  ...(['quiet', 'log', 'sessions', 'logger'] as const),
]

/** Reports a config that would fail every call where it is defined. */
export function checkSubAgent(what: string, config: unknown): void {
  if (typeof config !== 'object' || config === null)
    throw new HoldfastError('invalid-option', { message: what })
  if (config instanceof Agent)
    throw new HoldfastError('invalid-option', {
      message: `${what} Pass { model, systemPrompt, tools }, not an Agent: each call gets a conversation of its own.`,
    })
  const inherited = FROM_ABOVE.find((name) => (config as Partial<AgentConfig>)[name] !== undefined)
  if (inherited !== undefined)
    throw invalidOption(inherited, 'cannot be set for a sub-agent: its caller sets it. Leave it out')
  setUp({ ...config, contextId: 'sub-agent' })
}

export interface BelowRun {
  readonly config: SubAgentConfig
  readonly below: ChildContext
  /** Begins the turn. Absent: the turn begins after the messages of `nodeTurn`. */
  readonly message?: UserContent
  readonly nodeTurn?: NodeTurn
  /** True: later runs of the caller share the conversation. */
  readonly lasts?: boolean
  /** True: its artifacts are the caller's. */
  readonly sharesArtifacts?: boolean
}

/** The result without its output, and the conversation to read it from. */
export interface EndedRun {
  readonly result: ChildResult<never>
  readonly store: Store
  readonly key: ContextKey
}

export async function runBelow(run: BelowRun): Promise<EndedRun> {
  const { below, lasts = false } = run
  const { childScope, name } = below
  const { contextId, ...ports } = childScope.config
  const { store } = ports
  const key = childKey({ ...ports.owner, contextId }, lasts ? lastingName(below) : name)
  const agent = agentBelow(run, key)
  const entered = lasts ? await enterLasting(agent, { store, key, task: name }) : undefined
  const metadata = { ...metadataBelow(below), ...entered?.metadata }
  const outcome = await runChild(
    {
      ...childOf(agent, run, { ...turnOptionsOf(run), metadata }),
      ...(entered === undefined ? {} : { lastTurn: entered.lastTurn }),
    },
    below,
  )
  const { totals } = await loadSession(store, key)
  const { usage: before = NO_USAGE, seq } = entered?.before ?? {}
  const usage = moreUsage(totals.usage, before)
  const seen = await newestSightings(store, key, seq)
  const result = {
    outcome: attachCause({ ...outcome, usage }, outcome.cause),
    ...(seen.length === 0 ? {} : { seen }),
  }
  return { result, store, key }
}

function lastingName({ sharedName, name }: ChildContext): string {
  if (sharedName !== undefined) return sharedName
  throw new HoldfastError('invalid-option', { message: `${name} has a memory, and only nodes can have one.` })
}

function agentBelow({ config, below, nodeTurn, sharesArtifacts = false }: BelowRun, key: ContextKey): Agent {
  const { childScope, credentials } = below
  const { contextId, ...ports } = childScope.config
  const artifacts = sharesArtifacts ? childScope.artifacts : undefined
  return new Agent({
    ...config,
    ...ports,
    contextId: key.contextId,
    parent: contextId,
    credentials: () => credentials,
    allow: () => true,
    // The caller's observers see its turns, too.
    log: false,
    sessions: false,
    ...{ [NODE_SETUP]: defined({ nodeTurn, artifacts }) },
  })
}

function turnOptionsOf({ config, below }: BelowRun): TurnOptions {
  const { principal, credentials, signal } = below
  const auth = { ...principal, ...defined({ credentials }) }
  return { auth, signal, limits: leastLimits(config.limits, below.limits) }
}

function childOf(agent: Agent, { message, below }: BelowRun, options: TurnOptions) {
  const unprompted = { ...options, [UNPROMPTED]: true }
  return {
    start: () => agent.start(),
    requests: () => agent.requests(),
    turnNow: () => agent.turn,
    lastTurn: () => agent.lastTurn(),
    answer: (answers: Parameters<Agent['answer']>[0], origins: AnswerOrigins) => {
      const childOptions = { ...options, [ANSWER_ORIGINS]: origins }
      return agent.answer(answers, childOptions)
    },
    continueTurn: () => agent.executeTurn(null, options),
    begin: () =>
      message === undefined
        ? agent.executeTurn(null, unprompted)
        : agent.executeTurn(message, { ...options, key: `call:${below.name}` }),
    shutdown: () => agent.shutdown(),
  }
}
