/** Limits of one turn, and what is left of them for conversations that it runs below itself. */

/** Reaching one ends the turn with what was achieved (R14). */
export interface Limits {
  /** Model calls that may ask for tools. 10 if not given. */
  readonly iterations?: number
  readonly durationMs?: number
  /** Input and output tokens together. */
  readonly tokens?: number
  readonly costUsd?: number
  readonly toolCalls?: number
  /** Calls in a row that do not end well, and of which the model has heard and still wants more. 3 if not given. */
  readonly consecutiveFailures?: number
}

export const DEFAULT_LIMITS: Limits & { readonly iterations: number; readonly consecutiveFailures: number } =
  {
    iterations: 10,
    consecutiveFailures: 3,
  }

/** JSON knows no infinity. More than any turn can use is as good, and says that a limit of the config does not hold. */
export const UNLIMITED: number = Number.MAX_SAFE_INTEGER

/** Is this a limit that nothing reaches? */
export function isUnlimited(limit: number): boolean {
  return limit >= UNLIMITED
}
