/** When ownership lapses (R1), and when a conversation needs a driver (R6). */
import { describe, expect, it } from 'vitest'
import type { Liveness } from '../base/index.ts'
import { newHead } from './head.ts'
import { isDue, isLapsed, isOwned, type LeaseJudge } from './lease.ts'
import type { Head } from './port.ts'

const lease = { driver: 'd', renewedAt: 10_000, leaseMs: 1000 }
const key = { tenant: 't', actor: 'a', contextId: 'c' }

function judge(now: number, liveness: Liveness = 'unknown'): LeaseJudge {
  return { now, liveness: () => liveness }
}

function head(more: Partial<Head>): Head {
  return { ...newHead(key, 0), ...more }
}

describe('a lease', () => {
  it('holds for its time from the last renewal', () => {
    expect([10_000, 10_999, 11_000].map((now) => isLapsed(lease, judge(now)))).toEqual([false, false, true])
  })

  it('lapses at once when its process is dead, and never sooner because it is alive', () => {
    expect(isLapsed(lease, judge(10_000, 'dead'))).toBe(true)
    expect(isLapsed(lease, judge(10_000, 'alive'))).toBe(false)
    expect(isLapsed(lease, judge(11_000, 'alive'))).toBe(true)
  })

  it('survives a clock that was set back a little, but not one that was set back far', () => {
    expect([9999, 9000, 8999].map((now) => isLapsed(lease, judge(now)))).toEqual([false, false, true])
  })

  it('asks for the liveness of its own driver', () => {
    const asked: string[] = []
    const liveness = (driver: string): Liveness => {
      asked.push(driver)
      return 'alive'
    }
    isLapsed(lease, { now: 10_500, liveness })
    expect(asked).toEqual(['d'])
  })

  it('makes a conversation owned while it holds', () => {
    expect(isOwned(head({}), judge(10_000))).toBe(false)
    expect(isOwned(head({ lease }), judge(10_000))).toBe(true)
    expect(isOwned(head({ lease }), judge(11_000))).toBe(false)
  })
})

describe('a conversation wants a driver', () => {
  it.each<[string, Partial<Head>, boolean]>([
    ['when it rests', {}, false],
    ['when something is in its inbox', { pending: 1 }, true],
    ['when its turn has no owner', { status: 'running' }, true],
    ['when its turn has an owner', { status: 'running', lease }, false],
    ['when its owner has not looked into the inbox yet', { status: 'running', lease, pending: 3 }, false],
    ['when its owner is gone', { status: 'running', lease: { ...lease, renewedAt: 0 } }, true],
    ['when its turn sleeps', { status: 'running', wakeAt: 10_001 }, false],
    ['when its turn sleeps and something has come', { status: 'running', wakeAt: 10_001, pending: 1 }, true],
    ['when its wake time has come', { status: 'running', wakeAt: 10_000 }, true],
    ['when it rests and its wake time has come', { wakeAt: 9000 }, true],
    ['when it waits for somebody', { status: 'waiting' }, false],
    ['when it waits and something has come', { status: 'waiting', pending: 1 }, true],
    ['when it is paused', { status: 'paused', pending: 5 }, false],
    ['when it is paused until now', { status: 'paused', wakeAt: 10_000 }, true],
    ['when it was erased', { status: 'erased', pending: 1, wakeAt: 1 }, false],
  ])('%s', (_, more, due) => {
    expect(isDue(head(more), judge(10_000))).toBe(due)
  })
})
