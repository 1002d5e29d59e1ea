/** Appending: one request is one transaction with an id, and reads return its entries unchanged (R5, R12). */
import assert from 'node:assert/strict'
import type { JsonObject, NewEntry, NewInboxEntry } from '../../protocol/index.ts'
import type { AppendRequest } from '../../store/index.ts'
import { headIsRebuilt, keys, lines, positions, refused } from './assertions.ts'
import { type ContractCase, subject } from './contract.ts'
import { entry, input, keyOf, note, release, Talk, turnEnd, turnStart } from './talk.ts'

export const appendCases: readonly ContractCase[] = subject('append', {
  'a request appends inbox, claim and entries in this order, and its receipt says so (R5)': async (trial) => {
    const talk = await trial.talk()
    const at = trial.clock.now()
    const receipt = await talk.append({
      inbox: [input('a'), { type: 'cancel', key: 'b', data: { turn: 1 } }],
      claim: { driver: 'd1', leaseMs: 5000 },
      entries: [turnStart(1, 'a'), note('hello', 1)],
    })
    const expected = [
      { seq: 1, turn: 0, at, type: 'input', v: 1, key: 'a', data: { message: 'a' } },
      { seq: 2, turn: 0, at, type: 'cancel', v: 1, key: 'b', data: { turn: 1 } },
      {
        seq: 3,
        turn: 0,
        at,
        type: 'claim',
        v: 2,
        data: { epoch: 1, driver: 'd1', leaseMs: 5000, attempt: 1 },
      },
      {
        seq: 4,
        turn: 1,
        at,
        type: 'turn.start',
        v: 1,
        takes: [1],
        data: { principal: { tenant: 'acme', actor: 'ann' } },
      },
      { seq: 5, turn: 1, at, type: 'note', v: 1, data: { text: 'hello', from: 'contract' } },
    ]
    assert.deepEqual(receipt, {
      first: 1,
      last: 5,
      at,
      epoch: 1,
      entries: expected,
      inbox: [expected[1]],
      repeated: false,
    })
    assert.deepEqual(await talk.read(), expected)
  },

  'the head row follows each append (R6)': async (trial) => {
    const talk = await trial.talk()
    const start = trial.clock.now()
    await talk.post('a')
    assert.deepEqual(await talk.head(), {
      key: talk.key,
      seq: 1,
      at: start,
      turn: 0,
      status: 'idle',
      epoch: 0,
      claims: 0,
      pending: 1,
      base: 0,
      createdAt: start,
      activeAt: start,
    })
    trial.clock.advance(10)
    await talk.claim({ entries: [turnStart(1, 'a')], since: 1 })
    const running = {
      key: talk.key,
      seq: 3,
      at: start + 10,
      turn: 1,
      status: 'running',
      epoch: 1,
      claims: 0,
      pending: 0,
      base: 0,
      createdAt: start,
      activeAt: start + 10,
      lease: { driver: 'd1', renewedAt: start + 10, leaseMs: 1000 },
    }
    assert.deepEqual(await talk.head(), running)
    trial.clock.advance(10)
    await talk.write(1, turnEnd(1, { outcome: 'input-required', wakeAt: start + 500 }))
    const { lease: _, ...unowned } = running
    assert.deepEqual(await talk.head(), {
      ...unowned,
      seq: 4,
      at: start + 20,
      status: 'waiting',
      outcome: 'input-required',
      wakeAt: start + 500,
    })
  },

  'a context that was never written to has no head, no entries and no inbox': async (trial) => {
    const store = await trial.open()
    const key = keyOf('nobody')
    assert.equal(await store.head(key), undefined)
    assert.deepEqual(await store.read(key), [])
    assert.deepEqual(await store.inbox(key), [])
    assert.equal(await store.base(key), undefined)
    assert.deepEqual(await store.lookup(key, { index: 'turn' }), [])
    assert.equal(await store.loadSnapshot(key, { format: 1 }), undefined)
    assert.deepEqual(await store.rebuild(key), { repaired: false, head: undefined })
    assert.equal(await store.erase(key), 0)
    assert.equal(await store.head(key), undefined, 'asking created nothing')
  },

  'repeating a request returns the first receipt and appends nothing (R5)': async (trial) => {
    const talk = await trial.talk()
    const request = {
      key: talk.key,
      id: 'one',
      since: 0,
      inbox: [input('a')],
      claim: { driver: 'd1', leaseMs: 1000 },
      entries: [note('x'), note('y'), note('z')],
    }
    const first = await talk.store.append(request)
    trial.clock.advance(5)
    const again = await talk.store.append(request)
    assert.deepEqual(again, { ...first, repeated: true })
    assert.equal((await talk.head()).seq, 5)
  },

  'an append id that was used for something else is refused (R5)': async (trial) => {
    const talk = await trial.talk()
    const claim = { driver: 'd1', leaseMs: 1000 }
    const first = { key: talk.key, id: 'one', since: 0, inbox: [input('a')] }
    await talk.store.append(first)
    await refused('key-reused', talk.store.append({ ...first, inbox: [input('b')] }))
    await refused('key-reused', talk.store.append({ ...first, claim, entries: [note('x')] }))
    assert.equal((await talk.head()).seq, 1)
  },

  'a repetition of which a part was pruned is refused, and told no epoch of another (R1, R5)': async (
    trial,
  ) => {
    const talk = await trial.talk()
    const entries = [turnStart(1), turnEnd(1)]
    const mine = { key: talk.key, id: 'mine', since: 0, claim: { driver: 'd1', leaseMs: 1000 }, entries }
    const { at } = await talk.store.append(mine)
    await talk.claim({ driver: 'd2' })
    const position = { at, turn: 0, epoch: 1, claims: 1, running: false, createdAt: at, activeAt: at }
    await talk.store.prune({ key: talk.key, upTo: 1, position, session: {} })
    await refused('pruned', talk.store.append(mine))
  },

  'a repetition between whose kept entries one was pruned is refused, too, and is no damage (R5, R15)':
    async (trial) => {
      const talk = await trial.talk()
      const { at, epoch } = await talk.claim()
      const kept = entry('artifact', 0, { artifactId: 'a', version: 1, op: 'write', chunk: 1, text: 'x' })
      const entries = [kept, note('pruned'), note('stays')]
      const mine = { key: talk.key, id: 'mine', since: 1, epoch, entries }
      await talk.store.append(mine)
      const position = { at, turn: 0, epoch, claims: 1, running: false, createdAt: at, activeAt: at }
      await talk.store.prune({ key: talk.key, upTo: 3, position, session: {} })
      await refused('pruned', talk.store.append(mine))
    },

  'an entry that no reader could read past is refused': async (trial) => {
    const talk = await trial.talk()
    const { epoch } = await talk.claim()
    const usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0, costUsd: 0 }
    const wrong: [string, JsonObject][] = [
      ...['done', 5, true, ['stop'], null].map((outcome): [string, JsonObject] => [
        'turn.end',
        { outcome, usage },
      ]),
      ...[undefined, 'text', [1], [{ type: 'tool-call' }]].map((content): [string, JsonObject] => [
        'model.end',
        { content },
      ]),
      ['release', { reason: 'r', pause: 'yes' }],
      ['tool.start', { tool: 't' }],
      ['request.end', { requestId: 5 }],
      ['turn.start', {}],
      ['compact', { upTo: -1, kept: 0 }],
    ]
    for (const [type, data] of wrong)
      await refused('invalid-entry', talk.write(epoch, { type, turn: 1, data }))
    assert.equal((await talk.head()).seq, 1)
  },

  'a repetition is recognised after others wrote, also under another epoch (R5)': async (trial) => {
    const talk = await trial.talk()
    const { epoch } = await talk.claim()
    const mine = { key: talk.key, id: 'mine', since: 1, epoch, entries: [note('x'), note('y')] }
    const first = await talk.store.append(mine)
    await talk.post('a')
    trial.clock.advance(5000)
    const other = await talk.claim({ driver: 'd2' })
    await talk.write(other.epoch, note('by d2'))
    const again = await talk.store.append(mine)
    assert.deepEqual(lines(again.entries), ['2 note', '3 note'])
    assert.deepEqual(keys(again.inbox), ['a'])
    assert.deepEqual(
      { ...again, inbox: [] },
      { ...first, repeated: true },
      'the first receipt, epoch included',
    )
    assert.deepEqual(lines(await talk.read()), [
      '1 claim',
      '2 note',
      '3 note',
      '4 input',
      '5 claim',
      '6 note',
    ])
  },

  'a repeated claim returns its own epoch, not that of who claimed since (R1, R5)': async (trial) => {
    const talk = await trial.talk()
    const mine = { key: talk.key, id: 'mine', since: 0, claim: { driver: 'd1', leaseMs: 1000 } }
    assert.equal((await talk.store.append(mine)).epoch, 1)
    trial.clock.advance(1000)
    assert.equal((await talk.claim({ driver: 'd2' })).epoch, 2)
    const again = await talk.store.append(mine)
    assert.deepEqual([again.repeated, again.epoch, again.first, again.last], [true, 1, 1, 1])
    await refused('fenced', talk.write(again.epoch, note('late')))
  },

  'the same id in another conversation is another request': async (trial) => {
    const store = await trial.open()
    const [one, two] = [new Talk(store, keyOf('one')), new Talk(store, keyOf('two'))]
    await one.append({ id: 'same', inbox: [input('a')] })
    const receipt = await two.append({ id: 'same', inbox: [input('a')] })
    assert.equal(receipt.repeated, false)
    assert.deepEqual(lines(await two.read()), ['1 input'])
  },

  'a refused request leaves nothing behind, whichever part was refused (R5)': async (trial) => {
    const talk = await trial.talk()
    await talk.post('a')
    await talk.claim({ driver: 'd1' })
    const before = await talk.head()
    const bring = { inbox: [input('new')] }
    await refused('owned', talk.append({ ...bring, claim: { driver: 'd2', leaseMs: 9 } }))
    await refused('fenced', talk.append({ ...bring, epoch: 7, entries: [note('x')] }))
    const unknown = { ...note('y'), takes: ['unheard of'] }
    await refused('not-pending', talk.append({ ...bring, epoch: 1, entries: [note('x'), unknown] }))
    await refused('key-reused', talk.append({ inbox: [input('new'), input('a', 'other words')] }))
    const nameless = { ...note('y'), refs: ['0'.repeat(64)] }
    await refused('invalid-entry', talk.append({ ...bring, epoch: 1, entries: [note('x'), nameless] }))
    assert.deepEqual(await talk.head(), before)
    assert.deepEqual(lines(await talk.read()), ['1 input', '2 claim'])
    assert.equal((await talk.post('new')).last, 3, 'the key is still free')
  },

  'a refused first request does not create the conversation (R5)': async (trial) => {
    const store = await trial.open()
    const talk = new Talk(store, keyOf('unborn'))
    await refused('not-pending', talk.claim({ entries: [turnStart(1, 'nothing')] }))
    await refused('fenced', talk.write(1, note('x')))
    await refused('not-found', talk.append({ parent: 'nobody', inbox: [input('a')] }))
    assert.equal(await store.head(talk.key), undefined)
    assert.deepEqual((await store.list({ owner: talk.key })).heads, [])
  },

  'requests that arrive together are each all or nothing, and keep their order (R5)': async (trial) => {
    const store = await trial.open()
    const talks = Array.from({ length: 10 }, (_, i) => new Talk(store, keyOf(`talk-${i}`)))
    await Promise.all(talks.map((talk) => talk.claim()))
    const results = await Promise.allSettled(
      talks.flatMap((talk, i) => [
        talk.write(1, note('first'), note('second')),
        talk.append({ inbox: [input('lost')], epoch: i % 2 === 0 ? 1 : 2, entries: [note('third')] }),
        talk.post('last'),
      ]),
    )
    const refusals = results.filter(({ status }) => status === 'rejected').length
    assert.equal(refusals, 5)
    for (const [i, talk] of talks.entries()) {
      const kept = i % 2 === 0 ? ['4 input', '5 note', '6 input'] : ['4 input']
      assert.deepEqual(lines(await talk.read()), ['1 claim', '2 note', '3 note', ...kept])
      await headIsRebuilt(store, talk.key)
    }
  },

  'positions have no gaps and the time never goes back, though the clock does (R12)': async (trial) => {
    const talk = await trial.talk()
    const start = trial.clock.now()
    const { epoch } = await talk.claim({ leaseMs: 3_600_000 })
    for (const now of [start + 100, start - 5000, start + 50, start + 200]) {
      trial.clock.set(now)
      await talk.write(epoch, note('x'))
      await talk.post(`at ${now}`)
    }
    const entries = await talk.read()
    assert.deepEqual(positions(entries), [1, 2, 3, 4, 5, 6, 7, 8, 9])
    const times = entries.map(({ at }) => at - start)
    assert.deepEqual(times, [0, 100, 100, 100, 100, 100, 100, 200, 200])
    assert.equal((await talk.head()).at, start + 200)
  },

  'what is not an append is refused before anything is written (R5)': async (trial) => {
    const talk = await trial.talk()
    for (const [why, request] of Object.entries(MISUSES)) {
      await refused('invalid-entry', talk.append(request)).catch((error: unknown) => {
        throw new Error(`not refused: ${why}`, { cause: error })
      })
    }
    assert.equal(await talk.store.head(talk.key), undefined)
  },

  'the smallest and the largest values that are allowed are accepted': async (trial) => {
    const talk = await trial.talk()
    const longest = 'x'.repeat(256)
    const day = 24 * 60 * 60 * 1000
    await talk.append({ id: longest, inbox: [input(longest)], claim: { driver: longest, leaseMs: day } })
    await talk.write(1, { ...note('x'), v: 1 }, release({ wakeAt: 0 }))
    await talk.append({ id: 'x', inbox: [input('y')], claim: { driver: 'd', leaseMs: 1 } })
    const types = ['1 input', '2 claim', '3 note', '4 release', '5 input', '6 claim']
    assert.deepEqual(lines(await talk.read()), types)
  },

  'a parent is named by the request that creates a conversation, and by no later one (R17)': async (
    trial,
  ) => {
    const store = await trial.open()
    const [one, two, child] = ['one', 'two', 'child'].map((name) => new Talk(store, keyOf(name)))
    for (const talk of [one, two]) await talk?.post('a')
    await child?.append({ parent: 'one', inbox: [input('a')] })
    await child?.append({ parent: 'two', inbox: [input('b')] })
    await one?.append({ parent: 'two', inbox: [input('b')] })
    assert.equal((await child?.head())?.parent?.contextId, 'one')
    assert.equal((await one?.head())?.parent, undefined)
    assert.equal((await store.list({ owner: keyOf(), parent: 'two' })).heads.length, 0)
  },

  'an unknown entry type, an entry marked as optional and a version of its own are kept as they are (R21)':
    async (trial) => {
      const talk = await trial.talk()
      const entries: NewEntry[] = [
        { type: 'from.the.future-2', turn: 3, data: { a: [1, { b: null }] }, v: 7, optional: true },
        { type: 'plain', turn: 0, data: {} },
      ]
      await talk.claim({ entries })
      const [, future, plain] = await talk.read()
      const { seq: _, at: __, ...kept } = future ?? assert.fail('nothing was stored')
      assert.deepEqual(kept, entries[0])
      assert.deepEqual(plain, { seq: 3, turn: 0, at: trial.clock.now(), type: 'plain', v: 1, data: {} })
    },

  'a receipt shows the entries as stored, not as handed in (R12)': async (trial) => {
    const talk = await trial.talk()
    const data = { gone: undefined, kept: [{ deep: 'text' }], zero: -0 }
    const receipt = await talk.append({
      inbox: [{ type: 'input', key: 'a', data }],
      claim: { driver: 'd1', leaseMs: 1000 },
      entries: [{ type: 'note', turn: 0, data }],
    })
    const [posted, , noted] = await talk.read()
    assert.deepEqual(posted?.data, { kept: [{ deep: 'text' }], zero: 0 })
    assert.deepEqual(noted?.data, posted?.data)
    assert.deepEqual(receipt.entries, await talk.read())
    data.kept.push({ deep: 'changed by the caller afterwards' })
    assert.deepEqual(receipt.entries, await talk.read())
  },

  'any text comes back unchanged': async (trial) => {
    const talk = await trial.talk()
    const half = '\ud83d'
    const texts = ['', '\u0000', 'é', 'e\u0301', '日本', '😀', half, `a${half}b`, '\u2028', '"\\/', '\ufeffx']
    const keyed = { ['__proto__']: 'own', constructor: 'c', '': 'empty', 'a.b': [texts] }
    await talk.claim({ entries: [entry('note', 0, { texts, ...keyed }), ...texts.map((text) => note(text))] })
    const [, first, ...rest] = await talk.read()
    assert.deepEqual(first?.data['texts'], texts)
    assert.equal(JSON.stringify(first?.data), JSON.stringify({ texts, ...keyed }))
    assert.deepEqual(
      rest.map(({ data }) => data['text']),
      texts,
    )
  },
})

