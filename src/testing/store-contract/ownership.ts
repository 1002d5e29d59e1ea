/** Ownership: claim, lease, fence and epoch (R1), renewal, and the checks of a claim with entries. */
import assert from 'node:assert/strict'
import type { NewEntry } from '../../protocol/index.ts'
import { headIsRebuilt, keys, lines, refused } from './assertions.ts'
import { type ContractCase, subject } from './contract.ts'
import { entry, input, note, release, turnEnd, turnStart } from './talk.ts'

export const ownershipCases: readonly ContractCase[] = subject('ownership', {
  'each claim appends the next epoch (R1)': async (trial) => {
    const talk = await trial.talk()
    const epochs: number[] = []
    for (const driver of ['d1', 'd2', 'd1']) {
      const { epoch } = await talk.claim({ driver })
      epochs.push(epoch)
      await talk.write(epoch, release())
    }
    assert.deepEqual(epochs, [1, 2, 3])
    const claims = (await talk.read()).filter(({ type }) => type === 'claim')
    assert.deepEqual(
      claims.map(({ seq, data }) => [seq, data['epoch'], data['driver']]),
      [
        [1, 1, 'd1'],
        [3, 2, 'd2'],
        [5, 3, 'd1'],
      ],
    )
  },

  'a live driver is not passed over, not even by itself (R1)': async (trial) => {
    const talk = await trial.talk()
    await talk.claim({ driver: 'd1', leaseMs: 1000 })
    trial.clock.advance(999)
    const error = await refused('owned', talk.claim({ driver: 'd2' }))
    assert.equal(error.retry, 'later')
    await refused('owned', talk.claim({ driver: 'd1' }))
    assert.deepEqual(lines(await talk.read()), ['1 claim'])
  },

  'a lease lapses when its time is over, and not before (R1)': async (trial) => {
    const talk = await trial.talk()
    await talk.claim({ driver: 'd1', leaseMs: 1000 })
    trial.clock.advance(999)
    await refused('owned', talk.claim({ driver: 'd2' }))
    trial.clock.advance(1)
    assert.equal((await talk.claim({ driver: 'd2' })).epoch, 2)
  },

  'the lease of a dead process lapses at once (R1)': async (trial) => {
    const talk = await trial.talk()
    await talk.claim({ driver: 'd1', leaseMs: 60_000 })
    await refused('owned', talk.claim({ driver: 'd2' }))
    trial.dead.add('d1')
    assert.equal((await talk.claim({ driver: 'd2' })).epoch, 2)
  },

  'a driver that was passed over is fenced, whatever it brings (R1)': async (trial) => {
    const talk = await trial.talk()
    const old = await talk.claim({ driver: 'd1' })
    trial.clock.advance(1000)
    await talk.claim({ driver: 'd2' })
    await refused('fenced', talk.write(old.epoch, note('late')))
    await refused('fenced', talk.append({ epoch: old.epoch, inbox: [input('a')], entries: [release()] }))
    await refused('fenced', talk.store.renew({ key: talk.key, epoch: old.epoch, since: 0 }))
    assert.deepEqual(lines(await talk.read()), ['1 claim', '2 claim'])
  },

  'a lapsed driver that nobody passed over goes on (R1)': async (trial) => {
    const talk = await trial.talk()
    const { epoch } = await talk.claim()
    trial.clock.advance(60_000)
    await talk.write(epoch, note('slow, but still the owner'))
    await refused('owned', talk.claim({ driver: 'd2' }))
  },

  'an epoch that was never given out is fenced (R1)': async (trial) => {
    const talk = await trial.talk()
    await refused('fenced', talk.store.renew({ key: talk.key, epoch: 1, since: 0 }))
    const { epoch } = await talk.claim()
    for (const wrong of [epoch + 1, epoch - 1, -1]) await refused('fenced', talk.write(wrong, note('x')))
    assert.equal((await talk.head()).seq, 1)
  },

  'whoever released, ended its turn or paused must claim again (R1)': async (trial) => {
    const talk = await trial.talk()
    const endings: NewEntry[] = [release(), turnEnd(2), release({ pause: true })]
    for (const [i, ending] of endings.entries()) {
      const { epoch } = await talk.claim()
      await talk.write(epoch, turnStart(i + 1), ending)
      assert.equal((await talk.head()).lease, undefined)
      await refused('fenced', talk.write(epoch, note('x')))
      await refused('fenced', talk.store.renew({ key: talk.key, epoch, since: 0 }))
    }
  },

  'an append holds the lease, one by somebody else does not (R1)': async (trial) => {
    const talk = await trial.talk()
    const { epoch } = await talk.claim({ leaseMs: 1000 })
    trial.clock.advance(800)
    await talk.write(epoch, note('x'))
    trial.clock.advance(800)
    await talk.post('a')
    await refused('owned', talk.claim({ driver: 'd2' }))
    trial.clock.advance(200)
    assert.equal((await talk.claim({ driver: 'd2' })).epoch, 2)
  },

  'a renewal holds the lease and shows the inbox (R1, R2)': async (trial) => {
    const talk = await trial.talk()
    const { epoch } = await talk.claim({ leaseMs: 1000 })
    await talk.post('a')
    await talk.post('b')
    for (let i = 0; i < 4; i++) {
      trial.clock.advance(700)
      const { seq, inbox } = await talk.store.renew({ key: talk.key, epoch, since: 2 })
      assert.deepEqual([seq, keys(inbox)], [3, ['b']])
    }
    await refused('owned', talk.claim({ driver: 'd2' }))
    assert.deepEqual(lines(await talk.read()), ['1 claim', '2 input', '3 input'], 'it appends nothing')
    await headIsRebuilt(talk.store, talk.key)
    trial.clock.advance(1000)
    assert.equal((await talk.claim({ driver: 'd2' })).epoch, 2)
  },

  'when the clock is set back a little, leases only last longer (R1)': async (trial) => {
    const talk = await trial.talk()
    const { epoch } = await talk.claim({ driver: 'd1', leaseMs: 1000 })
    trial.clock.set(trial.clock.now() - 900)
    await refused('owned', talk.claim({ driver: 'd2' }))
    await talk.write(epoch, note('x'))
    trial.clock.advance(999)
    await refused('owned', talk.claim({ driver: 'd2' }))
    trial.clock.advance(1)
    assert.equal((await talk.claim({ driver: 'd2' })).epoch, 2)
  },

  'when the clock is set back a lot, nobody waits until it has caught up (R1)': async (trial) => {
    const talk = await trial.talk()
    await talk.claim({ driver: 'd1', leaseMs: 1000 })
    trial.clock.set(trial.clock.now() - 86_400_000)
    assert.equal((await talk.claim({ driver: 'd2' })).epoch, 2)
    trial.clock.advance(999)
    await refused('owned', talk.claim({ driver: 'd3' }))
    trial.clock.advance(1)
    assert.equal((await talk.claim({ driver: 'd3' })).epoch, 3)
  },

  'when the clock is set back, a renewal counts from the new time (R1)': async (trial) => {
    const talk = await trial.talk()
    const { epoch } = await talk.claim({ driver: 'd1', leaseMs: 1000 })
    trial.clock.set(trial.clock.now() - 86_400_000)
    await talk.store.renew({ key: talk.key, epoch, since: 0 })
    await refused('owned', talk.claim({ driver: 'd2' }))
  },

  'when the clock jumps forwards, the driver that lapsed is fenced by the next (R1)': async (trial) => {
    const talk = await trial.talk()
    const { epoch } = await talk.claim({ driver: 'd1', leaseMs: 1000 })
    trial.clock.set(trial.clock.now() + 86_400_000)
    assert.equal((await talk.claim({ driver: 'd2' })).epoch, 2)
    await refused('fenced', talk.write(epoch, note('x')))
  },

  'a claim that brings entries is refused when the journal has moved (R1)': async (trial) => {
    const talk = await trial.talk()
    await talk.post('a')
    const bring = { entries: [turnStart(1, 'a')], since: 1 }
    await talk.post('b')
    const error = await refused('moved', talk.claim(bring))
    assert.equal(error.retry, 'later')
    await refused('moved', talk.claim({ ...bring, since: 3 }))
    const receipt = await talk.claim({ ...bring, since: 2 })
    assert.deepEqual(lines(receipt.entries), ['3 claim', '4 turn.start'])
    assert.deepEqual(keys(receipt.inbox), [])
  },

  'a claim that brings entries is checked before its own inbox entries count (R1)': async (trial) => {
    const talk = await trial.talk()
    const start = { claim: { driver: 'd1', leaseMs: 1000 }, entries: [turnStart(1, 'a')] }
    const receipt = await talk.append({ inbox: [input('a')], ...start, since: 0 })
    assert.deepEqual(lines(receipt.entries), ['1 input', '2 claim', '3 turn.start'])
  },

  'a claim without entries may come from any position, and shows what waits since then (R1)': async (
    trial,
  ) => {
    const talk = await trial.talk()
    await talk.post('a', 'b')
    assert.deepEqual(keys((await talk.claim({ since: 0 })).inbox), ['a', 'b'])
    trial.clock.advance(1000)
    assert.deepEqual(keys((await talk.claim({ since: 1 })).inbox), ['b'])
    trial.clock.advance(1000)
    assert.deepEqual(keys((await talk.claim({ since: 4 })).inbox), [])
  },

  'claims without progress are counted, in the head and in the claim (R7)': async (trial) => {
    const talk = await trial.talk()
    await talk.post('a')
    const first = await talk.claim({ entries: [turnStart(1, 'a')], since: 1 })
    assert.equal((await talk.head()).claims, 0, 'the start of the turn is progress')
    const fruitless = ['model.start', 'tool.start', 'warning', 'release']
    for (const [i, type] of fruitless.entries()) {
      trial.clock.advance(1000)
      const { epoch, entries } = await talk.claim()
      assert.equal(entries.at(-1)?.data['attempt'], i + 1)
      await talk.write(epoch, entry(type, 1, { callId: 'c', reason: 'r' }))
      await talk.post(`question ${i}`)
      assert.equal((await talk.head()).claims, i + 1, `a ${type} is no progress`)
    }
    const { epoch } = await talk.claim()
    assert.equal((await talk.head()).claims, 5)
    await talk.write(epoch, entry('model.end', 1, { content: [], finish: 'stop' }))
    assert.equal((await talk.head()).claims, 0, 'a model.end is progress')
    assert.equal(first.entries[0]?.data['attempt'], 1)
  },

  'a claim names the turn that it continues; outside of a turn it names none': async (trial) => {
    const talk = await trial.talk()
    await talk.post('a')
    const { epoch } = await talk.claim({ entries: [turnStart(1, 'a')], since: 1 })
    trial.clock.advance(1000)
    assert.equal((await talk.claim()).entries[0]?.turn, 1)
    await refused('fenced', talk.write(epoch, turnEnd(1)))
    await talk.write(epoch + 1, turnEnd(1))
    assert.equal((await talk.claim()).entries[0]?.turn, 0)
  },

  'a claim continues a paused turn and clears a wake time (R6)': async (trial) => {
    const talk = await trial.talk()
    await talk.claim({ entries: [turnStart(1)] })
    await talk.write(1, release({ pause: true, wakeAt: trial.clock.now() + 50 }, 1))
    const paused = await talk.head()
    assert.deepEqual([paused.status, paused.wakeAt], ['paused', trial.clock.now() + 50])
    await talk.claim()
    const running = await talk.head()
    assert.deepEqual([running.status, running.wakeAt, running.turn], ['running', undefined, 1])
  },

  'a claim that is released in the same append continues no turn: a pause lasts, and no attempt is counted (R7)':
    async (trial) => {
      const talk = await trial.talk()
      await talk.claim({ entries: [turnStart(1)] })
      const wakeAt = trial.clock.now() + 50
      await talk.write(1, release({ pause: true, wakeAt }, 1))
      for (let times = 0; times < 3; times++) {
        const { seq } = await talk.head()
        const { entries } = await talk.claim({ entries: [entry('state', 0, {}), release()], since: seq })
        assert.equal(entries[0]?.data['drives'], false)
        const { status, claims, lease, ...head } = await talk.head()
        assert.deepEqual([status, claims, lease, head.wakeAt], ['paused', 0, undefined, wakeAt])
      }
      const { entries } = await talk.claim()
      assert.deepEqual([entries[0]?.data['attempt'], entries[0]?.data['drives']], [1, undefined])
      assert.equal((await talk.head()).status, 'running')
    },

  'a claim that is released in the same append leaves the wake time of an open turn (R6, R7)': async (
    trial,
  ) => {
    const talk = await trial.talk()
    const wakeAt = trial.clock.now() + 50
    await talk.claim({ entries: [turnStart(1), release({ wakeAt }, 1)] })
    const { seq } = await talk.head()
    await talk.claim({ entries: [entry('state', 0, {}), release()], since: seq })
    assert.deepEqual(await talk.store.due(), [])
    const { status, ...head } = await talk.head()
    assert.deepEqual([status, head.wakeAt, head.claims], ['running', wakeAt, 0])
    await headIsRebuilt(talk.store, talk.key)
    trial.clock.set(wakeAt)
    assert.equal((await talk.store.due()).length, 1)
  },

  'a claim that opens no turn leaves the wake time of a wait (R6)': async (trial) => {
    const talk = await trial.talk()
    const wakeAt = trial.clock.now() + 50
    await talk.claim({ entries: [turnStart(1), turnEnd(1, { outcome: 'input-required', wakeAt })] })
    await talk.claim({ entries: [release()], since: (await talk.head()).seq })
    trial.clock.set(wakeAt)
    const [due] = await talk.store.due()
    assert.deepEqual([due?.status, due?.wakeAt], ['waiting', wakeAt])
    await talk.claim({ entries: [turnStart(2)], since: (await talk.head()).seq })
    assert.equal((await talk.head()).wakeAt, undefined)
  },

  'of drivers that claim at the same moment one wins (R1)': async (trial) => {
    const talk = await trial.talk()
    const claims = Array.from({ length: 20 }, (_, i) => talk.claim({ driver: `d${i}` }))
    const results = await Promise.allSettled(claims)
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
    for (const result of results) {
      if (result.status === 'rejected') await refused('owned', Promise.reject(result.reason as Error))
    }
    assert.deepEqual(lines(await talk.read()), ['1 claim'])
  },
})
