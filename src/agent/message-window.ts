/** Reads messages of a graph's state: checked, repaired where a vendor would refuse them, and cut between rounds. */
import { importMessages, windowSize } from '../journal/index.ts'
import { defined, invalidOption, type Message, shown, type ToolCallPart } from '../protocol/index.ts'
import { type MessageQuery, newestStart } from './messages.ts'

const ROLES: readonly unknown[] = ['user', 'assistant', 'tool']
const DEFAULT_MESSAGES = 100

/**
 * The newest messages. The window moves in steps, as that of a conversation does, and begins with a message of the user.
 * Every call is answered right after its reply: calls without a result read as unknown.
 */
export async function windowOf(
  place: string,
  input: unknown,
  { maxMessages = DEFAULT_MESSAGES, maxTokens }: MessageQuery,
): Promise<readonly Message[]> {
  const messages = checkedMessages(place, input)
  const size = windowSize(messages.length, maxMessages)
  const fitting = await newestStart(messages, { maxMessages: size, ...defined({ maxTokens }) })
  // The newest round is shown whatever its size: without its results the model would ask for them again.
  const newestRound = messages.findLastIndex(({ role }) => role !== 'tool')
  const start = Math.min(fitting, Math.max(0, newestRound))
  const opening = messages[start]?.role === 'user' ? undefined : lastOfUser(messages.slice(0, start))
  const newest = messages.slice(start)
  return importMessages(opening === undefined ? newest : [opening, ...newest], { format: 'holdfast' })
    .messages
}

/** Throws `invalid-option` for anything but a list of messages. */
export function checkedMessages(place: string, input: unknown): readonly Message[] {
  if (!Array.isArray(input)) throw invalidOption(place, `must be a list of messages, not ${shown(input)}`)
  for (const [index, one] of (input as unknown[]).entries()) {
    const { role, content } = (one ?? {}) as { readonly role?: unknown; readonly content?: unknown }
    if (!ROLES.includes(role) || (typeof content !== 'string' && !Array.isArray(content)))
      throw invalidOption(
        `${place}: message ${index + 1}`,
        `must have the role user, assistant or tool, and content, not ${shown(one)}`,
      )
  }
  return input as readonly Message[]
}

function lastOfUser(messages: readonly Message[]): Message | undefined {
  return messages.findLast(({ role }) => role === 'user')
}

/**
 * The calls of the last reply that have no result yet: what a `toolNode` would run.
 *
 * @example
 * .addConditionalEdges('agent', ({ messages }) => (pendingCalls(messages).length > 0 ? 'tools' : END))
 */
export function pendingCalls(messages: readonly Message[]): readonly ToolCallPart[] {
  const at = messages.findLastIndex(({ role }) => role === 'assistant')
  const reply = messages[at]
  if (reply?.role !== 'assistant' || typeof reply.content === 'string') return []
  const later = messages.slice(at + 1)
  const answered = new Set(
    later.flatMap((one) => (one.role === 'tool' ? one.content.map(({ callId }) => callId) : [])),
  )
  return reply.content
    .filter((part) => part.type === 'tool-call')
    .filter(({ callId }) => !answered.has(callId))
}
