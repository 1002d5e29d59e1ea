/**
 * The one address guard: HTTP requests to addresses that a model, a page or a user has named, and that must not reach
 * machines inside the network. Every host is resolved here, every address is checked, and the connection is made to a
 * checked address, so a name that changes its address in between gains nothing. Redirects pass the same checks. Time, size
 * and headers are bounded. Proxies of the environment are not used: a proxy would resolve names again.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { systemTimer, type Timer } from '../base/index.ts'
import { checkOptions, HoldfastError, type OptionSet, quote } from '../protocol/index.ts'
import { type ConnectAddress, exchange, type Request, systemConnect } from './guard-exchange.ts'
import {
  type AllowedOrigin,
  checkedAddresses,
  GuardedFetchError,
  type Origins,
  parseOrigins,
  parseTarget,
  type ResolveHost,
  systemResolve,
} from './guard-target.ts'

export interface GuardedFetchOptions {
  /** Default: GET. Redirects of other methods are returned, not followed. */
  readonly method?: string
  /** Sent to the origin of the URL, and to no other that it redirects to. */
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as `headers` are. */
  readonly body?: string | Uint8Array
  /** The media types to accept, such as `application/json`, `text/*` or `application/*+json`. Default: all. */
  readonly types?: readonly string[]
  /** The largest body, before and after decompression. Default: 5 MB. */
  readonly maxBytes?: number
  /** False: the response is complete with its headers, and its `body` is empty. Default: true. */
  readonly readBody?: boolean
  /** The limit for everything together, slow bodies included. Default: 30 s. */
  readonly timeoutMs?: number
  /** Default: 5. */
  readonly maxRedirects?: number
  /** Decides about a redirect that passed all checks. One that is not followed is returned with its `location`. */
  readonly follow?: (to: URL, from: URL) => boolean
  readonly allowOrigins?: readonly AllowedOrigin[]
  /** Certificate authorities in PEM, instead of the ones that Node trusts. */
  readonly ca?: string
  /** Default: the resolver of the system. */
  readonly resolve?: ResolveHost
  /** Opens the TCP connection. Default: to the first of the addresses that answers. */
  readonly connect?: ConnectAddress
  readonly signal?: AbortSignal
  /** For tests. */
  readonly timer?: Timer
}

export interface GuardedResponse {
  /** The URL of the response, after redirects. */
  readonly url: string
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** In lower case, without parameters; `application/octet-stream` if the server names none. */
  readonly mediaType: string
  /** Decompressed. */
  readonly body: Uint8Array
  /** The target of a redirect that was not followed. */
  readonly location?: string
}

const GUARDED_FETCH: OptionSet<GuardedFetchOptions> = {
  place: 'guardedFetch()',
  options: {
    method: 'a text',
    headers: 'an object',
    body: null,
    types: 'a list',
    maxBytes: { least: 1 },
    readBody: 'true or false',
    timeoutMs: { leastMs: 1 },
    maxRedirects: { least: 0 },
    follow: 'a function',
    allowOrigins: 'a list',
    ca: 'a text',
    resolve: 'a function',
    connect: 'a function',
    signal: 'an AbortSignal',
    timer: 'a timer with wait() and after()',
  },
  foreign: { timeout: 'timeoutMs', redirect: 'maxRedirects', lookup: 'resolve' },
}

const MAX_BYTES = 5_000_000
const TIMEOUT_MS = 30_000
const MAX_REDIRECTS = 5

/**
 * Requests a URL that is not trusted. Every status is a response; throws a `GuardedFetchError` for a refusal or a failed
 * request, and the reason of the signal if it aborts.
 */
export async function guardedFetch(
  url: string | URL,
  options: GuardedFetchOptions = {},
): Promise<GuardedResponse> {
  checkOptions(options, GUARDED_FETCH)
  const { timer = systemTimer, timeoutMs = TIMEOUT_MS, signal: cancel } = options
  const origins = parseOrigins(options.allowOrigins ?? [])
  const deadline = new AbortController()
  const late = new GuardedFetchError('timeout', `The response was not complete after ${timeoutMs} ms.`)
  const stop = timer.after(timeoutMs, () => deadline.abort(late))
  const signal = cancel === undefined ? deadline.signal : AbortSignal.any([cancel, deadline.signal])
  try {
    const method = (options.method ?? 'GET').toUpperCase()
    return await fetchFollowing(parseTarget(String(url), origins), { ...options, method, origins, signal })
  } catch (error) {
    throw signal.aborted ? signal.reason : fetchError(error)
  } finally {
    stop()
  }
}

interface Fetching extends GuardedFetchOptions {
  readonly method: string
  readonly origins: Origins
  readonly signal: AbortSignal
}

async function fetchFollowing(first: URL, fetching: Fetching): Promise<GuardedResponse> {
  const { maxRedirects = MAX_REDIRECTS, origins, follow, method } = fetching
  let url = first
  for (let redirects = 0; ; redirects++) {
    const { location, ...response } = await fetchOnce(url, first, fetching)
    if (location === undefined) return { url: url.href, ...response }
    const to = redirectTarget(location, url, origins)
    if (method !== 'GET' || follow?.(to, url) === false)
      return { url: url.href, ...response, location: to.href }
    if (redirects >= maxRedirects)
      throw new GuardedFetchError('refused-redirect', `There are more than ${maxRedirects} redirects.`)
    url = to
  }
}

async function fetchOnce(url: URL, first: URL, fetching: Fetching): Promise<Omit<GuardedResponse, 'url'>> {
  const { origins, signal, resolve = systemResolve, connect = systemConnect } = fetching
  const addresses = await orAborted(() => checkedAddresses(url, resolve, origins), signal)
  const isFirst = url.origin === first.origin
  const request: Request = {
    method: fetching.method,
    headers: isFirst ? (fetching.headers ?? {}) : {},
    body: isFirst ? fetching.body : undefined,
    types: fetching.types ?? ['*'],
    maxBytes: fetching.maxBytes ?? MAX_BYTES,
    readBody: fetching.readBody ?? true,
    ca: fetching.ca,
    connect,
    addresses,
    signal,
  }
  return orAborted(() => exchange(url, request), signal)
}

/** The target of a redirect, under the rules of every URL, and never from https to plain http. */
function redirectTarget(location: string, from: URL, origins: Origins): URL {
  const text = URL.canParse(location, from.href) ? new URL(location, from.href).href : location
  const to = parsedRedirect(text, origins)
  if (from.protocol === 'https:' && to.protocol === 'http:' && !origins.has(to.origin))
    throw new GuardedFetchError(
      'refused-redirect',
      `${quote(from.host)} redirects from https to plain http, at ${quote(to.host)}. That is not followed.`,
    )
  return to
}

function parsedRedirect(text: string, origins: Origins): URL {
  try {
    return parseTarget(text, origins)
  } catch (error) {
    throw new GuardedFetchError('refused-redirect', `A redirect is not followed. ${(error as Error).message}`)
  }
}

/** Rejects when the signal aborts, also while a resolver or a connector does not answer. */
async function orAborted<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(signal.reason as Error)
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([work(), promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

function fetchError(error: unknown): unknown {
  if (error instanceof GuardedFetchError || HoldfastError.is(error)) return error
  return new GuardedFetchError('unreachable', 'The request has failed.', error)
}
