/** Closing, reopening, and two stores on one database. */
import assert from 'node:assert/strict'
import { loadSession, positionOf } from '../../journal/index.ts'
import { headIsRebuilt, keys, lines, refused } from './assertions.ts'
import { text } from './blobs.ts'
import { type ContractCase, subject } from './contract.ts'
import { forkOf, turns } from './fork.ts'
import { ANN, input, keyOf, note, Talk } from './talk.ts'

const FORMAT = 9001

const closeFacts = subject('close', {
  'a closed store refuses every method': async (trial) => {
    const talk = await turns(trial, 1)
    const { store, key } = talk
    const position = positionOf(await loadSession(store, key))
    await store.close()
    const calls: Record<string, () => Promise<unknown>> = {
      append: () => talk.post('a'),
      renew: () => store.renew({ key, epoch: 1, since: 0 }),
      head: () => store.head(key),
      read: () => store.read(key),
      inbox: () => store.inbox(key),
      base: () => store.base(key),
      lookup: () => store.lookup(key, { index: 'turn' }),
      watch: async () => store.watch(key)[Symbol.asyncIterator]().next(),
      list: () => store.list({ owner: ANN }),
      due: () => store.due(),
      scan: () => store.scan(),
      putBlob: () => store.putBlob(ANN, Buffer.from('x')),
      getBlob: () => store.getBlob(ANN, '0'.repeat(64)),
      saveSnapshot: () => store.saveSnapshot(key, { seq: 1, format: FORMAT, state: {} }),
      loadSnapshot: () => store.loadSnapshot(key, { format: FORMAT }),
      dropSnapshots: () => store.dropSnapshots(key),
      fork: () => store.fork({ parent: key, child: keyOf('fork'), at: 1, position }),
      prune: () => store.prune({ key, upTo: 1, position, session: {} }),
      erase: () => store.erase(key),
      rebuild: () => store.rebuild(key),
    }
    for (const [method, call] of Object.entries(calls)) {
      await refused('store-closed', call()).catch((error: unknown) => {
        throw new Error(`${method} of a closed store`, { cause: error })
      })
    }
  },

  'closing twice, also at once, is closing once': async (trial) => {
    const store = await trial.open()
    await Promise.all([store.close(), store.close()])
    await store.close()
  },

  'closing finishes what was accepted, and refuses what comes after': async (trial) => {
    const talk = await trial.talk()
    const accepted = Array.from({ length: 20 }, (_, i) => talk.post(`${i}`))
    const closing = talk.store.close()
    const late = refused('store-closed', talk.post('late'))
    const receipts = await Promise.all(accepted)
    assert.deepEqual(
      receipts.map(({ last }) => last),
      Array.from({ length: 20 }, (_, i) => i + 1),
    )
    await late
    await closing
  },
})

const reopenFacts = subject(
  'reopen',
  {
    'everything is there after the store was closed and opened again': async (trial) => {
      const talk = await turns(trial, 2)
      const fork = await forkOf(talk, 'fork', 7)
      await talk.append({ inbox: [input('large', text(70_000))] })
      await talk.store.saveSnapshot(talk.key, { seq: 5, format: FORMAT, state: { a: 1 } })
      await talk.claim({ leaseMs: 60_000 })
      const hash = await talk.store.putBlob(ANN, Buffer.from('bytes'))
      await new Talk(talk.store, keyOf('gone')).turn(1)
      await talk.store.erase(keyOf('gone'))
      const before = [await talk.read(), await talk.head(), await fork.read(), await fork.head()]
      await talk.store.close()
      const store = await trial.reopen(talk.store)
      const [again, forked] = [new Talk(store, talk.key), new Talk(store, fork.key)]
      assert.deepEqual(
        [await again.read(), await again.head(), await forked.read(), await forked.head()],
        before,
      )
      assert.deepEqual(keys(await store.inbox(talk.key)), ['large'])
      assert.equal((await store.getBlob(ANN, hash))?.length, 5)
      assert.deepEqual((await store.loadSnapshot(talk.key, { format: FORMAT }))?.state, { a: 1 })
      await refused('owned', again.claim({ driver: 'd2' }))
      await refused('erased', new Talk(store, keyOf('gone')).post('late'))
      for (const { key } of [again, forked]) await headIsRebuilt(store, key)
      await trial.verify(store)
    },

    'an append is repeated across stores, and fenced across stores (R1, R5)': async (trial) => {
      const here = await trial.talk()
      const there = new Talk(await trial.reopen(here.store), here.key)
      const { epoch } = await here.claim()
      await refused('owned', there.claim({ driver: 'd2' }))
      const request = { key: here.key, id: 'one', since: 1, epoch, entries: [note('x')] }
      const first = await here.store.append(request)
      assert.deepEqual(await there.store.append(request), { ...first, repeated: true })
      trial.clock.advance(1000)
      await there.claim({ driver: 'd2' })
      await refused('fenced', here.write(epoch, note('y')))
      assert.deepEqual(lines(await here.read()), ['1 claim', '2 note', '3 claim'])
    },

    'two stores on one database write at once and lose nothing (R5)': async (trial) => {
      const here = await trial.talk()
      const there = new Talk(await trial.reopen(here.store), here.key)
      const posts = Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? here : there).post(`${i}`))
      const receipts = await Promise.all(posts)
      const places = receipts.map(({ last }) => last).toSorted((a, b) => a - b)
      assert.deepEqual(
        places,
        Array.from({ length: 40 }, (_, i) => i + 1),
      )
      assert.equal((await there.head()).pending, 40)
      await headIsRebuilt(here.store, here.key)
    },
  },
  ['reopen'],
)

export const closingCases: readonly ContractCase[] = [...closeFacts, ...reopenFacts]
