/** A small file and a large one side by side: the same operation on both, round by round, should cost the same. */
import { statSync } from 'node:fs'
import type { SqliteStore } from 'holdfast/sqlite'
import { interleave, millisOf, spreadOf } from './measure.ts'
import { compare, type Row } from './result.ts'

/** Nothing may cost more than this in a large file, if it is to count as flat. */
const FLAT = { atMost: 2 }
const EFFORT = { rounds: 15, seconds: 20 }

/** One side: a store, and the data of its operations. */
export interface Side<Facts> {
  readonly name: string
  readonly store: SqliteStore
  readonly facts: Facts
}

export interface Operation<Facts> {
  readonly what: string
  /** How often in a row within a round. */
  readonly times: number
  readonly run: (store: SqliteStore, facts: Facts) => Promise<unknown>
}

/** A row for every operation: µs on the small side, on the large one, and their ratio. */
export async function measurePair<Facts>(
  pair: readonly [small: Side<Facts>, large: Side<Facts>],
  operations: readonly Operation<Facts>[],
): Promise<Row[]> {
  const [small, large] = pair
  const rows: Row[] = []
  for (const { what, times, run } of operations) {
    const micros =
      ({ store, facts }: Side<Facts>) =>
      async () =>
        1000 * (await millisOf(times, () => run(store, facts)))
    const figures = await interleave(EFFORT, { small: micros(small), large: micros(large) })
    const baseline = [small.name, figures.small] as const
    rows.push(compare({ what, unit: 'µs', baseline, subject: [large.name, figures.large], budget: FLAT }))
  }
  return rows
}

/** Rows without a ratio: how large the files are and how long they took to make. */
export function buildRows(
  pair: readonly [small: Side<unknown>, large: Side<unknown>],
  seconds: readonly [small: number, large: number],
): Row[] {
  const [small, large] = pair
  const row = (what: string, unit: string, figures: readonly [number, number]): Row => ({
    what,
    unit,
    baseline: { name: small.name, spread: spreadOf([figures[0]]) },
    subject: { name: large.name, spread: spreadOf([figures[1]]) },
  })
  const size = ({ store }: Side<unknown>) => statSync(store.path).size / 1e6
  return [row('file', 'MB', [size(small), size(large)]), row('made in', 's', seconds)]
}
