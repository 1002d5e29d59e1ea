/** The calls whose outcome is unknown, as the fold keeps them. */
import type { SettledStatus } from '../protocol/index.ts'
import type { Draft, Writable } from './fold-draft.ts'
import { type Call, isSameCall, MAX_UNKNOWN, type Session } from './session.ts'

/** A settled call also informs about unknown ones with the same arguments. */
export function trackUnknown(
  draft: Draft,
  { callId, argsKey, inputKey }: Pick<Writable<Call>, 'callId' | 'argsKey' | 'inputKey'>,
  status: SettledStatus,
): void {
  if (argsKey === undefined) return
  const calls = draft.unknown ?? []
  const keys = { argsKey, ...(inputKey === undefined ? {} : { inputKey }) }
  if (status === 'unknown') setUnknown(draft, [...calls, { callId, ...keys }])
  else if (calls.some((call) => isSameCall(call, keys)))
    draft.unknown = calls.map((call) => (isSameCall(call, keys) ? { ...call, repeated: true } : call))
}

export function setUnknown(draft: Draft, calls: NonNullable<Session['unknown']>): void {
  if (calls.length > 0) draft.unknown = calls.slice(-MAX_UNKNOWN)
  else draft.unknown = undefined
}
