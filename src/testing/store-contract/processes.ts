/** Several processes on one database: they share it, take over, watch each other, and die (R1, R5, R18). */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { recreateContext } from '../../journal/index.ts'
import { type ContextKey, type Entry, HoldfastError } from '../../protocol/index.ts'
import type { Store } from '../../store/index.ts'
import { headIsRebuilt, lines, positions, refused, take } from './assertions.ts'
import { Child } from './child.ts'
import { type ContractCase, subject } from './contract.ts'
import { crash } from './crash.ts'
import { keyOf, note, Talk } from './talk.ts'
import type { Trial } from './trial.ts'
import { finalRequest, type Job, type Written } from './worker.ts'

const CHILDREN = 8
const ROUNDS = 5
const KILLS = 5

export const processCases: readonly ContractCase[] = subject(
  'processes',
  {
    'eight processes share conversations: nothing is lost, doubled or out of turn (R1, R2, R5)': async (
      trial,
    ) => {
      const store = await trial.openReal()
      const shared = keyOf('shared')
      const names = Array.from({ length: CHILDREN }, (_, i) => `p${i}`)
      const children = names.map((name) =>
        start(trial, store, { do: 'share', name, keys: [shared, keyOf(`own-${name}`)], rounds: ROUNDS }),
      )
      const reports = await Promise.all(children.map((child) => child.rest()))
      for (const child of children) await child.gone()
      const written = reports.flat().flatMap((message) => ('wrote' in message ? [message.wrote] : []))
      assert.equal(written.length, CHILDREN * ROUNDS * 2 * 3)
      for (const key of [shared, ...names.map((name) => keyOf(`own-${name}`))]) {
        const entries = await everything(store, key)
        const acknowledged = written.filter(({ contextId }) => contextId === key.contextId)
        holdsExactly(entries, acknowledged)
        oneOwnerAtATime(entries)
        assert.equal((await store.head(key))?.pending, 0, 'everything was taken')
        assert.equal((await store.head(key))?.lease, undefined, 'nobody is stuck')
        await headIsRebuilt(store, key)
      }
      await trial.verify(store)
    },

    'the conversation of a killed process is claimed at once, one of a living process is not (R1)': async (
      trial,
    ) => {
      const store = await trial.openReal()
      const talk = new Talk(store, keyOf())
      const child = start(trial, store, { do: 'hold', key: talk.key, leaseMs: 3_600_000 })
      const { epoch, driver } = await child.expect('epoch')
      assert.equal((await talk.head()).lease?.driver, driver)
      await refused('owned', talk.claim())
      assert.deepEqual(await store.due(), [])
      child.signal('SIGKILL')
      await child.gone('SIGKILL')
      assert.equal((await talk.claim()).epoch, epoch + 1)
    },

    'a process that stands still is passed over when its lease is over, and fenced when it wakes (R1)':
      async (trial) => {
        const store = await trial.openReal()
        const talk = new Talk(store, keyOf())
        const leaseMs = 700
        const child = start(trial, store, { do: 'hold', key: talk.key, leaseMs })
        await child.expect('epoch')
        child.signal('SIGSTOP')
        const { epoch, at } = await patientClaim(talk)
        const [first] = await talk.read({ limit: 1 })
        assert.ok(at - (first?.at ?? at) >= leaseMs, `passed over after ${at - (first?.at ?? at)} ms`)
        child.tell('write, although you were asleep')
        child.signal('SIGCONT')
        assert.deepEqual(await child.expect('result'), { result: 'fenced' })
        await talk.write(epoch, note('by the new owner'))
        assert.deepEqual(lines(await talk.read()), ['1 claim', '2 claim', '3 note'])
      },

    'a process that stands still while its conversation is erased and begins anew gets nothing in (R1, R15)':
      async (trial) => {
        const store = await trial.openReal()
        const talk = new Talk(store, keyOf())
        const child = start(trial, store, { do: 'late', key: talk.key })
        await child.expect('epoch')
        child.signal('SIGSTOP')
        // A child that stops in the middle of a read keeps the log from being truncated; erased data is unreadable all the same.
        await store.erase(talk.key).catch((error: unknown) => {
          if (!HoldfastError.is(error, 'store-busy')) throw error
        })
        const { seq } = await recreateContext(store, talk.key)
        const claim = { driver: 'd1', leaseMs: 60_000 }
        await talk.append({ since: seq, claim, entries: [note('new')] })
        child.tell('go on as if nothing had happened')
        child.signal('SIGCONT')
        const results = ['erased', 'erased', 'erased', 'erased', 'erased', 'not-found', 'watched to the end']
        for (const result of results) assert.deepEqual(await child.expect('result'), { result })
        assert.deepEqual(lines(await talk.read()), ['2 base', '3 claim', '4 note'])
        assert.deepEqual(await store.inbox(talk.key), [])
        assert.equal(await store.loadSnapshot(talk.key, { format: 1 }), undefined)
        assert.equal(await store.head(keyOf('talk/late')), undefined)
        await headIsRebuilt(store, talk.key)
        await trial.verify(store)
      },

    'what another process writes is seen within a quarter of a second (R18)': async (trial) => {
      const store = await trial.openReal()
      const key = keyOf()
      const child = start(trial, store, { do: 'post', key })
      await child.expect('result')
      const over = new AbortController()
      trial.later(() => over.abort())
      const watch = store.watch(key, { signal: over.signal })[Symbol.asyncIterator]()
      const delays: number[] = []
      for (let i = 0; i < 9; i++) {
        child.tell('post')
        const [entry] = await take(watch, 1)
        delays.push(Date.now() - (entry?.at ?? 0))
        assert.equal(entry?.seq, i + 1)
        await sleep(Math.random() * 60)
      }
      const median = delays.toSorted((a, b) => a - b)[4] ?? 0
      assert.ok(median < 250, `half of the entries took more than ${median} ms: ${delays.join(', ')}`)
    },

    'a process that dies before its append has written nothing, and another writes it (R1, R5)': async (
      trial,
    ) => {
      const { talk, epoch } = await deadWriter(trial, 'before')
      assert.deepEqual(lines(await talk.read()), ['1 claim'])
      const receipt = await talk.store.append(finalRequest(talk.key, epoch))
      assert.deepEqual([receipt.repeated, receipt.first, receipt.last], [false, 2, 2])
      assert.equal((await talk.claim()).epoch, epoch + 1)
    },

    'a process that dies after its append has written it, and another does not repeat it (R1, R5)': async (
      trial,
    ) => {
      const { talk, epoch } = await deadWriter(trial, 'after')
      assert.deepEqual(lines(await talk.read()), ['1 claim', '2 note'])
      assert.equal((await talk.claim()).epoch, epoch + 1)
      const receipt = await talk.store.append(finalRequest(talk.key, epoch))
      assert.deepEqual([receipt.repeated, receipt.first, receipt.last, receipt.epoch], [true, 2, 2, epoch])
      assert.deepEqual(lines(await talk.read()), ['1 claim', '2 note', '3 claim'])
    },

    'a process that closes its store can end, though a watcher was left standing': async (trial) => {
      const store = await trial.openReal()
      await new Talk(store, keyOf()).post('a', 'b')
      const child = start(trial, store, { do: 'leave', key: keyOf() })
      await child.expect('result')
      await child.gone()
    },

    [`a writer is killed ${KILLS} times at a random moment: what was acknowledged is there, whole (R5)`]:
      async (trial) => {
        const first = await trial.openReal()
        await first.close()
        let acknowledged = 0
        for (let i = 0; i < KILLS; i++) {
          const child = (job: Job) => start(trial, first, job)
          const report = await crash({ child, reopen: () => trial.reopenReal(first), name: 'crash' })
          assert.deepEqual([report.lost, report.torn], [[], []])
          acknowledged += report.acknowledged
          const store = await trial.reopenReal(first)
          await trial.verify(store)
          await store.close()
        }
        assert.ok(acknowledged >= KILLS, 'something was written before each kill')
      },
  },
  ['worker', 'reopen'],
)

