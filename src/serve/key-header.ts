/** The header `Idempotency-Key`: a request that is sent again under its key has one effect. */
import type { Entry } from '../protocol/index.ts'
import { badRequest } from './problem.ts'

export function keyHeader(request: Request): string | undefined {
  const key = request.headers.get('idempotency-key')
  if (key === null) return undefined
  if (!/^[\x21-\x7e]{1,200}$/.test(key))
    throw badRequest('Idempotency-Key must have 1 to 200 visible ASCII characters.')
  return key
}

/** True for a message, or an answer, that was posted under a key. Answers have the key and the id of their request. */
export function isPostedUnder({ type, key: posted }: Entry, key: string): boolean {
  return (type === 'input' || type === 'answer') && (posted === key || posted?.startsWith(`${key}/`) === true)
}
