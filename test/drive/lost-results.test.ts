/** No result of an effect is lost with the turn that it ran in: it is stored, or posted as late (R4, S6). */
import { describe, expect, it } from 'vitest'
import { systemClock, systemIds, systemTimer } from '../../src/base/index.ts'
import { Driver } from '../../src/drive/driver.ts'
import type { DriverOptions } from '../../src/drive/driver-options.ts'
import type { Batch } from '../../src/loop/index.ts'
import { HoldfastError, type Json, LOCAL_OWNER } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { faultyStore } from '../../src/testing/faulty-store.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { decorate } from '../ownership/decorate.ts'
import { bench, calls, gate, journal, KEY, type Probe, probe, quiet, until } from '../turn/kit.ts'
import { NO_PENDING_WORK } from './no-pending-work.ts'

const BEAT_MS = 10_000

/** A tool that ends when the test says so. */
function held(name: string, different: Parameters<typeof probe>[2] = {}) {
  const { promise, resolve } = gate<Json>()
  const tool: Probe = probe(name, () => promise, { replay: 'never', ...different })
  return { tool, end: resolve }
}

/** Takes the conversation from its owner and releases it. */
async function fence(store: Store): Promise<void> {
  const { epoch = 0, seq = 0, turn = 0 } = (await store.head(KEY)) ?? {}
  const claim = { driver: 'operator', leaseMs: 1, force: true } as const
  const taken = await store.append({ key: KEY, id: `claim after ${epoch}`, since: seq, claim })
  const release = { type: 'release', turn, data: { reason: 'taken over' } }
  const id = `release of ${taken.epoch}`
  await store.append({ key: KEY, id, since: taken.last, epoch: taken.epoch, entries: [release] })
}

/** The ends and late results of calls, in the order of the journal. */
async function endsIn(store: Store): Promise<string[]> {
  const lines = (await journal(store)).map((line) => line.replace(/^\d+ | takes .*/g, ''))
  return lines.filter((line) => /^(tool\.end|tool\.late|late-result)/.test(line))
}

describe('the result of a lost turn', () => {
  it('is posted after the new driver has settled its call as unknown, while this one follows it', async () => {
    const pay = held('pay')
    const script = [calls('pay'), 'Unclear', 'Paid']
    const { agent, store, clock, another } = bench({ script, tools: [pay.tool] })
    void agent.executeTurn('Pay').outcome
    await until('it is paid', () => pay.tool.ran.length === 1)
    await fence(store)
    const next = another()
    await next.start()
    expect((await next.turn?.outcome)?.text).toBe('Unclear')
    clock.advance(BEAT_MS)
    await quiet()
    pay.end('receipt 7')
    await quiet()
    await next.executeTurn('And now?').outcome
    expect(await endsIn(store)).toEqual([
      'tool.end call_1 unknown',
      'late-result call_1 ok',
      'tool.late call_1 ok',
    ])
  })

  it('is posted for each of two calls', async () => {
    const [pay, ship] = [held('pay'), held('ship')]
    const script = [calls('pay', 'ship'), 'Unclear', 'Done']
    const { agent, store, clock, another } = bench({ script, tools: [pay.tool, ship.tool] })
    void agent.executeTurn('Pay and ship').outcome
    await until('both run', () => ship.tool.ran.length === 1)
    await fence(store)
    const next = another()
    await next.start()
    await next.turn?.outcome
    clock.advance(BEAT_MS)
    await quiet()
    pay.end('receipt 7')
    await quiet()
    ship.end('parcel 8')
    await quiet()
    await next.executeTurn('And now?').outcome
    expect((await endsIn(store)).slice(2)).toEqual([
      'late-result call_1 ok',
      'late-result call_2 ok',
      'tool.late call_1 ok',
      'tool.late call_2 ok',
    ])
  })

  it('is posted by a process that claims again while its tool still runs', async () => {
    const pay = held('pay')
    const { agent, store, clock } = bench({ script: [calls('pay'), 'Unclear', 'Paid'], tools: [pay.tool] })
    const turn = agent.executeTurn('Pay')
    await until('it is paid', () => pay.tool.ran.length === 1)
    await fence(store)
    clock.advance(BEAT_MS)
    await quiet()
    // The grace, and a heartbeat of the pump.
    clock.advance(BEAT_MS)
    expect((await turn.outcome).text).toBe('Unclear')
    pay.end('receipt 7')
    await quiet()
    await agent.executeTurn('And now?').outcome
    expect(await endsIn(store)).toEqual([
      'tool.end call_1 unknown',
      'late-result call_1 ok',
      'tool.late call_1 ok',
    ])
    expect(pay.tool.ran).toHaveLength(1)
  })

  it('is posted when it comes after its time limit', async () => {
    const [pay, ship] = [held('pay', { timeoutMs: BEAT_MS }), held('ship')]
    const script = [calls('pay', 'ship'), 'Unclear', 'Paid']
    const { agent, store, clock } = bench({ script, tools: [pay.tool, ship.tool] })
    const turn = agent.executeTurn('Pay and ship')
    await until('both run', () => ship.tool.ran.length === 1)
    await fence(store)
    ship.end('parcel 8')
    await quiet()
    clock.advance(BEAT_MS)
    await quiet()
    clock.advance(BEAT_MS)
    await turn.outcome
    pay.end('receipt 7')
    await quiet()
    await agent.executeTurn('And now?').outcome
    expect(await endsIn(store)).toEqual([
      'late-result call_2 ok',
      'tool.end call_1 unknown',
      'tool.end call_2 ok',
      'late-result call_1 ok',
      'tool.late call_1 ok',
    ])
  })
})

