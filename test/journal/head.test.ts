/** R6, R7: at every step the head row is what `rebuild` computes from the journal, and agrees with the session. */
import { describe, expect, it } from 'vitest'
import { fold, positionOf } from '../../src/journal/index.ts'
import type { Head } from '../../src/store/index.ts'
import { forAll, PATIENCE, STORES, storeFixture } from './property.ts'

describe.each(STORES)('the head row in the %s store', (name) => {
  const fixture = storeFixture(name)

  it(
    'agrees with the session and with a rebuild at every step',
    PATIENCE,
    forAll({ fixture, share: 0.08 }, async (author, moves) => {
      await author.write(moves, async () => {
        const { key, log, reference } = author.branch
        const head = await fixture.store.head(key)
        if (head === undefined && log.length === 0) return
        expect(head && positionIn(head)).toEqual(positionOf(fold(log)))
        expect({
          seq: head?.seq,
          pending: head?.pending,
          owned: head?.lease !== undefined,
          claims: head?.claims,
        }).toEqual({
          seq: log.length,
          pending: reference.pending.length,
          owned: reference.owned,
          claims: reference.claims,
        })
        const turns = await fixture.store.lookup(key, { index: 'turn' })
        expect(await fixture.store.rebuild(key)).toEqual({ repaired: false, head })
        expect(await fixture.store.lookup(key, { index: 'turn' })).toEqual(turns)
      })
    }),
  )
})

/** The fields of a head that a session has, too. */
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
