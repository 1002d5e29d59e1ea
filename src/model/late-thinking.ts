/**
 * Claude reasons from the start of a turn or not at all: a turn that another model began, or that began without reasoning,
 * is refused with thinking enabled. For the rest of such a turn it is disabled.
 */
import type { JsonObject } from '../protocol/index.ts'
import type { ModelCall, PromptMessage } from './language-model.ts'

/** The call as Anthropic accepts it; the same call if nothing has to be disabled. */
export function withoutLateThinking(call: ModelCall): ModelCall {
  if (!isToThink(call) || !isBegunWithoutThought(call.prompt)) return call
  const { reasoning: _, ...rest } = call
  const options = call.providerOptions?.['anthropic'] as JsonObject | undefined
  const anthropic = { ...options, thinking: { type: 'disabled' } }
  return { ...rest, providerOptions: { ...call.providerOptions, anthropic } }
}

function isToThink({ reasoning, providerOptions }: ModelCall): boolean {
  const { thinking } = (providerOptions?.['anthropic'] ?? {}) as JsonObject
  const type = (thinking as JsonObject | undefined)?.['type']
  if (type !== undefined) return type === 'enabled'
  return reasoning !== undefined && reasoning !== 'none' && reasoning !== 'provider-default'
}

/** The turn starts after the last user message; tool results do not count as one. */
function isBegunWithoutThought(prompt: readonly PromptMessage[]): boolean {
  const first = prompt[prompt.findLastIndex(({ role }) => role === 'user') + 1]
  if (first === undefined || typeof first.content === 'string') return false
  const { type, providerOptions } = first.content[0] ?? {}
  // The package drops unsigned reasoning.
  return type !== 'reasoning' || providerOptions?.['anthropic'] === undefined
}
