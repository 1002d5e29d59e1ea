/** What an agent stores of itself outside of turns: the metadata of the conversation, and that it was left. */
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
 * Stores that the agent was paused or shut down, if there is a conversation and nothing says so yet: the release of an open
 * turn does. Nobody waits for this entry, so a store that cannot take it, or another driver, keeps no agent from stopping.
 */
export async function saveStatus(
  driver: Driver,
  { status, initial }: { readonly status: 'paused' | 'shutdown'; readonly initial: JsonObject | undefined },
): Promise<void> {
  const entry = driver.record((session) => {
    const { seq, open, parked, closed } = session
    // Of a conversation that waits for an answer, that is said.
    if (seq === 0 || open !== undefined || parked !== undefined || closed === status) return []
    const metadata = session.metadata ?? initial ?? {}
    return [{ type: 'state', data: { metadata, status } }]
  })
  await entry.catch(() => {})
}
