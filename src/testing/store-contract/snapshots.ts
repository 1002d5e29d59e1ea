/** Snapshots: derived, found by format and position, and dispensable (R12). */
import assert from 'node:assert/strict'
import { forkContext, pruneContext } from '../../journal/index.ts'
import type { Snapshot } from '../../store/index.ts'
import { type ContractCase, subject } from './contract.ts'
import { keyOf, note, Talk } from './talk.ts'
import type { Trial } from './trial.ts'

/** A format that no fold reads. */
const FORMAT = 9001

export const snapshotCases: readonly ContractCase[] = subject('snapshots', {
  'the newest snapshot of a format is found (R12)': async (trial) => {
    const talk = await twentyEntries(trial)
    await save(talk, 5)
    await save(talk, 9)
    await save(talk, 7)
    assert.deepEqual(await talk.store.loadSnapshot(talk.key, { format: FORMAT }), snapshot(9))
  },

  'a snapshot of another format is of no use (R12)': async (trial) => {
    const talk = await twentyEntries(trial)
    await save(talk, 5, FORMAT)
    await save(talk, 9, FORMAT + 1)
    assert.deepEqual(await talk.store.loadSnapshot(talk.key, { format: FORMAT }), snapshot(5, FORMAT))
    assert.deepEqual(await talk.store.loadSnapshot(talk.key, { format: FORMAT + 1 }), snapshot(9, FORMAT + 1))
    assert.equal(await talk.store.loadSnapshot(talk.key, { format: FORMAT + 2 }), undefined)
  },

  'a snapshot at or below a position is found (R12)': async (trial) => {
    const talk = await twentyEntries(trial)
    await save(talk, 5)
    await save(talk, 9)
    const at = async (atMost: number) =>
      (await talk.store.loadSnapshot(talk.key, { format: FORMAT, atMost }))?.seq
    assert.deepEqual([await at(4), await at(5), await at(8), await at(9)], [undefined, 5, 5, 9])
    assert.equal(await at(Number.MAX_SAFE_INTEGER), 9)
  },

  'saving at the same position again replaces the snapshot (R12)': async (trial) => {
    const talk = await twentyEntries(trial)
    await save(talk, 5)
    await talk.store.saveSnapshot(talk.key, { seq: 5, format: FORMAT, state: { other: true } })
    const found = await talk.store.loadSnapshot(talk.key, { format: FORMAT })
    assert.deepEqual(found?.state, { other: true })
  },

  'a snapshot is a copy (R12)': async (trial) => {
    const talk = await twentyEntries(trial)
    const state = { list: [1, 2] }
    await talk.store.saveSnapshot(talk.key, { seq: 5, format: FORMAT, state })
    state.list.push(3)
    const found = await talk.store.loadSnapshot(talk.key, { format: FORMAT })
    assert.deepEqual(found?.state, { list: [1, 2] })
    Object.assign(found?.state['list'] ?? [], [4, 5])
    assert.deepEqual((await talk.store.loadSnapshot(talk.key, { format: FORMAT }))?.state, { list: [1, 2] })
  },

  'of many snapshots the newest stay (R12)': async (trial) => {
    const talk = await twentyEntries(trial)
    for (let seq = 1; seq <= 20; seq++) await save(talk, seq)
    assert.equal((await talk.store.loadSnapshot(talk.key, { format: FORMAT }))?.seq, 20)
    assert.equal((await talk.store.loadSnapshot(talk.key, { format: FORMAT, atMost: 19 }))?.seq, 19)
  },

  'a snapshot of what is not there is not kept (R12)': async (trial) => {
    const talk = await twentyEntries(trial)
    await save(talk, 21)
    assert.equal(await talk.store.loadSnapshot(talk.key, { format: FORMAT }), undefined)
    const nobody = new Talk(talk.store, keyOf('nobody'))
    await save(nobody, 1)
    assert.equal(await talk.store.loadSnapshot(nobody.key, { format: FORMAT }), undefined)
    assert.equal(await talk.store.head(nobody.key), undefined)
  },

  'dropped snapshots are gone, and the journal is not (R12)': async (trial) => {
    const talk = await twentyEntries(trial)
    await save(talk, 5)
    await save(talk, 9)
    await talk.store.dropSnapshots(talk.key)
    assert.equal(await talk.store.loadSnapshot(talk.key, { format: FORMAT }), undefined)
    assert.equal((await talk.read()).length, 20)
    await talk.store.dropSnapshots(keyOf('nobody'))
  },

  "a fork finds its parent's snapshots up to the fork point, then its own (R12, R15)": async (trial) => {
    const talk = await twentyEntries(trial)
    for (const seq of [5, 9, 15]) await save(talk, seq)
    await forkContext(talk.store, talk.key, { contextId: 'fork', at: 10 })
    const fork = new Talk(talk.store, keyOf('fork'))
    const found = async (atMost?: number) => {
      const query = atMost === undefined ? { format: FORMAT } : { format: FORMAT, atMost }
      return (await fork.store.loadSnapshot(fork.key, query))?.seq
    }
    assert.equal(await found(), 9)
    assert.equal(await found(8), 5)
    await save(fork, 11)
    assert.deepEqual([await found(), await found(10)], [11, 9])
    await fork.store.dropSnapshots(fork.key)
    assert.equal(await found(), 9, "dropping a fork's own leaves its parent's")
    assert.equal((await talk.store.loadSnapshot(talk.key, { format: FORMAT }))?.seq, 15)
  },

  'a snapshot from before a base is not found: the entries after it are gone (R15)': async (trial) => {
    const talk = await trial.talk()
    for (let turn = 1; turn <= 4; turn++) await talk.turn(turn)
    await save(talk, 5)
    await pruneContext(talk.store, talk.key, { keepTurns: 2 })
    assert.equal(await talk.store.loadSnapshot(talk.key, { format: FORMAT }), undefined)
    await save(talk, 20)
    assert.equal((await talk.store.loadSnapshot(talk.key, { format: FORMAT }))?.seq, 20)
  },
})

/** A claim and nineteen notes. */
async function twentyEntries(trial: Trial): Promise<Talk> {
  const talk = await trial.talk()
  await talk.claim({ entries: Array.from({ length: 19 }, (_, i) => note(`${i}`)) })
  return talk
}

function snapshot(seq: number, format = FORMAT): Snapshot {
  return { seq, format, state: { seq, format, nested: { list: [seq] } } }
}

function save(talk: Talk, seq: number, format = FORMAT): Promise<void> {
  return talk.store.saveSnapshot(talk.key, snapshot(seq, format))
}
