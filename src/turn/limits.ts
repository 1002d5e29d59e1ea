/** Which limit a turn has reached, if any (R14). */
import type { Limits } from './definition.ts'
import type { Play } from './play.ts'

/** Those that are looked at before the model is asked again. Tool calls over the limit are refused one by one. */
type Reached = Exclude<keyof Limits, 'iterations' | 'toolCalls'>

export function limitReached(play: Play): { readonly limit: Reached; readonly message: string } | undefined {
  const { limits, open } = play
  const { usage, failures } = open
  const tokens = usage.inputTokens + usage.outputTokens
  const used: { readonly [L in Reached]: number } = {
    durationMs: play.scope.clock.now() - open.startedAt,
    tokens,
    costUsd: usage.costUsd,
    consecutiveFailures: failures,
  }
  for (const [limit, value] of Object.entries(used) as [Reached, number][]) {
    const most = limits[limit]
    if (most !== undefined && value >= most) return { limit, message: DESCRIPTIONS[limit](value, most) }
  }
  return undefined
}

const DESCRIPTIONS: { readonly [L in Reached]: (value: number, most: number) => string } = {
  durationMs: (value, most) => `The turn took ${Math.round(value)} ms; its limit is ${most} ms.`,
  tokens: (value, most) => `The turn used ${value} tokens; its limit is ${most}.`,
  costUsd: (value, most) => `The turn cost about ${value.toFixed(4)} USD; its limit is ${most}.`,
  consecutiveFailures: (value, most) =>
    `${value} tool calls in a row did not end well; the limit is ${most}.`,
}
