/** What callers hand in, checked and copied: it is shared with the fold and must not change under it. */
import { HoldfastError, type JsonObject, shapeProblem, type UserContent } from '../protocol/index.ts'
import { checkLimits, invalidOption, shown } from '../turn/index.ts'
import { isWhileBusy, type WhileBusy } from './config.ts'

export function jsonGiven(what: string, value: unknown): JsonObject {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(value))
    if (typeof copy === 'object' && copy !== null && !Array.isArray(copy)) return copy as JsonObject
  } catch {
    // said below
  }
  throw new HoldfastError('invalid-option', { message: `${what} must be an object that JSON can carry.` })
}

/** Limits of one turn, as they are stored with it. */
export function limitsGiven(limits: unknown): JsonObject {
  return { ...checkLimits(limits) }
}

export function whileBusyGiven(whileBusy: unknown): WhileBusy {
  if (isWhileBusy(whileBusy)) return whileBusy
  throw invalidOption('whileBusy', `must be queue, steer, interrupt or reject, not ${shown(whileBusy)}`)
}

export function messageGiven(message: UserContent): UserContent {
  const copy: unknown = typeof message === 'object' ? jsonGiven('A message', { message })['message'] : message
  if (copy !== undefined && shapeProblem('input', { message: copy as UserContent }) === undefined)
    return copy as UserContent
  throw new HoldfastError('invalid-option', {
    message: `A message must be a text that is not blank, a list of text and file parts, or null to go on. Nothing was stored.`,
  })
}
