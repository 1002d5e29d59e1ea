/**
 * Grounding as data, for models with the capability `structuredContext`: what tools have shown, what is chosen, and how
 * people call things. Calls are named by their ids.
 */
import type { ActiveValue, Sighting } from '../protocol/index.ts'

export interface GroundingContext {
  /** Every entity with its singular and plural words. */
  readonly entities: Readonly<Record<string, EntityWords>>
  /** The sightings of each call's result. */
  readonly seen: Readonly<Record<string, readonly Sighting[]>>
  /** The active values, each with the call that made them so; the first has none. */
  readonly active: readonly ActiveSince[]
  /** For each entity, the tool that looks its things up by name. */
  readonly lookups: Readonly<Record<string, string>>
  /** How many turns with tools are remembered. */
  readonly memoryTurns: number
}

export interface EntityWords {
  /** The display name of one, by language. */
  readonly called: Readonly<Record<string, string>>
  /** In normal form. */
  readonly one: readonly string[]
  readonly many: readonly string[]
  /** The parent entity. */
  readonly parent?: string
}

export interface ActiveSince {
  readonly callId?: string
  readonly values: readonly ActiveValue[]
}

/** The same, with calls by their ids in a prompt. */
export function withCallIds(known: GroundingContext, idOf: (callId: string) => string): GroundingContext {
  return {
    ...known,
    seen: Object.fromEntries(Object.entries(known.seen).map(([callId, seen]) => [idOf(callId), seen])),
    active: known.active.map(({ callId, values }) =>
      callId === undefined ? { values } : { callId: idOf(callId), values },
    ),
  }
}
