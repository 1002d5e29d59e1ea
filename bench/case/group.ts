/** Group commit: appends that arrive together share one sync to disk. */
import type { Store } from 'holdfast'
import { sqliteStore } from 'holdfast/sqlite'
import { GROUP } from '../kit/budgets.ts'
import { interleave } from '../kit/measure.ts'
import { type Case, compare, type Lab, type Row } from '../kit/result.ts'
import { COMMITS_PER_TURN, newTalk, playTurn, type Talk } from '../kit/turn.ts'

export const group: Case = {
  name: 'group',
  title: 'many conversations at once, against one',
  measured:
    'appends a second while 1, 100 or 1,000 conversations of one process take turns in one file; each waits for its own append before the next.',
  notMeasured: 'several processes on one file, and what a turn does between its appends.',
  run: async (lab) => [...(await rowsOf(lab, 'FULL')), ...(await rowsOf(lab, 'NORMAL'))],
}

async function rowsOf(lab: Lab, synchronous: 'FULL' | 'NORMAL'): Promise<Row[]> {
  const store = sqliteStore(lab.path('group.db'), { synchronous })
  const crowd = Array.from({ length: 1000 }, (_, i) => newTalk(`talk-${i}`))
  const [single, hundred] = [crowd.slice(0, 1), crowd.slice(0, 100)]
  const turns = synchronous === 'FULL' ? 40 : 100
  const { one, many, all } = await interleave(
    { rounds: lab.short ? 5 : 11, seconds: lab.seconds },
    {
      one: () => appendsPerSecond(store, single, lab.short ? turns / 2 : turns),
      many: () => appendsPerSecond(store, hundred, lab.short ? 1 : 3),
      all: () => (lab.short ? Number.NaN : appendsPerSecond(store, crowd, 1)),
    },
  )
  await store.close()
  const unit = 'appends/s'
  const baseline = ['1', one] as const
  const budget = GROUP[synchronous]
  const rows = [
    compare({ what: `100 at once, ${synchronous}`, unit, baseline, subject: ['100', many], budget }),
    compare({ what: `1,000 at once, ${synchronous}`, unit, baseline, subject: ['1,000', all] }),
  ]
  return lab.short ? rows.slice(0, 1) : rows
}

async function appendsPerSecond(store: Store, talks: readonly Talk[], turns: number): Promise<number> {
  const start = performance.now()
  await Promise.all(
    talks.map(async (talk) => {
      for (let turn = 0; turn < turns; turn++) await playTurn(store, talk)
    }),
  )
  return (talks.length * turns * COMMITS_PER_TURN * 1000) / (performance.now() - start)
}
