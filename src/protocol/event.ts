/**
 * Events of a turn: every entry once it is durable, and deltas in between, which are never stored (R18). A reader that
 * ignores deltas loses nothing.
 */
import type { Entry, EntryData, EntryType } from './entry.ts'
import type { Json } from './json.ts'

export type TurnEvent = EntryEvent | DeltaEvent

export type EntryEvent = { readonly [T in EntryType]: EntryEventOf<T> }[EntryType]

export interface EntryEventOf<T extends EntryType> extends Omit<Entry, 'seq' | 'type' | 'data' | 'v'> {
  readonly type: T
  readonly data: EntryData[T]
  /** Position in the journal. Absent while the entry is unsaved, which happens with `autoSave: false` only. */
  readonly seq?: number
  /** The calls that lead down to the sub-agent of the event; absent in the conversation itself. */
  readonly path?: readonly string[]
}

export type DeltaEvent = { readonly [T in DeltaType]: DeltaEventOf<T> }[DeltaType]

export interface DeltaEventOf<T extends DeltaType> {
  readonly type: T
  readonly turn: number
  readonly data: DeltaData[T]
  /** Always absent: a delta has no position in the journal. */
  readonly seq?: undefined
  readonly path?: readonly string[]
}

export type DeltaType = keyof DeltaData

export interface DeltaData {
  'text.delta': { readonly text: string }
  'reasoning.delta': { readonly text: string }
  /** Arguments of a call as they stream: a fragment of JSON. `model.end` has the call under the same id, if it is completed. */
  'call.delta': { readonly callId: string; readonly tool: string; readonly text: string }
  'tool.progress': { readonly callId: string; readonly tool: string; readonly progress: Json }
  'node.progress': { readonly task: string; readonly node: string; readonly progress: Json }
  /** The only event of a turn that never began: the reason, and what to do. Nothing was stored. */
  'turn.refused': { readonly code: string; readonly message: string }
}

export const DELTA_TYPES: ReadonlySet<string> = new Set<DeltaType>([
  'text.delta',
  'reasoning.delta',
  'call.delta',
  'tool.progress',
  'node.progress',
  'turn.refused',
])

export function isDelta(event: TurnEvent): event is DeltaEvent {
  return DELTA_TYPES.has(event.type)
}
