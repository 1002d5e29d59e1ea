/** Callers that join a turn get each of its entries once, whatever is written while it is read. */
import { expect, it } from 'vitest'
import { Subscribers } from '../../src/drive/subscribers.ts'
import { Turn } from '../../src/drive/turn.ts'
import { TurnSubscription } from '../../src/drive/turn-subscription.ts'
import type { Entry } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { KEY } from '../turn/kit.ts'
import { nothingDriven } from './nothing-driven.ts'
import { withMethods } from './refusing-store.ts'

const START = { type: 'turn.start', turn: 1, data: { principal: { tenant: 't', actor: 'a' } } }

/** A turn that another process runs, and a subscription that is read while it goes on. */
async function openTurn() {
  const inner = memoryStore()
  const claim = { driver: 'x', leaseMs: 60_000 }
  const { epoch } = await inner.append({ key: KEY, id: 'a', since: 0, claim, entries: [START] })
  let written = 0
  const write = async (type: string, data: object): Promise<Entry> => {
    const { seq = 0 } = (await inner.head(KEY)) ?? {}
    const entries = [{ type, turn: 1, data: data as Entry['data'] }]
    const receipt = await inner.append({ key: KEY, id: `w${++written}`, since: seq, epoch, entries })
    return receipt.entries.at(-1) as Entry
  }
  let onRead = async (): Promise<void> => {}
  const read: Store['read'] = async (key, range) => {
    const found = await inner.read(key, range)
    if (range?.turn !== undefined) await onRead()
    return found
  }
  const subscribers = new Subscribers({ store: withMethods(inner, { read }), key: KEY }, nothingDriven)
  subscribers.startFrom(2, [])
  const turn = new Turn({
    cancel: () => Promise.resolve(),
    step: () => Promise.reject(new Error('no steps here')),
  })
  const subscription = new TurnSubscription({ turn })
  subscribers.subscriptions.add(subscription)
  const note = async () => subscribers.receive(await write('warning', { code: 'x' }))
  const end = async () => subscribers.receive(await write('turn.end', { outcome: 'stop' }))
  const seqs = async () => {
    const found: (number | undefined)[] = []
    for await (const event of turn) if ('seq' in event) found.push(event.seq)
    return found
  }
  return {
    subscribers,
    subscription,
    note,
    end,
    seqs,
    during: (work: () => Promise<void>) => (onRead = work),
  }
}

it('while its owner never stops writing', async () => {
  const { subscribers, subscription, note, end, seqs, during } = await openTurn()
  let reads = 0
  during(async () => {
    if (++reads < 1000) await note()
  })
  await subscribers.replay(subscription, 1)
  expect(reads).toBeLessThan(10)
  during(async () => {})
  await note()
  await end()
  const found = await seqs()
  expect(found).toEqual(found.map((_, index) => index + 2))
})

it('while it ends', async () => {
  const { subscribers, subscription, end, seqs, during } = await openTurn()
  let isEnded = false
  during(async () => {
    if (isEnded) return
    isEnded = true
    await end()
  })
  await subscribers.replay(subscription, 1)
  expect(await seqs()).toEqual([2, 3])
})
