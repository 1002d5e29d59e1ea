/** Watching: stored entries, then new ones, by position; none is lost, repeated or kept in memory (R18). */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Entry } from '../../protocol/index.ts'
import { ends, inTime, lines, positions, take } from './assertions.ts'
import { type ContractCase, subject } from './contract.ts'
import { note, Talk } from './talk.ts'
import type { Trial } from './trial.ts'

const watchFacts = subject('watch', {
  'a watch gives what is there, then each new entry, whoever wrote it, in order (R18)': async (trial) => {
    const talk = await trial.talk()
    const { epoch } = await talk.claim({ entries: [note('x')] })
    const watch = start(trial, talk)
    assert.deepEqual(lines(await take(watch, 2)), ['1 claim', '2 note'])
    const next = take(watch, 3)
    await talk.write(epoch, note('y'), note('z'))
    await talk.post('a')
    const found = await next
    assert.deepEqual(lines(found), ['3 note', '4 note', '5 input'])
    assert.deepEqual(found, await talk.read({ from: 3 }))
  },

  'a watch starts after the position that it is given (R18)': async (trial) => {
    const talk = await trial.talk()
    await talk.post('a', 'b', 'c')
    const watch = start(trial, talk, { since: 2 })
    assert.deepEqual(positions(await take(watch, 1)), [3])
    const ahead = start(trial, talk, { since: 4 })
    const next = take(ahead, 1)
    await talk.post('d', 'e')
    assert.deepEqual(positions(await next), [5])
  },

  'a conversation can be watched before it exists (R18)': async (trial) => {
    const talk = await trial.talk()
    const watch = start(trial, talk)
    const first = take(watch, 1)
    await sleep(20)
    await talk.post('a')
    assert.deepEqual(lines(await first), ['1 input'])
  },

  'two watchers each get everything (R18)': async (trial) => {
    const talk = await trial.talk()
    const [one, two] = [start(trial, talk), start(trial, talk)]
    const both = Promise.all([take(one, 3), take(two, 3)])
    await talk.post('a')
    await talk.post('b', 'c')
    assert.deepEqual((await both).map(positions), [
      [1, 2, 3],
      [1, 2, 3],
    ])
  },

  'a watcher does not see other conversations, nor is it disturbed by them (R18, R20)': async (trial) => {
    const talk = await trial.talk('watched')
    const other = new Talk(talk.store, { ...talk.key, contextId: 'other' })
    const strange = new Talk(talk.store, { ...talk.key, tenant: 'other' })
    const next = take(start(trial, talk), 2)
    for (const key of ['a', 'b']) {
      await other.post(`${key} elsewhere`)
      await strange.post(`${key} of another tenant`)
      await talk.post(key)
    }
    assert.deepEqual(
      (await next).map(({ key }) => key),
      ['a', 'b'],
    )
  },

  'a slow reader loses nothing (R18)': async (trial) => {
    const talk = await trial.talk()
    const { epoch } = await talk.claim()
    const watch = start(trial, talk)
    const found = await take(watch, 1)
    for (let i = 0; i < 12; i++) {
      await talk.write(epoch, ...Array.from({ length: 50 }, (_, j) => note(`${i} ${j}`)))
      found.push(...(await take(watch, i)))
    }
    found.push(...(await take(watch, 601 - found.length)))
    assert.deepEqual(
      positions(found),
      Array.from({ length: 601 }, (_, i) => i + 1),
    )
  },

  'a watch ends when its signal aborts, also while it waits (R18)': async (trial) => {
    const talk = await trial.talk()
    await talk.post('a')
    const control = new AbortController()
    const watch = start(trial, talk, { signal: control.signal })
    await take(watch, 1)
    const end = ends(watch)
    await sleep(10)
    control.abort()
    await end
    await ends(talk.store.watch(talk.key, { signal: control.signal })[Symbol.asyncIterator]())
  },

  'a watch that aborts while entries are waiting gives no more of them (R18)': async (trial) => {
    const talk = await trial.talk()
    await talk.post('a', 'b', 'c')
    const control = new AbortController()
    const watch = start(trial, talk, { signal: control.signal })
    await take(watch, 1)
    control.abort()
    await ends(watch)
  },

  'leaving a watch that waits ends it at once (R18)': async (trial) => {
    const talk = await trial.talk()
    await talk.post('a')
    const [begun, old] = [talk.store.watch(talk.key), talk.store.watch(talk.key, { since: 1 })]
    const [left, waited] = [begun[Symbol.asyncIterator](), old[Symbol.asyncIterator]()]
    await take(left, 1)
    const waiting = [ends(left), ends(waited)]
    await sleep(10)
    for (const watch of [left, waited]) {
      assert.ok(watch.return !== undefined, 'a watch can be left')
      const { done } = await inTime(watch.return(), 'the end of return()', 1000)
      assert.equal(done, true)
      await inTime(ends(watch), 'the end of a watch that was left', 1000)
    }
    await inTime(Promise.all(waiting), 'the end of what waited', 1000)
  },

  'one watcher ends and the others go on (R18)': async (trial) => {
    const talk = await trial.talk()
    const control = new AbortController()
    const [one, two] = [start(trial, talk, { signal: control.signal }), start(trial, talk)]
    const [end, next] = [ends(one), take(two, 2)]
    await sleep(10)
    control.abort()
    await end
    await talk.post('a', 'b')
    assert.deepEqual(positions(await next), [1, 2])
  },

  'a watch ends when its conversation is erased (R15)': async (trial) => {
    const talk = await trial.talk()
    await talk.post('a')
    const watch = start(trial, talk)
    await take(watch, 1)
    const end = ends(watch)
    await sleep(10)
    await talk.store.erase(talk.key)
    await end
    await ends(start(trial, talk))
  },

  'a watch ends when the store closes, whether it waits or has just begun (R18)': async (trial) => {
    const talk = await trial.talk()
    await talk.post('a')
    const waiting = start(trial, talk)
    await take(waiting, 1)
    const end = ends(waiting)
    await sleep(10)
    const begun = start(trial, talk, { since: 1 })
    const atOnce = ends(begun)
    await inTime(talk.store.close(), 'the end of close()')
    await end
    await atOnce
  },

  'a watcher that is left standing keeps nobody from closing': async (trial) => {
    const talk = await trial.talk()
    await talk.post('a', 'b')
    await take(start(trial, talk), 1)
    await inTime(talk.store.close(), 'the end of close()')
  },
})

const sharedFacts = subject(
  'watch',
  {
    'a watch sees what another store on the same database writes (R18)': async (trial) => {
      const talk = await trial.talk()
      const other = new Talk(await trial.reopen(talk.store), talk.key)
      const watch = start(trial, talk)
      for (const key of ['a', 'b', 'c']) {
        const next = take(watch, 1)
        await other.post(key)
        assert.deepEqual(
          (await next).map((entry) => entry.key),
          [key],
        )
      }
      const end = ends(watch)
      await other.store.erase(talk.key)
      await end
    },
  },
  ['reopen'],
)

export const watchCases: readonly ContractCase[] = [...watchFacts, ...sharedFacts]

function start(
  trial: Trial,
  { store, key }: Talk,
  options: { since?: number; signal?: AbortSignal } = {},
): AsyncIterator<Entry, unknown> {
  const over = new AbortController()
  trial.later(() => over.abort())
  const signal = options.signal === undefined ? over.signal : AbortSignal.any([over.signal, options.signal])
  return store.watch(key, { ...options, signal })[Symbol.asyncIterator]()
}