const claim = { driver: 'd1', leaseMs: 1000 }
const inboxOf = (change: object) => ({ inbox: [{ ...input('a'), ...change } as NewInboxEntry] })
const entryOf = (change: object) => ({ claim, entries: [{ ...note('x'), ...change } as NewEntry] })

const MISUSES: Record<string, Partial<AppendRequest>> = {
  'it brings nothing': {},
  'it brings nothing but an epoch': { epoch: 1 },
  'entries without epoch or claim': { entries: [note('x')] },
  'both epoch and claim': { epoch: 1, claim, entries: [note('x')] },
  'an empty driver id': { claim: { driver: '', leaseMs: 1000 } },
  'no lease': { claim: { driver: 'd1', leaseMs: 0 } },
  'an endless lease': { claim: { driver: 'd1', leaseMs: Number.POSITIVE_INFINITY } },
  'a lease of part of a millisecond': { claim: { driver: 'd1', leaseMs: 333.3 } },
  'an empty id': { id: '', claim },
  'a long id': { id: 'x'.repeat(257), claim },
  'a negative position': { since: -1, claim },
  'half a position': { since: 0.5, claim },
  'the same inbox key twice': { inbox: [input('a'), input('a')] },
  'a driver entry in the inbox': inboxOf({ type: 'note' }),
  'an empty inbox key': inboxOf({ key: '' }),
  'inbox data that is no object': inboxOf({ data: 'text' }),
  'inbox data that is not there': inboxOf({ data: undefined }),
  'an inbox entry among driver entries': entryOf({ type: 'input' }),
  'a claim among driver entries': entryOf({ type: 'claim' }),
  'a fork among driver entries': entryOf({ type: 'fork' }),
  'a base among driver entries': entryOf({ type: 'base' }),
  'a type that is no name': entryOf({ type: 'No Type' }),
  'half a turn': entryOf({ turn: 0.5 }),
  'a negative turn': entryOf({ turn: -1 }),
  'half a version': entryOf({ v: 1.5 }),
  'data that is a list': entryOf({ data: [] }),
  'data that is null': entryOf({ data: null }),
  'data that is no JSON': entryOf({ data: { big: 1n } }),
  'a wake time of part of a millisecond': { claim, entries: [release({ wakeAt: 1.5 })] },
}
