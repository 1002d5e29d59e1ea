/** Erasing: removes the conversation and its descendants, and leaves a tombstone that refuses every late writer (R15). */
import assert from 'node:assert/strict'
import { forkContext, loadSession, positionOf as positionIn, pruneContext } from '../../journal/index.ts'
import { headIsRebuilt, names, refused, same } from './assertions.ts'
import { sha256, text } from './blobs.ts'
import { type ContractCase, subject } from './contract.ts'
import { forkOf, turns } from './fork.ts'
import { ANN, input, keyOf, note, release, Talk, turnStart } from './talk.ts'

const FORMAT = 9001

export const eraseCases: readonly ContractCase[] = subject('erase', {
  'an erased conversation shows nothing but that it was erased (R15)': async (trial) => {
    const talk = await turns(trial, 3)
    const { base } = await pruneContext(talk.store, talk.key, { keepTurns: 2 })
    await talk.post('waiting')
    await talk.claim({ leaseMs: 60_000, since: base })
    await talk.store.saveSnapshot(talk.key, { seq: 15, format: FORMAT, state: {} })
    const { createdAt } = await talk.head()
    trial.clock.advance(10)
    assert.equal(await talk.store.erase(talk.key), 1)
    await showsNothing(talk)
    const head = await talk.head()
    assert.deepEqual(head, {
      key: talk.key,
      seq: 18,
      at: trial.clock.now(),
      turn: 3,
      status: 'erased',
      epoch: 4,
      claims: 0,
      pending: 0,
      base: 18,
      createdAt,
      activeAt: trial.clock.now(),
    })
    assert.deepEqual(await talk.store.rebuild(talk.key), { repaired: false, head })
  },

  'with a position, a conversation that was used since, or has a fork, is kept': async (trial) => {
    const talk = await turns(trial, 2)
    const { store, key } = talk
    const { seq } = await talk.head()
    await talk.post('late')
    await refused('moved', store.erase(key, { at: seq }))
    await forkContext(store, key, { contextId: 'fork' })
    await refused('in-use', store.erase(key, { at: seq + 1 }))
    assert.equal((await talk.head()).status === 'erased', false)
    await store.erase(keyOf('fork'))
    assert.equal(await store.erase(key, { at: seq + 1 }), 1)
    assert.equal(await store.erase(key, { at: 1 }), 0)
  },

  'an erased conversation refuses every kind of late write (R15)': async (trial) => {
    const talk = await turns(trial, 1)
    const position = positionIn(await loadSession(talk.store, talk.key))
    const { epoch } = await talk.claim({ leaseMs: 60_000 })
    const own = { key: talk.key, id: 'own', since: 6, epoch, entries: [note('x')] }
    await talk.store.append(own)
    const fork = { at: 5, position }
    await talk.store.erase(talk.key)
    const tombstone = await talk.head()
    await refused('erased', talk.post('a'))
    await refused('erased', talk.append({ inbox: [input('b', 'x', 'cancel')] }))
    await refused('erased', talk.claim())
    await refused('erased', talk.claim({ entries: [turnStart(9)], since: tombstone.seq }))
    await refused('erased', talk.write(epoch, note('x')))
    await refused('erased', talk.store.append(own))
    await refused('erased', talk.store.renew({ key: talk.key, epoch, since: 0 }))
    await refused('erased', talk.store.fork({ ...fork, parent: talk.key, child: keyOf('new') }))
    const other = new Talk(talk.store, keyOf('other'))
    await other.turn(1)
    await refused('erased', talk.store.fork({ ...fork, parent: other.key, child: talk.key }))
    const child = new Talk(talk.store, keyOf('talk/child'))
    await refused('not-found', child.append({ parent: 'talk', inbox: [input('a')] }))
    await refused('erased', talk.store.prune({ key: talk.key, upTo: 1, position, session: {} }))
    await talk.store.saveSnapshot(talk.key, { seq: 1, format: FORMAT, state: {} })
    await talk.store.dropSnapshots(talk.key)
    assert.equal((await talk.store.rebuild(talk.key)).repaired, false)
    assert.deepEqual(await talk.head(), tombstone)
    await showsNothing(talk)
  },

  'erasing again, or erasing nothing, does nothing (R15)': async (trial) => {
    const talk = await turns(trial, 1)
    assert.equal(await talk.store.erase(talk.key), 1)
    const tombstone = await talk.head()
    trial.clock.advance(10)
    assert.equal(await talk.store.erase(talk.key), 0)
    assert.deepEqual(await talk.head(), tombstone)
    assert.equal(await talk.store.erase(keyOf('nobody')), 0)
    assert.equal(await talk.store.head(keyOf('nobody')), undefined)
  },

  'erasing takes forks, sub-conversations and theirs along (R15, R17)': async (trial) => {
    const talk = await turns(trial, 1)
    const { store } = talk
    const fork = await forkOf(talk, 'fork')
    const deep = await forkOf(fork, 'deep')
    const child = new Talk(store, keyOf('talk/child'))
    await child.append({ parent: 'talk', inbox: [input('a')] })
    const ofFork = new Talk(store, keyOf('fork/child'))
    await ofFork.append({ parent: 'fork', inbox: [input('a')] })
    const childFork = await forkOf(child, 'child-fork')
    const other = new Talk(store, keyOf('talk/not-a-child'))
    await other.turn(1)
    assert.equal(await store.erase(talk.key), 6)
    for (const gone of [talk, fork, deep, child, ofFork, childFork]) {
      assert.equal((await gone.head()).status, 'erased', gone.key.contextId)
      await showsNothing(gone)
      await refused('erased', gone.post('late'))
    }
    assert.equal((await other.read()).length, 5, 'a name alone makes no child')
    assert.deepEqual(names((await store.list({ owner: ANN })).heads), ['talk/not-a-child'])
  },

  'erasing a fork takes the forks below it along, by their names (R15, R17)': async (trial) => {
    const talk = await turns(trial, 1)
    const { store } = talk
    const child = new Talk(store, keyOf('talk/child'))
    await child.append({ parent: 'talk', inbox: [input('a')] })
    const deep = new Talk(store, keyOf('talk/child/deep'))
    await deep.append({ parent: 'talk/child', inbox: [input('a')] })
    const fork = await forkOf(talk, 'fork\u{1d538}')
    const below = [await forkOf(child, 'fork\u{1d538}/child'), await forkOf(deep, 'fork\u{1d538}/child/deep')]
    const others = [await forkOf(talk, 'fork\u{1d538}0'), await forkOf(child, 'fork-child')]
    assert.equal(await store.erase(fork.key, { at: (await fork.head()).seq }), 3)
    for (const gone of [fork, ...below]) await showsNothing(gone)
    for (const left of [talk, child, deep, ...others]) assert.notEqual((await left.head()).status, 'erased')
  },

  'a conversation that belongs to two that are erased is erased, and counted, once (R15, R17)': async (
    trial,
  ) => {
    const talk = await turns(trial, 1)
    const fork = await forkOf(talk, 'fork')
    const both = await forkOf(fork, 'talk/both')
    assert.equal(await talk.store.erase(talk.key), 3)
    for (const gone of [talk, fork, both]) await showsNothing(gone)
  },

  'erasing a fork or a child leaves its parent alone, and shows nothing of it (R15)': async (trial) => {
    const talk = await turns(trial, 4)
    const { store } = talk
    await pruneContext(store, talk.key, { keepTurns: 2 })
    await store.saveSnapshot(talk.key, { seq: 15, format: FORMAT, state: {} })
    const fork = await forkOf(talk, 'fork')
    const child = new Talk(store, keyOf('talk/child'))
    await child.append({ parent: 'talk', inbox: [input('a')] })
    const [entries, head] = [await talk.read(), await talk.head()]
    assert.equal(await store.erase(fork.key), 1)
    assert.equal(await store.erase(child.key), 1)
    await showsNothing(fork)
    await showsNothing(child)
    assert.deepEqual([await talk.read(), await talk.head()], [entries, head])
    assert.equal((await store.loadSnapshot(talk.key, { format: FORMAT }))?.seq, 15)
    assert.equal((await store.lookup(talk.key, { index: 'turn' })).length, 4)
    await headIsRebuilt(store, talk.key)
    assert.equal(await store.erase(talk.key), 1, 'what is gone already does not count')
  },

  'blobs go with the last conversation that uses them (R15, R16)': async (trial) => {
    const store = await trial.open()
    const [own, shared] = [Buffer.from('of one'), Buffer.from('of two')]
    const refs = [await store.putBlob(ANN, own), await store.putBlob(ANN, shared)]
    const [one, two] = [new Talk(store, keyOf('one')), new Talk(store, keyOf('two'))]
    await one.claim({ entries: [{ ...note('x'), refs }] })
    await two.claim({ entries: [{ ...note('x'), refs: refs.slice(1) }] })
    await store.erase(one.key)
    assert.equal(await store.getBlob(ANN, sha256(own)), undefined)
    assert.equal((await store.getBlob(ANN, sha256(shared)))?.length, shared.length)
    await store.erase(two.key)
    assert.equal(await store.getBlob(ANN, sha256(shared)), undefined)
  },

  'large payloads that another conversation says too survive (R15, R16)': async (trial) => {
    const store = await trial.open()
    const big = text(70_000)
    const [one, two] = [new Talk(store, keyOf('one')), new Talk(store, keyOf('two'))]
    for (const talk of [one, two]) await talk.append({ inbox: [input('a', big)] })
    await store.erase(one.key)
    same((await two.read())[0]?.data['message'], big)
    same((await store.inbox(two.key))[0]?.data['message'], big)
  },

  'an erased conversation is neither listed nor due (R6, R15)': async (trial) => {
    const talk = await trial.talk()
    await talk.claim({ entries: [turnStart(1), release({ wakeAt: trial.clock.now() }, 1)] })
    await talk.post('a')
    assert.equal((await talk.store.due()).length, 1)
    await talk.store.erase(talk.key)
    assert.deepEqual(await talk.store.due(), [])
    assert.deepEqual((await talk.store.list({ owner: ANN })).heads, [])
  },

  'the time of a tombstone does not go back either (R12, R15)': async (trial) => {
    const talk = await turns(trial, 1)
    const { at } = await talk.head()
    trial.clock.set(at - 5000)
    await talk.store.erase(talk.key)
    assert.equal((await talk.head()).at, at)
  },

  'the name of a conversation that belonged to an erased one stays erased (R15, R17)': async (trial) => {
    const talk = await turns(trial, 1)
    const child = new Talk(talk.store, keyOf('talk/child'))
    await child.append({ parent: 'talk', inbox: [input('a')] })
    await forkContext(talk.store, talk.key, { contextId: 'fork' })
    await talk.store.erase(talk.key)
    await refused('erased', child.append({ parent: 'talk', inbox: [input('a')] }))
    await refused('erased', new Talk(talk.store, keyOf('fork')).claim())
  },
})

async function showsNothing({ store, key }: Talk): Promise<void> {
  const found = {
    entries: await store.read(key),
    turn: await store.read(key, { turn: 1 }),
    inbox: await store.inbox(key),
    base: await store.base(key),
    rows: [
      ...(await store.lookup(key, { index: 'turn' })),
      ...(await store.lookup(key, { index: 'outcome' })),
    ],
    snapshot: await store.loadSnapshot(key, { format: FORMAT }),
  }
  const nothing = { entries: [], turn: [], inbox: [], base: undefined, rows: [], snapshot: undefined }
  assert.deepEqual(found, nothing, `what is left of ${key.contextId}`)
}
