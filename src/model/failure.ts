/**
 * A model call without a whole reply, as data: the kind of failure, usage and partial reply, and the next step. Does not
 * read providers' errors; `provider-errors.ts` does.
 */
import { type AssistantPart, defined, type JsonObject, NO_USAGE, type Usage } from '../protocol/index.ts'

/**
 * `aborted`: the caller's signal. `timeout`: ours. `rate-limit`, `overloaded`, `network`, `cut-off` (the stream ended
 * before the reply did): transient. `auth`, `refused` (the provider will not answer this), `context-length`, `invalid` (the
 * request is wrong): repeating does not help. `file-refused`: accepted without these files, refused with them. `unknown`:
 * as the provider says.
 */
export type FailureKind =
  | 'aborted'
  | 'timeout'
  | 'rate-limit'
  | 'overloaded'
  | 'network'
  | 'auth'
  | 'refused'
  | 'context-length'
  | 'invalid'
  | 'file-refused'
  | 'cut-off'
  | 'unknown'

/** A file as the journal names it: without its bytes. */
export type NamedFile = { readonly digest: string; readonly mediaType: string; readonly name?: string }

export interface FailureOptions {
  readonly message: string
  /** Default: by kind. */
  readonly retryable?: boolean
  readonly retryAfterMs?: number
  readonly status?: number
  readonly usage?: Usage
  readonly partial?: readonly AssistantPart[]
  /** Of `file-refused`. */
  readonly files?: readonly NamedFile[]
  /** Of `context-length`: about how many the prompt had. */
  readonly tokens?: number
  readonly cause?: unknown
}

const MOST_TEXT = 500
const PASSING: ReadonlySet<FailureKind> = new Set<FailureKind>([
  'timeout',
  'rate-limit',
  'overloaded',
  'network',
  'cut-off',
])

export class ModelFailure extends Error {
  readonly kind: FailureKind
  /** True if the same request may succeed if repeated. */
  readonly retryable: boolean
  /** The wait that the provider asked for. */
  readonly retryAfterMs?: number
  readonly status?: number
  /** Estimated, since no provider reports the usage of a failed call; zero for one that was refused before it ran. */
  readonly usage: Usage
  /** The received part of the reply: text only, never calls. */
  readonly partial: readonly AssistantPart[]
  /** The files that the model refused. */
  readonly files: readonly NamedFile[]
  readonly tokens?: number

  constructor(kind: FailureKind, options: FailureOptions) {
    super(
      options.message.slice(0, MOST_TEXT).toWellFormed(),
      options.cause === undefined ? undefined : { cause: options.cause },
    )
    this.name = 'ModelFailure'
    this.kind = kind
    this.retryable = options.retryable ?? PASSING.has(kind)
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs
    if (options.status !== undefined) this.status = options.status
    this.usage = options.usage ?? NO_USAGE
    this.partial = options.partial ?? []
    this.files = options.files ?? []
    if (options.tokens !== undefined) this.tokens = options.tokens
  }

  /** For the journal: without headers, keys or the prompt. */
  toData(): JsonObject {
    const { kind, message, status, files, tokens } = this
    return {
      kind,
      message,
      ...defined({ status }),
      ...(files.length === 0 ? {} : { files }),
      ...defined({ tokens }),
    }
  }
}

export type NextAttempt = { readonly next: 'retry'; readonly waitMs: number } | { readonly next: 'fallback' }

export interface RetryPosition {
  /** The failed calls of this model, this one included: 1 after the first. */
  readonly attempt: number
  readonly retries: number
  readonly maxWaitMs: number
  /** Jitter: a number from 0 to 1 that adds up to a quarter to the wait. */
  readonly random?: () => number
}

const FIRST_WAIT_MS = 1_000

/**
 * The step after a failure: a retry after 1, 2, 4 … seconds, or the wait that the provider asked for; a fallback model when
 * retrying does not help, is used up, or would take longer than `maxWaitMs`.
 */
export function afterFailure(failure: ModelFailure, at: RetryPosition): NextAttempt {
  if (!failure.retryable || at.attempt > at.retries) return { next: 'fallback' }
  const backoff = Math.min(FIRST_WAIT_MS * 2 ** (at.attempt - 1), at.maxWaitMs)
  const wait = Math.max(failure.retryAfterMs ?? backoff, 0)
  if (wait > at.maxWaitMs) return { next: 'fallback' }
  const waitMs = at.random ? Math.min(Math.round(wait * (1 + at.random() / 4)), at.maxWaitMs) : wait
  return { next: 'retry', waitMs }
}
