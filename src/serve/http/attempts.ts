/**
 * Bounds failed authentications by address. After the bound nothing is tried that could be a guess; credentials that were
 * right before still are tried, so that nobody locks out the callers that share an address.
 */
import { createHash } from 'node:crypto'
import { type Authenticate, type Caller, checkCaller } from '../caller.ts'
import type { RateLimit } from './limits.ts'

const MOST_KNOWN = 10_000

export class Attempts {
  readonly #failures: RateLimit
  readonly #authenticate: Authenticate
  /** Hashes of credentials that were right, the most recently used last. */
  readonly #known = new Set<string>()

  constructor(authenticate: Authenticate, failures: RateLimit) {
    this.#authenticate = authenticate
    this.#failures = failures
  }

  /**
   * Throws `rate-limited` after too many failures. False is one, and so is undefined unless the request `mayVisit`.
   * `address`: undefined is not limited.
   */
  async caller(
    request: Request,
    address: string | undefined,
    mayVisit: boolean,
  ): Promise<Caller | false | undefined> {
    const credentials = hashOf(request)
    const isCounted = address !== undefined && !this.#isKnown(credentials)
    // Visitors have a bound of their own: failed tokens of the same address lock out none.
    const name = `${mayVisit ? 'visitors ' : ''}${address}`
    // Taken before and given back after, so that attempts at the same time are bounded, too.
    if (isCounted) this.#failures.take(name)
    let hasFailed = false
    try {
      // JavaScript may give null.
      const caller = (await this.#authenticate(request)) ?? undefined
      if (caller !== undefined && caller !== false) checkCaller(caller)
      hasFailed = caller === false || (caller === undefined && !mayVisit)
      if (credentials !== undefined) this.#remember(credentials, typeof caller === 'object')
      return caller
    } finally {
      if (isCounted && !hasFailed) this.#failures.giveBack(name)
    }
  }

  #isKnown(credentials: string | undefined): boolean {
    return credentials !== undefined && this.#known.has(credentials)
  }

  #remember(credentials: string, isRight: boolean): void {
    this.#known.delete(credentials)
    if (isRight) this.#known.add(credentials)
    for (const oldest of this.#known) {
      if (this.#known.size <= MOST_KNOWN) return
      this.#known.delete(oldest)
    }
  }
}

/** Undefined for a request without any of the usual ones: those of an own kind cannot be told from a guess. */
function hashOf({ headers }: Request): string | undefined {
  const credentials = ['authorization', 'x-api-key', 'cookie'].map((name) => headers.get(name))
  if (credentials.every((each) => each === null)) return undefined
  return createHash('sha256').update(JSON.stringify(credentials)).digest('base64')
}
