/** Listing the conversations of one owner, and finding those of all owners that need a driver (R6). */
import assert from 'node:assert/strict'
import type { Head, ListQuery, Store } from '../../store/index.ts'
import { names, refused } from './assertions.ts'
import { type ContractCase, subject } from './contract.ts'
import { ANN, input, keyOf, release, Talk, turnEnd, turnStart } from './talk.ts'
import type { Trial } from './trial.ts'

const listFacts = subject('list', {
  'conversations come most recently active first; a start of a turn counts, a post does not': async (
    trial,
  ) => {
    const store = await active(trial, 'a', 'b', 'c')
    assert.deepEqual(await listed(store), ['c', 'b', 'a'])
    await new Talk(store, keyOf('b')).post('one more')
    assert.deepEqual(await listed(store), ['c', 'b', 'a'])
    trial.clock.advance(10)
    await new Talk(store, keyOf('a')).turn(2)
    assert.deepEqual(await listed(store), ['a', 'c', 'b'])
  },

  'a page gives the heads, and where to go on': async (trial) => {
    const store = await active(trial, 'a', 'b', 'c')
    const first = await store.list({ owner: ANN, limit: 2 })
    assert.deepEqual(first.heads[0], await store.head(keyOf('c')))
    assert.deepEqual(names(first.heads), ['c', 'b'])
    const second = await store.list({ owner: ANN, limit: 2, cursor: first.next ?? assert.fail('no cursor') })
    assert.deepEqual(names(second.heads), ['a'])
    assert.equal(second.next, undefined)
    const whole = await store.list({ owner: ANN, limit: 3 })
    assert.deepEqual([names(whole.heads), whole.next], [['c', 'b', 'a'], undefined])
  },

  'paging goes through conversations of the same moment once each': async (trial) => {
    const store = await trial.open()
    const all = Array.from({ length: 23 }, (_, i) => `c${String(i).padStart(2, '0')}`)
    for (const name of all) await new Talk(store, keyOf(name)).post('a')
    const found = await pages(store, { owner: ANN, limit: 5 })
    assert.deepEqual(found.length, 23)
    assert.deepEqual(found.toSorted(), all)
  },

  'paging while conversations come, move and go shows each of the others once': async (trial) => {
    const all = Array.from({ length: 12 }, (_, i) => `c${String(i).padStart(2, '0')}`)
    const store = await active(trial, ...all)
    const found = await pages(store, { owner: ANN, limit: 3 }, async (page) => {
      trial.clock.advance(10)
      if (page === 1) await new Talk(store, keyOf('new')).turn(1)
      if (page === 1) await new Talk(store, keyOf('c11')).turn(2)
      if (page === 2) await store.erase(keyOf('c02'))
    })
    assert.deepEqual(
      found,
      all.toReversed().filter((name) => name !== 'c02'),
    )
  },

  'a cursor that this store did not make is refused': async (trial) => {
    const store = await active(trial, 'a')
    for (const cursor of ['', 'x', '1', '-1.2', '1.2; DROP'])
      await refused('invalid-option', store.list({ owner: ANN, cursor }))
  },

  'a listing can be limited to a status, a prefix and a time': async (trial) => {
    const store = await trial.open()
    await new Talk(store, keyOf('x-idle')).turn(1)
    trial.clock.advance(10)
    await new Talk(store, keyOf('x-running')).claim({ entries: [turnStart(1)] })
    trial.clock.advance(10)
    const paused = new Talk(store, keyOf('y-paused'))
    await paused.claim({ entries: [turnStart(1), release({ pause: true }, 1)] })
    trial.clock.advance(10)
    await new Talk(store, keyOf('y-waiting')).turn(1, 'input-required')
    const start = trial.clock.now() - 30
    assert.deepEqual(await listed(store, { status: 'idle' }), ['x-idle'])
    assert.deepEqual(await listed(store, { status: 'running' }), ['x-running'])
    assert.deepEqual(await listed(store, { status: 'paused' }), ['y-paused'])
    assert.deepEqual(await listed(store, { status: 'waiting' }), ['y-waiting'])
    assert.deepEqual(await listed(store, { status: 'erased' }), [])
    assert.deepEqual(await listed(store, { prefix: 'x-' }), ['x-running', 'x-idle'])
    assert.deepEqual(await listed(store, { prefix: 'x-', status: 'idle' }), ['x-idle'])
    assert.deepEqual(await listed(store, { prefix: 'z' }), [])
    assert.deepEqual(await listed(store, { activeSince: start + 20 }), ['y-waiting', 'y-paused'])
    assert.deepEqual(await listed(store, { activeSince: start + 31 }), [])
  },

  'a prefix is taken literally': async (trial) => {
    const store = await active(trial, 'a_b', 'axb', 'a_c', 'A_b', 'a')
    assert.deepEqual(await listed(store, { prefix: 'a_' }), ['a_c', 'a_b'])
    assert.deepEqual(await listed(store, { prefix: 'a%' }), [])
    assert.deepEqual(await listed(store, { prefix: '' }), ['a', 'A_b', 'a_c', 'axb', 'a_b'])
  },

  'sub-conversations are listed with their parent only, and so are their forks below another fork; other forks are listed everywhere':
    async (trial) => {
      const store = await active(trial, 'main', 'other')
      trial.clock.advance(1)
      const child = { parent: 'main', inbox: [input('a')] }
      await new Talk(store, keyOf('main/sub')).append(child)
      trial.clock.advance(1)
      await new Talk(store, keyOf('main/sub/deep')).append({ ...child, parent: 'main/sub' })
      trial.clock.advance(1)
      const { at, turn, epoch, claims, createdAt, activeAt } =
        (await store.head(keyOf('main'))) ?? assert.fail()
      const position = { at, turn, epoch, claims, createdAt, activeAt, running: false }
      await store.fork({ parent: keyOf('main'), child: keyOf('branch'), at: 5, position })
      await store.fork({ parent: keyOf('main/sub'), child: keyOf('branch/sub'), at: 1, position })
      assert.deepEqual(await listed(store), ['branch', 'other', 'main'])
      assert.deepEqual(await listed(store, { parent: 'main' }), ['branch', 'main/sub'])
      assert.deepEqual(await listed(store, { parent: 'main/sub' }), ['branch/sub', 'main/sub/deep'])
      assert.deepEqual(await listed(store, { parent: 'other' }), [])
      assert.deepEqual(await listed(store, { parent: 'nobody' }), [])
      const sub = await store.head(keyOf('main/sub'))
      assert.deepEqual(sub?.parent, { contextId: 'main', kind: 'child', at: 0 })
    },

  'erased conversations are left out': async (trial) => {
    const store = await active(trial, 'a', 'b', 'c')
    await store.erase(keyOf('b'))
    assert.deepEqual(await listed(store), ['c', 'a'])
  },
})

