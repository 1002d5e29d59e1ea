/** The inbox: anyone posts at any time under a key; the driver takes each entry once (R2). */
import assert from 'node:assert/strict'
import { headIsRebuilt, keys, lines, refused } from './assertions.ts'
import { type ContractCase, subject } from './contract.ts'
import { input, note, type Talk, turnEnd, turnStart } from './talk.ts'

const LIMIT = 1000

export const inboxCases: readonly ContractCase[] = subject('inbox', {
  'posting the same key twice is posting once (R2)': async (trial) => {
    const talk = await trial.talk()
    const first = await talk.post('a')
    const again = await talk.post('a')
    assert.deepEqual([first.first, first.last, keys(first.entries)], [1, 1, ['a']])
    assert.ok(again.last < again.first, 'there was nothing to add')
    assert.deepEqual([again.entries, keys(again.inbox)], [[], ['a']])
    assert.deepEqual(lines(await talk.read()), ['1 input'])
    assert.equal((await talk.head()).pending, 1)
  },

  'a key that was taken adds nothing either (R2)': async (trial) => {
    const talk = await trial.talk()
    await talk.turn(1)
    const again = await talk.post('input 1')
    assert.deepEqual([again.entries, again.inbox], [[], []])
    assert.deepEqual([(await talk.head()).seq, (await talk.head()).pending], [5, 0])
  },

  'new keys are added beside known ones (R2)': async (trial) => {
    const talk = await trial.talk()
    await talk.post('a')
    const receipt = await talk.post('a', 'b', 'c')
    assert.deepEqual(keys(receipt.entries), ['b', 'c'])
    assert.deepEqual(keys(receipt.inbox), ['a', 'b', 'c'])
  },

  'the same key with other content is refused (R2)': async (trial) => {
    const talk = await trial.talk()
    await talk.post('a')
    await refused('key-reused', talk.append({ inbox: [input('a', 'other words')] }))
    await refused('key-reused', talk.append({ inbox: [input('a', 'a', 'answer')] }))
    await talk.claim({ entries: [turnStart(1, 'a')], since: 1 })
    await refused('key-reused', talk.append({ inbox: [input('a', 'other words')] }))
  },

  'the same key with other content is refused, also when the content is large (R2, R16)': async (trial) => {
    const talk = await trial.talk()
    const [one, two] = ['x'.repeat(100_000), `${'x'.repeat(99_999)}y`]
    await talk.append({ inbox: [input('a', one)] })
    assert.deepEqual((await talk.append({ inbox: [input('a', one)] })).entries, [])
    await refused('key-reused', talk.append({ inbox: [input('a', two)] }))
  },

  'posts never make the driver fail, however far behind it is (R2)': async (trial) => {
    const talk = await trial.talk()
    const { epoch, last } = await talk.claim()
    for (const key of ['a', 'b', 'c']) {
      await talk.post(key)
      const receipt = await talk.append({ epoch, entries: [note(`beside ${key}`)], since: last })
      assert.equal(keys(receipt.inbox).at(-1), key, 'and the driver sees them with each append')
    }
    assert.deepEqual(keys(await talk.store.inbox(talk.key)), ['a', 'b', 'c'])
  },

  'posting needs no ownership and changes none (R2)': async (trial) => {
    const talk = await trial.talk()
    await talk.claim({ driver: 'd1' })
    const { lease, epoch, claims } = await talk.head()
    await talk.append({ inbox: [input('a', 'stop', 'cancel')] })
    const after = await talk.head()
    assert.deepEqual([after.lease, after.epoch, after.claims], [lease, epoch, claims])
  },

  'a receipt shows what is untaken since the position that it was asked from (R2)': async (trial) => {
    const talk = await trial.talk()
    await talk.post('a', 'b')
    const { epoch } = await talk.claim()
    await talk.post('c')
    const receipt = await talk.append({ epoch, entries: [turnStart(1, 'b')], since: 1 })
    assert.deepEqual(keys(receipt.inbox), ['c'])
    const all = await talk.append({ epoch, entries: [note('x', 1)], since: 0 })
    assert.deepEqual(keys(all.inbox), ['a', 'c'])
  },

  'what is taken is named by its position, and is no longer pending (R2)': async (trial) => {
    const talk = await trial.talk()
    await talk.post('a', 'b', 'c')
    const { epoch } = await talk.claim()
    await talk.write(epoch, turnStart(1, 'c', 'a'), note('x', 1))
    const start = (await talk.read({ from: 5, to: 5 }))[0]
    assert.deepEqual(start?.takes, [3, 1])
    assert.deepEqual(keys(await talk.store.inbox(talk.key)), ['b'])
    assert.equal((await talk.head()).pending, 1)
    await headIsRebuilt(talk.store, talk.key)
  },

  'an inbox entry is taken once only (R2)': async (trial) => {
    const talk = await trial.talk()
    await talk.post('a', 'b')
    const { epoch } = await talk.claim()
    const taking = (key: string) => ({ ...note('x'), takes: [key] })
    await refused('not-pending', talk.write(epoch, taking('a'), taking('a')))
    await refused('not-pending', talk.write(epoch, { ...note('x'), takes: ['a', 'a'] }))
    await refused('not-pending', talk.write(epoch, taking('unheard of')))
    await talk.write(epoch, taking('a'))
    await refused('not-pending', talk.write(epoch, taking('a')))
    trial.clock.advance(1000)
    const next = await talk.claim()
    await refused('not-pending', talk.write(next.epoch, taking('a')))
    await talk.write(next.epoch, taking('b'))
    assert.deepEqual(lines(await talk.read()), [
      '1 input',
      '2 input',
      '3 claim',
      '4 note',
      '5 claim',
      '6 note',
    ])
  },

  'an append may take what it posts itself (R2)': async (trial) => {
    const talk = await trial.talk()
    const { epoch } = await talk.claim()
    const receipt = await talk.append({
      epoch,
      inbox: [input('a'), input('b')],
      entries: [turnStart(1, 'b')],
    })
    assert.deepEqual(lines(receipt.entries), ['2 input', '3 input', '4 turn.start'])
    assert.deepEqual(receipt.entries[2]?.takes, [3])
    assert.deepEqual(keys(receipt.inbox), ['a'])
    await headIsRebuilt(talk.store, talk.key)
  },

  'an append may take what it posts again, if that is still pending (R2)': async (trial) => {
    const talk = await trial.talk()
    await talk.post('a')
    const { epoch } = await talk.claim()
    const post = { inbox: [input('a')], epoch }
    const receipt = await talk.append({ ...post, entries: [turnStart(1, 'a')] })
    assert.deepEqual(receipt.entries[0]?.takes, [1])
    await refused('not-pending', talk.append({ ...post, entries: [{ ...note('x'), takes: ['a'] }] }))
  },

  'the inbox is read oldest first, and only what is untaken': async (trial) => {
    const talk = await trial.talk()
    await talk.post('z')
    await talk.append({ inbox: [input('m', 'yes', 'answer'), input('a', 'stop', 'cancel')] })
    await talk.claim({ entries: [turnStart(1, 'm')], since: 3 })
    await talk.post('b')
    const waiting = await talk.store.inbox(talk.key)
    assert.deepEqual(
      waiting.map(({ seq, type, key }) => [seq, type, key]),
      [
        [1, 'input', 'z'],
        [3, 'cancel', 'a'],
        [6, 'input', 'b'],
      ],
    )
    assert.deepEqual(waiting[0]?.data, { message: 'z' })
  },

  'a full inbox refuses inputs but lets a cancel and an answer through (R2)': async (trial) => {
    const talk = await trial.talk()
    await fill(talk)
    const error = await refused('inbox-full', talk.post('one too many'))
    assert.equal(error.retry, 'later')
    await talk.append({ inbox: [input('stop', 'x', 'cancel'), input('yes', 'x', 'answer')] })
    assert.equal((await talk.head()).pending, LIMIT + 2)
    assert.deepEqual((await talk.post('input 1')).entries, [], 'a repetition is no new input')
  },

  'a full inbox has room again when something was taken (R2)': async (trial) => {
    const talk = await trial.talk()
    await fill(talk)
    const { epoch } = await talk.claim()
    await talk.write(epoch, turnStart(1, 'input 1'), turnEnd(1))
    await talk.post('one more')
    await refused('inbox-full', talk.post('one too many'))
  },
})

async function fill(talk: Talk): Promise<void> {
  await talk.post(...Array.from({ length: LIMIT }, (_, i) => `input ${i + 1}`))
}
