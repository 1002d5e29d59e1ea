/** What callers hand in, checked and copied: it is shared with the fold and must not change under it. */
import { jsonGiven } from '../drive/index.ts'
import {
  filesProblem,
  HoldfastError,
  type JsonObject,
  shapeProblem,
  type UserContent,
} from '../protocol/index.ts'
import { type Continuation, checkLimits, invalidOption, shown } from '../turn/index.ts'
import { isWhileBusy, type WhileBusy } from './config.ts'

/** Something to say, and how. */
export interface Said {
  readonly message: UserContent
  readonly asked: Continuation
  readonly key: string
  readonly whileBusy: WhileBusy
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
  const isMessage =
    copy !== undefined && shapeProblem('input', { message: copy as UserContent }) === undefined
  const problem = isMessage
    ? filesProblem(copy as UserContent)
    : 'A message must be a text that is not blank, a list of text and file parts, or null to go on.'
  if (problem === undefined) return copy as UserContent
  throw new HoldfastError('invalid-option', { message: `${problem} Nothing was stored.` })
}
