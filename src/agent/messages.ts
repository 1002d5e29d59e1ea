/** Reading what was said, by number of messages or by tokens, without splitting a round (R11). */
import { loadSession, readWindow, transcript } from '../journal/index.ts'
import { estimateTokens } from '../model/index.ts'
import type { ContextKey, Message } from '../protocol/index.ts'
import type { Store } from '../store/index.ts'

export interface MessageQuery {
  readonly maxMessages?: number
  /** Estimated, at about four characters a token. */
  readonly maxTokens?: number
}

export async function readMessages(store: Store, key: ContextKey, query: MessageQuery = {}): Promise<readonly Message[]> {
  const { maxMessages } = query
  const session = await loadSession(store, key)
  const view = { session, ...(maxMessages === undefined ? {} : { maxMessages }) }
  return newest(transcript(await readWindow(store, key, view)), query)
}

/** The newest that fit: a reply that asked for calls goes with their results. */
export function newest(messages: readonly Message[], query: MessageQuery): readonly Message[] {
  const { maxMessages = Number.POSITIVE_INFINITY, maxTokens = Number.POSITIVE_INFINITY } = query
  let start = messages.length
  let tokens = 0
  let count = 0
  for (const round of roundsOf(messages).toReversed()) {
    tokens += estimateTokens(round)
    count += round.reduce((sum, message) => sum + (message.role === 'tool' ? message.content.length : 1), 0)
    if (start < messages.length && (tokens > maxTokens || count > maxMessages)) break
    if (tokens > maxTokens && maxTokens < Number.POSITIVE_INFINITY) break
    start -= round.length
  }
  return messages.slice(start)
}

function roundsOf(messages: readonly Message[]): Message[][] {
  const rounds: Message[][] = []
  for (const message of messages) {
    if (message.role === 'tool') rounds.at(-1)?.push(message)
    else rounds.push([message])
  }
  return rounds
}
