/** Isolation of owners (R20): no tenant or actor can name, read, change or detect the data of another. */
import assert from 'node:assert/strict'
import { forkContext, loadSession, positionOf, pruneContext } from '../../journal/index.ts'
import type { ContextKey, Owner } from '../../protocol/index.ts'
import type { Store } from '../../store/index.ts'
import { lines, names, refused, same, take } from './assertions.ts'
import { sha256, text } from './blobs.ts'
import { type ContractCase, subject } from './contract.ts'
import { turns } from './fork.ts'
import { ANN, input, keyOf, note, Talk } from './talk.ts'

const OTHERS: readonly Owner[] = [
  { tenant: 'acme', actor: 'bob' },
  { tenant: 'umbrella', actor: 'ann' },
  { tenant: 'ann', actor: 'acme' },
  { tenant: 'Acme', actor: 'ann' },
]
const FORMAT = 9001

const isolationFacts = subject('isolation', {
  'another owner sees nothing under the same name, anywhere (R20)': async (trial) => {
    const talk = await turns(trial, 4)
    const { store } = talk
    await pruneContext(store, talk.key, { keepTurns: 2 })
    await talk.post('waiting')
    await store.saveSnapshot(talk.key, { seq: 15, format: FORMAT, state: {} })
    const hash = await store.putBlob(ANN, Buffer.from('secret'))
    for (const owner of OTHERS) {
      const key = { ...talk.key, ...owner }
      const found = {
        head: await store.head(key),
        entries: await store.read(key),
        turn: await store.read(key, { turn: 4 }),
        inbox: await store.inbox(key),
        base: await store.base(key),
        rows: await store.lookup(key, { index: 'turn' }),
        snapshot: await store.loadSnapshot(key, { format: FORMAT }),
        listed: (await store.list({ owner })).heads,
        children: (await store.list({ owner, parent: 'talk' })).heads,
        blob: await store.getBlob(owner, hash),
        rebuilt: await store.rebuild(key),
      }
      assert.deepEqual(found, NOTHING, JSON.stringify(owner))
    }
  },

  'another owner changes nothing under the same name, and is refused what is not its own (R20)': async (
    trial,
  ) => {
    const talk = await turns(trial, 2)
    const { store } = talk
    const { epoch } = await talk.claim({ leaseMs: 60_000 })
    await talk.post('waiting')
    await store.saveSnapshot(talk.key, { seq: 10, format: FORMAT, state: {} })
    const [entries, head] = [await talk.read(), await talk.head()]
    const position = positionOf(await loadSession(store, talk.key))
    for (const owner of OTHERS) {
      const key = { ...talk.key, ...owner }
      const theirs = new Talk(store, key)
      await refused('fenced', theirs.write(epoch, note('x')))
      await refused('fenced', store.renew({ key, epoch, since: 0 }))
      await refused(
        'not-found',
        store.fork({ parent: key, child: { ...key, contextId: 'f' }, at: 1, position }),
      )
      await refused('not-found', store.prune({ key, upTo: 5, position, session: {} }))
      const child = { ...key, contextId: 'talk/child' }
      await refused('not-found', new Talk(store, child).append({ parent: 'talk', inbox: [input('a')] }))
      await store.saveSnapshot(key, { seq: 1, format: FORMAT, state: {} })
      await store.dropSnapshots(key)
      assert.equal(await store.erase(key), 0)
    }
    assert.deepEqual([await talk.read(), await talk.head()], [entries, head])
    assert.equal((await store.loadSnapshot(talk.key, { format: FORMAT }))?.seq, 10)
  },

  'owners use the same names, ids, keys and contents without meeting (R20)': async (trial) => {
    const store = await trial.open()
    const talks = [ANN, ...OTHERS].map((owner) => new Talk(store, keyOf('same', owner)))
    const big = text(70_000)
    for (const talk of talks) {
      const receipt = await talk.append({ id: 'same', inbox: [input('same', big)] })
      assert.deepEqual([receipt.repeated, receipt.last], [false, 1])
      assert.equal((await talk.claim({ driver: 'd1' })).epoch, 1)
      await forkContext(store, talk.key, { contextId: 'fork' })
    }
    const [first, ...others] = talks
    assert.equal(await store.erase(first?.key ?? assert.fail()), 2)
    for (const { key } of others) {
      assert.deepEqual(lines(await store.read({ ...key, contextId: 'fork' })), [
        '1 input',
        '2 claim',
        '3 fork',
      ])
      same((await store.read(key))[0]?.data['message'], big)
      assert.deepEqual(names((await store.list({ owner: key })).heads).toSorted(), ['fork', 'same'])
    }
  },

  'blobs of owners are apart, and so is their end (R16, R20)': async (trial) => {
    const store = await trial.open()
    const bytes = Buffer.from('the same bytes')
    const hash = await store.putBlob(ANN, bytes)
    for (const owner of OTHERS) assert.equal(await store.getBlob(owner, hash), undefined)
    const bob = OTHERS[0] ?? assert.fail()
    await store.putBlob(bob, bytes)
    const [anns, bobs] = [new Talk(store, keyOf()), new Talk(store, keyOf('talk', bob))]
    for (const talk of [anns, bobs]) await talk.claim({ entries: [{ ...note('x'), refs: [hash] }] })
    await store.erase(anns.key)
    assert.equal(await store.getBlob(ANN, hash), undefined)
    assert.equal(sha256((await store.getBlob(bob, hash)) ?? assert.fail('it went along')), hash)
  },

  "another owner's watch stays silent (R18, R20)": async (trial) => {
    const store = await trial.open()
    const bob = new Talk(store, keyOf('talk', OTHERS[0]))
    const over = new AbortController()
    trial.later(() => over.abort())
    const watch = store.watch(bob.key, { signal: over.signal })[Symbol.asyncIterator]()
    const next = take(watch, 1)
    await new Talk(store, keyOf()).turn(1)
    await bob.post('mine')
    assert.equal((await next)[0]?.key, 'mine')
  },
})

