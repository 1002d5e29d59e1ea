/** Stores an agent's state outside of turns: the conversation's metadata, and that the agent stopped. */
import type { Driver } from '../drive/index.ts'
import type { JsonObject } from '../protocol/index.ts'

/** Stores `saved`; without it `initial`, if the conversation has no metadata yet. */
export async function saveState(
  driver: Driver,
  { saved, initial }: { readonly saved: JsonObject | undefined; readonly initial: JsonObject | undefined },
): Promise<void> {
  if (saved === undefined && initial === undefined) return
  await driver.record((session) => {
    const metadata = saved ?? (session.metadata === undefined ? initial : undefined)
    return metadata === undefined ? [] : [{ type: 'state', data: { metadata } }]
  })
}

/**
 * Stores that the agent paused or shut down, unless the conversation is empty or already records it (the release of an
 * open turn does). Best effort: a failing store or another driver must not keep an agent from stopping.
 */
export async function saveStatus(
  driver: Driver,
  { status, initial }: { readonly status: 'paused' | 'shutdown'; readonly initial: JsonObject | undefined },
): Promise<void> {
  const entry = driver.record((session) => {
    const { seq, open, parked, closed } = session
    // A conversation that waits for an answer keeps the status `waiting`.
    if (seq === 0 || open !== undefined || parked !== undefined || closed === status) return []
    const metadata = session.metadata ?? initial ?? {}
    return [{ type: 'state', data: { metadata, status } }]
  })
  await entry.catch(() => {})
}
