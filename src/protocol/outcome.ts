/** Outcomes of turns, and their usage. */

const OUTCOMES = [
  'stop',
  'max-iterations',
  'limit',
  'input-required',
  'auth-required',
  'failed',
  'cancelled',
] as const

export type OutcomeReason = (typeof OUTCOMES)[number]

export function isOutcome(value: unknown): value is OutcomeReason {
  return (OUTCOMES as readonly unknown[]).includes(value)
}

/** Describes a limit: `iterations (10)`. Journals of older versions have no value. */
export function limitText({
  limit,
  maximum,
}: {
  readonly limit?: string
  readonly maximum?: number
}): string {
  return maximum === undefined ? `${limit}` : `${limit} (${maximum})`
}

/** True if the turn ended only to wait for a request. */
export function isWaiting(outcome: OutcomeReason): boolean {
  return outcome === 'input-required' || outcome === 'auth-required'
}

export type Usage = {
  readonly inputTokens: number
  readonly outputTokens: number
  /** The part of `inputTokens` that the provider read from its cache. */
  readonly cachedTokens: number
  /** From a price table unless the provider reports it. 0 where no price is known. */
  readonly costUsd: number
  /** Part of this is not from the provider: a price from a table, tokens of an interrupted call. */
  readonly estimated?: true
}

export const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0, costUsd: 0 }

/** The difference of `all` and `before`, which is part of it. */
export function moreUsage(all: Usage, before: Usage): Usage {
  return {
    inputTokens: Math.max(0, all.inputTokens - before.inputTokens),
    outputTokens: Math.max(0, all.outputTokens - before.outputTokens),
    cachedTokens: Math.max(0, all.cachedTokens - before.cachedTokens),
    costUsd: Math.max(0, all.costUsd - before.costUsd),
    ...(all.estimated ? { estimated: true } : {}),
  }
}

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    costUsd: a.costUsd + b.costUsd,
    ...(a.estimated || b.estimated ? { estimated: true } : {}),
  }
}
