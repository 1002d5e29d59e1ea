/**
 * The messages of a conversation up to a run, with the run's own message, for a client that does not have them. Bounded: the
 * newest entries.
 */
import type { Message } from '@ag-ui/core'
import type { Host } from '../../host/index.ts'
import type { ContextKey, Json, UserContent } from '../../protocol/index.ts'
import { type ConversationPart, ConversationParts } from '../conversation-parts.ts'
import { entryEvents, withFlowReplies } from '../turn-events.ts'
import { contentOf } from './run-events.ts'

const MOST_ENTRIES = 1000

export async function messagesBefore(host: Host, key: ContextKey, upTo: number): Promise<Message[]> {
  if (upTo < 1) return []
  const entries = await host.reads.entries(key, { from: Math.max(1, upTo - MOST_ENTRIES + 1), to: upTo })
  // Half of an exchange would be calls without results.
  const first = entries.findIndex(({ type, seq }) => type === 'turn.start' || seq === 1)
  const parts = new ConversationParts()
  const messages = new Map<string, Message>()
  const whole = entryEvents(first < 0 ? [] : entries.slice(first))
  for await (const event of withFlowReplies(host, key, whole))
    for (const part of parts.take(event)) add(messages, part)
  const own = entries.at(-1)
  if (own?.type === 'input') for (const part of parts.takeNow(own.seq)) add(messages, part)
  return [...messages.values()]
}

function add(messages: Map<string, Message>, part: ConversationPart): void {
  if (part.type === 'user') {
    // Not the client's id: it would keep its place before the older messages, which the client gets only now.
    messages.set(part.id, { id: part.id, role: 'user', content: textOf(part.content) })
  } else if (part.type === 'text') {
    const { content = '', ...reply } = replyIn(messages, part.id)
    messages.set(part.id, { ...reply, content: content + part.text })
  } else if (part.type === 'call') {
    const reply = replyIn(messages, part.id)
    const call = { name: part.tool, arguments: JSON.stringify(part.args) }
    const toolCalls = [
      ...(reply.toolCalls ?? []),
      { id: part.callId, type: 'function' as const, function: call },
    ]
    messages.set(part.id, { ...reply, toolCalls })
  } else if (part.type === 'result') addResult(messages, part.callId, part.output)
}

function addResult(messages: Map<string, Message>, callId: string, output: Json): void {
  const id = `t-${callId}`
  messages.set(id, { id, role: 'tool', toolCallId: callId, content: contentOf(output) })
}

function replyIn(messages: Map<string, Message>, id: string): Extract<Message, { role: 'assistant' }> {
  const known = messages.get(id)
  return known?.role === 'assistant' ? known : { id, role: 'assistant' }
}

/** Files are not sent back. */
function textOf(content: UserContent): string {
  if (typeof content === 'string') return content
  return content
    .map((part) => (part.type === 'text' ? part.text : `[${part.name ?? part.mediaType}]`))
    .join('\n')
}
