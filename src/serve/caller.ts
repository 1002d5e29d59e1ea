/** The caller of a request: a tenant and an actor, never less. The port for authentication. */
import type { SendOptions } from '../host/index.ts'
import { checkOwner, isObject, type JsonObject, shown } from '../protocol/index.ts'
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

/**
 * Throws for an answer of `authenticate` that is no caller: a fault of the server's program, so the request gets `internal`
 * and `onError` the message.
 */
export function checkCaller(answer: unknown): asserts answer is Caller {
  const fault = faultOf(answer)
  if (fault === undefined) return
  throw new Error(
    `authenticate must return { tenant, actor }, undefined for no caller, or false for false credentials. ${fault}`,
  )
}

/** Never quotes an answer that is a text: it may be a key. */
function faultOf(answer: unknown): string | undefined {
  if (!isObject(answer)) return `It returned ${typeof answer === 'string' ? 'a text' : shown(answer)}.`
  const { scopes, credentials } = answer as Readonly<Record<keyof Caller, unknown>>
  if (scopes !== undefined && !Array.isArray(scopes)) return 'Its scopes are no list.'
  if (credentials !== undefined && !isObject(credentials)) return 'Its credentials are no object.'
  try {
    checkOwner(answer as Caller)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
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
