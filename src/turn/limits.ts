/** Checks the limits of a turn (R14). */
import type { Limits } from '../loop/index.ts'
import type { TurnRun } from './turn-run.ts'

/** Limits that end a turn between its steps. Tool calls over their limit are refused one by one. */
type Reached = Exclude<keyof Limits, 'iterations' | 'toolCalls'>

export interface ReachedLimit {
  readonly limit: Reached
  readonly message: string
}

export function limitReached(run: TurnRun): ReachedLimit | undefined {
  const { usage, startedAt } = run.open
  return (
    reached(run, 'durationMs', run.scope.clock.now() - startedAt) ??
    reached(run, 'tokens', usage.inputTokens + usage.outputTokens) ??
    reached(run, 'costUsd', usage.costUsd)
  )
}

/** Checked when the model requests calls: by then it has read of the failures, and could have done something else. */
export function failuresReached(run: TurnRun): ReachedLimit | undefined {
  const { calls, requests, failures } = run.open
  const isNew = calls.every(({ state, answers }) => state === 'requested' && answers === undefined)
  return isNew && requests.length === 0 ? reached(run, 'consecutiveFailures', failures) : undefined
}

function reached({ limits }: TurnRun, limit: Reached, value: number): ReachedLimit | undefined {
  const most = limits[limit]
  if (most === undefined || value < most) return undefined
  return { limit, message: DESCRIPTIONS[limit](value, most) }
}

const DESCRIPTIONS: { readonly [L in Reached]: (value: number, most: number) => string } = {
  durationMs: (value, most) => `The turn took ${Math.round(value)} ms; its limit is ${most} ms.`,
  tokens: (value, most) => `The turn used ${value} tokens; its limit is ${most}.`,
  costUsd: (value, most) => `The turn cost about ${value.toFixed(4)} USD; its limit is ${most}.`,
  consecutiveFailures: (value, most) => `${value} tool calls in a row failed; the limit is ${most}.`,
}
