/** Ready ways of authentication: bearer tokens and API keys. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { JWTVerifyGetKey } from 'jose'
import { systemTimer } from '../../base/index.ts'
import { checkOptions, HoldfastError, type OptionSet, shown } from '../../protocol/index.ts'
import type { Authenticate, Caller } from '../caller.ts'
import { HttpProblem } from '../problem.ts'
import { jose } from './packages.ts'

export interface BearerOptions {
  /** The address of the keys (JWKS); they are fetched again when a token names an unknown one. */
  readonly jwksUrl?: string
  /** A shared secret, at least 32 bytes, for HS256. Give one of the two. */
  readonly secret?: string
  readonly issuer: string
  readonly audience: string
  /** The claim that is the actor. Default: `sub`. */
  readonly actorClaim?: string
  /** The claim that is the tenant. Without one in the token, it is refused. Default: `tenant`. */
  readonly tenantClaim?: string
  /** Signature algorithms. Default: for keys RS256, PS256, ES256 and EdDSA, for a secret HS256; never `none`. */
  readonly algorithms?: readonly string[]
}

const BEARER: OptionSet<BearerOptions> = {
  place: 'bearerAuth()',
  options: {
    jwksUrl: 'a text',
    secret: 'a text',
    issuer: null,
    audience: null,
    actorClaim: 'a text',
    tenantClaim: 'a text',
    algorithms: 'a list',
  },
  foreign: { jwksUri: 'jwksUrl', jwks: 'jwksUrl', iss: 'issuer', aud: 'audience' },
}

/** Bearer tokens that are JWTs, verified by `jose`: signature, issuer, audience, time, algorithm. */
export async function bearerAuth(options: BearerOptions): Promise<Authenticate> {
  checkOptions(options, BEARER)
  const { jwksUrl, secret, issuer, audience, actorClaim = 'sub', tenantClaim = 'tenant' } = options
  if ((jwksUrl === undefined) === (secret === undefined))
    throw invalid('bearerAuth() needs either jwksUrl or secret.')
  if (!issuer || !audience)
    throw invalid('bearerAuth() needs issuer and audience: a token for somebody else must not count.')
  const key = secret === undefined ? undefined : new TextEncoder().encode(secret)
  if (key !== undefined && key.length < 32)
    throw invalid('The secret of bearerAuth() must have at least 32 bytes.')
  const { jwtVerify } = await jose()
  const algorithms = [
    ...(options.algorithms ?? (key === undefined ? ['RS256', 'PS256', 'ES256', 'EdDSA'] : ['HS256'])),
  ]
  const keys = jwksUrl === undefined ? undefined : await issuerKeys(jwksUrl)
  const authenticate = async (request: Request): Promise<Caller | undefined> => {
    const token = bearerToken(request)
    if (token === undefined) return undefined
    try {
      const checks = { issuer, audience, algorithms, requiredClaims: ['exp'] }
      const { payload } =
        keys === undefined
          ? await jwtVerify(token, key as Uint8Array, checks)
          : await jwtVerify(token, keys, checks)
      const [actor, tenant] = [payload[actorClaim], payload[tenantClaim]]
      if (typeof actor !== 'string' || typeof tenant !== 'string' || actor === '' || tenant === '')
        return undefined
      const { scope } = payload
      return {
        tenant,
        actor,
        ...(typeof scope === 'string' ? { scopes: scope.split(' ').filter((each) => each !== '') } : {}),
      }
    } catch (error) {
      if (error instanceof HttpProblem) throw error
      return undefined
    }
  }
  return Object.assign(authenticate, {
    schemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
  } as const)
}

const AUTH_TIMEOUT_MS = 30_000

/** `authenticate`, whose request fails if it does not answer: no caller waits for ever. */
export function answeredInTime(
  authenticate: Authenticate,
  timeoutMs: number = AUTH_TIMEOUT_MS,
): Authenticate {
  return async (request) => {
    const answered = new AbortController()
    const late = systemTimer
      .wait(timeoutMs, { signal: answered.signal, background: true })
      .then((): never => {
        throw unavailable(
          'The caller cannot be authenticated now. Try again later.',
          new Error(`authenticate has not answered for ${timeoutMs} ms. Give its own requests a timeout.`),
        )
      })
    try {
      return await Promise.race([authenticate(request), late])
    } finally {
      late.catch(() => {})
      answered.abort()
    }
  }
}

/** The keys of an issuer. Throws a problem if they cannot be read: then a token is neither right nor wrong. */
async function issuerKeys(jwksUrl: string): Promise<JWTVerifyGetKey> {
  const { createRemoteJWKSet, errors } = await jose()
  const keys = createRemoteJWKSet(new URL(jwksUrl))
  const aboutToken = [errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys, errors.JOSENotSupported]
  return async (header, token) => {
    try {
      return await keys(header, token)
    } catch (error) {
      throw aboutToken.some((kind) => error instanceof kind) ? error : keysUnavailable(error)
    }
  }
}

function keysUnavailable(cause: unknown): HttpProblem {
  return unavailable(
    'The keys of the issuer cannot be read now, so no token can be checked. Try again later.',
    cause,
  )
}

function unavailable(detail: string, cause: unknown): HttpProblem {
  return new HttpProblem({ status: 503, code: 'auth-unavailable', detail, retryAfterS: 1 }, { cause })
}

export interface ApiKey {
  /** SHA-256 of the key, in hex: `printf %s "$KEY" | sha256sum`. The key itself is in no config. */
  readonly sha256: string
  readonly tenant: string
  readonly actor: string
  readonly scopes?: readonly string[]
}

const API_KEY: OptionSet<ApiKey> = {
  place: 'A key of apiKeyAuth()',
  options: { sha256: null, tenant: 'a text', actor: 'a text', scopes: 'a list' },
  foreign: { key: 'sha256', hash: 'sha256', user: 'actor' },
}

/** Keys in `Authorization: Bearer KEY` or `X-API-Key: KEY`. */
export function apiKeyAuth(keys: readonly ApiKey[]): Authenticate {
  if (!Array.isArray(keys))
    throw invalid(`apiKeyAuth() takes a list of { sha256, tenant, actor }, not ${shown(keys)}.`)
  const known = keys.map((key: ApiKey) => {
    checkOptions(key, API_KEY)
    const { sha256, ...caller } = key
    if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/i.test(sha256))
      throw invalid('An API key needs sha256: 64 hex digits.')
    for (const name of ['tenant', 'actor'] as const)
      if (caller[name] === undefined) throw invalid(`An API key needs ${name}: whose it is.`)
    return { hash: Buffer.from(sha256, 'hex'), caller }
  })
  const authenticate = (request: Request): Caller | undefined => {
    const key = request.headers.get('x-api-key') ?? bearerToken(request)
    if (!key) return undefined
    const hash = createHash('sha256').update(key).digest()
    let found: Caller | undefined
    // Every key is compared, so that the time tells nothing.
    for (const each of known) if (timingSafeEqual(each.hash, hash)) found = each.caller
    return found
  }
  return Object.assign(authenticate, {
    schemes: {
      apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
      bearer: { type: 'http', scheme: 'bearer' },
    },
  } as const)
}

function bearerToken(request: Request): string | undefined {
  return /^Bearer ([\x21-\x7e]{1,8192})$/i.exec(request.headers.get('authorization') ?? '')?.[1]
}

function invalid(message: string): HoldfastError {
  return new HoldfastError('invalid-option', { message })
}
