/**
 * Compacts old tool results in prompts, permanently from one turn on. The start of a turn decides which are old and
 * stores it in its entry, so every reader of the journal shows the same. Pure.
 */
import {
  type Entry,
  isWaiting,
  type JsonObject,
  type Message,
  type Sighting,
  type ToolResultPart,
} from '../protocol/index.ts'
import { isKnown } from './format.ts'

/** A range of entries between two points without an open round: usually one turn. */
interface Exchange {
  readonly start: number
  hasResults: boolean
}

/**
 * The position up to which results become compact when the next turn starts; undefined if none do. At most `turns`
 * turns with tools then keep theirs whole. It moves in steps, so that a provider's prompt cache holds for several
 * turns: over the limit, about half of them stay, and at least one. A turn that resumes the calls of another counts as
 * one with it. `entries` are those of the window, oldest first.
 */
export function trimPoint(
  entries: readonly Entry[],
  { turns, trimmedUpTo = 0 }: { readonly turns: number; readonly trimmedUpTo?: number | undefined },
): number | undefined {
  if (!Number.isFinite(turns)) return undefined
  const whole = exchangesOf(entries).filter(({ start, hasResults }) => hasResults && start > trimmedUpTo)
  if (whole.length <= turns) return undefined
  const first = whole.at(-Math.max(1, Math.floor(turns / 2)))
  return first === undefined ? undefined : first.start - 1
}

function exchangesOf(entries: readonly Entry[]): readonly Exchange[] {
  const exchanges: Exchange[] = []
  let open = new Set<string>()
  const begin = (start: number): void => void exchanges.push({ start, hasResults: false })
  const useTools = (): void => {
    const last = exchanges.at(-1)
    if (last !== undefined) last.hasResults = true
  }
  for (const entry of entries) {
    if (exchanges.length === 0) begin(entry.seq)
    if (!isKnown(entry)) continue
    if (entry.type === 'turn.start' && open.size === 0) begin(entry.seq)
    if (entry.type === 'import') {
      if (entry.data.continues === undefined) begin(entry.seq)
      if (entry.data.messages.some(({ role }) => role === 'tool')) useTools()
    }
    if (entry.type === 'tool.end') {
      open.delete(entry.data.callId)
      useTools()
    }
    if (entry.type === 'model.end')
      open = new Set(entry.data.content.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : [])))
    const isOver = entry.type === 'turn.end' && !isWaiting(entry.data.outcome)
    if (isOver || entry.type === 'import' || entry.type === 'fork') open.clear()
  }
  return exchanges
}

export type SeenByCall = ReadonlyMap<string, readonly Sighting[]>

/** A message with its results compacted; any other message as it is. */
export function compactMessage(message: Message, seen?: SeenByCall): Message {
  if (message.role !== 'tool') return message
  const content = message.content.map((part) => compactResult(part, seen?.get(part.callId)))
  return content.every((part, at) => part === message.content[at]) ? message : { ...message, content }
}

/** The things that a result showed, or else a line about it. A result that is shorter stays as it is. */
export function compactResult(part: ToolResultPart, seen: readonly Sighting[] = []): ToolResultPart {
  const size = sizeOf(part.output)
  const output =
    seen.length > 0 ? shownThings(seen) : `[${part.tool}: ${part.status}, ${size} characters, left out here]`
  return sizeOf(output) < size ? { ...part, output } : part
}

const MOST_ROWS = 12
const MOST_CHARACTERS = 900
const LONGEST_LABEL = 60

/** Data and not text, so that code that reads or replaces ids in results finds them here too. */
function shownThings(seen: readonly Sighting[]): JsonObject {
  const newest = new Map(seen.map((one) => [`${one.entity}\n${one.id}`, one]))
  // No object: an entity may be named `constructor`.
  const shown = new Map<string, JsonObject[]>()
  let [more, characters] = [0, 0]
  for (const { entity, id, label } of newest.values()) {
    const row = { id, ...(label === undefined ? {} : { label: shortened(label) }) }
    const rows = shown.get(entity) ?? []
    characters += sizeOf(row)
    const isFull = rows.length >= MOST_ROWS || (characters > MOST_CHARACTERS && rows.length > 0)
    if (isFull) more += 1
    else shown.set(entity, [...rows, row])
  }
  return { shown: Object.fromEntries(shown), ...(more === 0 ? {} : { more }) }
}

function shortened(label: string): string {
  return label.length > LONGEST_LABEL ? `${label.slice(0, LONGEST_LABEL - 1).toWellFormed()}…` : label
}

function sizeOf(output: unknown): number {
  return typeof output === 'string' ? output.length : (JSON.stringify(output)?.length ?? 0)
}