const dueFacts = subject('due', {
  'an unowned turn is due, an owned one is not, a lapsed one is again (R6)': async (trial) => {
    const talk = await trial.talk()
    await talk.claim({ entries: [turnStart(1)] })
    assert.deepEqual(await dueIn(talk.store), [])
    await talk.write(1, release({}, 1))
    assert.deepEqual(await dueIn(talk.store), ['talk'])
    await talk.claim({ driver: 'd2', leaseMs: 1000 })
    assert.deepEqual(await dueIn(talk.store), [])
    trial.clock.advance(1000)
    assert.deepEqual(await dueIn(talk.store), ['talk'])
    await talk.claim({ driver: 'd3', leaseMs: 60_000 })
    assert.deepEqual(await dueIn(talk.store), [])
    trial.dead.add('d3')
    assert.deepEqual(await dueIn(talk.store), ['talk'])
    await talk.claim({ driver: 'd4' })
    await talk.write(4, turnEnd(1))
    assert.deepEqual(await dueIn(talk.store), [])
  },

  'an inbox that nobody looks at is due (R6)': async (trial) => {
    const talk = await trial.talk()
    await talk.post('a')
    assert.deepEqual(await dueIn(talk.store), ['talk'])
    await talk.claim({ entries: [turnStart(1, 'a')], since: 1 })
    await talk.post('b')
    assert.deepEqual(await dueIn(talk.store), [])
    await talk.write(1, turnEnd(1))
    assert.deepEqual(await dueIn(talk.store), ['talk'])
    await talk.claim({ entries: [turnStart(2, 'b'), turnEnd(2)], since: 5 })
    assert.deepEqual(await dueIn(talk.store), [])
  },

  'a wake time is due when it has come, and a turn that sleeps is not due before (R6)': async (trial) => {
    const store = await trial.open()
    const [sleeping, done] = [new Talk(store, keyOf('sleeping')), new Talk(store, keyOf('done'))]
    const wakeAt = trial.clock.now() + 500
    await sleeping.claim({ entries: [turnStart(1), release({ wakeAt }, 1)] })
    trial.clock.advance(1)
    await done.claim({ entries: [turnStart(1), turnEnd(1, { wakeAt: wakeAt + 1 })] })
    trial.clock.set(wakeAt - 1)
    assert.deepEqual(await dueIn(store), [])
    trial.clock.set(wakeAt)
    assert.deepEqual(await dueIn(store), ['sleeping'])
    trial.clock.set(wakeAt + 1)
    assert.deepEqual(await dueIn(store), ['sleeping', 'done'])
    await sleeping.claim()
    assert.deepEqual(await dueIn(store), ['done'])
  },

  'a post wakes a turn that sleeps (R6)': async (trial) => {
    const talk = await trial.talk()
    await talk.claim({ entries: [turnStart(1), release({ wakeAt: trial.clock.now() + 500 }, 1)] })
    assert.deepEqual(await dueIn(talk.store), [])
    await talk.append({ inbox: [input('stop', 'x', 'cancel')] })
    assert.deepEqual(await dueIn(talk.store), ['talk'])
  },

  'a paused turn is not due, whatever is in its inbox (R6)': async (trial) => {
    const talk = await trial.talk()
    await talk.claim({ entries: [turnStart(1), release({ pause: true }, 1)] })
    await talk.post('a')
    trial.clock.advance(86_400_000)
    assert.deepEqual(await dueIn(talk.store), [])
    await talk.claim({ driver: 'd2' })
    await talk.write(2, release({}, 1))
    assert.deepEqual(await dueIn(talk.store), ['talk'])
  },

  'what is due comes from all owners, oldest activity first, as heads (R6)': async (trial) => {
    const store = await trial.open()
    for (const [i, tenant] of ['one', 'two', 'three'].entries()) {
      const talk = new Talk(store, { tenant, actor: 'ann', contextId: `talk-${i}` })
      await talk.post('a')
      trial.clock.advance(10)
    }
    await new Talk(store, { tenant: 'one', actor: 'ann', contextId: 'talk-0' }).turn(1)
    const heads = await store.due()
    assert.deepEqual(names(heads), ['talk-1', 'talk-2', 'talk-0'])
    assert.deepEqual(heads[0], await store.head({ tenant: 'two', actor: 'ann', contextId: 'talk-1' }))
  },

  'a limit keeps those that have waited longest, whatever they wait for (R6)': async (trial) => {
    const store = await trial.open()
    const wakeAt = trial.clock.now() + 5
    for (const name of ['a', 'b', 'c', 'd']) {
      const talk = new Talk(store, keyOf(name))
      const sleeps = name === 'b' || name === 'd'
      if (sleeps) await talk.claim({ entries: [turnStart(1), release({ wakeAt }, 1)] })
      else await talk.post('x')
      trial.clock.advance(10)
    }
    for (const limit of [1, 2, 3, 4, 100])
      assert.deepEqual(await dueIn(store, limit), ['a', 'b', 'c', 'd'].slice(0, limit))
  },
})

