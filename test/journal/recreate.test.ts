/** R15: a recreated conversation has nothing of the erased one, and refuses positions of it. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fold, loadSession, newSession, recreateContext, SESSION_FORMAT } from '../../src/journal/index.ts'
import { converse } from './conversation.ts'
import { forAll, PATIENCE, STORES, storeFixture } from './property.ts'

describe.each(STORES)('beginning anew in the %s store', (name) => {
  const fixture = storeFixture(name)

  it(
    'leaves nothing of any history, and lets in none of its writers',
    PATIENCE,
    forAll({ fixture, share: 0.03, extra: fc.nat() }, async (author, moves, random) => {
      await author.write(moves)
      const { store } = fixture
      const { key } = author.branches[0] as (typeof author.branches)[number]
      const old = await loadSession(store, key)
      await store.erase(key)
      // Nothing was written: there is no conversation to recreate.
      if (old.seq === 0) return
      const { seq, turn } = await recreateContext(store, key)
      const since = random % seq
      const late = { key, id: 'late', since }
      const claim = { driver: 'late', leaseMs: 1000, force: true } as const
      const inbox = [{ type: 'input', key: 'late', data: { message: 'late' } }] as const
      const refused = { code: 'erased', details: { erasedUpTo: seq - 1 } }
      for (const what of [{ inbox }, { claim }, { claim, inbox }, { epoch: old.epoch, entries: [NOTE] }])
        await expect(store.append({ ...late, ...what })).rejects.toMatchObject(refused)
      await store.saveSnapshot(key, { seq: since, format: SESSION_FORMAT, state: old })
      expect([seq - 1, turn]).toEqual([old.seq, 0])
      const entries = await store.read(key)
      expect(entries.map(({ type }) => type)).toEqual(['base'])
      // Folding on from the erased conversation equals reading from the start.
      const { at, createdAt, activeAt, epoch, window, erasedUpTo, ...rest } = fold(entries, old)
      expect(rest).toEqual({ ...pick(newSession()), seq })
      expect([at, createdAt, activeAt]).toEqual([entries[0]?.at, at, at])
      expect([epoch, window, erasedUpTo]).toEqual([old.epoch, { from: seq, messages: 0 }, seq - 1])
      expect(await loadSession(store, key)).toEqual(fold(entries, old))
      await converse(store, key, { from: 1, to: 2 })
      expect((await loadSession(store, key)).totals.turns).toBe(2)
      expect(await store.rebuild(key)).toMatchObject({ repaired: false })
    }),
  )
})

const NOTE = { type: 'note', turn: 0, data: { text: 'late', from: 'test' } }

function pick({ turn, claims, totals }: ReturnType<typeof newSession>) {
  return { turn, claims, totals }
}
