/** Recreating an erased conversation: it is empty, and refuses every writer of the old one (R15). */
import assert from 'node:assert/strict'
import { forkContext, loadSession, newSession, pruneContext, recreateContext } from '../../journal/index.ts'
import { headIsRebuilt, lines, names, refused, take } from './assertions.ts'
import { type ContractCase, subject } from './contract.ts'
import { forkOf, turns } from './fork.ts'
import { ANN, input, keyOf, note, release, Talk, turnEnd, turnStart } from './talk.ts'
import type { Trial } from './trial.ts'

const FORMAT = 9002
/** The number of entries in the old conversation: three turns, and the entries left open. */
const LAST = 17

export const recreateCases: readonly ContractCase[] = subject('recreate', {
  'an erased conversation begins anew, empty, where the old one ended (R15)': async (trial) => {
    const talk = await erasedTalk(trial)
    trial.clock.advance(10)
    const head = await recreateContext(talk.store, talk.key)
    const now = trial.clock.now()
    assert.deepEqual(head, {
      key: talk.key,
      seq: LAST + 1,
      at: now,
      turn: 0,
      status: 'idle',
      epoch: 4,
      claims: 0,
      pending: 0,
      base: LAST,
      erasedUpTo: LAST,
      createdAt: now,
      activeAt: now,
    })
    assert.deepEqual(await talk.head(), head)
    assert.deepEqual(lines(await talk.read()), [`${LAST + 1} base`])
    assert.deepEqual(await talk.read({ turn: 1 }), [])
    assert.deepEqual(await talk.store.inbox(talk.key), [])
    for (const index of ['turn', 'outcome'])
      assert.deepEqual(await talk.store.lookup(talk.key, { index }), [])
    assert.equal(await talk.store.loadSnapshot(talk.key, { format: FORMAT }), undefined)
    assert.deepEqual(await loadSession(talk.store, talk.key), {
      ...newSession(),
      seq: LAST + 1,
      at: now,
      createdAt: now,
      activeAt: now,
      epoch: 4,
      window: { from: LAST + 1, messages: 0 },
      erasedUpTo: LAST,
    })
    await headIsRebuilt(talk.store, talk.key)
  },

  'keys and turn numbers of the old conversation are used again, and it goes on like any other (R2, R15)':
    async (trial) => {
      const talk = await anew(trial)
      const since = LAST + 1
      const { inbox } = await talk.append({ since, inbox: [input('input 1', 'something else')] })
      assert.deepEqual(lines(inbox), [`${LAST + 2} input`])
      const { epoch } = await talk.append({
        since: LAST + 2,
        claim: { driver: 'd1', leaseMs: 1000 },
        entries: [turnStart(1, 'input 1'), note('said', 1)],
      })
      assert.equal(epoch, 5)
      await talk.append({ since: LAST + 5, epoch, entries: [turnEnd(1)] })
      const turn = ['19 input', '20 claim', '21 turn.start', '22 note', '23 turn.end']
      assert.deepEqual(lines(await talk.read({ turn: 1 })), turn)
      assert.equal((await loadSession(talk.store, talk.key)).totals.turns, 1)
      assert.deepEqual(names((await talk.store.list({ owner: ANN })).heads), ['talk'])
      await headIsRebuilt(talk.store, talk.key)
    },

  'nothing that goes back to the old conversation is written to the new one (R1, R15)': async (trial) => {
    const talk = await anew(trial)
    const { store, key } = talk
    const claim = { driver: 'd1', leaseMs: 1000 }
    const before = await talk.head()
    for (const since of [0, 1, LAST]) {
      await refused('erased', talk.append({ since, inbox: [input(`late ${since}`)] }))
      await refused('erased', talk.append({ since, inbox: [input(`late ${since}`, 'x', 'cancel')] }))
      await refused('erased', talk.append({ since, claim }))
      await refused('erased', talk.append({ since, claim: { ...claim, force: true } }))
      await refused('erased', talk.append({ since, claim, entries: [turnStart(4)] }))
      await refused('erased', talk.append({ since, epoch: 4, entries: [note('late')] }))
      await refused('erased', store.renew({ key, epoch: 4, since }))
      await store.saveSnapshot(key, { seq: since, format: FORMAT, state: { old: true } })
    }
    assert.equal(await store.loadSnapshot(key, { format: FORMAT }), undefined)
    await refused('erased', store.append(OLD_APPEND))
    const position = { at: 1, turn: 3, epoch: 4, claims: 0, running: true, createdAt: 1, activeAt: 1 }
    for (const at of [1, LAST])
      await refused('erased', store.fork({ parent: key, child: keyOf('late'), at, position }))
    assert.equal((await store.prune({ key, upTo: LAST, position, session: {} })).deleted, 0)
    assert.deepEqual(await talk.head(), before)
    assert.deepEqual(lines(await talk.read()), [`${LAST + 1} base`])
    // A writer that knows the new position is refused for its old epoch.
    await refused('fenced', talk.append({ since: LAST + 1, epoch: 4, entries: [note('late')] }))
    await refused('fenced', store.renew({ key, epoch: 4, since: LAST + 1 }))
  },

  'blobs of the old conversation stay gone (R15, R16)': async (trial) => {
    const store = await trial.open()
    const talk = new Talk(store, keyOf())
    const hash = await store.putBlob(ANN, Buffer.from('old'))
    await talk.claim({ entries: [{ ...note('x'), refs: [hash] }, release()] })
    await store.erase(talk.key)
    const { seq } = await recreateContext(store, talk.key)
    assert.equal(await store.getBlob(ANN, hash), undefined)
    const claim = { driver: 'd1', leaseMs: 1000 }
    const naming = { since: seq, claim, entries: [{ ...note('x'), refs: [hash] }] }
    await refused('invalid-entry', talk.append(naming))
  },

  'whoever watches the old conversation hears nothing of the new one (R15, R18)': async (trial) => {
    const talk = await turns(trial, 1)
    const { store, key } = talk
    const watch = store.watch(key, { since: 3 })[Symbol.asyncIterator]()
    assert.deepEqual(lines(await take(watch, 2)), ['4 note', '5 turn.end'])
    await store.erase(key)
    const { seq } = await recreateContext(store, key)
    await talk.append({ since: seq, inbox: [input('new')] })
    assert.equal((await watch.next()).done, true)
    const late = store.watch(key, { since: 5 })[Symbol.asyncIterator]()
    assert.equal((await late.next()).done, true)
    const fresh = store.watch(key)[Symbol.asyncIterator]()
    assert.deepEqual(lines(await take(fresh, 2)), ['6 base', '7 input'])
    await fresh.return?.()
  },

  'only what was erased begins anew, and repeating it does nothing (R15)': async (trial) => {
    const talk = await turns(trial, 1)
    const { store, key } = talk
    await refused('exists', recreateContext(store, key))
    await refused('not-found', recreateContext(store, keyOf('nobody')))
    await store.erase(key)
    await refused('moved', store.recreate({ key, upTo: 4, session: {} }))
    const head = await recreateContext(store, key)
    assert.deepEqual(await store.recreate({ key, upTo: 5, session: {} }), head)
    await refused('exists', recreateContext(store, key))
    await talk.append({ since: 6, inbox: [input('a')] })
    assert.equal((await store.recreate({ key, upTo: 5, session: {} })).seq, 7)
  },

  'forks and sub-conversations of the old one stay erased, and the new one has its own (R15, R17)': async (
    trial,
  ) => {
    const talk = await turns(trial, 1)
    const { store, key } = talk
    const fork = await forkOf(talk, 'fork')
    const child = new Talk(store, keyOf('talk/child'))
    await child.append({ parent: 'talk', inbox: [input('a')] })
    await store.erase(key)
    await refused('not-found', recreateContext(store, child.key))
    const { seq } = await recreateContext(store, key)
    for (const gone of [fork, child]) assert.equal((await gone.head()).status, 'erased')
    assert.deepEqual(names((await store.list({ owner: ANN, parent: 'talk' })).heads), [])
    const late = new Talk(store, keyOf('talk/late'))
    await refused('not-found', late.append({ parent: 'talk', parentSince: 5, inbox: [input('a')] }))
    await late.append({ parent: 'talk', parentSince: seq, inbox: [input('a')] })
    await forkContext(store, key, { contextId: 'branch' })
    assert.deepEqual(names((await store.list({ owner: ANN, parent: 'talk' })).heads).toSorted(), [
      'branch',
      'talk/late',
    ])
    assert.deepEqual(lines(await store.read(keyOf('branch'))), ['6 base', '7 fork'])
    assert.equal(await store.erase(key), 3)
  },

  'a sub-conversation that begins anew belongs to its parent, a fork to nobody (R15, R17)': async (trial) => {
    const talk = await turns(trial, 1)
    const { store, key } = talk
    const fork = await forkOf(talk, 'fork')
    const child = new Talk(store, keyOf('talk/child'))
    await child.append({ parent: 'talk', inbox: [input('a')] })
    await store.erase(fork.key)
    await store.erase(child.key)
    assert.equal((await recreateContext(store, fork.key)).parent, undefined)
    const { parent } = await recreateContext(store, child.key)
    assert.deepEqual(parent, { contextId: 'talk', kind: 'child', at: 0 })
    assert.deepEqual(lines(await fork.read()), ['7 base'])
    assert.deepEqual(names((await store.list({ owner: ANN, parent: 'talk' })).heads), ['talk/child'])
    for (const one of [fork, child]) await headIsRebuilt(store, one.key)
    await trial.verify(store)
    assert.equal(await store.erase(key), 2)
    assert.equal((await fork.head()).status, 'idle')
  },

  'it is due when it wants a driver, and pruned and erased like any other (R6, R15)': async (trial) => {
    const talk = await anew(trial)
    const { store, key } = talk
    assert.deepEqual(await store.due(), [])
    for (const turn of [1, 2, 3]) {
      const since = (await talk.head()).seq
      await talk.append({ since, inbox: [input(`input ${turn}`)] })
      assert.deepEqual(names(await store.due()), ['talk'])
      const claim = { driver: 'd1', leaseMs: 1000 }
      await talk.append({
        since: since + 1,
        claim,
        entries: [turnStart(turn, `input ${turn}`), turnEnd(turn)],
      })
    }
    assert.equal((await pruneContext(store, key, { keepTurns: 1 })).base, LAST + 9)
    assert.equal((await talk.head()).erasedUpTo, LAST)
    await headIsRebuilt(store, key)
    await refused('erased', talk.append({ since: LAST, inbox: [input('late')] }))
    await refused('exists', store.recreate({ key, upTo: LAST + 9, session: {} }))
    const { seq } = await talk.head()
    await store.erase(key)
    assert.equal((await talk.head()).erasedUpTo, undefined)
    await refused('moved', store.recreate({ key, upTo: LAST, session: {} }))
    assert.equal((await recreateContext(store, key)).erasedUpTo, seq)
    await headIsRebuilt(store, key)
    await trial.verify(store)
  },
})

const OLD_APPEND = { key: keyOf(), id: 'old-append', since: 15, inbox: [input('waiting')] }

/** Three turns, a message that waits, a driver, a snapshot; then erased. */
async function erasedTalk(trial: Trial): Promise<Talk> {
  const talk = await turns(trial, 3)
  await talk.store.append(OLD_APPEND)
  await talk.claim({ leaseMs: 60_000 })
  await talk.store.saveSnapshot(talk.key, { seq: 15, format: FORMAT, state: { old: true } })
  await talk.store.erase(talk.key)
  return talk
}

async function anew(trial: Trial): Promise<Talk> {
  const talk = await erasedTalk(trial)
  await recreateContext(talk.store, talk.key)
  return talk
}
