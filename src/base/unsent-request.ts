/** True for requests of `fetch` that failed before there was a connection to send anything over. */

/** An error of the network alone does not say so: an open connection can end with `EHOSTUNREACH`, too. */
const BEFORE_SENDING: readonly unknown[] = ['connect', 'getaddrinfo']
const CONNECT_TIMEOUT = 'UND_ERR_CONNECT_TIMEOUT'
const DEEPEST = 3

export function isUnsent(error: unknown, depth = 0): boolean {
  if (typeof error !== 'object' || error === null || depth > DEEPEST) return false
  const { code, syscall, cause, errors } = error as {
    readonly code?: unknown
    readonly syscall?: unknown
    readonly cause?: unknown
    readonly errors?: unknown
  }
  if (code === CONNECT_TIMEOUT || BEFORE_SENDING.includes(syscall)) return true
  const inner = Array.isArray(errors) && errors.length > 0 ? (errors as readonly unknown[]) : [cause]
  return inner.every((each) => isUnsent(each, depth + 1))
}
