/** The context that a turn passes to the agents and graphs it runs below itself (R17), hidden in that of the call. */
import type { Clock, Ids, Timer } from '../base/index.ts'
import type { Session } from '../journal/index.ts'
import {
  DEFAULT_LIMITS,
  isUnlimited,
  type Limits,
  type LoopScope,
  type ParentIdJudge,
  storedLimits,
  type Telemetry,
} from '../loop/index.ts'
import {
  type ContextKey,
  defined,
  HoldfastError,
  type InputOrigin,
  type Json,
  type Owner,
  sameKey,
  type TurnEvent,
} from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import { type Approvals, callsAround, runAround } from '../tool/index.ts'

export interface ChildScope {
  readonly config: {
    readonly contextId: string
    /** The last known position of the parent. */
    readonly parentSince: number
    readonly owner: Owner
    readonly store: Store
    readonly clock: Clock
    readonly timer: Timer
    readonly ids: Ids
    readonly leaseMs: number
    readonly telemetry?: readonly Telemetry[]
  }
  /** The rest of the caller's limits. */
  readonly limits: () => Limits
  readonly forward: (event: TurnEvent) => void
  /** The artifacts of the caller's conversation, for calls that are its own. */
  readonly artifacts?: LoopScope['artifacts']
  /** The judge of ids of the caller. */
  readonly ids?: ParentIdJudge
  /** The approval policies of the caller and of those above it. */
  readonly approvals?: Approvals
  /** The answers to the caller, as given, by request id. */
  readonly answers?: Readonly<Record<string, Json>>
  /** The origins of answers that no person gave, by request id. */
  readonly answerOrigins?: Readonly<Record<string, InputOrigin>>
}

type Inherited = Omit<ChildScope['config'], 'contextId' | 'parentSince' | 'owner'>

/** The config that a child takes from its caller, at a position of the caller's journal. */
export function childConfig(
  { key, store, clock, timer, ids, leaseMs, telemetry }: Inherited & { readonly key: ContextKey },
  parentSince: number,
): ChildScope['config'] {
  const { contextId, ...owner } = key
  const inherited = { store, clock, timer, ids, leaseMs, ...defined({ telemetry }) }
  return { contextId, parentSince, owner, ...inherited }
}

export const CHILD_SCOPE: unique symbol = Symbol('holdfast.childScope')

/**
 * The unused part of a turn's limits, divided equally among the calls and tasks that run now, so that together they
 * stay within it. The rest of one is there for the next. Time is not divided, and iterations are each agent's own.
 */
export function limitsLeft({ open, graph }: Session, limits: Limits, now: number): Limits {
  if (open === undefined) return {}
  const calls = open.calls.filter(({ state }) => state === 'started').length
  const sharing = Math.max(1, calls + (graph?.tasks.filter(({ state }) => state === 'begun').length ?? 0))
  const whole: Limits = { ...DEFAULT_LIMITS, ...limits, ...storedLimits(open.limits) }
  const used = {
    tokens: open.usage.inputTokens + open.usage.outputTokens,
    costUsd: open.usage.costUsd,
    toolCalls: open.toolCalls,
  }
  const left: Record<string, number> = {}
  const { durationMs } = whole
  if (durationMs !== undefined && !isUnlimited(durationMs))
    left['durationMs'] = Math.max(0, open.startedAt + durationMs - now)
  for (const [name, value] of Object.entries(used)) {
    const most = whole[name as keyof Limits]
    if (most !== undefined && !isUnlimited(most)) left[name] = Math.max(0, (most - value) / sharing)
  }
  if (left['toolCalls'] !== undefined) left['toolCalls'] = Math.floor(left['toolCalls'])
  return left
}

/** The lower of a child's own limits and the rest of its caller's. */
export function leastLimits(own: Limits = {}, left: Limits): Limits {
  const limits: Record<string, number> = { ...own }
  for (const [name, value] of Object.entries(left) as [string, number][])
    limits[name] = Math.min(value, limits[name] ?? Number.POSITIVE_INFINITY)
  return limits
}

/**
 * The judge of ids of the innermost awaited call around the running code. Texts that a call passes down are no person's
 * words, so an id in them is good only if it is good there.
 */
export function idsAround(): ParentIdJudge | undefined {
  for (const context of callsAround()) {
    const { [CHILD_SCOPE]: childScope } = context as { readonly [CHILD_SCOPE]?: ChildScope }
    if (childScope !== undefined) return childScope.ids
  }
  return undefined
}

/** The approval policies of the agents whose awaited calls are around the running code. */
export function approvalsAround(): Approvals | undefined {
  for (const context of callsAround()) {
    const { approvals } = (context as { readonly [CHILD_SCOPE]?: ChildScope })[CHILD_SCOPE] ?? {}
    if (approvals !== undefined) return approvals
  }
  return undefined
}

/** Runs code below approval policies that belong to no call, such as those of a host. */
export function runWithApprovals<T>(approvals: Approvals, work: () => Promise<T>): Promise<T> {
  return runAround({ [CHILD_SCOPE]: { approvals } }, work)
}

/**
 * Refuses to wait for a turn inside one of its own tools: the turn waits for the tool, so neither would end. Another
 * store object on the same file is not recognised. `what`: the method called, or 'run' for a run of a graph.
 */
export function refuseInside(store: Store, key: ContextKey, what: string): void {
  const isInside = callsAround().some((context) => {
    const { config } = (context as { readonly [CHILD_SCOPE]?: ChildScope })[CHILD_SCOPE] ?? {}
    return config?.store === store && sameKey({ ...config.owner, contextId: config.contextId }, key)
  })
  if (!isInside) return
  const { contextId } = key
  const insteadOf = {
    run: 'Return from the node first, or use another contextId or context.run().',
    call: "Return from the tool or hook first, speak into the running turn with whileBusy: 'steer', or use another conversation or agentTool().",
  }
  throw new HoldfastError('busy', {
    message:
      what === 'run'
        ? `You started a run of ${contextId} from inside its own run: it would never return. ${insteadOf.run}`
        : `You called ${what}() on ${contextId} from inside its own turn: it would never return. ${insteadOf.call}`,
    details: { contextId },
  })
}
