/** The state of an agent, as its program sees it. */
import type { JournalState, TurnError } from '../drive/index.ts'
import type { EntryData, JsonObject } from '../protocol/index.ts'

export interface AgentState {
  /** `busy` while a turn runs here or is followed from here. */
  readonly status: 'created' | 'starting' | 'ready' | 'busy' | 'paused' | 'shutdown'
  /** Turns started by any process, as far as this agent has read the journal. */
  readonly turnCount: number
  readonly createdAt?: Date
  readonly lastActivity?: Date
  /** Why the last turn failed. The next turn may still start. */
  readonly error?: TurnError
  readonly metadata: JsonObject
}

/** The failure of a turn that ran or was followed here. */
export interface KnownFailure {
  readonly turn: number
  readonly error: TurnError
}

/** Why the newest turn failed: as this process saw it, unless a later turn has ended since, else as the journal has it. */
export function lastError(
  { session, windowEntries }: JournalState,
  known: KnownFailure | undefined,
): TurnError | undefined {
  const { outcome, open, turn } = session
  if (known !== undefined && (open !== undefined || turn <= known.turn)) return known.error
  if (outcome !== 'failed' || open !== undefined) return undefined
  const end = windowEntries.findLast((entry) => entry.type === 'turn.end' && entry.turn === turn)
  return (end?.data as EntryData['turn.end'] | undefined)?.error as TurnError | undefined
}
