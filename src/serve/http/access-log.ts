/** The line of a request in the access log: never its query, its headers or its body. */
import type { Caller } from '../caller.ts'

export interface AccessLine {
  readonly at: string
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** The operation, or the name of the mounted protocol. */
  readonly route: string
  readonly status: number
  readonly ms: number
  /** The caller, if the request has one. */
  readonly tenant?: string
  readonly actor?: string
  /** Of a failure. */
  readonly code?: string
}

export interface AnsweredRequest extends Pick<AccessLine, 'route' | 'status' | 'ms' | 'code'> {
  readonly caller?: Caller
}

const LONGEST = 300

export function accessLine(request: Request, { caller, ms, ...answered }: AnsweredRequest): AccessLine {
  const { pathname } = new URL(request.url)
  return {
    at: new Date().toISOString(),
    method: request.method,
    path: pathname.length > LONGEST ? `${pathname.slice(0, LONGEST)}…` : pathname,
    ...answered,
    ms: Math.round(ms),
    ...(caller === undefined ? {} : { tenant: caller.tenant, actor: caller.actor }),
  }
}
