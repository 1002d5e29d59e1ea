/** The state of a task by the outcome of its last turn, and the reason in its metadata. The table of the guide. */
import type { TaskState } from '@a2a-js/sdk'
import type { EntryData, JsonObject, OutcomeReason } from '../../protocol/index.ts'

export type StateName =
  | 'submitted'
  | 'working'
  | 'completed'
  | 'failed'
  | 'canceled'
  | 'input-required'
  | 'rejected'
  | 'auth-required'

/** `TaskState` of the package, which is loaded late. */
export const STATE: Readonly<Record<StateName, TaskState>> = {
  submitted: 1,
  working: 2,
  completed: 3,
  failed: 4,
  canceled: 5,
  'input-required': 6,
  rejected: 7,
  'auth-required': 8,
}

const TERMINAL: ReadonlySet<StateName> = new Set<StateName>(['completed', 'failed', 'canceled', 'rejected'])
const WAITING: ReadonlySet<StateName> = new Set<StateName>(['input-required', 'auth-required'])

export function isTerminal(state: StateName): boolean {
  return TERMINAL.has(state)
}

export function isWaitingState(state: StateName): boolean {
  return WAITING.has(state)
}

interface Row {
  readonly state: StateName
  readonly reason: string
}

const OUTCOMES: Readonly<Record<OutcomeReason, Row>> = {
  stop: { state: 'completed', reason: 'stop' },
  'max-iterations': { state: 'completed', reason: 'max_iterations' },
  limit: { state: 'completed', reason: 'limit' },
  'input-required': { state: 'input-required', reason: 'input_required' },
  'auth-required': { state: 'auth-required', reason: 'auth_required' },
  failed: { state: 'failed', reason: 'error' },
  cancelled: { state: 'canceled', reason: 'canceled' },
}

export interface Ended {
  readonly state: StateName
  readonly metadata: JsonObject
}

export function endedState({ outcome, limit, maximum, error }: EntryData['turn.end']): Ended {
  const { state, reason } = OUTCOMES[outcome]
  const limits: JsonObject =
    outcome === 'max-iterations'
      ? { iterations: maximum ?? null }
      : limit === undefined
        ? {}
        : { limit, maximum: maximum ?? null }
  return {
    state,
    metadata: { reason, ...limits, ...(error === undefined ? {} : { error: errorOf(error) }) },
  }
}

/** Code and message alone: other fields are for the operator. */
function errorOf({ code = 'failed', message = '' }: JsonObject): JsonObject {
  return { code, message }
}
