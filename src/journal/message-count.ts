/** Counts the messages of an entry, for windows and totals. */
import type { Entry, KnownEntry, Message } from '../protocol/index.ts'
import { isKnown } from './format.ts'

/** One for each message, and one for each result of a call. */
export function messageCount(entry: Entry): number {
  return isKnown(entry) ? countOf(entry) : 0
}

/** The same for an entry that is understood. */
export function countOf(entry: KnownEntry): number {
  if (entry.type === 'turn.start') return entry.takes?.length ?? 0
  if (entry.type === 'take') return entry.data.as === 'message' ? (entry.takes?.length ?? 0) : 0
  if (entry.type === 'model.end') return entry.data.content.length > 0 ? 1 : 0
  if (entry.type === 'import') return countMessages(entry.data.messages)
  return entry.type === 'note' || entry.type === 'tool.end' || entry.type === 'tool.late' ? 1 : 0
}

export function countMessages(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + (message.role === 'tool' ? message.content.length : 1), 0)
}
