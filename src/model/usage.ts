/**
 * The usage of a call: as the provider reports it, or estimated. Every field is a number, whatever a provider sends. Prices
 * are in `prices.ts`.
 */
import type { Message, Usage } from '../protocol/index.ts'
import { NO_USAGE } from '../protocol/index.ts'
import type { ProviderUsage } from './language-model.ts'
import type { ToolSpec } from './options.ts'
import { costOf, type PriceTable } from './prices.ts'
import { estimatedTokens } from './tokens.ts'

const CHARS_PER_TOKEN = 4
/** Higher counts are invalid. */
const MOST_TOKENS = 1e12

export interface RequestContent {
  readonly system?: string | undefined
  readonly messages: readonly Message[]
  readonly tools: readonly ToolSpec[]
}

/** The estimated usage of a call that ended before the provider reported it. */
export function estimateUsage(
  name: string,
  request: RequestContent,
  more: { chars: number; prices?: PriceTable | undefined },
): Usage {
  const tools = request.tools.length === 0 ? '' : JSON.stringify(request.tools)
  const { text, messages } = estimatedTokens
  const tokens = {
    inputTokens: messages(request.messages) + text(request.system ?? '') + text(tools),
    outputTokens: Math.ceil(more.chars / CHARS_PER_TOKEN),
    cachedTokens: 0,
  }
  return { ...tokens, costUsd: costOf(name, tokens, more.prices) ?? 0, estimated: true }
}

/** The usage that the provider reports; undefined if it reports nothing usable. */
export function reportedUsage(
  name: string,
  usage: ProviderUsage | undefined,
  prices?: PriceTable,
): Usage | undefined {
  const input = usage?.inputTokens
  const total = count(input?.total)
  const output = count(usage?.outputTokens?.total)
  if (total === undefined && output === undefined) return undefined
  const read = count(input?.cacheRead) ?? 0
  const tokens = {
    inputTokens: Math.max(total ?? 0, read),
    outputTokens: output ?? 0,
    cachedTokens: read,
  }
  if (tokens.inputTokens === 0 && tokens.outputTokens === 0) return NO_USAGE
  const cost = costOf(name, { ...tokens, cacheWriteTokens: count(input?.cacheWrite) ?? 0 }, prices)
  return cost === undefined ? { ...tokens, costUsd: 0 } : { ...tokens, costUsd: cost, estimated: true }
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= MOST_TOKENS ? Math.round(value) : undefined
}
