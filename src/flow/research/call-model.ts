/** One call of an agent's model below its node: in a journal of its own, traced, and repeated only if it has no reply. */
import { modelNode } from '../../agent/index.ts'
import type { NodeContext } from '../../graph/index.ts'
import { HoldfastError, type Message } from '../../protocol/index.ts'
import type { Tool } from '../../tool/index.ts'
import type { ModelUse } from './config.ts'

export interface ModelCallRequest {
  /** Tells the calls of one node apart. */
  readonly key: string
  readonly messages: readonly Message[]
  readonly tools?: readonly Tool[]
}

/** The reply; an error if the model gave none. Throws what ends the run: a limit, a cancellation. */
export async function callModel(
  use: ModelUse,
  { key, messages, tools = [] }: ModelCallRequest,
  context: NodeContext,
): Promise<Message | Error> {
  const { name, model, settings, prompt } = use
  if (model === undefined) throw new TypeError(`The agent ${name} has no model.`)
  const node = modelNode({
    name,
    model,
    settings,
    systemPrompt: prompt,
    tools,
    maxMessages: Number.MAX_SAFE_INTEGER,
  })
  try {
    const made = await context.run(key, node, messages)
    return made.find(({ role }) => role === 'assistant') ?? new Error('The model gave no reply.')
  } catch (error) {
    if (endsRun(error, context)) throw error
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** True for what no agent may catch. */
export function endsRun(error: unknown, { signal }: Pick<NodeContext, 'signal'>): boolean {
  const { code } = Object(error) as { readonly code?: unknown }
  return (
    signal.aborted || code === 'limit' || code === 'cancelled' || HoldfastError.is(error, 'invalid-option')
  )
}

export function programMessage(content: string): Message {
  return { role: 'user', content, by: 'program' }
}

/** True for a reply that says that the sources have no answer, as the prompts ask for it. */
export function saysNotFound(text: string): boolean {
  return /^\W*(?:not found|introuvable)\b/iu.test(text)
}
