/** Wall clocks that are set back and forth. `at` never decreases, leases neither stick nor get stolen (R1, R12). */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Liveness } from '../../src/base/index.ts'
import type { Receipt } from '../../src/store/index.ts'
import { type SqliteStore, sqliteStore } from '../../src/store/sqlite/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { codeOf, workplace } from './kit.ts'
import { keyOf, newId, post } from './talk.ts'

const place = workplace()
const key = keyOf('c')
const LEASE = 30_000
const HOUR = 3_600_000
const NOW = Date.UTC(2026, 0, 1)
let clock: ManualClock
let store: SqliteStore

beforeEach(() => {
  clock = new ManualClock(NOW)
  const liveness = (): Liveness => 'unknown'
  store = sqliteStore(place.path(), { synchronous: 'NORMAL', clock, liveness })
})

afterEach(async () => {
  await store.close()
})

const claim = (driver: string): Promise<Receipt> =>
  store.append({ key, id: newId(), since: 0, claim: { driver, leaseMs: LEASE } })
const note = (epoch: number) =>
  store.append({
    key,
    id: newId(),
    since: 0,
    epoch,
    entries: [{ type: 'note', turn: 0, data: { text: 'x', from: 't' } }],
  })

describe('when the clock is set back', () => {
  for (const jump of [1, 1000, LEASE, LEASE + 1, HOUR, 10 * 365 * 24 * HOUR]) {
    it(`by ${jump} ms, at never decreases`, async () => {
      const { epoch } = await claim('a')
      for (const step of [5, -jump, 3, jump * 2, -jump * 3, 0]) {
        clock.set(clock.now() + step)
        await note(epoch)
        await post(store, key, 'hello')
      }
      const times = (await store.read(key)).map(({ at }) => at)
      expect(times).toEqual([...times].sort((a, b) => a - b))
      expect(await store.rebuild(key)).toMatchObject({ repaired: false })
    })

    it(`by ${jump} ms, a driver that renews is not passed over`, async () => {
      const { epoch } = await claim('a')
      clock.set(NOW - jump)
      await store.renew({ key, epoch, since: 0 })
      expect(await codeOf(() => claim('b'))).toBe('owned')
      clock.advance(LEASE - 1)
      await store.renew({ key, epoch, since: 0 })
      clock.advance(LEASE - 1)
      expect(await codeOf(() => claim('b'))).toBe('owned')
      await note(epoch)
      clock.advance(LEASE - 1)
      expect(await codeOf(() => claim('b'))).toBe('owned')
    })

    it(`by ${jump} ms, the lease of a driver that is gone runs out within two leases`, async () => {
      await claim('a')
      clock.set(NOW - jump)
      let waited = 0
      while ((await codeOf(() => claim('b'))) === 'owned') {
        clock.advance(LEASE / 4)
        waited += LEASE / 4
      }
      expect(waited).toBeLessThanOrEqual(2 * LEASE)
      expect(await store.head(key)).toMatchObject({ epoch: 2, lease: { driver: 'b' } })
    })
  }

  it('the driver that was passed over is fenced, and what it appended stays', async () => {
    const first = await claim('a')
    await note(first.epoch)
    clock.set(NOW - HOUR)
    const second = await claim('b')
    expect(await codeOf(() => note(first.epoch))).toBe('fenced')
    expect(await codeOf(() => store.renew({ key, epoch: first.epoch, since: 0 }))).toBe('fenced')
    await note(second.epoch)
    expect((await store.read(key)).map(({ type }) => type)).toEqual(['claim', 'note', 'claim', 'note'])
  })

  it('an entry from the future does not hold the lease in the future', async () => {
    clock.set(NOW + 10 * HOUR)
    const { epoch } = await claim('a')
    clock.set(NOW)
    await note(epoch)
    expect(await store.head(key)).toMatchObject({ at: NOW + 10 * HOUR, lease: { renewedAt: NOW } })
    clock.advance(LEASE)
    expect(await codeOf(() => claim('b'))).toBe('ok')
  })

  it('a wake time stays where it was', async () => {
    const { epoch } = await claim('a')
    const wakeAt = NOW + HOUR
    const release = { type: 'release', turn: 0, data: { reason: 'later', wakeAt } }
    await store.append({ key, id: newId(), since: 0, epoch, entries: [release] })
    clock.set(NOW - HOUR)
    expect(await store.due()).toEqual([])
    clock.set(wakeAt)
    expect(await store.due()).toMatchObject([{ key }])
  })
})

describe('when the clock jumps ahead', () => {
  it('a lease that nobody renews has run out, and one that is renewed has not', async () => {
    const { epoch } = await claim('a')
    clock.set(NOW + HOUR)
    await store.renew({ key, epoch, since: 0 })
    expect(await codeOf(() => claim('b'))).toBe('owned')
    clock.set(NOW + 2 * HOUR)
    expect(await codeOf(() => claim('b'))).toBe('ok')
    expect(await codeOf(() => note(epoch))).toBe('fenced')
  })

  it('and comes back, at stays ahead and everything goes on', async () => {
    clock.set(NOW + HOUR)
    await post(store, key, 'from the future')
    clock.set(NOW)
    const { epoch } = await claim('a')
    await note(epoch)
    expect((await store.read(key)).map(({ at }) => at - NOW)).toEqual([HOUR, HOUR, HOUR])
    expect(await store.list({ owner: key })).toMatchObject({ heads: [{ at: NOW + HOUR }] })
  })
})

describe('two processes with different clocks', () => {
  it('agree on order, and neither can drive while the other renews', async () => {
    const ahead = new ManualClock(NOW + LEASE / 2)
    const other = sqliteStore(store.path, { synchronous: 'NORMAL', clock: ahead, liveness: () => 'unknown' })
    const { epoch } = await claim('a')
    for (let i = 0; i < 10; i++) {
      clock.advance(LEASE / 4)
      ahead.advance(LEASE / 4)
      await store.renew({ key, epoch, since: 0 })
      await post(other, key, `from the other ${i}`)
      const taken = () => other.append({ key, id: newId(), since: 0, claim: { driver: 'b', leaseMs: LEASE } })
      expect(await codeOf(taken)).toBe('owned')
    }
    const times = (await store.read(key)).map(({ at }) => at)
    expect(times).toEqual([...times].sort((a, b) => a - b))
    await other.close()
  })
})
