/** What callers hand in, checked and copied: it is shared with the fold and must not change under it. */
import { HoldfastError, type JsonObject, type UserContent } from '../protocol/index.ts'

export function jsonGiven(what: string, value: unknown): JsonObject {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(value))
    if (typeof copy === 'object' && copy !== null && !Array.isArray(copy)) return copy as JsonObject
  } catch {
    // said below
  }
  throw new HoldfastError('invalid-option', { message: `${what} must be an object that JSON can carry.` })
}

export function messageGiven(message: UserContent): UserContent {
  if (typeof message === 'string' && message.trim() !== '') return message
  if (Array.isArray(message) && message.length > 0 && message.every(isPart))
    return JSON.parse(JSON.stringify(message)) as UserContent
  throw new HoldfastError('invalid-option', {
    message: `A message must be a text that is not empty, a list of text and file parts, or null to go on. Nothing was stored.`,
  })
}

function isPart(part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return false
  const { type, text, data, mediaType } = part as Record<string, unknown>
  if (type === 'text') return typeof text === 'string'
  return type === 'file' && typeof data === 'string' && typeof mediaType === 'string'
}