const scanFacts = subject('scan', {
  'contexts of all owners come by name, actor and tenant, erased ones and sub-conversations among them':
    async (trial) => {
      const store = await active(trial, 'b', 'c', 'gone', 'a')
      await store.erase(keyOf('gone'))
      for (const tenant of ['two', 'one'])
        await new Talk(store, { tenant, actor: 'bob', contextId: 'b' }).post('x')
      await new Talk(store, keyOf('b/child')).append({ parent: 'b', inbox: [input('k')] })
      const whole = await store.scan()
      assert.deepEqual(
        whole.map(({ key: { contextId, actor, tenant } }) => [
          contextId,
          actor,
          tenant === ANN.tenant ? '' : tenant,
        ]),
        [
          ['a', ANN.actor, ''],
          ['b', ANN.actor, ''],
          ['b', 'bob', 'one'],
          ['b', 'bob', 'two'],
          ['b/child', ANN.actor, ''],
          ['c', ANN.actor, ''],
          ['gone', ANN.actor, ''],
        ],
      )
      assert.equal(whole.at(-1)?.status, 'erased')
      const paged: unknown[] = []
      for (let after: Head | undefined; ; ) {
        const page: readonly Head[] = await store.scan({ limit: 2, ...(after && { after: after.key }) })
        paged.push(...page)
        after = page.at(-1)
        if (after === undefined) break
      }
      assert.deepEqual(paged, whole)
      await refused('invalid-option', store.scan({ limit: 0 }))
    },
})

export const listingCases: readonly ContractCase[] = [...listFacts, ...dueFacts, ...scanFacts]

/** A store with these conversations, each with a turn 10 ms after the one before. */
async function active(trial: Trial, ...contextIds: readonly string[]): Promise<Store> {
  const store = await trial.open()
  for (const contextId of contextIds) {
    trial.clock.advance(10)
    await new Talk(store, keyOf(contextId)).turn(1)
  }
  return store
}

async function listed(store: Store, query: Omit<ListQuery, 'owner'> = {}): Promise<string[]> {
  return names((await store.list({ owner: ANN, ...query })).heads)
}

async function dueIn(store: Store, limit?: number): Promise<string[]> {
  return names(await store.due(limit))
}

async function pages(
  store: Store,
  query: ListQuery,
  between: (page: number) => Promise<void> = async () => {},
): Promise<string[]> {
  const found: string[] = []
  let cursor: string | undefined
  for (let page = 1; page < 100; page++) {
    const { heads, next } = await store.list(cursor === undefined ? query : { ...query, cursor })
    assert.ok(heads.length <= (query.limit ?? 50))
    found.push(...names(heads))
    if (next === undefined) return found
    cursor = next
    await between(page)
  }
  return assert.fail('the pages have no end')
}
