/** Attaches the thrown error to a failed outcome, in this process. The journal keeps its message only. */

/** Not enumerable: an outcome as JSON or in a comparison stays equal to the journal. The first cause wins. */
export function attachCause<T extends { readonly cause?: unknown }>(outcome: T, cause: unknown): T {
  return cause === undefined || 'cause' in outcome
    ? outcome
    : Object.defineProperty(outcome, 'cause', { value: cause })
}
