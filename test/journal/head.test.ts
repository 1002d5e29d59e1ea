/** R6, R7: at every step the head row is what `rebuild` computes from the journal, and agrees with the session. */
import { describe, expect, it } from 'vitest'
import { fold, positionOf } from '../../src/journal/index.ts'
import type { Head } from '../../src/store/index.ts'
import { forAll, PATIENCE, STORES, stageOf } from './stage.ts'

describe.each(STORES)('the head row in the %s store', (name) => {
  const stage = stageOf(name)

  it(
    'agrees with the session and with a rebuild at every step',
    PATIENCE,
    forAll({ stage, share: 0.08 }, async (author, moves) => {
      await author.play(moves, async () => {
        const { key, log, ledger } = author.branch
        const head = await stage.store.head(key)
        if (head === undefined && log.length === 0) return
        expect(head && positionIn(head)).toEqual(positionOf(fold(log)))
        expect({
          seq: head?.seq,
          pending: head?.pending,
          owned: head?.lease !== undefined,
          claims: head?.claims,
        }).toEqual({
          seq: log.length,
          pending: ledger.pending.length,
          owned: ledger.owned,
          claims: ledger.claims,
        })
        const turns = await stage.store.lookup(key, { index: 'turn' })
        expect(await stage.store.rebuild(key)).toEqual({ repaired: false, head })
        expect(await stage.store.lookup(key, { index: 'turn' })).toEqual(turns)
      })
    }),
  )
})

/** What a head says about everything that a session says, too. */
function positionIn({ at, turn, epoch, claims, createdAt, activeAt, status, outcome }: Head): unknown {
  const running = status === 'running' || status === 'paused'
  return {
    at,
    turn,
    epoch,
    claims,
    createdAt,
    activeAt,
    running,
    ...(outcome === undefined ? {} : { outcome }),
  }
}
