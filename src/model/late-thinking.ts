/**
 * Claude thinks from the beginning of a turn or not at all: a turn that another model began, or this one without a
 * thought, is refused with thinking switched on. For the rest of such a turn it is switched off.
 */
import type { JsonObject } from '../protocol/index.ts'
import type { ModelCall, PromptMessage } from './language-model.ts'

/** The call as Anthropic takes it; the same call wherever nothing has to be switched off. */
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

/** The turn is what was said since somebody last spoke; results of tools are no speech. */
function isBegunWithoutThought(prompt: readonly PromptMessage[]): boolean {
  const first = prompt[prompt.findLastIndex(({ role }) => role === 'user') + 1]
  if (first === undefined || typeof first.content === 'string') return false
  const { type, providerOptions } = first.content[0] ?? {}
  // The package leaves out a thought that nobody has signed.
  return type !== 'reasoning' || providerOptions?.['anthropic'] === undefined
}
