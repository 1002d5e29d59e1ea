/**
 * Long conversations and many of them, fast: a turn in one append, and many appends on their way at once, which the
 * store commits together. The journal that comes out is entry for entry the one that four commits a turn would give.
 */
import type { Store } from 'holdfast'
import { fold, loadSession, saveSession, systemIds } from 'holdfast/journal'
import type { Receipt } from 'holdfast/store'
import { CLAIM, ENTRIES_PER_TURN, type Shape, scriptOf, type Talk } from './turn.ts'

const TOGETHER = 500

export interface Growth {
  readonly turns: number
  /** How many turns ago the newest snapshot was made, as if by a driver. None is made if not given. */
  readonly lag?: number
  readonly progress?: (turns: number) => void
}

/** Adds turns to one conversation. */
export async function growTalk(store: Store, talk: Talk, growth: Growth): Promise<void> {
  const { turns, lag, progress } = growth
  const goal = talk.turn + turns
  const snapshotAt = lag === undefined ? -1 : goal - lag
  let session = await loadSession(store, talk.key)
  while (talk.turn < goal) {
    const stop = talk.turn < snapshotAt ? snapshotAt : goal
    const receipts = await appendTurns(store, talk, Math.min(stop - talk.turn, TOGETHER))
    session = fold(
      receipts.flatMap(({ entries }) => entries),
      session,
    )
    if (talk.turn <= snapshotAt) await saveSession(store, talk.key, { session, since: 0 })
    progress?.(talk.turn - goal + turns)
  }
}

/** Adds one turn to each of many conversations. */
export async function growTalks(
  store: Store,
  talks: readonly Talk[],
  growth: Shape & { progress?: (talks: number) => void } = {},
): Promise<void> {
  for (let done = 0; done < talks.length; done += TOGETHER) {
    const batch = talks.slice(done, done + TOGETHER)
    await Promise.all(batch.map((talk) => appendTurn(store, talk, growth)))
    growth.progress?.(done + batch.length)
  }
}

/** The positions are known beforehand, so nobody has to wait for a receipt. */
async function appendTurns(store: Store, talk: Talk, turns: number): Promise<Receipt[]> {
  return Promise.all(Array.from({ length: turns }, () => appendTurn(store, talk)))
}

async function appendTurn(store: Store, talk: Talk, shape: Shape = {}): Promise<Receipt> {
  const since = talk.seq
  talk.turn += 1
  talk.seq += ENTRIES_PER_TURN
  const { input, commits } = scriptOf(talk.turn, shape)
  const id = systemIds.next('append')
  return store.append({ key: talk.key, id, since, inbox: [input], claim: CLAIM, entries: commits.flat() })
}