const BAD_NAMES = [
  '',
  '.',
  '..',
  'a b',
  'a\u0000',
  'a\n',
  'é'.normalize('NFD'),
  'x'.repeat(513),
  7,
  undefined,
]
const BAD_KEYS = [
  ...BAD_NAMES.flatMap((name) => [
    { ...keyOf(), tenant: name },
    { ...keyOf(), actor: name },
    { ...keyOf(), contextId: name },
  ]),
  ...['/', '/a', 'a/', 'a//b', 'a/../b'].map((contextId) => keyOf(contextId)),
  { ...keyOf(), tenant: 'a/b' },
] as readonly ContextKey[]

const keyFacts = subject('keys', {
  'every method refuses an invalid key (R20)': async (trial) => {
    const talk = await turns(trial, 1)
    const position = positionOf(await loadSession(talk.store, talk.key))
    for (const key of BAD_KEYS) {
      for (const [method, call] of Object.entries(callsWith(talk.store, key, position))) {
        await refused('invalid-key', call()).catch((error: unknown) => {
          throw new Error(`${method} of ${JSON.stringify(key)}`, { cause: error })
        })
      }
    }
    assert.deepEqual(names((await talk.store.list({ owner: ANN })).heads), ['talk'])
  },

  'the name of a parent is checked like any other (R17, R20)': async (trial) => {
    const talk = await trial.talk('talk/child')
    for (const parent of ['', 'a b', '..', '/talk', 'x'.repeat(513)])
      await refused('invalid-key', talk.append({ parent, inbox: [input('a')] }))
    assert.equal(await talk.store.head(talk.key), undefined)
  },

  'every method that takes an owner refuses an invalid one (R20)': async (trial) => {
    const store = await trial.open()
    for (const name of BAD_NAMES) {
      for (const owner of [
        { ...ANN, tenant: name },
        { ...ANN, actor: name },
      ] as Owner[]) {
        await refused('invalid-key', store.list({ owner }))
        await refused('invalid-key', store.putBlob(owner, Buffer.from('x')))
        await refused('invalid-key', store.getBlob(owner, sha256(Buffer.from('x'))))
      }
    }
  },

  'names of all scripts, paths and the longest allowed ones are valid (R20)': async (trial) => {
    const store = await trial.open()
    for (const contextId of ['日本語', 'naïve', 'a/b/c', 'user:1@x+y=z~|-', 'x'.repeat(512), '...']) {
      const talk = new Talk(store, { tenant: 'münchen', actor: 'ann@acme', contextId })
      await talk.post('a')
      assert.equal((await talk.head()).key.contextId, contextId)
    }
  },
})

export const isolationCases: readonly ContractCase[] = [...isolationFacts, ...keyFacts]

const NOTHING = {
  head: undefined,
  entries: [],
  turn: [],
  inbox: [],
  base: undefined,
  rows: [],
  snapshot: undefined,
  listed: [],
  children: [],
  blob: undefined,
  rebuilt: { repaired: false, head: undefined },
}

function callsWith(
  store: Store,
  key: ContextKey,
  position: ReturnType<typeof positionOf>,
): Record<string, () => Promise<unknown>> {
  return {
    append: () => new Talk(store, key).post('a'),
    renew: () => store.renew({ key, epoch: 1, since: 0 }),
    head: () => store.head(key),
    read: () => store.read(key),
    inbox: () => store.inbox(key),
    base: () => store.base(key),
    lookup: () => store.lookup(key, { index: 'turn' }),
    watch: async () => store.watch(key)[Symbol.asyncIterator]().next(),
    saveSnapshot: () => store.saveSnapshot(key, { seq: 1, format: FORMAT, state: {} }),
    loadSnapshot: () => store.loadSnapshot(key, { format: FORMAT }),
    dropSnapshots: () => store.dropSnapshots(key),
    'fork from': () => store.fork({ parent: key, child: keyOf('new'), at: 1, position }),
    'fork to': () => store.fork({ parent: keyOf(), child: key, at: 1, position }),
    prune: () => store.prune({ key, upTo: 1, position, session: {} }),
    erase: () => store.erase(key),
    rebuild: () => store.rebuild(key),
  }
}