function start(trial: Trial, store: Store, job: Job): Child {
  const child = new Child(trial.worker(store), job)
  trial.later(() => child.kill())
  return child
}

/** All of a journal, page by page. */
async function everything(store: Store, key: ContextKey): Promise<Entry[]> {
  const entries: Entry[] = []
  for (;;) {
    const page = await store.read(key, { from: entries.length + 1, limit: 500 })
    entries.push(...page)
    if (page.length < 500) return entries
  }
}

/** No gap, every acknowledged append once at its acknowledged position, and nothing else but claims. */
function holdsExactly(entries: readonly Entry[], acknowledged: readonly Written[]): void {
  assert.deepEqual(
    positions(entries),
    entries.map((_, i) => i + 1),
  )
  for (const { first, last, mark } of acknowledged) {
    const places = positions(entries.filter(({ data }) => data['mark'] === mark))
    const expected = Array.from({ length: last - first + 1 }, (_, i) => first + i)
    assert.deepEqual(places, expected, `entries of ${mark}`)
  }
  const marks = new Set(acknowledged.map(({ mark }) => mark))
  const strangers = entries.filter(({ type, data }) => type !== 'claim' && !marks.has(data['mark'] as string))
  assert.deepEqual(strangers, [])
}

/** Every driver entry has the driver and the epoch of the claim before it. */
function oneOwnerAtATime(entries: readonly Entry[]): void {
  let owner: { epoch: unknown; driver: unknown } | undefined
  let epochs = 0
  for (const { seq, type, data } of entries) {
    if (type === 'input') continue
    const { epoch, driver } = data
    if (type === 'claim') {
      assert.equal(owner, undefined, `claim ${seq} while somebody owned it`)
      assert.equal(epoch, ++epochs, `claim ${seq}`)
      owner = { epoch, driver }
      continue
    }
    assert.deepEqual({ epoch, driver }, owner, `entry ${seq} was written out of turn`)
    if (type === 'release') owner = undefined
  }
}

async function patientClaim(talk: Talk): Promise<{ epoch: number; at: number }> {
  for (;;) {
    try {
      return await talk.claim({ leaseMs: 60_000 })
    } catch (error) {
      if (!HoldfastError.is(error, 'owned')) throw error
      await sleep(20)
    }
  }
}

/** A child that died with its second append. */
async function deadWriter(trial: Trial, when: 'before' | 'after'): Promise<{ talk: Talk; epoch: number }> {
  const store = await trial.openReal()
  const talk = new Talk(store, keyOf())
  const child = start(trial, store, { do: 'die', key: talk.key, when })
  const { epoch } = await child.expect('epoch')
  await child.gone('SIGKILL')
  return { talk, epoch }
}
