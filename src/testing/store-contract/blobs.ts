/** Large payloads: inside of entries, invisible to readers (R16), and as blobs that entries name. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { HoldfastError, type JsonObject } from '../../protocol/index.ts'
import { headIsRebuilt, lines, refused, same } from './assertions.ts'
import { type ContractCase, subject } from './contract.ts'
import { ANN, entry, input, keyOf, note, Talk, turnStart } from './talk.ts'

const KB = 1024
const LIMIT = 32 * KB * KB

export const blobCases: readonly ContractCase[] = subject('blobs', {
  'a large payload comes back unchanged, wherever it sits in the data (R16)': async (trial) => {
    const talk = await trial.talk()
    const big = text(100 * KB)
    const shapes: JsonObject[] = [
      { big },
      { list: [1, [big, 'small'], { deep: { deeper: big } }], after: true },
      { whole: Array.from({ length: 5000 }, (_, i) => ({ id: i, label: `row ${i} ${'x'.repeat(20)}` })) },
      Object.fromEntries(Array.from({ length: 9000 }, (_, i) => [`field ${i}`, i])),
      { [big]: 'a key', '': big, ['__proto__']: big },
      { one: big, two: `${big}.`, rest: Array.from({ length: 3 }, () => text(40 * KB)) },
    ]
    const receipt = await talk.claim({ entries: shapes.map((data) => entry('note', 0, data)) })
    const stored = (await talk.read()).slice(1)
    for (const [i, shape] of shapes.entries()) {
      same(stored[i]?.data, JSON.parse(JSON.stringify(shape)), `shape ${i}`)
      same(receipt.entries[i + 1], stored[i], `shape ${i} in the receipt`)
    }
    await headIsRebuilt(talk.store, talk.key)
  },

  'the border of 64 KB shows nowhere (R16)': async (trial) => {
    const talk = await trial.talk()
    const sizes = [-20, -14, -13, -12, -11, -10, -2, -1, 0, 1, 2].map((i) => 64 * KB + i)
    await talk.claim({ entries: sizes.map((size) => entry('note', 0, { text: 'é'.repeat(size / 2) })) })
    const stored = (await talk.read()).slice(1)
    assert.deepEqual(
      stored.map(({ data }) => (data['text'] as string).length),
      sizes.map((size) => Math.floor(size / 2)),
    )
  },

  'a large text with half a character in it comes back unchanged (R16)': async (trial) => {
    const talk = await trial.talk()
    const cut = `${text(70 * KB)}😀`.slice(0, -1)
    await talk.append({ inbox: [input('a', cut)] })
    same((await talk.read())[0]?.data['message'], cut)
  },

  'data that looks like a reference to a blob stays data (R16)': async (trial) => {
    const talk = await trial.talk()
    const big = text(70 * KB)
    const hash = sha256(Buffer.from(big))
    const lookalike = { $blob: hash, blob: hash, cuts: [{ path: ['big'], hash, kind: 'text' }], big: null }
    await talk.claim({ entries: [entry('note', 0, { big }), entry('note', 0, lookalike)] })
    await talk.write(1, entry('note', 0, { ...lookalike, also: big }))
    const [, first, second, third] = await talk.read()
    same(first?.data, { big })
    assert.deepEqual(second?.data, lookalike)
    same(third?.data, { ...lookalike, also: big })
  },

  'large inbox entries are taken, repeated and read like small ones (R2, R16)': async (trial) => {
    const talk = await trial.talk()
    const big = text(70 * KB)
    const request = { key: talk.key, id: 'one', since: 0, inbox: [input('a', big)] }
    const first = await talk.store.append(request)
    const again = await talk.store.append(request)
    same(again, { ...first, repeated: true }, 'the receipt')
    same((await talk.store.inbox(talk.key))[0]?.data['message'], big)
    const { inbox } = await talk.claim()
    same(inbox[0]?.data['message'], big)
    await talk.write(1, turnStart(1, 'a'))
    assert.deepEqual(await talk.store.inbox(talk.key), [])
  },

  'the same content twice is kept for each that uses it (R16)': async (trial) => {
    const store = await trial.open()
    const big = text(70 * KB)
    const [one, two] = [new Talk(store, keyOf('one')), new Talk(store, keyOf('two'))]
    for (const talk of [one, two]) {
      await talk.append({ inbox: [input('a', big)] })
      await talk.append({ inbox: [input('b', big)] })
    }
    await store.erase(one.key)
    const entries = await two.read()
    assert.equal(entries.length, 2)
    for (const { data } of entries) same(data['message'], big)
  },

  'an entry of 32 MiB is stored, and one byte more is refused (R16)': async (trial) => {
    const talk = await trial.talk()
    const most = 'x'.repeat(LIMIT - JSON.stringify({ message: '' }).length)
    const error = await refused('too-large', talk.append({ inbox: [input('a', `${most}x`)] }))
    assert.equal(error.retry, 'never')
    assert.equal(await talk.store.head(talk.key), undefined)
    await talk.append({ inbox: [input('a', most)] })
    same((await talk.read())[0]?.data['message'], most)
  },

  'a blob is kept under its SHA-256, byte for byte (R16)': async (trial) => {
    const store = await trial.open()
    const bytes = Uint8Array.from({ length: 1000 }, (_, i) => i % 256)
    const hash = await store.putBlob(ANN, bytes)
    assert.equal(hash, sha256(bytes))
    bytes.fill(0)
    const found = (await store.getBlob(ANN, hash)) ?? assert.fail('it is not there')
    assert.equal(sha256(found), hash)
    found.fill(0)
    assert.equal(sha256((await store.getBlob(ANN, hash)) ?? assert.fail()), hash)
    const empty = await store.putBlob(ANN, new Uint8Array())
    assert.equal((await store.getBlob(ANN, empty))?.length, 0)
  },

  'putting a blob again changes nothing, and an unknown one is undefined (R16)': async (trial) => {
    const store = await trial.open()
    const bytes = Buffer.from('some bytes')
    const hash = await store.putBlob(ANN, bytes)
    assert.equal(await store.putBlob(ANN, bytes), hash)
    assert.equal((await store.getBlob(ANN, hash))?.length, bytes.length)
    assert.equal(await store.getBlob(ANN, sha256(Buffer.from('other'))), undefined)
    assert.equal(await store.getBlob(ANN, 'no hash'), undefined)
  },

  'bytes that no entry names yet may go with another conversation; put them again, then append (R16)': async (
    trial,
  ) => {
    const talk = await trial.talk()
    const bytes = Buffer.from('in two conversations')
    const refs = [await talk.store.putBlob(ANN, bytes)]
    await talk.claim({ entries: [{ ...note('one'), refs }] })
    const other = new Talk(talk.store, keyOf('other'))
    await talk.store.putBlob(ANN, bytes)
    await talk.store.erase(talk.key)
    const { epoch, last } = await other.claim()
    const append = { key: other.key, id: 'two', since: last, epoch, entries: [{ ...note('two'), refs }] }
    const error = await talk.store.append(append).catch((reason: unknown) => reason)
    if (HoldfastError.is(error)) {
      assert.deepEqual([error.code, error.retry, error.details['hash']], ['invalid-entry', 'later', refs[0]])
      await talk.store.putBlob(ANN, bytes)
      await talk.store.append(append)
    }
    assert.deepEqual(Buffer.from((await talk.store.getBlob(ANN, refs[0] ?? '')) ?? []), bytes)
  },

  'an entry may name blobs that are there, and no others (R16)': async (trial) => {
    const talk = await trial.talk()
    const hash = await talk.store.putBlob(ANN, Buffer.from('artifact'))
    const { epoch } = await talk.claim()
    await talk.write(epoch, { ...note('see the artifact'), refs: [hash] })
    assert.deepEqual((await talk.read()).at(-1)?.refs, [hash])
    const missing = sha256(Buffer.from('never put'))
    await refused('invalid-entry', talk.write(epoch, note('x'), { ...note('y'), refs: [hash, missing] }))
    const foreign = await talk.store.putBlob({ ...ANN, actor: 'bob' }, Buffer.from('of somebody else'))
    await refused('invalid-entry', talk.write(epoch, { ...note('y'), refs: [foreign] }))
    assert.deepEqual(lines(await talk.read()), ['1 claim', '2 note'])
  },
})

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Text of so many bytes without repetition. */
export function text(length: number): string {
  let made = ''
  for (let i = 0; made.length < length; i++) made += `${i} lorem ipsum, `
  return made.slice(0, length)
}
