/** What a driver owes when its turn breaks or its claim is unclear: results, one release, and each entry published once. */
import { describe, expect, it } from 'vitest'
import type { Turn, TurnOutcome } from '../../src/agent/index.ts'
import { systemClock, systemIds, systemTimer } from '../../src/base/index.ts'
import { deferredWrites } from '../../src/drive/deferred-writes.ts'
import type { Publication } from '../../src/drive/journal-state.ts'
import { Ownership } from '../../src/drive/ownership.ts'
import type { Loop } from '../../src/drive/state.ts'
import { type Entry, type Json, type NewEntry, NO_USAGE } from '../../src/protocol/index.ts'
import type { AppendRequest } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { faultyStore } from '../../src/testing/faulty-store.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { bench, calls, gate, journal, KEY, probe, quiet, until } from '../turn/kit.ts'
import { holdingAppend, withMethods } from './refusing-store.ts'

const START: NewEntry = {
  type: 'turn.start',
  turn: 1,
  data: { principal: { tenant: 'local', actor: 'local' } },
}
const STATE: NewEntry = { type: 'state', turn: 1, data: { metadata: { a: 1 } } }
const END: NewEntry = { type: 'turn.end', turn: 1, data: { outcome: 'stop', usage: NO_USAGE, durationMs: 0 } }

function someLoop(): Loop {
  const batches = (async function* () {})() as unknown as Loop['batches']
  const [cancel, interrupt, release] = [new AbortController(), new AbortController(), new AbortController()]
  return { batches, cancel, interrupt, release }
}

function ownership(store = memoryStore(), onEntry: (entry: Entry, how?: Publication) => void = () => {}) {
  const time = { clock: systemClock, timer: { ...systemTimer, wait: async () => {} } }
  const options = { key: KEY, store, ...time, ids: systemIds, driver: 'd', leaseMs: 30_000, onEntry }
  return new Ownership(options, () => {})
}

async function open(owner: Ownership): Promise<void> {
  await owner.open(() => true)
  await owner.claim({ loop: someLoop(), first: { entries: [START], from: owner.journal.session } })
}

/** The outcome of a turn, once it is there. */
function watched(turn: Turn): { readonly outcome: TurnOutcome | undefined } {
  const over: { outcome: TurnOutcome | undefined } = { outcome: undefined }
  const keep = async () => {
    over.outcome = await turn.outcome
  }
  void keep()
  return over
}

it('a turn that breaks waits for a tool that still runs no longer than its grace (S5)', async () => {
  const [ship, shipped] = [gate<Json>(), gate()]
  const tools = [
    probe('pay', async () => 'receipt 7'),
    probe('ship', () => {
      shipped.resolve()
      return ship.promise
    }),
  ]
  let isBroken = true
  const store = faultyStore(memoryStore(), [
    { at: ({ entries = [] }) => isBroken && entries.some(({ type }) => type === 'tool.end'), how: 'refuse' },
  ])
  const { agent, clock } = bench({ store, tools, script: [calls('pay', 'ship'), 'Done'], graceMs: 100 })
  const turn = agent.executeTurn('Pay and ship')
  const over = watched(turn)
  await shipped.promise
  await until('the turn is over', async () => {
    clock.advance(100)
    await quiet()
    return over.outcome !== undefined
  })
  expect(over.outcome?.reason).toBe('failed')
  isBroken = false
  ship.resolve('parcel 8')
  await quiet()
  const late = (await journal(store)).filter((line) => line.includes('late-result'))
  expect(late).toHaveLength(2)
})

it('a result is posted whatever the length of the name of its driver (D1)', async () => {
  const posted: unknown[] = []
  const store = memoryStore()
  const owner = ownership(store)
  const post = owner.post.bind(owner)
  owner.post = async (posts) => {
    posted.push(...(await post(posts)))
    return []
  }
  const result = { callId: 'call_1', status: 'ok', output: { type: 'text', value: 'x' } } as never
  const owed = deferredWrites({ store, key: KEY, timer: new ManualClock() })
  for (const end of ['a', 'b']) owed.postResult(result, `${'d'.repeat(255)}${end}`, owner)
  await owed.tried()
  expect(posted).toHaveLength(2)
})

