/** What went wrong with a call, as data for a model: a sentence, a code, and what else helps. */
import type { JsonObject } from '../protocol/index.ts'
import type { Settled } from './tool.ts'

export type TroubleCode =
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

export interface Trouble {
  readonly status: Settled['status']
  readonly error: string
  readonly code: TroubleCode
  readonly more?: JsonObject
}

export function troubled({ status, error, code, more = {} }: Trouble): Settled {
  return { status, output: { error, code, ...more } }
}
