/** The caller of a request: a tenant and an actor, never less. The port for authentication. */
import type { SendOptions } from '../host/index.ts'
import type { JsonObject } from '../protocol/index.ts'
import { HttpProblem } from './problem.ts'

export interface Caller {
  /** Never `visitors`: that is the tenant of callers who were not authenticated. */
  readonly tenant: string
  readonly actor: string
  readonly scopes?: readonly string[]
  /** Reach the tools of the caller's turns, in memory. Never stored. */
  readonly credentials?: JsonObject
}

/**
 * Undefined if the request does not say who it is; false if what it says is not true. Where an agent is public, undefined
 * makes a visitor, and false is refused and counted. In `Authorization` and `X-API-Key`, undefined counts as false.
 */
export interface Authenticate {
  (request: Request): Promise<Caller | false | undefined> | Caller | false | undefined
  /** The ways in which a request can name its caller, each enough by itself. For protocols that announce them. */
  readonly schemes?: Readonly<Record<string, AuthScheme>>
}

/** A way of authentication, as OpenAPI describes it. */
export type AuthScheme =
  | { readonly type: 'http'; readonly scheme: string; readonly bearerFormat?: string }
  | { readonly type: 'apiKey'; readonly in: 'header' | 'query' | 'cookie'; readonly name: string }
  | { readonly type: 'openIdConnect'; readonly openIdConnectUrl: string }
  | { readonly type: 'mutualTLS' }

/** The caller as the sender of a turn. `credentials` of the request add to those of the caller. */
export function authOf(caller: Caller, credentials?: JsonObject): NonNullable<SendOptions['auth']> {
  const { tenant, actor, scopes } = caller
  const all = { ...caller.credentials, ...credentials }
  return {
    tenant,
    actor,
    ...(scopes === undefined ? {} : { scopes }),
    ...(Object.keys(all).length === 0 ? {} : { credentials: all }),
  }
}

/** A caller as a name for limits. */
export function callerName({ tenant, actor }: Caller): string {
  return JSON.stringify([tenant, actor])
}

export function unauthorized(): HttpProblem {
  return new HttpProblem({ status: 401, code: 'unauthorized', detail: 'Send a valid token or key.' })
}
