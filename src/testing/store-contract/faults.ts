/**
 * Ambiguous appends: with `faultyStore`, a writer does not learn the result of its append. `persist` appends exactly once
 * all the same (R5).
 */
import assert from 'node:assert/strict'
import type { AppendRequest, Derivation, Receipt, Store } from '../../store/index.ts'
import { persist } from '../../store/index.ts'
import { type Fault, faultyStore } from '../faulty-store.ts'
import { headIsRebuilt, inTime, keys, lines, refused } from './assertions.ts'
import { type ContractCase, subject } from './contract.ts'
import { input, keyOf, note, Talk, turnStart } from './talk.ts'

const CLAIM = { claim: { driver: 'd1', leaseMs: 1000 } }

const UNBEARABLE = 'unbearable'

const PICKY: Derivation = {
  index: 'picky',
  rows: ({ key }) => {
    if (key === UNBEARABLE) throw new Error('This derivation cannot bear it.')
    return key === undefined ? [] : [{ key, value: {} }]
  },
}

export const faultCases: readonly ContractCase[] = subject('faults', {
  'an append that failed before it was written is written once (R5)': async (trial) => {
    const talk = await trial.talk()
    const { epoch } = await talk.claim()
    const receipt = await persistThrough(talk.store, [before(1), before(2)], {
      ...request(1),
      epoch,
      entries: [note('x'), note('y')],
    })
    assert.equal(receipt.repeated, false)
    assert.deepEqual(lines(await talk.read()), ['1 claim', '2 note', '3 note'])
  },

  'an append that failed after it was written is not written again (R5)': async (trial) => {
    const talk = await trial.talk()
    const { epoch } = await talk.claim()
    const receipt = await persistThrough(talk.store, [after(1), before(2), after(3)], {
      ...request(1),
      epoch,
      entries: [note('x'), note('y')],
    })
    assert.deepEqual([receipt.repeated, receipt.first, receipt.last, receipt.epoch], [true, 2, 3, 1])
    assert.deepEqual(receipt.entries, await talk.read({ from: 2 }))
    assert.deepEqual(lines(await talk.read()), ['1 claim', '2 note', '3 note'])
    await headIsRebuilt(talk.store, talk.key)
  },

  'an own append is a success although another driver has claimed since (R1, R5)': async (trial) => {
    const talk = await trial.talk()
    const { epoch } = await talk.claim({ driver: 'd1' })
    const passedOver = async () => {
      trial.clock.advance(1000)
      const next = await talk.claim({ driver: 'd2' })
      await talk.write(next.epoch, note('by d2'))
    }
    const receipt = await persistThrough(
      talk.store,
      [after(1)],
      { ...request(1), epoch, entries: [note('by d1')] },
      passedOver,
    )
    assert.deepEqual([receipt.repeated, receipt.last, receipt.epoch], [true, 2, epoch])
    await refused('fenced', talk.write(epoch, note('the next one')))
    assert.deepEqual(lines(await talk.read()), ['1 claim', '2 note', '3 claim', '4 note'])
  },

  'an append that was not written is fenced when another driver has claimed since (R1, R5)': async (
    trial,
  ) => {
    const talk = await trial.talk()
    const { epoch } = await talk.claim({ driver: 'd1' })
    const passedOver = async () => {
      trial.clock.advance(1000)
      await talk.claim({ driver: 'd2' })
    }
    const late = { ...request(1), epoch, entries: [note('by d1')] }
    await refused('fenced', persistThrough(talk.store, [before(1)], late, passedOver))
    assert.deepEqual(lines(await talk.read()), ['1 claim', '2 claim'])
  },

  'a claim that failed before or after it was written is one claim (R1, R5)': async (trial) => {
    for (const fault of [before(1), after(1)]) {
      const talk = await trial.talk()
      await talk.post('a')
      const claiming = { ...request(1), ...CLAIM, entries: [turnStart(1, 'a')] }
      const receipt = await persistThrough(talk.store, [fault], claiming)
      assert.deepEqual([receipt.epoch, receipt.repeated], [1, fault.when === 'after'])
      assert.deepEqual(lines(await talk.read()), ['1 input', '2 claim', '3 turn.start'])
      await talk.write(receipt.epoch, note('it is the owner'))
    }
  },

  'a claim keeps its own epoch through ambiguity when another has claimed since (R1, R5)': async (trial) => {
    const talk = await trial.talk()
    const passedOver = async () => {
      trial.clock.advance(1000)
      await talk.claim({ driver: 'd2' })
    }
    const receipt = await persistThrough(talk.store, [after(1)], { ...request(0), ...CLAIM }, passedOver)
    assert.deepEqual([receipt.epoch, receipt.repeated], [1, true])
    await refused('fenced', talk.write(receipt.epoch, note('late')))
  },

  'a claim that was not written is refused when another has claimed since (R1, R5)': async (trial) => {
    const talk = await trial.talk()
    const passedOver = () => talk.claim({ driver: 'd2' })
    const claiming = { ...request(0), ...CLAIM }
    await refused('owned', persistThrough(talk.store, [before(1)], claiming, passedOver))
    assert.deepEqual(lines(await talk.read()), ['1 claim'])
  },

  'a post that failed before or after it was written is one post (R2, R5)': async (trial) => {
    for (const fault of [before(1), after(1)]) {
      const talk = await trial.talk()
      const post = { ...request(0), inbox: [input('a'), input('b')] }
      const receipt = await persistThrough(talk.store, [fault], post, () => talk.post('meanwhile'))
      assert.equal(receipt.repeated, fault.when === 'after')
      assert.deepEqual(keys(receipt.entries), ['a', 'b'])
      const waiting = fault.when === 'after' ? ['a', 'b', 'meanwhile'] : ['meanwhile', 'a', 'b']
      assert.deepEqual(keys(await talk.store.inbox(talk.key)), waiting)
    }
  },

  'a post that was taken before its sender knew of it is not posted again (R2, R5)': async (trial) => {
    const talk = await trial.talk()
    const post = { ...request(0), inbox: [input('a')] }
    const taken = async () => {
      await talk.claim({ entries: [turnStart(1, 'a')], since: 1 })
    }
    const receipt = await persistThrough(talk.store, [after(1)], post, taken)
    assert.deepEqual([keys(receipt.entries), receipt.inbox], [['a'], []])
    assert.deepEqual(lines(await talk.read()), ['1 input', '2 claim', '3 turn.start'])
  },

  'a writer gives up with the last error, and may go on later (R5)': async (trial) => {
    const talk = await trial.talk()
    const post = { ...request(0), inbox: [input('a')] }
    const always: Fault = { at: () => true, how: 'fail', when: 'after' }
    const error = await refused('ambiguous', persistThrough(talk.store, [always], post))
    assert.equal(error.retry, 'later')
    assert.deepEqual(lines(await talk.read()), ['1 input'])
    assert.equal((await talk.store.append(post)).repeated, true)
  },

  'an append that stalls on the way and comes late is fenced (R1)': async (trial) => {
    const talk = await trial.talk()
    const { epoch } = await talk.claim({ driver: 'd1' })
    const { promise: until, resolve: go } = Promise.withResolvers<void>()
    const slow = faultyStore(talk.store, [{ at: 1, how: 'stall', when: 'before', until }])
    const late = refused('fenced', slow.append({ ...request(1), epoch, entries: [note('late')] }))
    trial.clock.advance(1000)
    await talk.claim({ driver: 'd2' })
    go()
    await inTime(late, 'the refusal')
  },

  'an append whose derived rows cannot be computed leaves nothing behind (R5)': async (trial) => {
    const store = await trial.open({ derivations: [PICKY] })
    const talk = new Talk(store, keyOf())
    const failed = () => assert.rejects(talk.append({ inbox: [input('a'), input(UNBEARABLE)] }))
    await failed()
    assert.deepEqual([await store.head(talk.key), await talk.read()], [undefined, []])
    await talk.post('b')
    const head = await talk.head()
    await failed()
    assert.deepEqual([await talk.head(), lines(await talk.read())], [head, ['1 input']])
    assert.deepEqual(keys(await store.inbox(talk.key)), ['b'])
    assert.deepEqual(
      (await store.lookup(talk.key, { index: PICKY.index })).map(({ key }) => key),
      ['b'],
    )
    await talk.post('a')
    assert.deepEqual(keys(await store.read(talk.key)), ['b', 'a'])
    await headIsRebuilt(store, talk.key)
  },

  'appends of one store fail apart: each is its own request (R5)': async (trial) => {
    const store = await trial.open()
    const faulty = faultyStore(store, [{ at: (_, n) => n % 3 !== 0, how: 'fail', when: 'after' }])
    const talks = Array.from({ length: 12 }, (_, i) => new Talk(store, keyOf(`talk-${i}`)))
    const posts = talks.map(({ key }, i) => ({ key, id: 'one', since: 0, inbox: [input(`${i}`)] }))
    await Promise.all(posts.map((post) => persist(faulty, post, { attempts: 20, wait: soon })))
    for (const [i, { key }] of talks.entries()) assert.deepEqual(keys(await store.read(key)), [`${i}`])
  },
})

function before(at: number): Fault {
  return { at, how: 'fail', when: 'before' }
}

function after(at: number): Fault {
  return { at, how: 'fail', when: 'after' }
}

function request(since: number): Pick<AppendRequest, 'key' | 'id' | 'since'> {
  return { key: keyOf(), id: 'the append', since }
}

/** Persists through the faults of a plan; `meanwhile` runs before the second attempt. */
async function persistThrough(
  store: Store,
  ...[plan, append, meanwhile]: [readonly Fault[], AppendRequest, (() => Promise<unknown>)?]
): Promise<Receipt> {
  let waits = 0
  const wait = async () => {
    waits += 1
    if (waits === 1) await meanwhile?.()
  }
  return persist(faultyStore(store, plan), append, { wait })
}

async function soon(): Promise<void> {}
