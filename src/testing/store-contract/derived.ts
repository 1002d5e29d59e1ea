/** Derived indexes: rows that are found by key without reading the journal (R13). */
import assert from 'node:assert/strict'
import { forkContext, pruneContext } from '../../journal/index.ts'
import type { NewEntry } from '../../protocol/index.ts'
import type { Derivation, IndexRow, LookupQuery, Store } from '../../store/index.ts'
import { refused } from './assertions.ts'
import { type ContractCase, subject } from './contract.ts'
import { entry, keyOf, Talk, turnEnd, turnStart } from './talk.ts'
import type { Trial } from './trial.ts'

/** Every `seen` entry has a row for each of its ids. */
const SEEN: Derivation = {
  index: 'seen',
  rows: ({ type, data }) =>
    type === 'seen' ? (data['ids'] as string[]).map((key) => ({ key, value: { as: data['as'] } })) : [],
}
const NOTED: Derivation = {
  index: 'noted',
  rows: ({ type, seq, data }) =>
    type === 'note' ? [{ key: String(seq).padStart(4, '0'), value: { text: data['text'] } }] : [],
}
const KNOWING = { derivations: [SEEN, NOTED] }

const derivedFacts = subject('derived indexes', {
  'a row is found by its key, with its entry and value (R13)': async (trial) => {
    const talk = await seeing(trial, ['p1', 'p2'], ['t1'])
    assert.deepEqual(await look(talk, { key: 'p2' }), [{ key: 'p2', seq: 2, value: { as: 1 } }])
    assert.deepEqual(await look(talk, { key: 'p' }), [])
    assert.deepEqual(await talk.store.lookup(talk.key, { index: 'unheard-of' }), [])
  },

  'rows come in the order of their keys, by prefix and after a key (R13)': async (trial) => {
    const talk = await seeing(trial, ['b2', 'a1'], ['b1', 'c', 'b'])
    assert.deepEqual(await keysOf(talk, {}), ['a1', 'b', 'b1', 'b2', 'c'])
    assert.deepEqual(await keysOf(talk, { prefix: 'b' }), ['b', 'b1', 'b2'])
    assert.deepEqual(await keysOf(talk, { prefix: 'b', after: 'b' }), ['b1', 'b2'])
    assert.deepEqual(await keysOf(talk, { after: 'b1' }), ['b2', 'c'])
    assert.deepEqual(await keysOf(talk, { prefix: 'd' }), [])
    assert.deepEqual(await keysOf(talk, { prefix: '%' }), [])
  },

  'a key with a NUL or half a character is refused with its append': async (trial) => {
    const talk = await seeing(trial, ['a'])
    const before = await talk.head()
    for (const id of ['a\0b', 'a\ud800b']) {
      const bad = entry('seen', 0, { ids: ['b', id], as: 1 })
      await refused('invalid-entry', talk.write(before.epoch, bad))
    }
    assert.deepEqual([await talk.head(), await keysOf(talk, {})], [before, ['a']])
  },

  'an index must have a plain name': async (trial) => {
    for (const index of ['', 'Word', 'a b', '1a', 'ä'])
      await refused('invalid-option', trial.open({ derivations: [{ index, rows: () => [] }] }))
  },

  'a limit counts from the end that is asked for (R13)': async (trial) => {
    const talk = await seeing(trial, ['b2', 'a1'], ['b1', 'c', 'b'])
    assert.deepEqual(await keysOf(talk, { limit: 2 }), ['a1', 'b'])
    assert.deepEqual(await keysOf(talk, { order: 'last' }), ['c', 'b2', 'b1', 'b', 'a1'])
    assert.deepEqual(await keysOf(talk, { order: 'last', limit: 2 }), ['c', 'b2'])
    assert.deepEqual(await keysOf(talk, { order: 'last', prefix: 'b', limit: 1 }), ['b2'])
  },

  'keys of all scripts are in the order of their code points, and paging finds each once (R13)': async (
    trial,
  ) => {
    const inOrder = ['0', 'Z', 'z', 'é', '日本', '\uff5e', '\u{10000}', '😀']
    const talk = await seeing(trial, ['z', 'é', '日本', '\uff5e', '😀', '\u{10000}', 'Z', '0'])
    assert.deepEqual(await keysOf(talk, {}), inOrder)
    for (const limit of [1, 2, 3]) {
      const found: string[] = []
      for (let page = await keysOf(talk, { limit }); page.length > 0 && found.length < 99; ) {
        found.push(...page)
        page = await keysOf(talk, { limit, after: found.at(-1) ?? '' })
      }
      assert.deepEqual(found, inOrder, `pages of ${limit}`)
    }
  },

  'the newest version of a key is found (R13)': async (trial) => {
    const talk = await seeing(trial, ['a', 'b'], ['a'], ['c', 'c'])
    assert.deepEqual(await look(talk, {}), [
      { key: 'a', seq: 3, value: { as: 2 } },
      { key: 'b', seq: 2, value: { as: 1 } },
      { key: 'c', seq: 4, value: { as: 3 } },
    ])
    assert.deepEqual(await look(talk, { key: 'a' }), [{ key: 'a', seq: 3, value: { as: 2 } }])
    assert.deepEqual(await keysOf(talk, { limit: 2 }), ['a', 'b'], 'versions do not count')
  },

  'every store knows where turns begin and end (R13)': async (trial) => {
    const talk = await trial.talk()
    await talk.turn(1)
    await talk.turn(2, 'failed')
    await talk.claim({ entries: [turnStart(3)], since: 10 })
    const starts = await talk.store.lookup(talk.key, { index: 'turn' })
    assert.deepEqual(
      starts.map(({ seq, value }) => [seq, value['first']]),
      [
        [3, 1],
        [8, 6],
        [12, 12],
      ],
    )
    const ends = await talk.store.lookup(talk.key, { index: 'outcome' })
    assert.deepEqual(
      ends.map(({ value }) => [value['last'], value['outcome']]),
      [
        [5, 'stop'],
        [10, 'failed'],
      ],
    )
  },

  'a refused append leaves no rows (R5, R13)': async (trial) => {
    const talk = await seeing(trial, ['a'])
    const refusal = talk.write(1, seen(2, 'b'), { ...entry('note'), takes: ['unheard of'] })
    await assert.rejects(refusal)
    assert.deepEqual(await keysOf(talk, {}), ['a'])
  },

  'a fork sees the rows up to its fork point, then its own (R13, R15)': async (trial) => {
    const talk = await seeing(trial, ['a', 'b'], ['a', 'c'])
    await forkContext(talk.store, talk.key, { contextId: 'fork', at: 2 })
    const fork = new Talk(talk.store, keyOf('fork'))
    assert.deepEqual(await look(fork, {}), [
      { key: 'a', seq: 2, value: { as: 1 } },
      { key: 'b', seq: 2, value: { as: 1 } },
    ])
    const { epoch } = await fork.claim({ driver: 'd2' })
    await fork.write(epoch, seen(9, 'b', 'd'))
    assert.deepEqual(
      (await look(fork, {})).map(({ key, seq, value }) => [key, seq, value['as']]),
      [
        ['a', 2, 1],
        ['b', 5, 9],
        ['d', 5, 9],
      ],
    )
    assert.deepEqual(await keysOf(fork, { limit: 2 }), ['a', 'b'])
    assert.deepEqual(await keysOf(talk, {}), ['a', 'b', 'c'], 'the parent sees nothing of its fork')
  },

  'rows outlive the entries that they came from (R13, R15)': async (trial) => {
    const talk = new Talk(await trial.open(KNOWING), keyOf())
    for (let turn = 1; turn <= 3; turn++) {
      const { epoch } = await talk.claim()
      await talk.write(epoch, turnStart(turn), seen(turn, 'last', `turn ${turn}`))
      await talk.write(epoch, turnEnd(turn))
    }
    await pruneContext(talk.store, talk.key, { keepTurns: 1 })
    assert.equal((await talk.read())[0]?.turn, 3)
    assert.deepEqual(await keysOf(talk, {}), ['last', 'turn 1', 'turn 2', 'turn 3'])
    await talk.store.rebuild(talk.key)
    assert.deepEqual(await keysOf(talk, {}), ['last', 'turn 1', 'turn 2', 'turn 3'])
    assert.equal((await talk.store.lookup(talk.key, { index: 'outcome' })).length, 3)
    assert.equal((await look(talk, { key: 'last' }))[0]?.value['as'], 3)
  },

  'rebuilding gives the same rows (R6, R13)': async (trial) => {
    const talk = await seeing(trial, ['a', 'b'], ['a', 'c'], ['c'])
    const before = await look(talk, {})
    await talk.store.rebuild(talk.key)
    assert.deepEqual(await look(talk, {}), before)
  },
})

