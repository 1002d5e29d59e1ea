/**
 * Callers who were not authenticated, where an agent answers them. A visitor is whoever holds their key: 32 or more random
 * characters, sent as `X-Visitor-Key`. A caller without one gets a new key with the answer.
 */
import { createHash, randomBytes } from 'node:crypto'
import { VISITORS } from '../../host/index.ts'
import type { Caller } from '../caller.ts'
import { badRequest } from '../problem.ts'

export const VISITOR_KEY = 'x-visitor-key'

export interface Visitor {
  readonly caller: Caller
  readonly key: string
}

export function visitorOf(request: Request): Visitor {
  const given = request.headers.get(VISITOR_KEY)
  if (given !== null && !/^[\w-]{32,200}$/.test(given))
    throw badRequest(`${VISITOR_KEY} must have 32 to 200 letters, digits, "-" and "_".`)
  const key = given ?? randomBytes(24).toString('base64url')
  const actor = `visitor_${createHash('sha256').update(key).digest('hex').slice(0, 32)}`
  return { caller: { tenant: VISITORS, actor }, key }
}

/** True for a request that names a caller: false credentials make no visitor. A cookie may be of any other page. */
export function hasCredentials(request: Request): boolean {
  return ['authorization', 'x-api-key'].some((name) => request.headers.has(name))
}
