/**
 * Grounding as data, for models with the capability `structuredContext`: what tools have shown, what is chosen, and how
 * people call things. Calls are named by their ids.
 */
import type { ActiveValue, Sighting } from '../protocol/index.ts'

export interface GroundingContext {
  /** Every entity with the words that people have for one of them and for several. */
  readonly entities: Readonly<Record<string, EntityWords>>
  /** What the result of each call showed. */
  readonly seen: Readonly<Record<string, readonly Sighting[]>>
  /** What was chosen, and after which call that was so; the first has none. */
  readonly active: readonly ActiveSince[]
  /** For each entity the tool that finds its things by name. */
  readonly lookups: Readonly<Record<string, string>>
  /** How many turns that used tools are remembered. */
  readonly memoryTurns: number
}

export interface EntityWords {
  /** What one of them is called, by language. */
  readonly called: Readonly<Record<string, string>>
  /** In normal form. */
  readonly one: readonly string[]
  readonly many: readonly string[]
  /** The entity that it is a part of. */
  readonly parent?: string
}

export interface ActiveSince {
  readonly callId?: string
  readonly values: readonly ActiveValue[]
}

/** The same with calls by the ids that they have in a prompt. */
export function withCallIds(known: GroundingContext, idOf: (callId: string) => string): GroundingContext {
  return {
    ...known,
    seen: Object.fromEntries(Object.entries(known.seen).map(([callId, seen]) => [idOf(callId), seen])),
    active: known.active.map(({ callId, values }) =>
      callId === undefined ? { values } : { callId: idOf(callId), values },
    ),
  }
}
