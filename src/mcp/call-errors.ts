/** Sorts the failures of a request to a server: what the server refused, what never reached it, what may have happened. */
import { isUnsent } from '../base/index.ts'
import { quote } from '../protocol/index.ts'
import { issueLines, type Redactor, type StandardIssue, thrownText, UnknownOutcome } from '../tool/index.ts'
import type { ClientSdk } from './sdk.ts'

/**
 * `refused`: the server answered with an error. `unsent`: it did nothing, also after a second try. `expired`: it forgot the
 * session and did nothing. `lost`, `timeout`: it may have done it. `unreadable`: it may have, and would answer so again.
 */
export type CallFailure = 'refused' | 'unsent' | 'expired' | 'lost' | 'timeout' | 'unreadable'

/** Servers answer so to a session that they do not know. */
const NO_SESSION: readonly number[] = [400, 404]
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
    if (error.code === sdk.SdkErrorCode.ListPaginationExceeded) return 'unreadable'
  }
  return isUnsent(error) ? 'unsent' : 'lost'
}

/** Gateways answer with 502, 503 and 504 after they have passed a request on, too. */
function byStatus(status: number | undefined): CallFailure {
  if (status === undefined) return 'lost'
  if (NO_SESSION.includes(status)) return 'expired'
  return status >= FIRST_CLIENT_ERROR && status < FIRST_SERVER_ERROR ? 'refused' : 'lost'
}

const DEEPEST = 3

/** The parts of an answer that break the protocol; the package lists them as JSON after its own words. */
function unreadableText(error: unknown): string {
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

export interface FailedRequest {
  readonly failure: CallFailure
  readonly error: unknown
  /** More about a lost connection. */
  readonly lossText?: string | undefined
}

/** The error that a model or a program reads. `isStopped`: the request was cancelled from here. */
export function requestError(
  { name, secrets }: { readonly name: string; readonly secrets: Redactor },
  { failure, error, lossText }: FailedRequest,
  isStopped: boolean,
): Error {
  const server = `The MCP server ${quote(name)}`
  const theServer = server.replace('T', 't')
  const text = secrets.text(failureText(error))
  if (failure === 'refused') return new Error(`${server} refused the call: ${text}`)
  if (failure === 'unsent' || failure === 'expired')
    return new Error(`${server} did not take the call, and did nothing: ${text}`)
  if (isStopped)
    return new UnknownOutcome(`The call was cancelled, and ${theServer} was told so.`, 'cancelled')
  if (failure === 'unreadable')
    return new UnknownOutcome(
      `${server} answered, but its answer breaks the protocol: ${ended(secrets.text(unreadableText(error)))}`,
      'connection-lost',
    )
  if (failure === 'timeout') return new UnknownOutcome(`${server} did not answer in time.`, 'timeout')
  return new UnknownOutcome(
    `The connection to ${theServer} was lost in this call. ${ended(lossText ?? text)}`,
    'connection-lost',
  )
}

function ended(sentence: string): string {
  return sentence.replace(/\.?$/, '.')
}
