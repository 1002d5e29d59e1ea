/** The calls whose outcome is unknown, as the fold keeps them. */
import type { EntryData } from '../protocol/index.ts'
import type { Draft } from './fold-draft.ts'
import { MAX_UNKNOWN, type Session } from './session.ts'

/** A settled call also informs about unknown ones with the same arguments. */
export function trackUnknown(
  draft: Draft,
  argsKey: string,
  { callId, status }: Pick<EntryData['tool.end'], 'callId' | 'status'>,
): void {
  const calls = draft.unknown ?? []
  if (status === 'unknown') setUnknown(draft, [...calls, { callId, argsKey }])
  else if (calls.some((call) => call.argsKey === argsKey))
    draft.unknown = calls.map((call) => (call.argsKey === argsKey ? { ...call, repeated: true } : call))
}

export function setUnknown(draft: Draft, calls: NonNullable<Session['unknown']>): void {
  if (calls.length > 0) draft.unknown = calls.slice(-MAX_UNKNOWN)
  else draft.unknown = undefined
}
