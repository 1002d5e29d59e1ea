/** Pruning: appends a base and deletes the entries below it, except those that a fork still reads (R15). */
import assert from 'node:assert/strict'
import { loadSession, positionOf as positionIn, pruneContext } from '../../journal/index.ts'
import type { LookupQuery, PruneReceipt } from '../../store/index.ts'
import { headIsRebuilt, keys, lines, positions, refused, same } from './assertions.ts'
import { sha256, text } from './blobs.ts'
import { type ContractCase, subject } from './contract.ts'
import { forkOf, turns } from './fork.ts'
import { ANN, entry, input, keyOf, note, release, Talk, turnEnd, turnStart } from './talk.ts'

export const pruneCases: readonly ContractCase[] = subject('prune', {
  'pruning appends a base and deletes what lies below it (R15)': async (trial) => {
    const talk = await turns(trial, 3)
    trial.clock.advance(5)
    assert.deepEqual(await pruneTo(talk, 10), { deleted: 10, base: 10 })
    assert.deepEqual(lines(await talk.read()), [
      '11 input',
      '12 claim',
      '13 turn.start',
      '14 note',
      '15 turn.end',
      '16 base',
    ])
    const base = (await talk.read({ from: 16 }))[0]
    assert.deepEqual([base?.turn, base?.at, base?.data['upTo']], [0, trial.clock.now(), 10])
    assert.deepEqual(await talk.store.base(talk.key), base)
    const { base: upTo, seq, at, claims, pending } = await talk.head()
    assert.deepEqual([upTo, seq, at, claims, pending], [10, 16, trial.clock.now(), 0, 0])
    await headIsRebuilt(talk.store, talk.key)
  },

  'what a fold would find is the same before and after (R12, R15)': async (trial) => {
    const talk = await turns(trial, 3)
    const before = await loadSession(talk.store, talk.key)
    await pruneTo(talk, 10)
    const { seq: _, at: __, ...after } = await loadSession(talk.store, talk.key)
    const { seq: ___, at: ____, ...expected } = before
    assert.deepEqual(after, expected)
  },

  'pruning again does nothing, and pruning further does more (R15)': async (trial) => {
    const talk = await turns(trial, 3)
    await pruneTo(talk, 5)
    const request = {
      key: talk.key,
      position: positionIn(await loadSession(talk.store, talk.key)),
      session: {},
    }
    for (const upTo of [5, 4, 0, -1])
      assert.deepEqual(await talk.store.prune({ ...request, upTo }), { deleted: 0, base: 5 })
    assert.equal((await talk.head()).seq, 16)
    assert.deepEqual(await pruneTo(talk, 10), { deleted: 5, base: 10 })
    assert.deepEqual(lines(await talk.read({ from: 15 })), ['15 turn.end', '16 base', '17 base'])
    assert.equal((await talk.store.base(talk.key))?.seq, 17)
    await headIsRebuilt(talk.store, talk.key)
    assert.deepEqual(await pruneTo(talk, 17), { deleted: 5, base: 17 })
    assert.deepEqual(lines(await talk.read()), ['18 base'])
    await headIsRebuilt(talk.store, talk.key)
  },

  'a pruned conversation goes on (R15)': async (trial) => {
    const talk = await turns(trial, 2)
    await pruneTo(talk, 10)
    await talk.turn(3)
    assert.deepEqual(positions(await talk.read()), [11, 12, 13, 14, 15, 16])
    assert.deepEqual(await talk.read({ turn: 1 }), [])
    assert.deepEqual(positions(await talk.read({ turn: 3 })), [12, 13, 14, 15, 16])
    assert.deepEqual((await talk.post('input 1')).entries, [], 'keys of pruned inputs are remembered')
    await refused('key-reused', talk.append({ inbox: [input('input 1', 'other words')] }))
    await headIsRebuilt(talk.store, talk.key)
  },

  'the open turn and the untaken inbox are not pruned away (R15)': async (trial) => {
    const talk = await turns(trial, 1)
    await talk.post('a', 'b')
    const { epoch } = await talk.claim({ entries: [turnStart(2, 'b')], since: 7 })
    for (const upTo of [6, 7, 8, 9]) {
      const error = await refused('in-use', pruneTo(talk, upTo))
      assert.deepEqual([error.details['needed'], error.retry], [6, 'later'])
    }
    assert.deepEqual(await pruneTo(talk, 5), { deleted: 5, base: 5 })
    await talk.write(epoch, turnEnd(2))
    await refused('in-use', pruneTo(talk, 10))
    assert.deepEqual(keys(await talk.store.inbox(talk.key)), ['a'])
  },

  'an input is not pruned away from the entry that took it (R15)': async (trial) => {
    const talk = await trial.talk()
    await talk.post('a')
    await talk.claim({ entries: [note('x'), turnStart(1, 'a'), turnEnd(1)], since: 1 })
    for (const upTo of [1, 2, 3]) await refused('in-use', pruneTo(talk, upTo))
    assert.deepEqual(await pruneTo(talk, 4), { deleted: 4, base: 4 })
    await headIsRebuilt(talk.store, talk.key)
  },

  'a paused turn is not pruned away (R15)': async (trial) => {
    const talk = await trial.talk()
    await talk.claim({ entries: [turnStart(1), release({ pause: true }, 1)] })
    await refused('in-use', pruneTo(talk, 2))
    assert.deepEqual(await pruneTo(talk, 1), { deleted: 1, base: 1 })
    assert.equal((await talk.head()).status, 'paused')
    await headIsRebuilt(talk.store, talk.key)
  },

  'a driver may be pruned under and keeps its lease (R1, R6, R15)': async (trial) => {
    const talk = await turns(trial, 1)
    const { epoch } = await talk.claim({ driver: 'd1', leaseMs: 5000 })
    await talk.post('a')
    await talk.append({ epoch, entries: [turnStart(2, 'a')], since: 7 })
    trial.clock.advance(100)
    const before = await talk.head()
    assert.deepEqual(await pruneTo(talk, 6), { deleted: 6, base: 6 })
    assert.deepEqual(await talk.head(), { ...before, seq: 9, at: trial.clock.now(), base: 6 })
    await headIsRebuilt(talk.store, talk.key)
    await talk.write(epoch, note('goes on', 2))
    await refused('owned', talk.claim({ driver: 'd2' }))
  },

  'a wake time outlives the entry that set it (R6, R15)': async (trial) => {
    const talk = await trial.talk()
    const wakeAt = trial.clock.now() + 100
    await talk.claim({ entries: [turnStart(1), turnEnd(1, { wakeAt })] })
    await pruneTo(talk, 3)
    assert.equal((await talk.head()).wakeAt, wakeAt)
    await headIsRebuilt(talk.store, talk.key)
    trial.clock.set(wakeAt)
    assert.equal((await talk.store.due()).length, 1)
  },

  'a driver that has seen nothing since a prune is refused: it may repeat a pruned append (R5, R15)': async (
    trial,
  ) => {
    const talk = await trial.talk()
    const { epoch } = await talk.claim({ leaseMs: 60_000 })
    const append = { key: talk.key, id: 'mine', since: 1, epoch, entries: [note('once')] }
    await talk.store.append(append)
    await pruneTo(talk, 2)
    const claim = { driver: 'd2', leaseMs: 1000, force: true } as const
    const late = [append, { ...append, id: 'other' }, { key: talk.key, id: 'claim', since: 0, claim }]
    for (const request of late) await refused('moved', talk.store.append(request))
    assert.deepEqual(lines(await talk.read()), ['3 base'])
    await talk.append({ inbox: [input('a')], since: 0 })
    await talk.store.append({ ...append, id: 'next', since: 2 })
    assert.deepEqual(lines(await talk.read()), ['3 base', '4 input', '5 note'])
    await talk.store.append({ key: talk.key, id: 'claim', since: 5, claim })
  },

  'what a fork still reads is kept, until the fork is erased (R15)': async (trial) => {
    const talk = await turns(trial, 3)
    const fork = await forkOf(talk, 'fork', 7)
    const before = await fork.read()
    const other = new Talk(talk.store, keyOf('other'))
    await other.turn(1)
    await other.turn(2)
    await forkOf(other, 'fork-of-other', 10)
    assert.deepEqual(await pruneTo(talk, 10), { deleted: 3, base: 10 }, 'nor do others keep anything')
    assert.deepEqual(await fork.read(), before)
    assert.equal((await fork.head()).base, 0)
    assert.equal(await fork.store.base(fork.key), undefined)
    assert.equal((await talk.read())[0]?.seq, 11, 'the parent itself does not see it any more')
    for (const { key } of [talk, fork]) await headIsRebuilt(talk.store, key)
    await talk.store.erase(fork.key)
    assert.deepEqual(await pruneTo(talk, 15), { deleted: 12, base: 15 })
  },

  'a fork is pruned down to its fork point and not below (R15)': async (trial) => {
    const talk = await turns(trial, 2)
    const fork = await forkOf(talk, 'fork', 10)
    trial.clock.advance(50)
    await fork.turn(3)
    await fork.turn(4)
    for (const upTo of [1, 9, 10]) await refused('not-found', pruneTo(fork, upTo))
    assert.deepEqual(await pruneTo(fork, 11), { deleted: 1, base: 11 })
    await headIsRebuilt(talk.store, fork.key, 'pruned to its fork entry')
    assert.deepEqual(await pruneTo(fork, 16), { deleted: 5, base: 16 })
    assert.deepEqual(positions(await fork.read()), [17, 18, 19, 20, 21, 22, 23])
    assert.equal((await talk.read()).length, 10)
    await headIsRebuilt(talk.store, fork.key)
  },

  'a pruned fork keeps the index rows of its parent up to the fork point (R13, R15)': async (trial) => {
    const talk = await turns(trial, 2)
    const fork = await forkOf(talk, 'fork', 10)
    await fork.turn(3)
    const below = await forkOf(fork, 'below', 16)
    await talk.turn(3)
    const rows = async ({ store, key }: Talk, query: Omit<LookupQuery, 'index'> = {}) =>
      (await store.lookup(key, { index: 'turn', ...query })).map((row) => [Number(row.key), row.seq])
    const expected = [await rows(fork), await rows(below)]
    assert.deepEqual(expected[0], [
      [1, 3],
      [2, 8],
      [3, 14],
    ])
    await pruneTo(below, 17)
    await pruneTo(fork, 16)
    assert.deepEqual([await rows(fork), await rows(below)], expected)
    assert.deepEqual(await rows(below, { key: '2'.padStart(12, '0') }), [[2, 8]])
    assert.deepEqual(await fork.read({ turn: 1 }), [])
    for (const { key } of [fork, below]) await headIsRebuilt(talk.store, key)
    assert.deepEqual([await rows(fork), await rows(below)], expected, 'also after a rebuild')
  },

  "a fork at a base keeps that base, with all that is in it, through its parent's next prune (R15, R16)":
    async (trial) => {
      const talk = await turns(trial, 3)
      const session = { ...(await loadSession(talk.store, talk.key, 5)), note: text(90_000) }
      await talk.store.prune({ key: talk.key, upTo: 5, position: positionIn(session), session })
      const fork = await forkOf(talk, 'fork', 5)
      const base = await fork.store.base(fork.key)
      assert.equal(base?.data['upTo'], 5)
      await pruneTo(talk, 16)
      await talk.turn(4)
      await pruneTo(talk, 17)
      same(await fork.store.base(fork.key), base, 'the base')
      await headIsRebuilt(talk.store, fork.key)
    },

  'what is out of range is refused (R15)': async (trial) => {
    const talk = await turns(trial, 1)
    const request = {
      key: talk.key,
      position: positionIn(await loadSession(talk.store, talk.key)),
      session: {},
    }
    for (const upTo of [6, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
      await refused('not-found', talk.store.prune({ ...request, upTo }))
    await refused('not-found', talk.store.prune({ ...request, key: keyOf('nobody'), upTo: 1 }))
    assert.equal((await talk.head()).seq, 5)
    assert.equal(await talk.store.head(keyOf('nobody')), undefined)
  },

  'blobs go with the last entry that uses them (R15, R16)': async (trial) => {
    const talk = await trial.talk()
    const [one, two] = [Buffer.from('used once'), Buffer.from('used twice')]
    const refs = [await talk.store.putBlob(ANN, one), await talk.store.putBlob(ANN, two)]
    await talk.claim({ entries: [{ ...note('x'), refs }, note('y'), release()] })
    await talk.claim({ entries: [{ ...note('z'), refs: refs.slice(1) }], since: 4 })
    await pruneTo(talk, 4)
    assert.equal(await talk.store.getBlob(ANN, sha256(one)), undefined)
    assert.equal((await talk.store.getBlob(ANN, sha256(two)))?.length, two.length)
  },

  'artifact entries outlive a prune with their blobs, for those who ask for them (R15, R16)': async (
    trial,
  ) => {
    const talk = await trial.talk()
    const refs = [await talk.store.putBlob(ANN, Buffer.from('a picture'))]
    const change = { artifactId: 'a', kind: 'file', op: 'write', version: 1, chunk: 1, chunks: 1 }
    const artifact = entry('artifact', 0, { ...change, bytes: 9, totalBytes: 9, complete: true })
    await talk.claim({ entries: [note('x'), { ...artifact, refs }, note('y'), release()] })
    const before = await talk.read({ from: 3, to: 3 })
    const fork = await forkOf(talk, 'fork', 4)
    await fork.turn(1)
    await pruneTo(fork, 10)
    await talk.store.erase(fork.key)
    assert.deepEqual(await pruneTo(talk, 5), { deleted: 4, base: 5 })
    await talk.turn(1)
    assert.deepEqual(await pruneTo(talk, 11), { deleted: 5, base: 11 })
    assert.deepEqual(lines(await talk.read()), ['12 base'])
    assert.deepEqual(await talk.read({ from: 3, to: 3 }), [])
    assert.deepEqual(await talk.read({ from: 3, to: 3, kept: true }), before)
    assert.deepEqual(await talk.read({ to: 2, kept: true }), [])
    assert.deepEqual(lines(await talk.read({ kept: true })), ['3 artifact', '12 base'])
    assert.deepEqual(lines(await talk.read({ kept: true, order: 'newest', limit: 2 })), [
      '12 base',
      '3 artifact',
    ])
    assert.deepEqual(lines(await talk.read({ kept: true, limit: 1 })), ['3 artifact'])
    assert.equal((await talk.store.getBlob(ANN, refs[0] ?? ''))?.length, 9)
    await headIsRebuilt(talk.store, talk.key)
    const later = await forkOf(talk, 'later')
    assert.deepEqual(await later.read({ from: 3, to: 3, kept: true }), before, 'a fork reads them, too')
    await talk.store.erase(talk.key)
    assert.equal(await talk.store.getBlob(ANN, refs[0] ?? ''), undefined)
  },

  'turns are kept whole by those who ask for turns (R15)': async (trial) => {
    const talk = await turns(trial, 4)
    await talk.post('waiting since turn four')
    assert.deepEqual(await pruneContext(talk.store, talk.key, { keepTurns: 4 }), { deleted: 0, base: 0 })
    assert.deepEqual(await pruneContext(talk.store, talk.key, { keepTurns: 1 }), { deleted: 15, base: 15 })
    assert.deepEqual(await pruneContext(talk.store, talk.key, { keepTurns: 1 }), { deleted: 0, base: 15 })
    assert.equal((await talk.read({ turn: 4 })).length, 5)
    await headIsRebuilt(talk.store, talk.key)
  },
})

async function pruneTo(talk: Talk, upTo: number): Promise<PruneReceipt> {
  const { store, key } = talk
  const session = await loadSession(store, key, upTo)
  const receipt = await store.prune({ key, upTo, position: positionIn(session), session })
  talk.since = receipt.base
  return receipt
}
