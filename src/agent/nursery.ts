/** What an agent lends to the sub-agents that its turn calls (R17). It travels in the context of the call, out of sight. */
import { type ContextKey, HoldfastError, LOCAL_OWNER, sameKey, type TurnEvent } from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import { callsAround } from '../tool/index.ts'
import { DEFAULT_LIMITS, isUnlimited, type Limits } from '../turn/index.ts'
import type { AgentConfig } from './config.ts'
import type { Ledger } from './ledger.ts'

/** What the driver of the calling turn lends to a sub-agent. */
export interface Nursery {
  readonly config: Pick<AgentConfig, 'contextId' | 'owner' | 'store' | 'clock' | 'timer' | 'ids' | 'leaseMs'>
  /** What is left of the caller's limits. */
  readonly limits: () => Limits
  readonly forward: (event: TurnEvent) => void
}

export const NURSERY: unique symbol = Symbol('holdfast.nursery')

/**
 * What a sub-agent may use: what the turn has not used of its limits yet, in equal parts for the calls that run at the same
 * time. So together they stay within it, whichever of them is first; what one leaves over is there for the next round.
 * Time passes for all of them at once and is not divided. Iterations are each agent's own.
 */
export function limitsLeft(ledger: Ledger, limits: Limits, now: number): Limits {
  const { open } = ledger.session
  if (open === undefined) return {}
  const whole: Limits = { ...DEFAULT_LIMITS, ...limits, ...(open.limits as Limits | undefined) }
  const sharing = Math.max(1, open.calls.filter(({ state }) => state === 'started').length)
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

/**
 * Refuses what would wait for a turn from inside of one of its own tools: the turn waits for the tool, so neither would
 * ever end. Another store object on the same file is not recognised.
 */
export function refuseInside(store: Store, key: ContextKey, what: string): void {
  const isInside = callsAround().some((context) => {
    const { config } = (context as { readonly [NURSERY]?: Nursery })[NURSERY] ?? {}
    return config?.store === store && sameKey({ ...LOCAL_OWNER, ...config.owner, ...config }, key)
  })
  if (!isInside) return
  throw new HoldfastError('busy', {
    message: `${what} of ${key.contextId} was called inside of a tool or hook of its own turn, and would wait for that turn for ever. Return from there first, speak into the running turn with whileBusy: 'steer', or use another conversation or agentTool().`,
    details: { contextId: key.contextId },
  })
}
