/** Entries that others wrote between two of this process are read before later ones are published (R18). */
import { expect, it } from 'vitest'
import { Subscribers } from '../../src/drive/subscribers.ts'
import { Turn } from '../../src/drive/turn.ts'
import { TurnSubscription } from '../../src/drive/turn-subscription.ts'
import type { Entry } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { KEY } from '../turn/kit.ts'
import { nothingDriven } from './nothing-driven.ts'

/** A journal of one turn with this number of entries, and subscribers that have seen none of them. */
async function longTurn(size: number, read?: (store: Store) => Store['read']) {
  const store = memoryStore()
  const notes = Array.from({ length: size - 3 }, () => ({ type: 'warning', turn: 1, data: { code: 'x' } }))
  await store.append({
    ...{ key: KEY, id: 'a', since: 0, claim: { driver: 'x', leaseMs: 60_000 } },
    entries: [
      { type: 'turn.start', turn: 1, data: { principal: { tenant: 't', actor: 'a' } } },
      ...notes,
      { type: 'turn.end', turn: 1, data: { outcome: 'stop' } },
    ],
  })
  const own = read === undefined ? store : Object.assign(Object.create(store) as Store, { read: read(store) })
  const subscribers = new Subscribers({ store: own, key: KEY }, nothingDriven)
  subscribers.startFrom(0, [])
  const seqs: number[] = []
  const turn = new Turn({
    cancel: () => Promise.resolve(),
    step: () => Promise.reject(new Error('no steps here')),
    completing: (notify) => notify(),
    ended: () => {},
  })
  const subscription = new TurnSubscription({ turn })
  subscription.expect(1)
  subscribers.subscriptions.add(subscription)
  const [last] = (await store.read(KEY, { order: 'newest', limit: 1 })) as [Entry]
  const published = async () => {
    for await (const event of turn) if ('seq' in event && event.seq !== undefined) seqs.push(event.seq)
    return seqs
  }
  return { subscribers, last, published }
}

it('a gap longer than a page is published whole', async () => {
  const { subscribers, last, published } = await longTurn(2500)
  subscribers.receive(last)
  await subscribers.catchUp()
  expect(await published()).toEqual(Array.from({ length: 2500 }, (_, index) => index + 1))
})

it('a gap that cannot be read is read again, and later entries wait for it', async () => {
  let failures = 2
  const { subscribers, last, published } = await longTurn(10, (store) => (key, query) => {
    if (failures-- > 0) return Promise.reject(new Error('no reading now'))
    return store.read(key, query)
  })
  subscribers.receive(last)
  await expect(subscribers.catchUp()).rejects.toThrow('no reading now')
  expect(subscribers.published).toBe(0)
  failures = 0
  await subscribers.catchUp()
  expect(await published()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
})
