/** The rounds of a task's conversation, read from its messages: each message of the person begins one. */
import { type Json, type Message, replyText, type UserContent } from '../../protocol/index.ts'
import { COMPLETION } from './state.ts'

/** The most earlier rounds in a prompt, and the most characters of each of their texts. */
const MOST_ROUNDS = 5
const MOST_CHARACTERS = 1000

/** Begins the message of a verdict. */
export const VERIFICATION = 'Verification: '

/** The messages of the newest round. */
export function newestRound(messages: readonly Message[]): readonly Message[] {
  return messages.slice(Math.max(0, messages.findLastIndex(isOfPerson)))
}

/** The results of the rounds before the newest one, which its task may refer to; empty for the first. */
export function earlierRounds(messages: readonly Message[]): string {
  const earlier = roundsOf(messages).slice(0, -1)
  if (earlier.length === 0) return ''
  const first = Math.max(0, earlier.length - MOST_ROUNDS)
  const rows = earlier.slice(first).map((round, at) => `${first + at + 1}. ${roundText(round)}`)
  return `## Earlier tasks of this conversation\n${rows.join('\n')}`
}

/** The text of the last reply that has one. */
export function lastText(messages: readonly Message[]): string | null {
  for (const message of messages.toReversed()) {
    const text = message.role === 'assistant' ? replyText(message.content).trim() : ''
    if (text !== '') return text
  }
  return null
}

function roundsOf(messages: readonly Message[]): readonly (readonly Message[])[] {
  const starts = messages.flatMap((message, at) => (isOfPerson(message) ? [at] : []))
  return starts.map((start, at) => messages.slice(start, starts[at + 1]))
}

function isOfPerson(message: Message): boolean {
  return message.role === 'user' && message.by !== 'program'
}

function roundText([first, ...messages]: readonly Message[]): string {
  const verdict = messages.flatMap((message) => {
    const text = message.role === 'user' ? contentText(message.content) : ''
    return text.startsWith(VERIFICATION) ? [text] : []
  })
  return [
    `Task: ${short(first?.role === 'user' ? contentText(first.content) : '')}`,
    `Result: ${short(completion(messages) ?? lastText(messages) ?? 'none')}`,
    short(verdict.at(-1) ?? `${VERIFICATION}none`),
  ].join('\n   ')
}

function completion(messages: readonly Message[]): string | undefined {
  const results = messages.flatMap((message) =>
    message.role !== 'assistant'
      ? []
      : message.content.flatMap((part) =>
          part.type === 'tool-call' && part.tool === COMPLETION
            ? [(part.args as { readonly result?: Json } | null)?.result]
            : [],
        ),
  )
  const last = results.findLast((result) => result !== undefined)
  return last === undefined ? undefined : jsonText(last)
}

/** A text as it is; other values as JSON. */
export function jsonText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The text of a message; a file by its name. */
export function contentText(content: UserContent): string {
  if (typeof content === 'string') return content
  return content
    .map((part) => (part.type === 'text' ? part.text : `[${part.name ?? part.mediaType}]`))
    .join('\n')
}

function short(text: string): string {
  const line = text.replaceAll('\n', '\n   ')
  return line.length <= MOST_CHARACTERS ? line : `${line.slice(0, MOST_CHARACTERS).toWellFormed()} …`
}
