/** A route: what it takes and gives as JSON Schema, which validates requests and becomes the OpenAPI document. */

import type { Host } from '../../host/index.ts'
import type { ContextKey, Json, JsonObject } from '../../protocol/index.ts'
import type { Caller } from '../caller.ts'
import type { OpenStream } from '../open-streams.ts'
import type { Operation } from '../operation.ts'

export interface Route extends Operation {
  /** Not for visitors. */
  readonly isForKnown?: true
  readonly handle: (call: RouteCall) => Promise<Response> | Response
}

/** A request that was checked. */
export interface RouteCall {
  readonly request: Request
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string | number | boolean | undefined>>
  readonly body: Json
  readonly caller: Caller
  /** A place among the open streams of the caller. Throws a problem if there is none. */
  readonly openStream: () => OpenStream
  readonly server: RouteServer
}

/** Everything that the routes of one server share. */
export interface RouteServer {
  readonly host: Host
  readonly heartbeatMs: number
  /** Throws a problem once the server closes. */
  readonly checkOpen: () => void
  readonly metrics: () => string
  readonly document: () => JsonObject
}

/** The key of the conversation in the path: always one of the caller's own. */
export function keyOf({ params, caller: { tenant, actor } }: RouteCall): ContextKey {
  return { tenant, actor, contextId: params['id'] ?? '' }
}

export function json(value: unknown, status = 200): Response {
  return Response.json(value, { status })
}
