/**
 * A protocol on the HTTP server. The server authenticates, limits, logs and sets headers; the protocol reads the request and
 * answers it by the host. So a protocol knows no other protocol, and no way of authentication.
 */
import type { Host } from '../host/index.ts'
import type { JsonObject } from '../protocol/index.ts'
import type { Authenticate, Caller } from './caller.ts'
import type { OpenStream } from './open-streams.ts'
import type { Operation } from './operation.ts'
import type { Problem } from './problem.ts'

export interface Mount {
  /** In the access log and the metrics. */
  readonly name: string
  readonly routes: readonly MountRoute[]
  /** The routes in the OpenAPI document of the server. Of a route with `*`: each operation below it. */
  readonly operations?: readonly Operation[]
  /** Headers that pages of allowed origins may send, beside the server's own: `x-name`, or `x-name-*` for all of that beginning. */
  readonly requestHeaders?: readonly string[]
  /** Headers that such pages may read, beside the server's own. */
  readonly responseHeaders?: readonly string[]
  /** A failure in the form of the protocol. Default: problem details. */
  readonly problem?: (problem: Problem, request: Request) => Response
  /** The JSON Schema of `problem`, for the document. */
  readonly problemSchema?: JsonObject
  /**
   * Called once, when the server is made. Throws if the protocol cannot be served so. Work in the background runs until the
   * returned function is called, when the server closes.
   */
  readonly start?: (server: MountServer) => (() => void) | undefined
}

/** The server that a protocol is mounted on. */
export interface MountServer {
  readonly host: Host
  /** Undefined if every caller is the local owner. */
  readonly authenticate: Authenticate | undefined
}

export interface MountRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** `/v1/models`, `/chat/{id}/stream`; `*` at the end is every path below. */
  readonly path: string
  /** Needs no caller. */
  readonly isPublic?: true
  readonly handle: (call: MountCall) => Promise<Response> | Response
}

export interface MountCall {
  readonly request: Request
  readonly params: Readonly<Record<string, string>>
  /** Of a public route: nobody in particular. Its handler must not use it. */
  readonly caller: Caller
  readonly host: Host
  /** A silent stream gives a heartbeat after so long. */
  readonly heartbeatMs: number
  /** The body as JSON, within the bound of the server. Throws a problem. */
  readonly body: () => Promise<unknown>
  /** A place among the open streams of the caller. Throws a problem if there is none. */
  readonly openStream: () => OpenStream
}
