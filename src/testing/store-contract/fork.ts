/** Forking: by reference, equal to the parent up to the fork point, independent after it (R15). */
import assert from 'node:assert/strict'
import { forkContext, pruneContext } from '../../journal/index.ts'
import type { Position } from '../../protocol/index.ts'
import { headIsRebuilt, keys, lines, positions, refused, same } from './assertions.ts'
import { text } from './blobs.ts'
import { type ContractCase, subject } from './contract.ts'
import { entry, input, keyOf, note, release, Talk, turnEnd, turnStart } from './talk.ts'
import type { Trial } from './trial.ts'

export const forkCases: readonly ContractCase[] = subject('fork', {
  'a fork reads its parent up to the fork point, then its own entries (R15)': async (trial) => {
    const talk = await turns(trial, 3)
    trial.clock.advance(7)
    const receipt = await forkContext(talk.store, talk.key, { contextId: 'fork', at: 10 })
    const fork = new Talk(talk.store, keyOf('fork'))
    assert.deepEqual([receipt.first, receipt.last, receipt.repeated], [11, 11, false])
    assert.deepEqual([receipt.inbox, receipt.at], [[], trial.clock.now()])
    const entries = await fork.read()
    assert.deepEqual(entries.slice(0, 10), (await talk.read()).slice(0, 10))
    assert.deepEqual(entries.slice(10), receipt.entries)
    const position = { ...(entries[10]?.data['position'] as Position | undefined) }
    assert.deepEqual(entries[10]?.data, { parent: 'talk', at: 10, position })
    assert.equal(position.turn, 2)
  },

  'the head of a fork is that of its parent at the fork point, with an age of its own (R15)': async (
    trial,
  ) => {
    const talk = await turns(trial, 2)
    await talk.turn(3, 'input-required')
    await talk.post('left behind')
    trial.clock.advance(7)
    const now = trial.clock.now()
    await forkContext(talk.store, talk.key, { contextId: 'fork' })
    assert.deepEqual(await talk.store.head(keyOf('fork')), {
      key: keyOf('fork'),
      seq: 17,
      at: now,
      turn: 3,
      status: 'waiting',
      outcome: 'input-required',
      epoch: 3,
      claims: 0,
      pending: 0,
      base: 0,
      parent: { contextId: 'talk', kind: 'fork', at: 16 },
      createdAt: now,
      activeAt: now,
    })
    await headIsRebuilt(talk.store, keyOf('fork'))
  },

  'parent and fork go on without seeing each other (R15)': async (trial) => {
    const talk = await turns(trial, 1)
    const fork = await forkOf(talk, 'fork')
    await talk.turn(2)
    await fork.post('to the fork')
    const { epoch } = await fork.claim()
    await fork.write(epoch, note('by the fork'))
    assert.deepEqual(lines(await fork.read({ from: 5 })), [
      '5 turn.end',
      '6 fork',
      '7 input',
      '8 claim',
      '9 note',
    ])
    assert.deepEqual(positions(await talk.read()), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    assert.deepEqual(keys(await talk.store.inbox(talk.key)), [])
    for (const key of [talk.key, fork.key]) await headIsRebuilt(talk.store, key)
  },

  'ranges, limits and turns of a fork go across the fork point (R15)': async (trial) => {
    const talk = await turns(trial, 2)
    const fork = await forkOf(talk, 'fork', 7)
    const { epoch } = await fork.claim()
    await fork.write(epoch, turnStart(2), turnEnd(2))
    await talk.turn(3)
    assert.deepEqual(positions(await fork.read({ from: 6, to: 9 })), [6, 7, 8, 9])
    assert.deepEqual(positions(await fork.read({ order: 'newest', limit: 6 })), [11, 10, 9, 8, 7, 6])
    assert.deepEqual(positions(await fork.read({ from: 5, limit: 4 })), [5, 6, 7, 8])
    assert.deepEqual(positions(await fork.read({ turn: 1 })), [1, 2, 3, 4, 5])
    assert.deepEqual(lines(await fork.read({ turn: 2 })), ['10 turn.start', '11 turn.end'])
    assert.deepEqual(await fork.read({ turn: 3 }), [])
  },

  "a fork of an open turn is paused and unowned, and its parent's driver goes on (R15)": async (trial) => {
    const talk = await turns(trial, 1)
    await talk.post('a')
    const { epoch } = await talk.claim({ entries: [turnStart(2, 'a')], since: 6, leaseMs: 60_000 })
    const fork = await forkOf(talk, 'fork')
    const head = await fork.head()
    assert.deepEqual([head.status, head.turn, head.lease, head.epoch], ['paused', 2, undefined, epoch])
    await refused('fenced', fork.write(epoch, note('x')))
    await talk.write(epoch, note('x', 2))
    const next = await fork.claim({ driver: 'd2' })
    assert.equal(next.epoch, epoch + 1)
    assert.equal(next.entries[0]?.turn, 2)
    for (const key of [talk.key, fork.key]) await headIsRebuilt(talk.store, key)
  },

  'a fork inherits neither the inbox, its keys nor a wake time (R15)': async (trial) => {
    const talk = await trial.talk()
    await talk.post('a', 'b')
    const wakeAt = trial.clock.now() + 10
    await talk.claim({ entries: [turnStart(1, 'a'), turnEnd(1, { wakeAt })], since: 2 })
    const fork = await forkOf(talk, 'fork')
    assert.deepEqual([(await fork.head()).pending, await fork.store.inbox(fork.key)], [0, []])
    assert.equal((await fork.head()).wakeAt, undefined)
    const { epoch } = await fork.claim()
    await refused('not-pending', fork.write(epoch, turnStart(2, 'b')))
    assert.deepEqual(keys((await fork.append({ inbox: [input('b', 'other words')] })).entries), ['b'])
    await headIsRebuilt(talk.store, fork.key)
  },

  'a fork of a fork reads through both (R15)': async (trial) => {
    const talk = await turns(trial, 1)
    const fork = await forkOf(talk, 'fork')
    await fork.turn(2)
    const deep = await forkOf(fork, 'deep', 9)
    await fork.turn(3)
    await talk.turn(2)
    const { epoch } = await deep.claim()
    await deep.write(epoch, note('deep'))
    assert.deepEqual(lines(await deep.read({ from: 5 })), [
      '5 turn.end',
      '6 fork',
      '7 input',
      '8 claim',
      '9 turn.start',
      '10 fork',
      '11 claim',
      '12 note',
    ])
    assert.deepEqual(await deep.read({ to: 9 }), await fork.read({ to: 9 }))
    assert.deepEqual(positions(await deep.read({ order: 'newest' })), [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1])
    await headIsRebuilt(talk.store, deep.key)
  },

  'a fork of a fork may branch off before the fork did (R15)': async (trial) => {
    const talk = await turns(trial, 2)
    const fork = await forkOf(talk, 'fork', 10)
    await fork.turn(3)
    const deep = await forkOf(fork, 'deep', 5)
    await deep.turn(2)
    assert.deepEqual(positions(await deep.read()), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
    assert.deepEqual((await deep.read()).slice(0, 5), (await talk.read()).slice(0, 5))
    assert.deepEqual(lines(await deep.read({ from: 6, to: 7 })), ['6 fork', '7 input'])
    assert.deepEqual(positions(await deep.read({ turn: 2 })), [7, 8, 9, 10, 11])
    assert.equal((await deep.store.lookup(deep.key, { index: 'turn' })).length, 2)
    await headIsRebuilt(talk.store, deep.key)
  },

  'a fork reads large payloads of its parent (R15, R16)': async (trial) => {
    const talk = await trial.talk()
    const big = text(80_000)
    await talk.append({ inbox: [input('a', big)] })
    const fork = await forkOf(talk, 'fork')
    same((await fork.read())[0]?.data['message'], big)
  },

  'a fork point that is not there is refused (R15)': async (trial) => {
    const talk = await turns(trial, 1)
    const position = await positionOf(talk)
    const request = { parent: talk.key, child: keyOf('fork'), position }
    for (const at of [0, -1, 1.5, 6, Number.NaN])
      await refused('not-found', talk.store.fork({ ...request, at }))
    await refused('not-found', talk.store.fork({ ...request, parent: keyOf('nobody'), at: 1 }))
    assert.equal(await talk.store.head(keyOf('fork')), undefined)
  },

  'a fork into a conversation that exists is refused (R15)': async (trial) => {
    const talk = await turns(trial, 1)
    const request = { parent: talk.key, child: keyOf('fork'), at: 5, position: await positionOf(talk) }
    await talk.store.fork(request)
    await refused('exists', talk.store.fork(request))
    await refused('exists', talk.store.fork({ ...request, child: talk.key }))
    assert.equal((await talk.store.read(keyOf('fork'))).length, 6)
  },

  'a fork for another owner is refused (R15, R20)': async (trial) => {
    const talk = await turns(trial, 1)
    const request = { parent: talk.key, at: 5, position: await positionOf(talk) }
    for (const other of [{ tenant: 'other' }, { actor: 'other' }]) {
      const child = { ...keyOf('fork'), ...other }
      await refused('invalid-key', talk.store.fork({ ...request, child }))
      assert.equal(await talk.store.head(child), undefined)
    }
  },

  'a fork below a base is refused, at the base and above it is not (R15)': async (trial) => {
    const talk = await turns(trial, 4)
    assert.deepEqual(await pruneContext(talk.store, talk.key, { keepTurns: 2 }), { deleted: 10, base: 10 })
    const request = { parent: talk.key, child: keyOf('early'), position: await positionOf(talk) }
    await refused('pruned', talk.store.fork({ ...request, at: 9 }))
    await refused('pruned', forkContext(talk.store, talk.key, { contextId: 'early', at: 9 }))
    const atBase = await forkOf(talk, 'at-base', 10)
    const above = await forkOf(talk, 'above', 12)
    assert.deepEqual(lines(await atBase.read()), ['11 fork'])
    assert.deepEqual(positions(await above.read()), [11, 12, 13])
    assert.deepEqual(await atBase.store.base(atBase.key), await talk.store.base(talk.key))
    assert.equal((await atBase.store.base(atBase.key))?.data['upTo'], 10)
    for (const { key } of [atBase, above]) await headIsRebuilt(talk.store, key)
  },

  "a driver's append to a fork is repeated like any other (R5, R15)": async (trial) => {
    const talk = await turns(trial, 1)
    const fork = await forkOf(talk, 'fork')
    const { epoch } = await fork.claim()
    const request = { key: fork.key, id: 'one', since: 7, epoch, entries: [entry('note'), release()] }
    const first = await fork.store.append(request)
    assert.deepEqual(lines(first.entries), ['8 note', '9 release'])
    assert.deepEqual(await fork.store.append(request), { ...first, repeated: true })
  },
})

/** A conversation of so many turns, of five entries each. */
export async function turns(trial: Trial, count: number): Promise<Talk> {
  const talk = await trial.talk()
  for (let turn = 1; turn <= count; turn++) await talk.turn(turn)
  return talk
}

export async function forkOf({ store, key }: Talk, contextId: string, at?: number): Promise<Talk> {
  await forkContext(store, key, at === undefined ? { contextId } : { contextId, at })
  return new Talk(store, { ...key, contextId })
}

/** The position of a conversation, for cases without the fold. */
async function positionOf(talk: Talk): Promise<Position> {
  const { at, turn, epoch, claims, createdAt, activeAt, status } = await talk.head()
  return { at, turn, epoch, claims, createdAt, activeAt, running: status === 'running' }
}
