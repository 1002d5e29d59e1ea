/** The error of a call as data for a model: a sentence, a code, and details. */
import type { JsonObject } from '../protocol/index.ts'
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

export interface CallError {
  readonly status: Settled['status']
  readonly error: string
  readonly code: CallErrorCode
  readonly more?: JsonObject
}

export function callError({ status, error, code, more = {} }: CallError): Settled {
  return { status, output: { error, code, ...more } }
}
