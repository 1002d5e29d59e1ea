/** One signed notice to a receiver, in the form of Standard Webhooks, through the guard. Repeating it is the caller's. */
import { createHmac } from 'node:crypto'
import { HoldfastError } from '../protocol/index.ts'
import { type GuardedFetchOptions, guardedFetch } from './address-guard.ts'
import { GuardedFetchError } from './guard-target.ts'

export interface SignedNotice {
  readonly url: string
  /** The same in every attempt: receivers drop repetitions by it. */
  readonly id: string
  readonly body: string
  /** In milliseconds since 1970. */
  readonly now: number
  readonly secret: Uint8Array
  /** Default: those of JSON. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface PostFailure {
  readonly reason: string
  /** Another attempt changes nothing. */
  readonly isFinal?: boolean
}

/** The first four are options of the guard. */
export interface PostOptions
  extends Pick<GuardedFetchOptions, 'allowOrigins' | 'ca' | 'resolve' | 'connect'> {
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** Undefined if the receiver has accepted it: its status decides, and the body of its answer is not read. */
export async function signedPost(
  { url, id, body, now, secret, headers }: SignedNotice,
  { timeoutMs, signal, allowOrigins, ca, resolve, connect }: PostOptions,
): Promise<PostFailure | undefined> {
  const timestamp = String(Math.floor(now / 1000))
  const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')
  try {
    const { status } = await guardedFetch(url, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        ...headers,
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': `v1,${signature}`,
      },
      timeoutMs,
      readBody: false,
      signal,
      ...(allowOrigins === undefined ? {} : { allowOrigins }),
      ...(ca === undefined ? {} : { ca }),
      ...(resolve === undefined ? {} : { resolve }),
      ...(connect === undefined ? {} : { connect }),
    })
    return status >= 200 && status < 300 ? undefined : { reason: `The receiver answered ${status}.` }
  } catch (error) {
    const isFinal = error instanceof GuardedFetchError && FINAL.has(error.code)
    return { reason: error instanceof Error ? error.message : String(error), isFinal }
  }
}

/** Refusals of the guard, which another attempt does not change. */
const FINAL: ReadonlySet<string> = new Set(['invalid-url', 'refused-address'])
const FIRST_WAIT_MS = 1000
const LONGEST_WAIT_MS = 300_000
const LEAST_SECRET_BYTES = 32

/** The time before the attempt after this one: 1, 2, 4 … seconds, at most 5 minutes. */
export function waitAfter(attempt: number): number {
  return Math.min(FIRST_WAIT_MS * 2 ** (attempt - 1), LONGEST_WAIT_MS)
}

/** A secret as its bytes: `whsec_` and base64, or a text. Throws if it is short. */
export function signingSecret(secret: string, place: string): Uint8Array {
  const isEncoded = secret.startsWith('whsec_')
  const bytes = isEncoded ? Buffer.from(secret.slice('whsec_'.length), 'base64') : Buffer.from(secret, 'utf8')
  if (bytes.length >= LEAST_SECRET_BYTES) return bytes
  throw new HoldfastError('invalid-option', {
    message: `The secret of ${place} must have at least ${LEAST_SECRET_BYTES} bytes. Make one: openssl rand -hex 32`,
  })
}
