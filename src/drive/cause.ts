/** The error behind a failed outcome, as it was thrown in this process. The journal keeps its message only. */

/** Not enumerable: an outcome that is written as JSON or compared stays what the journal says. The first cause stays. */
export function giveCause<T extends { readonly cause?: unknown }>(outcome: T, cause: unknown): T {
  return cause === undefined || 'cause' in outcome
    ? outcome
    : Object.defineProperty(outcome, 'cause', { value: cause })
}
