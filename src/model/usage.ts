/**
 * What a call used: as the provider reports it, or estimated where it reports nothing. Every number is a number,
 * whatever a provider sends. It does not know prices by heart; `prices.ts` does.
 */
import type { Message, Usage } from '../protocol/index.ts'
import { NO_USAGE } from '../protocol/index.ts'
import type { ProviderUsage } from './language-model.ts'
import type { ToolSpec } from './options.ts'
import { costOf, type PriceTable } from './prices.ts'

const CHARS_PER_TOKEN = 4
/** What a picture or a document counts at least; its bytes say little about its tokens. */
const CHARS_PER_FILE = 4_000
const CHARS_PER_MESSAGE = 16
/** More is nonsense. */
const MOST_TOKENS = 1e12

/** About how many tokens this is, at four characters each. Cheap and deterministic; for limits, not for bills. */
export function estimateTokens(what: string | readonly Message[]): number {
  if (typeof what === 'string') return Math.ceil(what.length / CHARS_PER_TOKEN)
  let chars = 0
  for (const message of what) chars += CHARS_PER_MESSAGE + charsOf(message)
  return Math.ceil(chars / CHARS_PER_TOKEN)
}

export interface Asked {
  readonly system?: string
  readonly messages: readonly Message[]
  readonly tools: readonly ToolSpec[]
}

/** What a call may have used that ended before the provider said so. */
export function estimateUsage(
  name: string,
  asked: Asked,
  more: { chars: number; prices?: PriceTable },
): Usage {
  const tools = asked.tools.length === 0 ? 0 : JSON.stringify(asked.tools).length
  const around = Math.ceil(((asked.system?.length ?? 0) + tools) / CHARS_PER_TOKEN)
  const tokens = {
    inputTokens: estimateTokens(asked.messages) + around,
    outputTokens: Math.ceil(more.chars / CHARS_PER_TOKEN),
    cachedTokens: 0,
  }
  return { ...tokens, costUsd: costOf(name, tokens, more.prices) ?? 0, estimated: true }
}

/** What the provider says it used; undefined if it says nothing of any use. */
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

function charsOf(message: Message): number {
  if (typeof message.content === 'string') return message.content.length
  let chars = 0
  for (const part of message.content) {
    if (part.type === 'file') chars += CHARS_PER_FILE
    else if (part.type === 'tool-call') chars += part.tool.length + charsOfJson(part.args)
    else if (part.type === 'tool-result') chars += part.tool.length + charsOfJson(part.output)
    else chars += part.text.length
  }
  return chars
}

function charsOfJson(value: unknown): number {
  return typeof value === 'string' ? value.length : (JSON.stringify(value)?.length ?? 0)
}
