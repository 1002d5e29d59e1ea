/**
 * Fits texts and messages into a number of tokens: long parts lose their middle, then the oldest rounds are left out. The
 * newest round always stays, with the beginning and the end of each of its parts. Pure: states keep everything.
 */
import type { TokenCounter } from '../model/index.ts'
import type { AssistantPart, Json, Message, ToolResultPart } from '../protocol/index.ts'

type Counter = Pick<TokenCounter, 'text' | 'messages'>

/** The parts of the budget for the newest round, and for each part of an older one. */
const NEWEST = 0.6
const OLDER_PART = 0.1
/** The least tokens of a part: fewer would say nothing. */
const LEAST = 24

/** The beginning and the end of a text, in at most so many tokens. */
export function fitText(text: string, most: number, counter: Pick<Counter, 'text'>): string {
  let shown = text
  let length = text.length
  for (let tokens = counter.text(shown); tokens > most && length > 0; tokens = counter.text(shown)) {
    length = Math.floor(Math.min(length * 0.9, (length * most * 0.95) / tokens))
    shown = withoutMiddle(text, length)
  }
  return length > 0 ? shown : ''
}

/** The newest messages that fit. They begin with one of the user, and calls keep their results. */
export function fitHistory(messages: readonly Message[], most: number, counter: Counter): readonly Message[] {
  if (counter.messages(messages) <= most) return messages
  const rounds = roundsOf(messages)
  const last = rounds.length - 1
  const kept: (readonly Message[])[] = []
  let left = most
  for (let at = last; at >= 0; at--) {
    const round = rounds[at] ?? []
    const share = at === last ? (most * NEWEST) / countParts(round) : most * OLDER_PART
    const fitted = round.map((message) => withShortParts(message, share, counter))
    left -= counter.messages(fitted)
    // A message of the user has to come first, and needs room.
    if (at < last && left < (fitted[0]?.role === 'user' ? 0 : most * OLDER_PART)) break
    kept.unshift(fitted)
  }
  const newest = kept.flat()
  if (newest[0]?.role === 'user') return newest
  const before = messages.slice(0, messages.length - newest.length).findLast(({ role }) => role === 'user')
  return before === undefined ? newest : [withShortParts(before, most * OLDER_PART * 0.8, counter), ...newest]
}

/** A reply and the results of its calls are one round. */
function roundsOf(messages: readonly Message[]): Message[][] {
  const rounds: Message[][] = []
  for (const message of messages) {
    const last = rounds.at(-1)
    if (message.role === 'tool' && last !== undefined) last.push(message)
    else rounds.push([message])
  }
  return rounds
}

function countParts(round: readonly Message[]): number {
  return round.reduce((sum, { content }) => sum + (typeof content === 'string' ? 1 : content.length), 0)
}

function withShortParts(message: Message, share: number, counter: Counter): Message {
  const most = Math.max(LEAST, Math.floor(share))
  const short = (text: string): string => fitText(text, most, counter)
  if (message.role === 'tool')
    return { ...message, content: message.content.map((part) => shortResult(part, short)) }
  if (message.role === 'assistant')
    return { ...message, content: message.content.map((part) => shortPart(part, short)) }
  const { content } = message
  if (typeof content === 'string') return { ...message, content: short(content) }
  return {
    ...message,
    content: content.map((part) => (part.type === 'text' ? { ...part, text: short(part.text) } : part)),
  }
}

function shortResult(part: ToolResultPart, short: (text: string) => string): ToolResultPart {
  const text = typeof part.output === 'string' ? part.output : JSON.stringify(part.output)
  const shown = short(text)
  return shown === text ? part : { ...part, output: shown }
}

/** Arguments stay an object: only their texts are shortened. Reasoning stays whole: vendors sign it. */
function shortPart(part: AssistantPart, short: (text: string) => string): AssistantPart {
  if (part.type === 'tool-call') {
    const text = JSON.stringify(part.args)
    return short(text) === text ? part : { ...part, args: shortTexts(part.args, short) }
  }
  return part.type === 'text' ? { ...part, text: short(part.text) } : part
}

function shortTexts(value: Json, short: (text: string) => string): Json {
  if (typeof value === 'string') return short(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((each) => shortTexts(each as Json, short))
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, shortTexts(each as Json, short)]),
  )
}

function withoutMiddle(text: string, most: number): string {
  if (text.length <= most) return text
  const [head, tail] = [Math.ceil((most * 2) / 3), Math.floor(most / 3)]
  const left = text.length - head - tail
  return `${text.slice(0, head).toWellFormed()} [… ${left} characters left out …] ${text.slice(text.length - tail).toWellFormed()}`
}
