/**
 * The one error class, thrown for misuse, configuration, storage and broken invariants. Failures of models, tools and
 * limits are data in entries. Errors hold ids and plain data only, so they can be logged as JSON.
 */
import type { JsonObject } from './json.ts'

export type ErrorCode =
  // the caller's input
  | 'invalid-key'
  | 'invalid-entry'
  | 'invalid-option'
  | 'too-large'
  | 'key-reused'
  | 'not-pending'
  | 'not-found'
  | 'exists'
  | 'pruned'
  | 'erased'
  | 'in-use'
  // ownership
  | 'owned'
  | 'fenced'
  | 'moved'
  | 'inbox-full'
  // stored data
  | 'entry-corrupt'
  | 'entry-not-understood'
  // the store itself
  | 'ambiguous'
  | 'store-busy'
  | 'store-full'
  | 'store-read-only'
  | 'store-corrupt'
  | 'store-newer'
  | 'store-foreign'
  | 'store-closed'
  | 'store-failed'
  // models, tools and agents
  | 'missing-package'
  | 'missing-key'
  | 'unknown-model'
  | 'busy'
  | 'paused'
  | 'shutdown'
  | 'forbidden'
  | 'overloaded'
  | 'nothing-to-continue'
  | 'wrong-kind'
  | 'invalid-answer'
  | 'cancelled'
  | 'turn-failed'
  | 'model-failed'
  | 'invalid-output'
  | 'limit-reached'
  | 'hook-failed'
  | 'option-failed'
  | 'search-failed'
  // graphs
  | 'invalid-graph'
  | 'invalid-update'
  | 'conflicting-update'
  | 'route-failed'
  | 'node-failed'
  | 'unknown-outcome'
  | 'expired'

export interface ErrorOptions {
  /** States what happened, to which id, and what to do next. */
  readonly message: string
  /** `later`: the same call may succeed if repeated. `never`: something must change first. */
  readonly retry?: 'never' | 'later'
  readonly details?: JsonObject
  readonly cause?: unknown
}

const marker = Symbol.for('holdfast.error')

export class HoldfastError extends Error {
  readonly code: ErrorCode
  readonly retry: 'never' | 'later'
  readonly details: JsonObject

  constructor(code: ErrorCode, options: ErrorOptions) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'HoldfastError'
    this.code = code
    this.retry = options.retry ?? 'never'
    this.details = options.details ?? {}
    Object.defineProperty(this, marker, { value: true })
  }

  /** Works across two installed copies of the package, where `instanceof` does not. */
  static is(value: unknown, code?: ErrorCode): value is HoldfastError {
    try {
      if (typeof value !== 'object' || value === null || !(marker in value)) return false
      return code === undefined || (value as unknown as HoldfastError).code === code
    } catch {
      // A thrown value may be one that nobody can read.
      return false
    }
  }

  toJSON(): JsonObject {
    return {
      name: this.name,
      code: this.code,
      message: this.message,
      retry: this.retry,
      details: this.details,
    }
  }
}
