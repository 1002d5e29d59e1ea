/** Names and texts that nobody should have to expect: refused with a short, clean message, or kept exactly. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ContextKey, childKey, type NewEntry } from '../../src/protocol/index.ts'
import type { Receipt } from '../../src/store/index.ts'
import { type SqliteStore, sqliteStore } from '../../src/store/sqlite/index.ts'
import { codesOf, errorOf, workplace } from './kit.ts'
import { keyOf, newId, OWNER } from './talk.ts'

const place = workplace()
let store: SqliteStore

beforeEach(() => {
  store = sqliteStore(place.path(), { synchronous: 'NORMAL' })
})

afterEach(async () => {
  await store.close()
})

const LONG = 'x'.repeat(10 * 1024 * 1024)

const BAD_NAMES: Record<string, unknown> = {
  'a path upwards': '../x',
  'a path that is hidden': 'a/../b',
  'an absolute path': '/etc/passwd',
  'an empty segment': 'a//b',
  'a segment that ends it': 'a/',
  'a backslash': 'a\\b',
  'a dot': '.',
  'two dots': '..',
  nothing: '',
  'a space': 'a b',
  'a line break': 'a\nb',
  'an escape sequence': '\u001b[2Jx',
  NUL: 'a\0b',
  'a C1 control': 'a\u0085b',
  'a lone surrogate': 'a\ud800b',
  'a letter that is not composed': 'cafe\u0301',
  'a right-to-left mark': 'a\u200fb',
  'a right-to-left override': 'a\u202eb',
  'an isolate': 'a\u2066b',
  'a line separator': 'a\u2028b',
  'a byte order mark': '\ufeffa',
  'a zero-width space': 'a\u200bb',
  'an emoji': '🦀',
  'ten million letters': LONG,
  '514 bytes': 'é'.repeat(257),
  'a number': 5,
  null: null,
  undefined: undefined,
  'an object': { toString: () => 'a' },
  'a list': ['a'],
  'a fragment of SQL': `x'; DROP TABLE entry; --`,
  'a wildcard': 'a%',
}

const GOOD_NAMES = [
  ...['__proto__', 'constructor', 'toString', 'naïve', '日本語', 'a.b:c@d+e=f~g|h-i_j'],
  ...['-', '0', 'NULL', 'a/b/c'],
]

describe('the name of a conversation', () => {
  for (const [what, name] of Object.entries(BAD_NAMES)) {
    it(`may not be or hold ${what}`, async () => {
      const key = { ...OWNER, contextId: name } as ContextKey
      expect(await codesOf(everyMethod(key))).toEqual(['invalid-key'])
      expect((await store.list({ owner: OWNER })).heads).toEqual([])
    })
  }

  for (const name of GOOD_NAMES) {
    it(`may be ${name}, and is then no other`, async () => {
      await post(keyOf(name), 'm', name)
      expect(await store.read(keyOf(name))).toMatchObject([{ data: { message: name } }])
      expect(await store.read(keyOf(`${name}x`))).toEqual([])
      const { heads } = await store.list({ owner: OWNER })
      expect(heads.map(({ key }) => key.contextId)).toEqual([name])
    })
  }

  it('is the same whether a user wrote it with a slash or the runtime made it of a parent and a child', async () => {
    await post(keyOf('a/b'), 'm', 'by hand')
    expect(await store.head(childKey(keyOf('a'), 'b'))).toMatchObject({ seq: 1 })
  })
})

describe('an owner', () => {
  for (const [what, name] of Object.entries(BAD_NAMES)) {
    it(`may not be or hold ${what}`, async () => {
      const runs = ['tenant', 'actor'].flatMap((field) => {
        const owner = { ...OWNER, [field]: name }
        return [
          () => store.head({ ...owner, contextId: 'a' }),
          () => store.list({ owner }),
          () => store.putBlob(owner, Buffer.from('x')),
          () => store.getBlob(owner, 'x'),
        ]
      })
      expect(await codesOf(runs)).toEqual(['invalid-key'])
    })
  }

  it('sees nothing of another, whatever it is called', async () => {
    await post({ tenant: '__proto__', actor: 'a', contextId: 'c' }, 'm', 'mine')
    for (const tenant of ['constructor', 'a', '__proto', '__proto__x'])
      expect(await store.head({ tenant, actor: 'a', contextId: 'c' })).toBeUndefined()
  })
})

describe('a parent that a request names', () => {
  for (const parent of ['../x', 'a\0b', LONG, 5]) {
    it(`may not be ${JSON.stringify(parent).slice(0, 10)}`, async () => {
      const inbox = [{ type: 'input', key: 'k', data: {} }] as const
      const request = { key: keyOf('c'), id: newId(), since: 0, inbox, parent: parent as string }
      expect((await errorOf(() => store.append(request))).code).toBe('invalid-key')
      expect(await store.head(keyOf('c'))).toBeUndefined()
    })
  }
})

const BAD_TEXTS: Record<string, unknown> = {
  // It would be replaced on its way into the file, and two such keys would become one.
  'half a character': 'a\ud800b',
  NUL: 'a\0b',
  'a line break': 'a\nb',
  'an escape sequence': '\u001b[2Jx',
  'a right-to-left override': 'a\u202eb',
  nothing: '',
  'ten million letters': LONG,
  'a number': 5,
  null: null,
  'an object': {},
}

describe('an append id, an inbox key, a driver', () => {
  for (const [what, text] of Object.entries(BAD_TEXTS)) {
    it(`may not be ${what}`, async () => {
      expect(await codesOf(appendsWith(text as string))).toEqual(['invalid-entry'])
      expect(await store.head(keyOf('c'))).toBeUndefined()
    })
  }

  for (const text of [
    '__proto__',
    `'; DROP TABLE entry; --`,
    '../x',
    'a\\b',
    '🦀',
    'cafe\u0301',
    'a b',
    '%',
  ]) {
    it(`may be ${text}, and means itself`, async () => {
      const key = keyOf('c')
      const { first } = await post(key, text, 'm')
      expect(await post(key, text, 'm')).toMatchObject({ repeated: true, first })
      expect(await store.inbox(key)).toMatchObject([{ key: text }])
    })
  }
})

describe('what an entry names', () => {
  for (const text of ['', 'never posted', 5, null]) {
    it(`may not be an inbox key or a blob that is ${JSON.stringify(text)}`, async () => {
      const name = text as string
      expect((await errorOf(appendOf({ takes: [name] }))).code).toMatch(/^(invalid-entry|not-pending)$/)
      expect((await errorOf(appendOf({ refs: [name] }))).code).toBe('invalid-entry')
      expect(await store.head(keyOf('c'))).toBeUndefined()
    })
  }

  for (const text of ['a\0b', 'a\nb', '\u001b[2Jx', LONG]) {
    it(`may not be an inbox key that is ${JSON.stringify(text).slice(0, 20)}`, async () => {
      expect((await errorOf(appendOf({ takes: [text] }))).code).toMatch(/^(invalid-entry|not-pending)$/)
    })

    it(`may not be a blob whose hash is ${JSON.stringify(text).slice(0, 20)}`, async () => {
      expect((await errorOf(appendOf({ refs: [text] }))).code).toBe('invalid-entry')
    })
  }
})

describe('an entry type', () => {
  for (const type of ['', 'A', '__proto__', 'a b', '🦀', `x'; --`, '1a', 'x'.repeat(65), 5, null]) {
    it(`may not be ${JSON.stringify(type)}`, async () => {
      expect((await errorOf(appendOf({ type: type as string }))).code).toBe('invalid-entry')
      expect(await store.head(keyOf('c'))).toBeUndefined()
    })
  }

  for (const type of ['a\nb', 'a\0', LONG]) {
    it(`may not be ${JSON.stringify(type).slice(0, 20)}`, async () => {
      expect((await errorOf(appendOf({ type }))).code).toBe('invalid-entry')
    })
  }
})

function post(key: ContextKey, text: string, message: string): Promise<Receipt> {
  return store.append({ key, id: text, since: 0, inbox: [{ type: 'input', key: text, data: { message } }] })
}

function appendOf(entry: Partial<NewEntry>): () => unknown {
  const note = { type: 'note', turn: 0, data: { text: '', from: '' }, ...entry }
  const claim = { driver: 'd', leaseMs: 10 }
  return () => store.append({ key: keyOf('c'), id: newId(), since: 0, claim, entries: [note] })
}

function appendsWith(text: string): (() => unknown)[] {
  const key = keyOf('c')
  const inbox = (inboxKey: string) => [{ type: 'input' as const, key: inboxKey, data: {} }]
  return [
    () => store.append({ key, id: text, since: 0, inbox: inbox('k') }),
    () => store.append({ key, id: newId(), since: 0, inbox: inbox(text) }),
    () => store.append({ key, id: newId(), since: 0, claim: { driver: text, leaseMs: 10 } }),
  ]
}

function everyMethod(key: ContextKey): (() => unknown)[] {
  const position = { at: 0, turn: 0, epoch: 0, claims: 0, running: false, createdAt: 0, activeAt: 0 }
  return [
    () => store.append({ key, id: 'a', since: 0, inbox: [{ type: 'input', key: 'k', data: {} }] }),
    () => store.renew({ key, epoch: 1, since: 0 }),
    () => store.head(key),
    () => store.read(key),
    () => store.inbox(key),
    () => store.base(key),
    () => store.lookup(key, { index: 'turn' }),
    () => store.watch(key)[Symbol.asyncIterator]().next(),
    () => store.saveSnapshot(key, { seq: 0, format: 1, state: {} }),
    () => store.loadSnapshot(key, { format: 1 }),
    () => store.dropSnapshots(key),
    () => store.fork({ parent: key, child: keyOf('x'), at: 1, position }),
    () => store.fork({ parent: keyOf('x'), child: key, at: 1, position }),
    () => store.prune({ key, upTo: 1, position, session: {} }),
    () => store.erase(key),
    () => store.rebuild(key),
  ]
}
