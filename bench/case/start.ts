/** The cost of loading a session, with and without a snapshot. */
import { loadSession } from 'holdfast/journal'
import { sqliteStore } from 'holdfast/sqlite'
import { START } from '../kit/budgets.ts'
import { growTalk } from '../kit/grow.ts'
import { interleave, millisOf } from '../kit/measure.ts'
import { type Case, compare, type Row } from '../kit/result.ts'
import { newTalk } from '../kit/turn.ts'

export const start: Case = {
  name: 'start',
  title: 'starting on a conversation of 10,000 turns against one of 10',
  measured:
    'loadSession on an open store: the newest snapshot, ten turns old, and the fold of what came after. Ten turns are too few for a snapshot and are folded whole. Without snapshots all 100,000 entries are read and folded; that row is what losing the snapshots costs.',
  notMeasured: 'opening the file; reading the window.',
  run: async (lab) => {
    const store = sqliteStore(lab.path('start.db'), { synchronous: 'NORMAL' })
    const [young, old, bare] = [newTalk('young'), newTalk('old'), newTalk('bare')]
    await growTalk(store, young, { turns: 10, lag: 0 })
    await growTalk(store, old, { turns: 10_000, lag: 10 })
    if (!lab.short) await growTalk(store, bare, { turns: 10_000 })
    const micros = async (times: number, key: typeof old.key) =>
      1000 * (await millisOf(times, () => loadSession(store, key)))
    const { ten, long, cold } = await interleave(
      { rounds: lab.short ? 9 : 11, seconds: lab.seconds },
      {
        ten: () => micros(100, young.key),
        long: () => micros(100, old.key),
        cold: () => (lab.short ? Number.NaN : micros(1, bare.key)),
      },
    )
    await store.close()
    const baseline = ['10 turns', ten] as const
    const rows: Row[] = [
      compare({
        what: 'with snapshots',
        unit: 'µs',
        baseline,
        subject: ['10,000', long],
        budget: START,
      }),
      compare({ what: 'without snapshots', unit: 'µs', baseline, subject: ['10,000', cold] }),
    ]
    return lab.short ? rows.slice(0, 1) : rows
  },
}
