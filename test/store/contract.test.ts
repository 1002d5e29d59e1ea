/** The contract suite itself: it names its cases, reports skipped ones, and catches stores that break their promises. */
import { describe, expect, test } from 'vitest'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { type StoreHarness, storeContract, whySkipped } from '../../src/testing/store-contract/index.ts'
import { type BrokenStore, brokenStores } from './broken-stores.ts'

const plain: StoreHarness = { open: async (options) => memoryStore(options) }

function harnessOf({ spoil }: BrokenStore): StoreHarness {
  return {
    open: async (options) => spoil(memoryStore(options), options?.clock ?? new ManualClock()),
  }
}

/** The first case of its subject that a store fails, if any. */
async function firstFailure(broken: BrokenStore): Promise<string | undefined> {
  const harness = harnessOf(broken)
  const cases = storeContract.filter(({ subject }) => subject === broken.subject)
  for (const item of cases.filter((candidate) => whySkipped(candidate, harness) === undefined)) {
    try {
      await item.run(harness)
    } catch {
      return item.name
    }
  }
  return undefined
}

describe('a broken store is caught', () => {
  test.each(brokenStores)('$subject: $name', async (broken) => {
    expect(await firstFailure(broken)).toBeTypeOf('string')
  })
})

describe('the suite', () => {
  test('has a name of its own for every case', () => {
    const names = storeContract.map(({ subject, name }) => `${subject}: ${name}`)
    expect(new Set(names).size).toBe(names.length)
  })

  test('has something against every subject: a broken store that only its cases need to catch', () => {
    const provable = storeContract.filter((item) => whySkipped(item, plain) === undefined)
    const subjects = new Set(provable.map(({ subject }) => subject))
    expect([...subjects].filter((name) => !brokenStores.some(({ subject }) => subject === name))).toEqual([])
  })

  test('says why a harness cannot run a case, and refuses to run it', async () => {
    const needy = storeContract.filter(({ needs }) => needs.length > 0)
    expect(needy.length).toBeGreaterThan(0)
    for (const item of needy) {
      const reason = whySkipped(item, plain)
      expect(reason).toMatch(/the harness has no `(reopen|worker|damage)`/)
      await expect(item.run(plain)).rejects.toThrow(reason)
    }
  })
})
