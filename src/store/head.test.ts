/** R6: the head row as a function of the journal, entry by entry. */
import { describe, expect, it } from 'vitest'
import type { Entry, JsonObject, OutcomeReason, Position } from '../protocol/index.ts'
import { advanceHead, headAt, newHead } from './head.ts'
import type { Head } from './port.ts'

const key = { tenant: 't', actor: 'a', contextId: 'c' }
const fresh = newHead(key, 500)
const lease = { driver: 'd', renewedAt: 900, leaseMs: 50 }
const owned: Head = {
  ...fresh,
  seq: 4,
  at: 900,
  turn: 1,
  status: 'running',
  epoch: 2,
  lease,
  claims: 3,
  wakeAt: 7,
}

/** The data of an entry, and its other fields. */
type TestEntry = { entry?: Partial<Entry>; [field: string]: unknown }

function next(head: Head, type: string, { entry, ...data }: TestEntry = {}): Head {
  return advanceHead(head, {
    seq: head.seq + 1,
    turn: 1,
    at: 1000,
    type,
    v: 1,
    data: data as JsonObject,
    ...entry,
  })
}

function changes(head: Head, type: string, parts: TestEntry = {}): Partial<Head> {
  const after = next(head, type, parts)
  const names = new Set([...Object.keys(head), ...Object.keys(after)]) as Set<keyof Head>
  const changed = [...names].filter((name) => JSON.stringify(head[name]) !== JSON.stringify(after[name]))
  return Object.fromEntries(changed.map((name) => [name, after[name]]))
}

const moved = { seq: 5, at: 1000 }
const renewed = { lease: { ...lease, renewedAt: 1000 } }

