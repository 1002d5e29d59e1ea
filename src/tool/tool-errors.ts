/** The error of a call as data for a model: a sentence, a code, and details. */
import type { JsonObject, ReplayClass } from '../protocol/index.ts'
import type { Settled } from './tool.ts'

export type CallErrorCode =
  | 'unknown-tool'
  | 'malformed-arguments'
  | 'invalid-arguments'
  | 'redacted-arguments'
  | 'timeout'
  | 'cancelled'
  | 'not-json'
  | 'invalid-output'
  | 'too-large'
  | 'invalid-question'
  | 'connection-lost'

export interface CallErrorData {
  readonly status: Settled['status']
  readonly error: string
  readonly code: CallErrorCode
  readonly more?: JsonObject
}

export function callError({ status, error, code, more = {} }: CallErrorData): Settled {
  return { status, output: { error, code, ...more } }
}

/**
 * Thrown by a tool that has begun its effect and cannot know whether it happened: another process did it and was lost. A
 * `never` tool's call is settled as unknown, a `safe` one's as an error.
 */
export class UnknownOutcome extends Error {
  readonly code: CallErrorCode
  readonly isUnknownOutcome = true

  constructor(message: string, code: 'connection-lost' | 'timeout' | 'cancelled') {
    super(message)
    this.name = 'UnknownOutcome'
    this.code = code
  }

  /** Works across two installed copies of the package, where `instanceof` does not. False for an unreadable value. */
  static is(value: unknown): value is UnknownOutcome {
    try {
      return typeof value === 'object' && value !== null && 'isUnknownOutcome' in value
    } catch {
      // Anything can be thrown, also a revoked Proxy.
      return false
    }
  }
}

/** The result of a call or effect that another driver began, and of which nothing was stored. */
export const UNKNOWN =
  'Started, and no result was stored: whether it happened is unknown. Check before you repeat it.'

/** The settlement of a call that began and has no result. */
export function withoutResult(replay: ReplayClass, event: string, code: CallErrorCode): Settled {
  return replay === 'safe'
    ? callError({ status: 'error', code, error: `${event} It has no result. It is safe to call it again.` })
    : callError({
        status: 'unknown',
        code,
        error: `${event} It may or may not have happened. Find out before you call it again.`,
      })
}
