/** A session while entries are folded into it: what the steps change is writable, and a copy. */
import type { Call, OpenTurn, Request, Session } from './session.ts'

export type Writable<T> = { -readonly [K in keyof T]: T[K] }
export type OpenDraft = Omit<Writable<OpenTurn>, 'calls' | 'requests'> & {
  calls: Writable<Call>[]
  requests: Request[]
}
export type Draft = Omit<Writable<Session>, 'open' | 'window' | 'totals'> & {
  open?: OpenDraft
  window: Writable<Session['window']>
  totals: Writable<Session['totals']>
}

/** Copies what the steps change, in the same order of keys. The rest, such as arguments, is shared: nobody changes it. */
export function draftOf(session: Session): Draft {
  const draft = { ...session, window: { ...session.window }, totals: { ...session.totals } } as Draft
  if (session.open !== undefined) draft.open = openDraftOf(session.open)
  return draft
}

export function openDraftOf(open: OpenTurn): OpenDraft {
  return { ...open, calls: open.calls.map((call) => ({ ...call })), requests: [...open.requests] }
}