describe('a head', () => {
  it('begins idle', () => {
    expect(fresh).toStrictEqual({
      key,
      seq: 0,
      at: 0,
      turn: 0,
      status: 'idle',
      epoch: 0,
      claims: 0,
      pending: 0,
      base: 0,
      createdAt: 500,
      activeAt: 500,
    })
  })

  it('is not changed in place', () => {
    const before = JSON.stringify(owned)
    next(owned, 'turn.end', { outcome: 'stop' })
    next(owned, 'claim', { epoch: 3, driver: 'e', leaseMs: 9, attempt: 4 })
    expect(JSON.stringify(owned)).toBe(before)
  })

  it.each(['input', 'answer', 'cancel', 'late-result'])(
    'counts %s as pending and keeps the lease as it is (R2)',
    (type) => {
      expect(changes(owned, type)).toStrictEqual({ ...moved, pending: 1 })
    },
  )

  it('counts what is taken as no longer pending', () => {
    expect(changes({ ...owned, pending: 3 }, 'take', { entry: { takes: [1, 2] } })).toStrictEqual({
      ...moved,
      ...renewed,
      pending: 1,
    })
  })

  it.each(['model.start', 'tool.start', 'warning', 'note', 'phase', 'tool.late', 'x.future'])(
    'is renewed by %s, but that is no progress (R7)',
    (type) => {
      expect(changes(owned, type)).toStrictEqual({ ...moved, ...renewed })
    },
  )

  it.each(['model.end', 'tool.end', 'request.start', 'request.end', 'compact'])(
    'is renewed by %s, and that is progress',
    (type) => {
      expect(changes(owned, type)).toStrictEqual({ ...moved, ...renewed, claims: 0 })
    },
  )

  it('is claimed under a new epoch and sleeps no longer', () => {
    const claim = { epoch: 3, driver: 'e', leaseMs: 99, attempt: 4 }
    const expected = {
      ...moved,
      epoch: 3,
      lease: { driver: 'e', leaseMs: 99, renewedAt: 1000 },
      claims: 4,
      wakeAt: undefined,
    }
    expect(changes(owned, 'claim', claim)).toStrictEqual(expected)
    expect(changes({ ...owned, status: 'paused' }, 'claim', claim)).toStrictEqual({
      ...expected,
      status: 'running',
    })
    expect(next({ ...owned, status: 'waiting' }, 'claim', claim).status).toBe('waiting')
  })

  it('that waits is woken in time, whoever owns it meanwhile; a turn or a clear ends the wait', () => {
    const waiting: Head = { ...owned, status: 'waiting' }
    const claimed = next(waiting, 'claim', { epoch: 3, driver: 'e', leaseMs: 9, attempt: 4 })
    expect(next(claimed, 'release', { reason: 'idle' }).wakeAt).toBe(7)
    expect(next(claimed, 'turn.start').wakeAt).toBe(undefined)
    expect(changes({ ...waiting, outcome: 'input-required' }, 'clear')).toStrictEqual({
      ...moved,
      ...renewed,
      claims: 0,
      status: 'idle',
      outcome: undefined,
      wakeAt: undefined,
    })
  })

  it('is released, to sleep or to pause', () => {
    expect(changes(owned, 'release', { reason: 'r' })).toStrictEqual({ ...moved, lease: undefined })
    expect(changes(owned, 'release', { reason: 'r', wakeAt: 9 })).toStrictEqual({
      ...moved,
      lease: undefined,
      wakeAt: 9,
    })
    expect(next(owned, 'release', { reason: 'r', wakeAt: 9.2 }).wakeAt).toBe(10)
    expect(changes(owned, 'release', { reason: 'r', pause: true })).toStrictEqual({
      ...moved,
      lease: undefined,
      status: 'paused',
      claims: 0,
    })
    expect(next({ ...owned, status: 'idle' }, 'release', { reason: 'r', pause: true }).status).toBe('idle')
  })

  it('runs from the start of a turn', () => {
    expect(changes({ ...owned, status: 'waiting' }, 'turn.start', { entry: { turn: 2 } })).toStrictEqual({
      ...moved,
      ...renewed,
      turn: 2,
      status: 'running',
      wakeAt: undefined,
      activeAt: 1000,
      claims: 0,
    })
  })

  it.each<[OutcomeReason, Head['status']]>([
    ['stop', 'idle'],
    ['max-iterations', 'idle'],
    ['limit', 'idle'],
    ['failed', 'idle'],
    ['cancelled', 'idle'],
    ['input-required', 'waiting'],
    ['auth-required', 'waiting'],
  ])('after a turn that ended with %s is %s', (outcome, status) => {
    expect(changes(owned, 'turn.end', { outcome })).toStrictEqual({
      ...moved,
      lease: undefined,
      outcome,
      status,
      claims: 0,
    })
    expect(next(owned, 'turn.end', { outcome, wakeAt: 99 }).wakeAt).toBe(99)
  })

  it('learns from a base what is gone, and nothing else', () => {
    expect(changes(owned, 'base', { upTo: 3 })).toStrictEqual({ ...moved, base: 3 })
    expect(next({ ...owned, base: 9 }, 'base', { upTo: 3 }).base).toBe(9)
  })

  it('of a fork is born now, is nobody’s, and does not run by itself', () => {
    expect(changes(owned, 'fork')).toStrictEqual({
      ...moved,
      lease: undefined,
      createdAt: 1000,
      activeAt: 1000,
      status: 'paused',
      claims: 0,
    })
    expect(next({ ...owned, status: 'idle' }, 'fork').status).toBe('idle')
  })
})

describe('a head at a position', () => {
  const position: Position = {
    at: 800,
    turn: 4,
    epoch: 6,
    claims: 2,
    running: false,
    createdAt: 100,
    activeAt: 700,
  }
  const rest = {
    key,
    seq: 9,
    at: 800,
    turn: 4,
    epoch: 6,
    claims: 2,
    pending: 0,
    base: 0,
    createdAt: 100,
    activeAt: 700,
  }

  it('is what the position says', () => {
    expect(headAt(key, 9, position)).toStrictEqual({ ...rest, status: 'idle' })
    expect(headAt(key, 9, { ...position, running: true })).toStrictEqual({ ...rest, status: 'running' })
    expect(headAt(key, 9, { ...position, outcome: 'auth-required' })).toStrictEqual({
      ...rest,
      status: 'waiting',
      outcome: 'auth-required',
    })
  })

  it('holds the lease and the wake time that a base kept', () => {
    expect(headAt(key, 9, { ...position, lease: { driver: 'd', leaseMs: 50 }, wakeAt: 7 })).toStrictEqual({
      ...rest,
      status: 'idle',
      lease: { driver: 'd', leaseMs: 50, renewedAt: 800 },
      wakeAt: 7,
    })
  })
})
