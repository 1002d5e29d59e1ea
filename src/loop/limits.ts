/** The limits of one turn. */
import type { JsonObject } from '../protocol/index.ts'

/** A limit that is reached ends the turn with what was achieved. */
export interface Limits {
  /** Model calls that may ask for tools. 10 if not given. */
  readonly iterations?: number
  readonly durationMs?: number
  /** Input and output tokens together. */
  readonly tokens?: number
  readonly costUsd?: number
  readonly toolCalls?: number
  /** Failed calls in a row that end the turn, if the model has read of them and requests more. 3 if not given. */
  readonly consecutiveFailures?: number
}

export const DEFAULT_LIMITS: Limits & { readonly iterations: number; readonly consecutiveFailures: number } =
  {
    iterations: 10,
    consecutiveFailures: 3,
  }

/** JSON has no infinity: a limit above any use, which also overrides one of the config. */
export const UNLIMITED: number = Number.MAX_SAFE_INTEGER

/**
 * The limits that an input was stored with. Those that are no numbers are left out: another program may have posted the
 * input, and JSON makes an infinity null.
 */
export function storedLimits(limits: JsonObject = {}): Limits {
  return Object.fromEntries(Object.entries(limits).filter(([, most]) => typeof most === 'number'))
}

export function isUnlimited(limit: number): boolean {
  return limit >= UNLIMITED
}