it('a result that comes while its turn is taken over here settles its call (D2)', async () => {
  const [pay, running] = [gate<Json>(), gate()]
  const inner = memoryStore({ clock: new ManualClock(1000) })
  const store = withMethods(inner, {
    append: async (request) => {
      const receipt = await inner.append(request)
      const isTakeOver = request.claim !== undefined && (request.entries ?? []).length === 0
      if (!isTakeOver) return receipt
      pay.resolve('receipt 7')
      await quiet()
      return receipt
    },
  })
  const tool = probe(
    'pay',
    () => {
      running.resolve()
      return pay.promise
    },
    { replay: 'never' },
  )
  const { agent, clock } = bench({ store, tools: [tool], script: [calls('pay'), 'Paid'], graceMs: 100 })
  const turn = agent.executeTurn('Pay')
  await running.promise
  const { seq = 0 } = (await inner.head(KEY)) ?? {}
  const claim = { driver: 'operator', leaseMs: 1, force: true } as const
  const { epoch, last } = await inner.append({ key: KEY, id: 'claimed', since: seq, claim })
  const release: NewEntry = { type: 'release', turn: 1, data: { reason: 'taken over' } }
  await inner.append({ key: KEY, id: 'released', since: last, epoch, entries: [release] })
  const over = watched(turn)
  await until('the turn is over', async () => {
    clock.advance(10_000)
    await quiet()
    return over.outcome !== undefined
  })
  const ends = (await journal(inner)).filter((line) => line.includes('tool.end'))
  expect(ends).toEqual([expect.stringContaining('ok')])
})

it('a result that the store does not take keeps no other result from it (D1)', async () => {
  const tried: string[] = []
  const owner = {
    post: async ([{ data }]: [{ data: { callId: string } }]) => {
      tried.push(data.callId)
      if (data.callId === 'call_1') throw new Error('not this one')
      return []
    },
    release: async () => {
      tried.push('release')
    },
  } as unknown as Ownership
  const result = (callId: string) => ({ callId, status: 'ok', output: { type: 'text', value: 'x' } }) as never
  const owed = deferredWrites({ store: memoryStore(), key: KEY, timer: new ManualClock() })
  owed.postResult(result('call_1'), 'd', owner)
  owed.postResult(result('call_2'), 'd', owner)
  owed.release(owner)
  await owed.tried()
  expect(tried).toEqual(['call_1', 'call_2'])
})

it('a buffered entry is published once more when it is durable, though its turn broke meanwhile (L3)', async () => {
  const held = holdingAppend({ at: ({ entries = [] }) => entries.some(({ type }) => type === 'state') })
  const published: string[] = []
  const owner = ownership(held.store, ({ type }, how) => published.push(`${type} ${how ?? 'once'}`))
  await open(owner)
  owner.buffer([{ type: 'note', turn: 1, data: { text: 'buffered', from: 'y' } }])
  const recorded = owner.appendOrClaim(() => [STATE])
  await held.reached
  owner.broke()
  held.release()
  await recorded
  expect(published).toEqual(['claim once', 'turn.start once', 'note unsaved', 'note saved', 'state once'])
})

it('an entry is recorded under a claim whose reply was lost (S5)', async () => {
  const store = faultyStore(memoryStore(), [
    { at: ({ claim }, n) => claim !== undefined && n < 9, how: 'fail', when: 'after' },
  ])
  const owner = ownership(store)
  await expect(open(owner)).rejects.toMatchObject({ code: 'ambiguous' })
  owner.refused()
  await expect(owner.appendOrClaim(() => [STATE])).resolves.toBe(true)
  expect(owner.isOwner).toBe(true)
})

/** A store whose appends with this type of entry reply nothing, five times: stored, or not. */
function unclear(type: string, when: 'before' | 'after') {
  let left = 5
  const at = ({ entries = [] }: AppendRequest) => entries.some((entry) => entry.type === type) && left-- > 0
  return faultyStore(memoryStore(), [{ at, how: 'fail', when }])
}

describe.each(['before', 'after'] as const)('an append whose replies were lost %s the write', (when) => {
  it('is settled before the next one, so its buffered entries are stored once, in order', async () => {
    const store = unclear('note', when)
    const owner = ownership(store)
    await open(owner)
    owner.buffer([{ type: 'note', turn: 1, data: { text: 'buffered', from: 'y' } }])
    await expect(owner.flush()).rejects.toMatchObject({ code: 'ambiguous' })
    await owner.append([STATE])
    expect((await store.read(KEY)).map(({ type }) => type)).toEqual(['claim', 'turn.start', 'note', 'state'])
  })

  it('is in the session and published before the next one', async () => {
    const store = unclear('state', when)
    const published: string[] = []
    const owner = ownership(store, ({ type }) => published.push(type))
    await open(owner)
    await expect(owner.appendOrClaim(() => [STATE])).rejects.toMatchObject({ code: 'ambiguous' })
    await owner.append([{ type: 'note', turn: 1, data: { text: 'next', from: 'y' } }])
    expect(published).toEqual(['claim', 'turn.start', 'state', 'note'])
    expect(owner.journal.session.metadata).toEqual({ a: 1 })
  })

  it('is settled before an entry is recorded, though it ends the ownership', async () => {
    const store = unclear('turn.end', when)
    const owner = ownership(store)
    await open(owner)
    owner.buffer([END])
    owner.close()
    await expect(owner.flush()).rejects.toMatchObject({ code: 'ambiguous' })
    await owner.appendOrClaim(() => [{ ...STATE, turn: 0 }])
    const types = (await store.read(KEY)).map(({ type }) => type)
    expect(types).toEqual(['claim', 'turn.start', 'turn.end', 'claim', 'state', 'release'])
  })
})
