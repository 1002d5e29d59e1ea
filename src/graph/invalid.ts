/** The error for invalid user code, with the reason as a sentence. */
import { type ErrorCode, HoldfastError } from '../protocol/index.ts'

export function invalid(
  code: Extract<ErrorCode, 'invalid-graph' | 'invalid-option' | 'invalid-update'>,
  why: string,
): HoldfastError {
  return new HoldfastError(code, { message: `${why.charAt(0).toUpperCase()}${why.slice(1)}.` })
}
