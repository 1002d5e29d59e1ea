/** Sorts the failures of a request to a server: what the server refused, what never reached it, what may have happened. */
import { issueLines, type StandardIssue, thrownText } from '../tool/index.ts'
import type { ClientSdk } from './sdk.ts'

/**
 * `refused`: the server answered with an error. `unsent`: it did nothing, also after a second try. `expired`: it forgot the
 * session and did nothing. `lost`, `timeout`: it may have done it. `unreadable`: it may have, and would answer so again.
 */
export type CallFailure = 'refused' | 'unsent' | 'expired' | 'lost' | 'timeout' | 'unreadable'

const UNSENT: readonly string[] = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'EHOSTUNREACH',
]
/** Servers answer so to a session that they do not know. */
const NO_SESSION: readonly number[] = [400, 404]
const UNAVAILABLE = 503
const FIRST_CLIENT_ERROR = 400
const FIRST_SERVER_ERROR = 500

type Sdk = Pick<
  ClientSdk,
  'ProtocolError' | 'SdkError' | 'SdkErrorCode' | 'SdkHttpError' | 'UnauthorizedError'
>

export function failureOf(sdk: Sdk, error: unknown): CallFailure {
  if (error instanceof sdk.UnauthorizedError) return 'unsent'
  if (error instanceof sdk.SdkHttpError) return byStatus(error.status)
  if (error instanceof sdk.ProtocolError) return 'refused'
  if (error instanceof sdk.SdkError) {
    if (error.code === sdk.SdkErrorCode.RequestTimeout) return 'timeout'
    if (error.code === sdk.SdkErrorCode.NotConnected) return 'unsent'
    if (error.code === sdk.SdkErrorCode.InputRequiredRoundsExceeded) return 'refused'
    if (error.code === sdk.SdkErrorCode.InvalidResult) return 'unreadable'
  }
  return codesOf(error).some((code) => UNSENT.includes(code)) ? 'unsent' : 'lost'
}

function byStatus(status: number | undefined): CallFailure {
  if (status === undefined) return 'lost'
  if (NO_SESSION.includes(status)) return 'expired'
  if (status === UNAVAILABLE) return 'unsent'
  return status >= FIRST_CLIENT_ERROR && status < FIRST_SERVER_ERROR ? 'refused' : 'lost'
}

/** The codes of an error and its causes. */
function codesOf(error: unknown, depth = 0): readonly string[] {
  if (typeof error !== 'object' || error === null || depth > 4) return []
  const { code, cause, errors } = error as {
    readonly code?: unknown
    readonly cause?: unknown
    readonly errors?: unknown
  }
  const inner = Array.isArray(errors) ? (errors as readonly unknown[]) : [cause]
  return [...(typeof code === 'string' ? [code] : []), ...inner.flatMap((each) => codesOf(each, depth + 1))]
}

const DEEPEST = 3

/** The parts of an answer that break the protocol; the package lists them as JSON after its own words. */
export function unreadableText(error: unknown): string {
  const text = thrownText(error)
  try {
    return issueLines(JSON.parse(text.slice(text.indexOf(': ') + 2)) as readonly StandardIssue[]).join('; ')
  } catch {
    return text
  }
}

/** The message of an error with those of its causes: a failed `fetch` says why only there. */
export function failureText(error: unknown, depth = 0): string {
  const own = thrownText(error)
  const { cause } = (error ?? {}) as { readonly cause?: unknown }
  if (cause === undefined || depth === DEEPEST) return own
  const below = failureText(cause, depth + 1)
  return own.includes(below) ? own : `${own.replace(/\.$/, '')}: ${below}`
}
