/** Runs properties of random histories on all stores: `HOLDFAST_RUNS` is the total, spread over all properties. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll } from 'vitest'
import type { Liveness } from '../../src/base/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { Author, type StoreFixture } from './author.ts'
import { type HistoryOptions, histories, type Move } from './histories.ts'

export const STORES = ['memory', 'sqlite'] as const
export type StoreName = (typeof STORES)[number]

const RUNS = Number(process.env['HOLDFAST_RUNS'] ?? 90)
const SEED = process.env['HOLDFAST_SEED']
/** For tests whose length depends on the number of runs. */
export const PATIENCE: { timeout: number } = { timeout: 600_000 + RUNS * 1000 }

interface PropertyFixture extends StoreFixture {
  /** The part of a property's runs that this store has. */
  readonly runs: number
  reset(): void
}

/** A store for the tests of one file: one shared file, or a new memory store for each history. */
export function storeFixture(name: StoreName): PropertyFixture {
  const clock = new ManualClock()
  const dead = new Set<string>()
  const liveness = (driver: string): Liveness => (dead.has(driver) ? 'dead' : 'alive')
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-journal-'))
  const open = (): Store =>
    name === 'memory'
      ? memoryStore({ clock, liveness })
      : sqliteStore(join(folder, 'test.db'), { clock, liveness, synchronous: 'NORMAL' })
  let store: Store | undefined
  afterAll(async () => {
    await store?.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    clock,
    dead,
    runs: name === 'memory' ? 2 / 3 : 1 / 3,
    get store() {
      store ??= open()
      return store
    },
    reset() {
      if (name === 'memory') store = undefined
    },
  }
}

export interface Property<Extra> extends HistoryOptions {
  readonly fixture: PropertyFixture
  /** This property's share of all runs: two thirds of it in memory, one on SQLite, where a run costs more. */
  readonly share: number
  /** Inputs of the property beside the history. */
  readonly extra?: fc.Arbitrary<Extra>
}

/** The body of a test: a property of random histories, each written by an author of its own. */
export function forAll<Extra = undefined>(
  property: Property<Extra>,
  check: (author: Author, moves: readonly Move[], extra: Extra) => Promise<void>,
): () => Promise<void> {
  const { fixture, share } = property
  const numRuns = Math.max(1, Math.round(RUNS * share * fixture.runs))
  const extra = property.extra ?? (fc.constant(undefined) as fc.Arbitrary<Extra>)
  const law = fc.asyncProperty(histories(property), extra, (moves, more) => {
    fixture.reset()
    return check(new Author(fixture), moves, more)
  })
  return () => fc.assert(law, { numRuns, ...(SEED === undefined ? {} : { seed: Number(SEED) }) })
}
