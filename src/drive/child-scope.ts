/**
 * What a turn lends to those that it runs below itself, agents and graphs (R17). It travels in the context of the call,
 * out of sight.
 */
import type { Clock, Ids, Timer } from '../base/index.ts'
import type { Session } from '../journal/index.ts'
import { DEFAULT_LIMITS, type IdsAbove, isUnlimited, type Limits } from '../loop/index.ts'
import {
  type ContextKey,
  HoldfastError,
  type InputOrigin,
  type Json,
  type Owner,
  sameKey,
  type TurnEvent,
} from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import { callsAround } from '../tool/index.ts'

export interface ChildScope {
  readonly config: {
    readonly contextId: string
    /** The position of the conversation that is known. */
    readonly parentSince: number
    readonly owner: Owner
    readonly store: Store
    readonly clock: Clock
    readonly timer: Timer
    readonly ids: Ids
    readonly leaseMs: number
  }
  /** What is left of the caller's limits. */
  readonly limits: () => Limits
  readonly forward: (event: TurnEvent) => void
  /** What the caller knows of ids. */
  readonly ids?: IdsAbove
  /** The answers that the caller has got, as they were given, by the ids of the questions. */
  readonly answers?: Readonly<Record<string, Json>>
  /** Of those that no person gave: where they were posted, by the ids of the questions. */
  readonly answerOrigins?: Readonly<Record<string, InputOrigin>>
}

export const CHILD_SCOPE: unique symbol = Symbol('holdfast.childScope')

/**
 * What may be used below: what the turn has not used of its limits yet, in equal parts for what runs at the same time. So
 * together they stay within it, whichever of them is first; what one leaves over is there for the next. Time passes for
 * all of them at once and is not divided. Iterations are each agent's own.
 */
export function limitsLeft({ open, graph }: Session, limits: Limits, now: number): Limits {
  if (open === undefined) return {}
  const calls = open.calls.filter(({ state }) => state === 'started').length
  const sharing = Math.max(1, calls + (graph?.tasks.filter(({ state }) => state === 'begun').length ?? 0))
  const whole: Limits = { ...DEFAULT_LIMITS, ...limits, ...(open.limits as Limits | undefined) }
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

/** Its own limits, where the caller has more left than that. */
export function leastLimits(own: Limits = {}, left: Limits): Limits {
  const limits: Record<string, number> = { ...own }
  for (const [name, value] of Object.entries(left) as [string, number][])
    limits[name] = Math.min(value, limits[name] ?? Number.POSITIVE_INFINITY)
  return limits
}

/**
 * What is known of ids by the innermost call that the running code is a part of and that is waited for: words that the
 * call passes on are no person's, and ids in them are good only if they are good there.
 */
export function idsAround(): { readonly above?: IdsAbove } {
  for (const context of callsAround()) {
    const { [CHILD_SCOPE]: childScope } = context as { readonly [CHILD_SCOPE]?: ChildScope }
    if (childScope !== undefined) return childScope.ids === undefined ? {} : { above: childScope.ids }
  }
  return {}
}

/**
 * Refuses what would wait for a turn from inside of one of its own tools: the turn waits for the tool, so neither would
 * ever end. Another store object on the same file is not recognised.
 */
export function refuseInside(store: Store, key: ContextKey, what: string): void {
  const isInside = callsAround().some((context) => {
    const { config } = (context as { readonly [CHILD_SCOPE]?: ChildScope })[CHILD_SCOPE] ?? {}
    return config?.store === store && sameKey({ ...config.owner, contextId: config.contextId }, key)
  })
  if (!isInside) return
  throw new HoldfastError('busy', {
    message: `${what} of ${key.contextId} was called inside of a tool or hook or node of its own turn, and would wait for that turn for ever. ${what === 'A run' ? 'Return from there first, or use another contextId or context.run().' : "Return from there first, speak into the running turn with whileBusy: 'steer', or use another conversation or agentTool()."}`,
    details: { contextId: key.contextId },
  })
}
