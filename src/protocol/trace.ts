/**
 * The trace of a turn: what was asked, which model calls and tools ran, what hooks changed, and the outcome. Field names
 * are those of other frameworks' traces, in snake case, so that tools for them read it; times are milliseconds since
 * 1970, durations milliseconds.
 */
import type { Json, JsonObject } from './json.ts'
import type { OutcomeReason } from './outcome.ts'

export type TraceEntry =
  | UserInputTrace
  | LlmCallTrace
  | ToolExecutionTrace
  | NodeExecutionTrace
  | RequestTrace
  | HookChangeTrace
  | WarningTrace
  | TakeOverTrace
  | TurnResultTrace

export interface UserInputTrace {
  readonly type: 'user_input'
  readonly turn: number
  readonly prompt: string
  readonly timestamp: number
}

export interface TraceUsage {
  readonly input_tokens: number
  readonly output_tokens: number
  /** The part of `input_tokens` that the provider read from its cache. */
  readonly cached_tokens: number
  /** In US dollars; 0 where no price is known. */
  readonly cost: number
}

/** One attempt at a model call. */
export interface LlmCallTrace {
  readonly type: 'llm_call'
  readonly turn: number
  readonly model: string
  readonly timestamp: number
  /** Absent while the model replies. */
  readonly duration_ms?: number
  readonly tool_calls_count: number
  readonly iteration: number
  readonly usage: TraceUsage
  /** `cancelled`: it was stopped, by a cancel or a limit; `usage` is what it had used. */
  readonly status: 'success' | 'error' | 'cancelled' | 'running'
  readonly error?: string
  readonly error_type?: string
}

/** `success`, `error` and `not_found` as in other frameworks; the rest is what they cannot say. */
export type TraceStatus =
  | 'success'
  | 'error'
  | 'not_found'
  /** A person, a hook or a limit of its own refused it before it started. */
  | 'rejected'
  /** The judge of ids refused it before it started. */
  | 'refused'
  /** Started, and its outcome is not known. */
  | 'unknown'
  /** Never started, and never will be. */
  | 'not_run'
  /** A question, an approval or credentials are missing. */
  | 'waiting'
  | 'running'

export interface ToolExecutionTrace {
  readonly type: 'tool_execution'
  readonly turn: number
  readonly tool_name: string
  readonly arguments: Json
  readonly call_id: string
  /** Absent until it is settled. */
  readonly result?: Json
  readonly status: TraceStatus
  /** The duration, 0 if it never started; absent until it is settled. */
  readonly timing?: number
  readonly iteration: number
  readonly timestamp: number
  readonly error?: string
  readonly error_type?: string
}

/** A node of a graph, or an effect inside of one. */
export interface NodeExecutionTrace {
  readonly type: 'node_execution' | 'effect_execution'
  readonly turn: number
  readonly name: string
  /** The task, unique in its conversation; of an effect, its task too. */
  readonly task: string
  readonly call_id?: string
  readonly result?: Json
  readonly status: TraceStatus
  readonly timing?: number
  readonly timestamp: number
  readonly error?: string
  readonly error_type?: string
}

export interface RequestTrace {
  readonly type: 'request'
  readonly turn: number
  readonly request_id: string
  readonly call_id?: string
  readonly kind: string
  readonly prompt: string
  readonly timestamp: number
  /** Absent while it waits. */
  readonly how?: 'answered' | 'expired' | 'cancelled'
  readonly value?: Json
  readonly answered_at?: number
}

/** Changes of the hooks of one phase, or of a breakpoint. A phase without changes has no entry. */
export interface HookChangeTrace {
  readonly type: 'hook_change'
  readonly turn: number
  readonly hook: string
  readonly call_id?: string
  /** `args`: replaced arguments by call; `prompt`: parts of the prompt; `stop`: who ended the turn. */
  readonly changes: JsonObject
  readonly timestamp: number
}

export interface WarningTrace {
  readonly type: 'warning'
  readonly turn: number
  readonly code: string
  readonly message: string
  readonly timestamp: number
}

/** Another process, or this one after a stop, went on with the turn. */
export interface TakeOverTrace {
  readonly type: 'take_over'
  readonly turn: number
  readonly driver: string
  readonly timestamp: number
}

export interface TurnResultTrace {
  readonly type: 'turn_result'
  readonly turn: number
  readonly reason: OutcomeReason
  readonly duration_ms: number
  readonly usage: TraceUsage
  readonly timestamp: number
  readonly limit?: string
  readonly error?: string
  readonly error_type?: string
}