it('a result is posted if the loop fails before its batch', async () => {
  const { driver, store } = await driving(async function* (scope) {
    yield START
    scope.ended('call_1', { status: 'ok', output: 'receipt 7' })
    throw new HoldfastError('store-full', { message: 'A read of the loop failed.' })
  })
  await driver.step()
  await expect(driver.step()).rejects.toThrow('A read of the loop failed.')
  expect((await journal(store)).slice(3)).toEqual(['4 late-result call_1 ok', '5 release trouble'])
})

describe('an owner that cannot go on releases the conversation', () => {
  it.each(['fenced', 'erased'] as const)('when another journal refuses a write as %s', async (code) => {
    const { driver, store } = await driving(async function* () {
      yield START
      throw new HoldfastError(code, { message: 'Another journal was refused.' })
    })
    await driver.step()
    await driver.step().catch(() => {})
    expect((await journal(store)).slice(3)).toEqual(['4 release trouble'])
  })

  it('when every reply to its claim was lost', async () => {
    const store = faultyStore(memoryStore(), [{ at: (_, n) => n > 1 && n < 7, how: 'fail', when: 'after' }])
    const { driver } = await driving(async function* () {
      yield START
      return true
    }, store)
    await expect(driver.step()).rejects.toMatchObject({ code: 'ambiguous' })
    expect((await journal(store)).slice(1)).toEqual([
      '2 claim 1',
      '3 turn.start takes 1',
      '4 release trouble',
    ])
    expect(driver.ownership.state.is).toBe('free')
  })
})

describe('an effect whose lease must be renewed first', () => {
  const failingRenewals = (failures: number) => {
    const memory = faultyStore(memoryStore(), [{ at: 2, how: 'fail', when: 'after' }])
    const renew: Store['renew'] = (request) =>
      failures-- > 0 ? Promise.reject(new Error('connection reset')) : memory.renew(request)
    return decorate(memory, { renew })
  }

  it('starts when the store can renew it again', async () => {
    let ran = 0
    const { driver } = await driving(async function* (scope) {
      yield START
      await scope.ensureLease()
      ran += 1
      return true
    }, failingRenewals(2))
    await driver.step()
    await driver.step()
    expect([ran, driver.ownership.state.is]).toEqual([1, 'holding'])
  })

  it('fails as a failure of the store, which leaves its turn open, if the store cannot', async () => {
    const { driver } = await driving(async function* (scope) {
      yield START
      await scope.ensureLease()
      return true
    }, failingRenewals(5))
    await driver.step()
    await expect(driver.step()).rejects.toMatchObject({ code: 'store-failed', retry: 'later' })
  })
})

it('a process that was frozen asks no model for a turn that it has lost', async () => {
  const clock = new ManualClock(1000)
  const memory = memoryStore({ clock })
  let isFrozen = false
  const store = decorate(memory, {
    append: async (request) => {
      const receipt = await memory.append(request)
      if (isFrozen || !request.entries?.some(({ type }) => type === 'model.start')) return receipt
      isFrozen = true
      await fence(memory)
      clock.advance(2 * BEAT_MS)
      return receipt
    },
  })
  const model = new ScriptedModel(['Hello'])
  // Its timers do not fire while it is frozen.
  const { agent } = bench({ model, store, clock, timer: new ManualClock() })
  expect((await agent.executeTurn('Hi').outcome).text).toBe('Hello')
  expect((await journal(memory)).slice(4)).toEqual([
    ...['5 claim 2', '6 release taken over', '7 claim 3'],
    ...['8 model.start 1', '9 model.end "Hello"', '10 turn.end stop'],
  ])
  expect(model.calls).toHaveLength(1)
})

const START: Batch = {
  entries: [{ type: 'turn.start', turn: 1, data: { principal: LOCAL_OWNER }, takes: ['in1'] }],
  next: 'tools',
  stored: () => {},
  refused: () => undefined,
}

/** A driver of a conversation with one input. */
async function driving(run: DriverOptions['run'], store: Store = memoryStore()) {
  await store.append({ key: KEY, id: 'first', since: 0, inbox: [{ type: 'input', key: 'in1', data: {} }] })
  return { driver: driverOf(store, run), store }
}

function driverOf(store: Store, run: DriverOptions['run']): Driver {
  const time = { clock: systemClock, timer: systemTimer, ids: systemIds }
  const definition = { requestTtlMs: 60_000, maxClaims: 5, graceMs: 1000 }
  const lease = { leaseMs: 30_000, heartbeatMs: 10_000, autoSave: true }
  const ports = { onEntry: () => {}, emit: () => {}, pending: NO_PENDING_WORK }
  return new Driver({ key: KEY, store, driver: 'A', definition, run, ...time, ...lease, ...ports })
}
