/** What an agent lends to the sub-agents that its turn calls (R17). It travels in the context of the call, out of sight. */
import type { TurnEvent } from '../protocol/index.ts'
import { DEFAULT_LIMITS, type Limits } from '../turn/index.ts'
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

/** What a turn has not used of its limits yet. Iterations are each agent's own. */
export function limitsLeft(ledger: Ledger, limits: Limits, now: number): Limits {
  const { open } = ledger.session
  if (open === undefined) return {}
  const whole: Limits = { ...DEFAULT_LIMITS, ...limits, ...(open.limits as Limits | undefined) }
  const used = {
    durationMs: now - open.startedAt,
    tokens: open.usage.inputTokens + open.usage.outputTokens,
    costUsd: open.usage.costUsd,
    toolCalls: open.toolCalls,
  }
  const left: Record<string, number> = {}
  for (const [name, value] of Object.entries(used)) {
    const most = whole[name as keyof Limits]
    if (most !== undefined) left[name] = Math.max(0, most - value)
  }
  return left
}
