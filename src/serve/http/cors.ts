/** CORS: the pages of other origins that may call, and the methods and headers that they may use. */
import { invalidOption, shown } from '../../protocol/index.ts'
import type { Mount } from '../mount.ts'
import { HttpProblem } from '../problem.ts'
import { VISITOR_KEY } from './visitor.ts'

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD'])
const METHODS = ['GET', 'POST', 'DELETE']
const REQUEST_HEADERS = [
  ...['authorization', 'content-type', 'idempotency-key', 'last-event-id', 'x-api-key', VISITOR_KEY],
]
const RESPONSE_HEADERS = ['content-disposition', 'retry-after', VISITOR_KEY]

export class Cors {
  readonly #origins: readonly string[]
  readonly #methods: string
  readonly #requestHeaders: readonly string[]
  /** The beginnings of further names, as `x-name-`. */
  readonly #prefixes: readonly string[]
  readonly #responseHeaders: string

  constructor(origins: readonly string[], mounts: readonly Mount[]) {
    for (const origin of origins as readonly unknown[]) checkOrigin(origin)
    this.#origins = origins
    this.#methods = list([...METHODS, ...mounts.flatMap(({ routes }) => routes.map(({ method }) => method))])
    const named = mounts.flatMap(({ requestHeaders = [] }) =>
      requestHeaders.map((name) => name.toLowerCase()),
    )
    this.#requestHeaders = [...REQUEST_HEADERS, ...named.filter((name) => !name.endsWith('*'))]
    this.#prefixes = named.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1))
    this.#responseHeaders = list([
      ...RESPONSE_HEADERS,
      ...mounts.flatMap(({ responseHeaders = [] }) => responseHeaders),
    ])
  }

  /** The headers of a response; none if the page may not read it. */
  headers(request: Request): Readonly<Record<string, string>> {
    const origin = this.#allowed(request)
    return origin === undefined
      ? {}
      : { ...originHeaders(origin), 'access-control-expose-headers': this.#responseHeaders }
  }

  /** The headers of the answer to a preflight request; undefined if the page may not call. */
  preflight(request: Request): Readonly<Record<string, string>> | undefined {
    const origin = this.#allowed(request)
    if (origin === undefined) return undefined
    const asked = request.headers.get('access-control-request-headers') ?? ''
    const names = asked.split(',').map((name) => name.trim().toLowerCase())
    const matching = names.filter((name) => this.#prefixes.some((prefix) => name.startsWith(prefix)))
    return {
      ...originHeaders(origin),
      'access-control-allow-methods': this.#methods,
      'access-control-allow-headers': list([...this.#requestHeaders, ...matching]),
      'access-control-max-age': '600',
    }
  }

  /**
   * Throws a problem if a page that may not call sends a request that changes something: browsers send some of those
   * without a preflight. Programs name no origin.
   */
  check(request: Request): void {
    if (READS.has(request.method) || isOwn(request) || this.#allowed(request) !== undefined) return
    const origin = request.headers.get('origin') ?? 'another site'
    throw new HttpProblem({
      status: 403,
      code: 'forbidden',
      detail: `A page of ${origin.slice(0, 200)} may not call this server. Add its origin to cors of createHttp().`,
    })
  }

  #allowed(request: Request): string | undefined {
    const origin = request.headers.get('origin')
    return origin !== null && this.#origins.includes(origin) ? origin : undefined
  }
}

/** Of a page without an origin, and of one with a scheme of its own, such as that of an app. */
const OTHER_ORIGIN = /^(?:null|[\w+.-]+:\/\/[^/?#\s]+)$/

/** Throws for a text that no browser sends as its origin: it would allow nothing. */
function checkOrigin(origin: unknown): void {
  const text = typeof origin === 'string' ? origin : ''
  const web = /^https?:/i.test(text) && URL.canParse(text) ? new URL(text).origin : undefined
  if (web === undefined ? OTHER_ORIGIN.test(text) : web === text) return
  const advice =
    web === undefined ? 'Name each one: scheme, host and port, as in https://app.example' : `Write ${web}`
  throw invalidOption('cors', `must hold origins, not ${shown(origin)}. ${advice}`)
}

/**
 * True for a program, and for a page of this server. A browser says which it is in Sec-Fetch-Site, which no page can write
 * and no proxy changes; to plain HTTP it may send an origin alone.
 */
function isOwn({ headers, url }: Request): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin' || site === 'none'
  const origin = headers.get('origin')
  // A proxy may have taken the request over TLS, so the scheme does not count.
  return origin === null || (URL.canParse(origin) && new URL(origin).host === new URL(url).host)
}

function originHeaders(origin: string): Record<string, string> {
  return { 'access-control-allow-origin': origin, vary: 'Origin' }
}

function list(names: readonly string[]): string {
  return [...new Set(names)].join(', ')
}
