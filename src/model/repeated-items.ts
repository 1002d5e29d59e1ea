/**
 * A named item of a provider, such as OpenAI's `rs_…` and `msg_…`, may occur once in a request. A hook that repeats a
 * message repeats its items: the copies are sent without names, and reasoning not at all.
 */
import type { JsonObject } from '../protocol/index.ts'
import type { PromptMessage, PromptPart } from './language-model.ts'

/** Returns the same prompt if no item repeats. Parts of one message may share an item. */
export function withoutRepeatedItems(prompt: PromptMessage[]): PromptMessage[] {
  const seen = new Set<string>()
  let isSame = true
  const once = prompt.map((message): PromptMessage => {
    if (message.role !== 'assistant') return message
    const items = message.content.map(itemOf)
    const isRepeated = (item: string | undefined) => item !== undefined && seen.has(item)
    const content = items.some(isRepeated)
      ? message.content.flatMap((part, index) => (isRepeated(items[index]) ? unnamed(part) : [part]))
      : message.content
    for (const item of items) if (item !== undefined) seen.add(item)
    if (content === message.content) return message
    isSame = false
    return { role: 'assistant', content }
  })
  return isSame ? prompt : once
}

function itemOf({ providerOptions }: PromptPart): string | undefined {
  if (providerOptions === undefined) return undefined
  for (const own of Object.values(providerOptions)) {
    const { itemId } = (own ?? {}) as JsonObject
    if (typeof itemId === 'string') return itemId
  }
  return undefined
}

function unnamed(part: PromptPart): readonly PromptPart[] {
  const { providerOptions: _, ...rest } = part
  return part.type === 'reasoning' ? [] : [rest]
}
