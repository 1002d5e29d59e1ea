/**
 * Fits the messages of a prompt into a token budget: long results are cut first, the oldest before the others, then the
 * oldest messages are left out. The last user message and the round after it always stay. Pure: the journal keeps
 * everything.
 */
import type { TokenCounter } from '../model/index.ts'
import type { Message, ToolMessage } from '../protocol/index.ts'

export interface Fitted {
  readonly messages: readonly Message[]
  readonly tokens: number
  readonly cutResults: number
  readonly leftOut: number
}

/** The lengths in characters to which long results are cut, one after the other. */
const RESULT_CHARS = [4_000, 400]

export function fitMessages(
  messages: readonly Message[],
  budget: number,
  counter: Pick<TokenCounter, 'message' | 'messages'>,
): Fitted {
  const fitting = [...messages]
  let tokens = counter.messages(messages)
  const cut = new Set<number>()
  for (const most of RESULT_CHARS)
    for (const [index, message] of fitting.entries()) {
      if (tokens <= budget) break
      const short = message.role === 'tool' ? withShortResults(message, most) : message
      if (short === message) continue
      tokens += counter.message(short) - counter.message(message)
      fitting[index] = short
      cut.add(index)
    }
  const kept = leaveOut(fitting, { tokens, budget, counter })
  const left = kept.messages.length
  return { ...kept, cutResults: cut.size, leftOut: fitting.length - left }
}

interface Room {
  readonly tokens: number
  readonly budget: number
  readonly counter: Pick<TokenCounter, 'messages'>
}

/** Leaves out whole rounds, oldest first. */
function leaveOut(
  messages: readonly Message[],
  { tokens, budget, counter }: Room,
): Pick<Fitted, 'messages' | 'tokens'> {
  const groups = groupsOf(messages)
  const newest = groups.findLastIndex(([first]) => first?.role === 'user')
  const kept: (readonly Message[])[] = []
  let left = tokens
  for (const [index, group] of groups.entries()) {
    const isNeeded = index === newest || index === groups.length - 1
    if (left <= budget || isNeeded) kept.push(group)
    else left -= counter.messages(group)
  }
  return { messages: kept.flat(), tokens: left }
}

/** Groups a reply with the results of its calls. */
function groupsOf(messages: readonly Message[]): Message[][] {
  const groups: Message[][] = []
  for (const message of messages) {
    const last = groups.at(-1)
    if (message.role === 'tool' && last !== undefined) last.push(message)
    else groups.push([message])
  }
  return groups
}

function withShortResults(message: ToolMessage, most: number): ToolMessage {
  const content = message.content.map((part) => {
    const text = typeof part.output === 'string' ? part.output : JSON.stringify(part.output)
    return text.length > most * 1.5 ? { ...part, output: withoutMiddle(text, most) } : part
  })
  return content.every((part, index) => part === message.content[index]) ? message : { ...message, content }
}

/** Cuts a text of `tokens` to about `most` of them. */
export function shortenedText(text: string, { tokens, most }: { tokens: number; most: number }): string {
  if (tokens <= most) return text
  return withoutMiddle(text, Math.max(1, Math.floor((text.length * most * 0.9) / tokens)))
}

function withoutMiddle(text: string, most: number): string {
  if (text.length <= most) return text
  const [head, tail] = [Math.ceil((most * 3) / 4), Math.floor(most / 4)]
  const left = text.length - head - tail
  return `${text.slice(0, head).toWellFormed()} [… ${left} characters are left out …] ${text.slice(text.length - tail).toWellFormed()}`
}
