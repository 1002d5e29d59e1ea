/** The state of an agent, as its program sees it. */
import type { TurnError } from '../drive/index.ts'
import type { JsonObject } from '../protocol/index.ts'

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
