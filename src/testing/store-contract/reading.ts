/** Reading by range and by turn, and reading damaged data. */
import assert from 'node:assert/strict'
import type { Head } from '../../store/index.ts'
import { headIsRebuilt, lines, positions, refused } from './assertions.ts'
import { type ContractCase, subject } from './contract.ts'
import { ANN, entry, input, keyOf, note, Talk, turnEnd, turnStart } from './talk.ts'
import type { Trial } from './trial.ts'

const readingFacts = subject('reading', {
  'a range is inclusive at both ends, oldest first': async (trial) => {
    const talk = await tenEntries(trial)
    assert.deepEqual(positions(await talk.read()), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    assert.deepEqual(positions(await talk.read({ from: 3, to: 5 })), [3, 4, 5])
    assert.deepEqual(positions(await talk.read({ from: 9 })), [9, 10])
    assert.deepEqual(positions(await talk.read({ to: 2 })), [1, 2])
    assert.deepEqual(positions(await talk.read({ from: 4, to: 4 })), [4])
  },

  'a range may lie beside the journal, or be empty': async (trial) => {
    const talk = await tenEntries(trial)
    assert.deepEqual(positions(await talk.read({ from: -5, to: 1 })), [1])
    assert.deepEqual(positions(await talk.read({ from: 10, to: Number.MAX_SAFE_INTEGER })), [10])
    assert.deepEqual(positions(await talk.read({ from: 10, to: Number.POSITIVE_INFINITY })), [10])
    assert.deepEqual(await talk.read({ from: 11 }), [])
    assert.deepEqual(await talk.read({ to: 0 }), [])
    assert.deepEqual(await talk.read({ from: 5, to: 4 }), [])
  },

  'objects that callers gave or got may be changed, and the journal stays as it is (R12)': async (trial) => {
    const { store } = await trial.talk()
    const refs = [await store.putBlob(ANN, Buffer.from('bytes'))]
    const seen = [{ entity: 'order', id: 'o-1', parent: { entity: 'site', id: 's-1' } }]
    const result = entry('tool.end', 1, { callId: 'c', status: 'ok', output: {}, seen })
    const request = {
      key: { ...keyOf() },
      id: 'one',
      since: 0,
      inbox: [input('a')],
      claim: { driver: 'd', leaseMs: 60_000 },
      entries: [turnStart(1, 'a'), { ...result, refs }, turnEnd(1)],
    }
    const look = async () => [
      await store.read(keyOf()),
      await store.head(keyOf()),
      await store.lookup(keyOf(), { index: 'thing' }),
      await store.lookup(keyOf(), { index: 'outcome' }),
      (await store.list({ owner: ANN })).heads,
      await store.scan(),
    ]
    const receipt = await store.append(request)
    const before = await look()
    const copy = structuredClone(before)
    for (const changed of [request, receipt, before, await store.rebuild(keyOf())]) {
      spoil(changed)
      assert.deepEqual(await look(), copy)
    }
    const { seq: upTo } = copy[1] as Head
    await store.erase(keyOf())
    const recreated = await store.recreate({ key: keyOf(), upTo, session: {} })
    const kept = structuredClone(recreated)
    spoil(recreated)
    assert.deepEqual(await store.head(keyOf()), kept)
  },

  'a limit counts from the end that is asked for': async (trial) => {
    const talk = await tenEntries(trial)
    assert.deepEqual(positions(await talk.read({ limit: 3 })), [1, 2, 3])
    assert.deepEqual(positions(await talk.read({ order: 'newest', limit: 3 })), [10, 9, 8])
    assert.deepEqual(positions(await talk.read({ order: 'newest', from: 2, to: 5 })), [5, 4, 3, 2])
    assert.deepEqual(positions(await talk.read({ order: 'newest', to: 5, limit: 2 })), [5, 4])
    assert.deepEqual(positions(await talk.read({ order: 'oldest', from: 8, limit: 100 })), [8, 9, 10])
  },

  'without a limit, a thousand entries are read': async (trial) => {
    const talk = await trial.talk()
    await talk.claim({ entries: Array.from({ length: 1010 }, (_, i) => note(`${i}`)) })
    assert.equal((await talk.read()).length, 1000)
    assert.deepEqual(positions(await talk.read({ order: 'newest' })).slice(0, 2), [1011, 1010])
    assert.equal((await talk.read({ limit: 1011 })).at(-1)?.data['text'], '1009')
  },

  'a limit that is no whole number of at least one is refused': async (trial) => {
    const talk = await tenEntries(trial)
    for (const limit of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      await refused('invalid-option', talk.read({ limit }))
      await refused('invalid-option', talk.store.lookup(talk.key, { index: 'turn', limit }))
      await refused('invalid-option', talk.store.list({ owner: talk.key, limit }))
      await refused('invalid-option', talk.store.due(limit))
    }
  },

  'a turn is read from the first input that it took to its end': async (trial) => {
    const talk = await trial.talk()
    await talk.turn(1)
    await talk.post('early')
    await talk.post('not for this turn')
    const { epoch } = await talk.claim()
    await talk.write(epoch, turnStart(2, 'early'), note('x', 2))
    await talk.post('meanwhile')
    await talk.write(epoch, turnEnd(2))
    await talk.post('afterwards')
    assert.deepEqual(lines(await talk.read({ turn: 1 })), [
      '1 input',
      '2 claim',
      '3 turn.start',
      '4 note',
      '5 turn.end',
    ])
    assert.deepEqual(lines(await talk.read({ turn: 2 })), [
      '6 input',
      '7 input',
      '8 claim',
      '9 turn.start',
      '10 note',
      '11 input',
      '12 turn.end',
    ])
    assert.deepEqual(await talk.read({ turn: 3 }), [])
    assert.deepEqual(await talk.read({ turn: 0 }), [])
  },

  'an open turn is read to the end of the journal': async (trial) => {
    const talk = await trial.talk()
    await talk.turn(1)
    await talk.claim({ entries: [turnStart(2), note('x', 2)], since: 5 })
    await talk.post('and more')
    assert.deepEqual(lines(await talk.read({ turn: 2 })), ['7 turn.start', '8 note', '9 input'])
  },

  'a turn and a range are read where both apply': async (trial) => {
    const talk = await trial.talk()
    await talk.turn(1)
    await talk.turn(2)
    assert.deepEqual(positions(await talk.read({ turn: 2, from: 8 })), [8, 9, 10])
    assert.deepEqual(positions(await talk.read({ turn: 2, to: 7 })), [6, 7])
    assert.deepEqual(positions(await talk.read({ turn: 2, limit: 1 })), [6])
    assert.deepEqual(positions(await talk.read({ turn: 1, order: 'newest', limit: 2 })), [5, 4])
    assert.deepEqual(await talk.read({ turn: 1, from: 6 }), [])
  },

  'conversations are read apart, however alike their names are': async (trial) => {
    const store = await trial.open()
    const names = ['a', 'A', 'a/b', 'a.b', 'ä', 'a|b', 'a-b', 'a=b', 'a~b']
    for (const name of names) await new Talk(store, keyOf(name)).post(`in ${name}`)
    for (const name of names) {
      const entries = await store.read(keyOf(name))
      assert.deepEqual(
        entries.map(({ key }) => key),
        [`in ${name}`],
      )
    }
  },

  'what a reader does to an entry stays with the reader': async (trial) => {
    const talk = await tenEntries(trial)
    const [first] = await talk.read({ from: 2, to: 2 })
    Object.assign(first?.data ?? {}, { text: 'changed' })
    assert.equal((await talk.read({ from: 2, to: 2 }))[0]?.data['text'], '1')
    const { entries } = await talk.write(1, note('new'))
    Object.assign(entries[0]?.data ?? {}, { text: 'changed' })
    assert.equal((await talk.read({ from: 11 }))[0]?.data['text'], 'new')
  },
})

const damageFacts = subject(
  'damage',
  {
    'a damaged entry is reported with its position, and is never believed': async (trial) => {
      const talk = await tenEntries(trial)
      await trial.damageEntry(talk.store, talk.key, 4)
      const error = await refused('entry-corrupt', talk.read())
      assert.equal(error.details['seq'], 4)
      await refused('entry-corrupt', talk.read({ from: 4, to: 4 }))
      assert.deepEqual(positions(await talk.read({ from: 5 })), [5, 6, 7, 8, 9, 10])
      assert.deepEqual(positions(await talk.read({ to: 3 })), [1, 2, 3])
    },

    'a reader may ask to leave damaged entries out': async (trial) => {
      const talk = await tenEntries(trial)
      await trial.damageEntry(talk.store, talk.key, 4)
      const skip = { damaged: 'skip' } as const
      assert.deepEqual(positions(await talk.read(skip)), [1, 2, 3, 5, 6, 7, 8, 9, 10])
      assert.deepEqual(positions(await talk.read({ ...skip, to: 5, order: 'newest', limit: 2 })), [5, 3])
      assert.deepEqual(positions(await talk.read({ ...skip, from: 2, limit: 3 })), [2, 3, 5])
    },

    'a wrong head row is rebuilt from the journal (R6)': async (trial) => {
      const talk = await tenEntries(trial)
      trial.clock.advance(100)
      const { at } = await talk.write(1, note('the last of the driver'))
      trial.clock.advance(500)
      await talk.store.renew({ key: talk.key, epoch: 1, since: 0 })
      await talk.post('waiting')
      const right = await talk.head()
      await trial.damageHead(talk.store, talk.key)
      const wrong = await talk.head().catch((error: unknown) => error)
      if (wrong instanceof Error) await refused('store-corrupt', Promise.reject(wrong))
      else assert.notDeepEqual(wrong, right)
      assert.equal((await talk.store.rebuild(talk.key)).repaired, true)
      const { lease, ...rest } = await talk.head()
      const { lease: rightLease, ...expected } = right
      assert.deepEqual(rest, expected)
      assert.deepEqual(lease, { ...rightLease, renewedAt: at }, 'a rebuilt lease counts from the last entry')
      await headIsRebuilt(talk.store, talk.key)
    },
  },
  ['damage'],
)

export const readingCases: readonly ContractCase[] = [...readingFacts, ...damageFacts]

/** A claim and nine notes; the text of each note is its position less one. */
async function tenEntries(trial: Trial): Promise<Talk> {
  const talk = await trial.talk()
  await talk.claim({ entries: Array.from({ length: 9 }, (_, i) => note(`${i + 1}`)) })
  return talk
}

/** Changes everything in a value that can be changed. */
function spoil(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const [name, inner] of Object.entries(value)) {
    if (typeof inner === 'object') spoil(inner)
    else Reflect.set(value, name, typeof inner === 'number' ? 7777 : 'spoiled')
  }
}