const catchUpFacts = subject(
  'derived indexes',
  {
    'a store that knows more indexes catches up on what was written before (R13)': async (trial) => {
      const plain = new Talk(await trial.open(), keyOf())
      await plain.claim({ entries: [seen(1, 'a', 'b')] })
      await forkContext(plain.store, plain.key, { contextId: 'fork' })
      await plain.write(1, seen(2, 'a', 'c'))
      const store = await trial.reopen(plain.store, KNOWING)
      assert.deepEqual(await keysOf(new Talk(store, keyOf('fork')), {}), ['a', 'b'])
      assert.deepEqual(await look(new Talk(store, keyOf()), {}), [
        { key: 'a', seq: 3, value: { as: 2 } },
        { key: 'b', seq: 2, value: { as: 1 } },
        { key: 'c', seq: 3, value: { as: 2 } },
      ])
    },

    'stores that know different indexes write by turns, and each finds its rows (R13)': async (trial) => {
      const knowing = new Talk(await trial.open(KNOWING), keyOf())
      const stores: Store[] = [knowing.store, await trial.reopen(knowing.store)]
      stores.push(await trial.reopen(knowing.store, { derivations: [NOTED] }))
      await knowing.claim({ leaseMs: 60_000 })
      for (let i = 0; i < 9; i++) {
        const talk = new Talk(stores[i % 3] as Store, keyOf())
        await talk.write(1, seen(i, `s${i}`), entry('note', 0, { text: `n${i}` }))
        if (i % 2 === 0) await talk.store.lookup(talk.key, { index: 'turn' })
      }
      assert.equal((await keysOf(knowing, {})).length, 9)
      const noted = new Talk(stores[2] as Store, keyOf())
      const rows = await noted.store.lookup(noted.key, { index: 'noted' })
      assert.deepEqual(
        rows.map(({ value }) => value['text']),
        Array.from({ length: 9 }, (_, i) => `n${i}`),
      )
    },
  },
  ['reopen'],
)

export const derivedCases: readonly ContractCase[] = [...derivedFacts, ...catchUpFacts]

function seen(as: number, ...ids: readonly string[]): NewEntry {
  return { ...entry('seen', 0, { as, ids }), optional: true }
}

/** A claim, and a `seen` entry for each list of ids. */
async function seeing(trial: Trial, ...lists: readonly string[][]): Promise<Talk> {
  const talk = new Talk(await trial.open(KNOWING), keyOf())
  await talk.claim({ entries: lists.map((ids, i) => seen(i + 1, ...ids)) })
  return talk
}

function look({ store, key }: Talk, query: Omit<LookupQuery, 'index'>): Promise<readonly IndexRow[]> {
  return store.lookup(key, { index: 'seen', ...query })
}

async function keysOf(talk: Talk, query: Omit<LookupQuery, 'index'>): Promise<string[]> {
  return (await look(talk, query)).map(({ key }) => key)
}
