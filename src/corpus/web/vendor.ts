/** The contract between a search and its vendor, and one request to the vendor. Its key is in no error and no property. */
import type { Timer } from '../../base/index.ts'
import {
  GuardedFetchError,
  type GuardedFetchOptions,
  type GuardedResponse,
  guardedFetch,
} from '../../net/index.ts'
import { defined, HoldfastError, type JsonObject, quote } from '../../protocol/index.ts'

/** A result of a search, before its page is read. */
export interface Hit {
  readonly url: string
  readonly title: string
  readonly excerpt: string
}

export interface VendorRequest {
  readonly url: URL
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** `rate`: the same request may pass soon. `quota`: not before the plan's next period. An object: advice of the vendor. */
export type Refusal = 'key' | 'rate' | 'quota' | { readonly advice: string } | undefined

export interface Vendor {
  readonly name: string
  /** The name in messages. */
  readonly label: string
  /** The option or variable to check when the key is refused. */
  readonly keyPlace?: string
  request(query: string, limit: number): VendorRequest
  /** The results of an answer; undefined if it has another shape. */
  hits(answer: unknown): readonly Hit[] | undefined
  /** Why an answer with another status than 2xx refuses the request; undefined if only the status says it. */
  refusal(status: number, answer: unknown): Refusal
}

export interface Asking {
  readonly query: string
  readonly limit: number
  readonly guard: Pick<GuardedFetchOptions, 'ca' | 'resolve' | 'connect'>
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly timer: Timer
}

const MAX_BYTES = 2_000_000
const RETRIES = 2
const RETRY_MS = 1000
const LONGEST_RETRY_MS = 5000

/** Waits and asks again when the vendor limits the rate: free plans allow one request a second. */
export async function askVendor(vendor: Vendor, asking: Asking): Promise<readonly Hit[]> {
  const { timer, signal } = asking
  for (let retries = 0; ; retries++) {
    const response = await send(vendor, asking)
    const answer = jsonOf(response)
    if (response.status >= 200 && response.status <= 299) return hitsOf(vendor, response, answer)
    const refusal = vendor.refusal(response.status, answer?.value)
    if (refusal !== 'rate' || retries === RETRIES) throw refused(vendor, response.status, refusal)
    await timer.wait(retryAfter(response), { signal })
    signal.throwIfAborted()
  }
}

async function send(vendor: Vendor, asking: Asking): Promise<GuardedResponse> {
  const { url, ...request } = vendor.request(asking.query, asking.limit)
  const { guard, timeoutMs, signal, timer } = asking
  try {
    // The address comes from the configuration: it may be inside. Its redirects are not followed, so only it is.
    const allowOrigins = [{ origin: url.origin, addresses: ['0.0.0.0/0', '::/0'] }]
    const bounds = { maxBytes: MAX_BYTES, timeoutMs, signal, timer, follow: () => false }
    const response = await guardedFetch(url, { ...guard, ...request, ...bounds, allowOrigins })
    if (response.location === undefined) return response
    const to = new URL(response.location).origin
    throw failed(vendor, `It redirects to ${quote(to)}. Write its address there as url.`)
  } catch (error) {
    if (!(error instanceof GuardedFetchError)) throw error
    throw failed(vendor, error.message, { retry: 'later', cause: error })
  }
}

/** The value is in an object, because `null` is JSON, too. */
function jsonOf({ body }: GuardedResponse): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(new TextDecoder().decode(body)) }
  } catch {
    return undefined
  }
}

function hitsOf(
  vendor: Vendor,
  { mediaType, status }: GuardedResponse,
  answer: { readonly value: unknown } | undefined,
): readonly Hit[] {
  const advice = 'Check that url leads to its search API.'
  if (answer === undefined)
    throw failed(vendor, `Its answer is ${quote(mediaType)} and not JSON. ${advice}`, { status })
  const hits = vendor.hits(answer.value)
  if (hits === undefined) throw failed(vendor, `Its answer has no list of results. ${advice}`, { status })
  return hits
}

function retryAfter({ headers }: GuardedResponse): number {
  const seconds = Number(headers['retry-after'] ?? Number.NaN)
  return seconds > 0 ? Math.min(seconds * 1000, LONGEST_RETRY_MS) : RETRY_MS
}

function refused(vendor: Vendor, status: number, refusal: Refusal): HoldfastError {
  const { keyPlace = 'its key' } = vendor
  if (typeof refusal === 'object') return failed(vendor, refusal.advice, { status })
  if (refusal === 'key') return failed(vendor, `It refuses the key. Check ${keyPlace}.`, { status })
  if (refusal === 'quota')
    return failed(vendor, "Your plan's quota is used up. Wait for its next period, or raise it.", { status })
  if (refusal === 'rate')
    return failed(vendor, 'It allows no more requests now. Wait, or send fewer at once.', {
      status,
      retry: 'later',
    })
  return status >= 500
    ? failed(vendor, 'It is out of order. Try again later.', { status, retry: 'later' })
    : failed(vendor, 'It refuses the request. Check the options and the query.', { status })
}

interface Failure {
  readonly status?: number
  readonly retry?: 'later'
  readonly cause?: unknown
}

export function failed(vendor: Vendor, why: string, { status, ...rest }: Failure = {}): HoldfastError {
  const details: JsonObject = { vendor: vendor.name, ...defined({ status }) }
  const withStatus = status === undefined ? '' : ` with status ${status}`
  return new HoldfastError('search-failed', {
    message: `The search by ${vendor.label} has failed${withStatus}. ${why}`,
    details,
    ...rest,
  })
}
