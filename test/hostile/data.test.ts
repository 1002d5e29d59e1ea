/** Entry data that is not quite JSON, or too much of it: it comes back as JSON says, or nothing is written. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadSession } from '../../src/journal/index.ts'
import type { JsonObject } from '../../src/protocol/index.ts'
import type { Receipt } from '../../src/store/index.ts'
import { type SqliteStore, sqliteStore } from '../../src/store/sqlite/index.ts'
import { codeOf, errorOf, workplace } from './kit.ts'
import { keyOf, newId, OWNER } from './talk.ts'

const place = workplace()
const key = keyOf('c')
const MIB = 1024 * 1024
let store: SqliteStore

beforeEach(() => {
  store = sqliteStore(place.path(), { synchronous: 'NORMAL' })
})

afterEach(async () => {
  await store.close()
})

const asJson: Record<string, unknown> = {
  undefined: { a: undefined, list: [undefined] },
  'NaN and infinity': { a: Number.NaN, b: Number.POSITIVE_INFINITY, c: -0 },
  'a date': { a: new Date(0) },
  functions: { a: () => 1, list: [() => 1] },
  symbols: { a: Symbol('x'), [Symbol('y')]: 1 },
  'a map, a set, bytes': { a: new Map([[1, 2]]), b: new Set([1]), c: new Uint8Array(3) },
  'an object of its own kind': {
    a: new (class Thing {
      value = 1
    })(),
  },
  'a key that is a prototype': JSON.parse(
    '{"__proto__":{"a":1},"constructor":{"prototype":2},"x":{"__proto__":null}}',
  ),
  'half characters': { a: '\ud800', b: 'x\udfffy', '\ud801': 1 },
  'half characters, much of them': { a: `\ud800${'é'.repeat(70_000)}` },
  NUL: { a: 'x\0y', 'k\0': '\0' },
  'every control character': { a: Array.from({ length: 160 }, (_, i) => String.fromCharCode(i)).join('') },
  'right-to-left and emoji': { a: '\u202e🦀\u2066', '🦀': '👩‍👩‍👧' },
  'large numbers': { a: 2 ** 53, b: 1e308, c: 5e-324, d: 123456789012345680000 },
  'keys that are numbers': { 2: 'b', 1: 'a', z: 0, '-1': 0 },
  'empty things': { '': '', a: {}, b: [], c: null },
  'what looks like a blob': { $blob: 'a'.repeat(64), cuts: [{ path: [], hash: 'x', kind: 'text' }] },
  'a prototype above the blob limit': JSON.parse(`{"__proto__":{"__proto__":"${'p'.repeat(70_000)}"}}`),
  'two equal blobs': { a: 'q'.repeat(70_000), b: ['q'.repeat(70_000)] },
  'a wide object': Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`key ${i}`, 'value'])),
}

describe('data with', () => {
  for (const [what, data] of Object.entries(asJson)) {
    it(`${what} comes back as JSON says, in the receipt and from the file`, async () => {
      const wanted = JSON.parse(JSON.stringify(data)) as JsonObject
      const receipt = await append(data as JsonObject)
      expect(receipt.entries.map((entry) => entry.data)).toEqual([{ message: 'x', value: wanted }])
      const [read] = await store.read(key)
      expect(JSON.stringify(read?.data)).toBe(JSON.stringify({ message: 'x', value: wanted }))
      expect(Object.getPrototypeOf(read?.data)).toBe(Object.prototype)
      expect(await store.inbox(key)).toEqual([read])
    })
  }
})

const circular: Record<string, unknown> = { name: 'x' }
circular['self'] = circular

const unwritable: Record<string, unknown> = {
  'a circle': { a: circular },
  'a big integer': { a: 1n },
  'a getter that throws': {
    get a() {
      throw new Error('no\nway')
    },
  },
  'a toJSON that throws': {
    a: {
      toJSON() {
        throw new Error('x'.repeat(5000))
      },
    },
  },
}

describe('data that cannot be JSON', () => {
  for (const [what, data] of Object.entries(unwritable)) {
    it(`because of ${what} is refused and nothing is written`, async () => {
      expect((await errorOf(() => append(data as JsonObject))).code).toBe('invalid-entry')
      expect(await store.head(key)).toBeUndefined()
    })
  }

  for (const data of [undefined, null, 5, 'text', true, [1], () => 1, Symbol('x'), new Date(0), 1n]) {
    it(`because it is ${typeof data === 'object' ? JSON.stringify(data) : typeof data} is refused`, async () => {
      const inbox = [{ type: 'input', key: 'k', data: data as unknown as JsonObject }] as const
      const entries = [{ type: 'note', turn: 0, data: data as unknown as JsonObject }]
      const claim = { driver: 'd', leaseMs: 1000 }
      const runs = [
        () => store.append({ key, id: newId(), since: 0, inbox }),
        () => store.append({ key, id: newId(), since: 0, claim, entries }),
      ]
      for (const run of runs) expect((await errorOf(run)).code).toBe('invalid-entry')
      expect(await store.head(key)).toBeUndefined()
    })
  }
})

describe('nesting', () => {
  for (const depth of [100, 1000, 10_000, 200_000]) {
    it(`${depth} deep comes back, and can be folded, or is refused`, async () => {
      const code = await codeOf(() => append(nested(depth)))
      expect(['ok', 'invalid-entry']).toContain(code)
      const count = code === 'ok' ? 1 : 0
      expect(await store.read(key)).toHaveLength(count)
      expect(await loadSession(store, key)).toMatchObject({ seq: count })
    })
  }

  it('1,500 deep and large takes little processor time', async () => {
    const data = nested(1500)
    const large = { ...data, text: 'x'.repeat(70_000), inner: nested(1500), list: ['y'.repeat(70_000)] }
    const started = process.cpuUsage()
    await append(large)
    const { user, system } = process.cpuUsage(started)
    // Processor time, which does not depend on what else the machine does. Looking at every level anew takes minutes.
    expect((user + system) / 1000).toBeLessThan(5000)
    expect(JSON.stringify((await store.read(key))[0]?.data['value']) === JSON.stringify(large)).toBe(true)
  })

  it('3000 deep in the arguments of a call can be folded, or is refused', async () => {
    const part = { type: 'tool-call', callId: 'c1', tool: 't', args: nested(3000) }
    const start = { type: 'turn.start', turn: 1, data: { principal: { ...OWNER } } }
    const reply = { type: 'model.end', turn: 1, data: { content: [part], finish: 'tool-calls' } }
    const claim = { driver: 'd', leaseMs: 10_000 }
    const run = () => store.append({ key, id: newId(), since: 0, claim, entries: [start, reply] })
    const code = await codeOf(run)
    expect(['ok', 'invalid-entry']).toContain(code)
    expect(await loadSession(store, key)).toMatchObject({ seq: code === 'ok' ? 3 : 0 })
  })
})

describe('size', () => {
  it('over 32 MiB is refused with the numbers, and nothing is written', async () => {
    const error = await errorOf(() => append({ text: 'x'.repeat(32 * MIB) }))
    expect(error).toMatchObject({ code: 'too-large', details: { limit: 32 * MIB } })
    expect(await store.head(key)).toBeUndefined()
  })

  it('is measured in bytes, not in characters', async () => {
    expect((await errorOf(() => append({ text: '🦀'.repeat(8 * MIB + 1) }))).code).toBe('too-large')
  })

  it('one entry that is too large refuses the whole append', async () => {
    const small = { type: 'input', key: 'a', data: { message: 'small' } } as const
    const large = { type: 'input', key: 'b', data: { message: 'x'.repeat(33 * MIB) } } as const
    const run = () => store.append({ key, id: newId(), since: 0, inbox: [small, large] })
    expect((await errorOf(run)).code).toBe('too-large')
    expect(await store.head(key)).toBeUndefined()
  })

  it('20,000 entries in one append are one append', async () => {
    const entries = Array.from({ length: 20_000 }, (_, i) => ({
      type: 'note',
      turn: 0,
      data: { text: String(i), from: 't' },
    }))
    const request = { key, id: 'many', since: 0, claim: { driver: 'd', leaseMs: 60_000 }, entries }
    expect(await store.append(request)).toMatchObject({ first: 1, last: 20_001, repeated: false })
    const all = await store.read(key, { limit: 100_000 })
    expect(all).toHaveLength(20_001)
    expect(all.at(-1)).toMatchObject({ seq: 20_001, data: { text: '19999' } })
    expect(await store.append(request)).toMatchObject({ first: 1, last: 20_001, repeated: true })
  })

  it('1,001 inputs at once are refused as a whole: nobody is reading that much', async () => {
    const inbox = Array.from({ length: 1001 }, (_, i) => ({ type: 'input' as const, key: `k${i}`, data: {} }))
    expect((await errorOf(() => store.append({ key, id: newId(), since: 0, inbox }))).code).toBe('inbox-full')
    expect(await store.head(key)).toBeUndefined()
  })
})

describe('one key for two messages', () => {
  it('is noticed, also where they differ only in what is kept as a blob', async () => {
    const message = (text: string) => ({ type: 'input', key: 'same', data: { message: text } }) as const
    const send = (text: string) => store.append({ key, id: newId(), since: 0, inbox: [message(text)] })
    await send(`${'a'.repeat(70_000)}1`)
    await send(`${'a'.repeat(70_000)}1`)
    expect((await errorOf(() => send(`${'a'.repeat(70_000)}2`))).code).toBe('key-reused')
    expect(await store.head(key)).toMatchObject({ seq: 1, pending: 1 })
  })
})

describe('numbers that are none', () => {
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY, 1.5, -1, '1', null, 2 ** 60]) {
    it(`${String(value)} (${typeof value}) is refused or harmless everywhere`, async () => {
      const n = value as number
      await append({ a: 1 })
      const claim = await store.append({
        key,
        id: newId(),
        since: 0,
        claim: { driver: 'd', leaseMs: 60_000 },
      })
      const { epoch } = claim
      const note = { type: 'note', turn: 0, data: { text: '', from: '' } }
      const runs: (() => unknown)[] = [
        () => store.append({ key, id: newId(), since: n, epoch, entries: [note] }),
        () => store.append({ key, id: newId(), since: 0, epoch: n, entries: [note] }),
        () => store.append({ key, id: newId(), since: 0, epoch, entries: [{ ...note, turn: n }] }),
        () => store.append({ key, id: newId(), since: 0, epoch, entries: [{ ...note, v: n }] }),
        () => store.append({ key: keyOf('d'), id: newId(), since: 0, claim: { driver: 'd', leaseMs: n } }),
        () => store.renew({ key, epoch: n, since: 0 }),
        () => store.renew({ key, epoch, since: n }),
        () => store.read(key, { from: n }),
        () => store.read(key, { to: n }),
        () => store.read(key, { turn: n }),
        () => store.read(key, { limit: n }),
        () => store.list({ owner: OWNER, activeSince: n }),
        () => store.list({ owner: OWNER, limit: n }),
        () => store.due(n),
        () => store.lookup(key, { index: 'turn', limit: n }),
        () => store.saveSnapshot(key, { seq: n, format: 1, state: {} }),
        () => store.saveSnapshot(key, { seq: 1, format: n, state: {} }),
        () => store.loadSnapshot(key, { format: n }),
        () => store.loadSnapshot(key, { format: 1, atMost: n }),
      ]
      const codes = await Promise.all(runs.map((run) => codeOf(run)))
      const clear = ['ok', 'invalid-entry', 'invalid-option', 'fenced', 'owned']
      expect(codes.filter((code) => !clear.includes(code))).toEqual([])
      const entries = await store.read(key)
      expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, i) => i + 1))
      expect(await store.rebuild(key)).toMatchObject({ repaired: false })
    })
  }
})

function append(value: JsonObject): Promise<Receipt> {
  const inbox = [{ type: 'input', key: newId(), data: { message: 'x', value } }] as const
  return store.append({ key, id: newId(), since: 0, inbox })
}

function nested(depth: number, leaf = ''): JsonObject {
  let value: JsonObject = { leaf }
  for (let i = 0; i < depth; i++) value = { a: value }
  return value
}
