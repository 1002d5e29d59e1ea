/** The memory store against the contract of the Store port. */
import { describe, expect, test } from 'vitest'
import type { ContextKey } from '../../protocol/index.ts'
import { type StoreHarness, storeContract, whySkipped } from '../../testing/store-contract/index.ts'
import type { Derivation, Store } from '../index.ts'
import { memoryStore } from './index.ts'

const harness: StoreHarness = { open: async (options) => memoryStore(options) }

describe('the memory store', () => {
  test.for(storeContract)('$subject: $name', async (item, { skip }) => {
    const reason = whySkipped(item, harness)
    skip(reason !== undefined, reason)
    await expect(item.run(harness)).resolves.toBeUndefined()
  })
})

const KEY: ContextKey = { tenant: 't', actor: 'a', contextId: 'c' }

/** A driver that takes one input after the other; every round appends two entries. */
async function driver(store: Store): Promise<() => Promise<void>> {
  const claim = { driver: 'd', leaseMs: 60_000 }
  const { epoch, ...claimed } = await store.append({ key: KEY, id: 'claim', since: 0, claim })
  let { last } = claimed
  return async () => {
    const key = `${last}`
    const posted = {
      key: KEY,
      id: `post ${key}`,
      since: last,
      inbox: [{ type: 'input', key, data: {} }],
    } as const
    last = (await store.append(posted)).last
    const entries = [{ type: 'note', turn: 0, takes: [key], data: {} }]
    last = (await store.append({ key: KEY, id: `take ${key}`, since: last, epoch, entries })).last
  }
}

/** Interleaved rounds, so that other load on the machine slows down both. */
async function mediansOf(rounds: readonly (() => Promise<void>)[]): Promise<number[]> {
  const times = rounds.map((): number[] => [])
  for (let i = 0; i < 301; i++) {
    for (const [index, round] of rounds.entries()) {
      const began = performance.now()
      await round()
      times[index]?.push(performance.now() - began)
    }
  }
  return times.map((each) => each.toSorted((a, b) => a - b)[150] ?? Number.NaN)
}

describe('the cost of an append', () => {
  test('does not grow with the conversation', async () => {
    const [short, long] = [await driver(memoryStore()), await driver(memoryStore())]
    for (let i = 0; i < 10_000; i++) await long()
    for (let i = 0; i < 100; i++) await short()
    await mediansOf([short])
    const [few = 0, many = Number.POSITIVE_INFINITY] = await mediansOf([short, long])
    expect(many / few).toBeLessThan(3)
  })
})

describe('a derivation that throws', () => {
  test('keeps a fork, a prune and a rebuild from doing half of their work', async () => {
    let broken = false
    const moody: Derivation = {
      index: 'moody',
      rows: ({ seq }) => {
        if (broken) throw new Error('moody')
        return [{ key: `${seq}`, value: {} }]
      },
    }
    const store = memoryStore({ derivations: [moody] })
    await (await driver(store))()
    const all = async () => [
      await store.head(KEY),
      await store.read(KEY),
      await store.lookup(KEY, { index: 'moody' }),
    ]
    const before = await all()
    const position = { at: 1, turn: 0, epoch: 1, claims: 1, running: false, createdAt: 1, activeAt: 1 }
    const child = { ...KEY, contextId: 'child' }
    broken = true
    await expect(store.fork({ parent: KEY, child, at: 2, position })).rejects.toThrow('moody')
    await expect(store.prune({ key: KEY, upTo: 3, position, session: {} })).rejects.toThrow('moody')
    await expect(store.rebuild(KEY)).rejects.toThrow('moody')
    expect(await store.head(child)).toBeUndefined()
    expect(await all()).toEqual(before)
  })
})
