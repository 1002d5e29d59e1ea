/** Fork, prune and rebuild (R6, R15): decisions that all stores share. */
import { describe, expect, it } from 'vitest'
import type { Entry, Position } from '../protocol/index.ts'
import { newHead } from './head.ts'
import { baseEntry, forkEntry, forkHead, headFrom, sameHead } from './history.ts'
import type { Head } from './port.ts'

const key = { tenant: 't', actor: 'a', contextId: 'c' }
const child = { ...key, contextId: 'd' }
const position: Position = {
  at: 800,
  turn: 4,
  epoch: 6,
  claims: 2,
  running: true,
  createdAt: 100,
  activeAt: 700,
}
const head: Head = { ...newHead(key, 100), seq: 20, at: 900, turn: 4, status: 'running', epoch: 6 }

describe('a fork', () => {
  const request = { parent: key, child, at: 12, position }
  const facts = { parent: head, child: undefined, parentBase: 0 }

  it('begins with an entry after the fork point, not before the time of the parent', () => {
    const data = { parent: 'c', at: 12, position }
    expect(forkEntry(request, facts, 5000)).toEqual({ seq: 13, turn: 0, at: 5000, type: 'fork', v: 1, data })
    expect(forkEntry(request, facts, 5).at).toBe(800)
  })

  it('has a head that stands where the parent stood, paused and nobody’s', () => {
    expect(forkHead(request, forkEntry(request, facts, 5000))).toEqual({
      ...newHead(child, 5000),
      seq: 13,
      at: 5000,
      turn: 4,
      epoch: 6,
      status: 'paused',
      parent: { contextId: 'c', kind: 'fork', at: 12 },
    })
  })

  it.each([
    ['of another tenant', { ...request, child: { ...child, tenant: 'u' } }, facts, 'invalid-key'],
    ['of another actor', { ...request, child: { ...child, actor: 'b' } }, facts, 'invalid-key'],
    ['of nobody', request, { ...facts, parent: undefined }, 'not-found'],
    ['of an erased one', request, { ...facts, parent: { ...head, status: 'erased' as const } }, 'erased'],
    ['into one that exists', request, { ...facts, child: head }, 'exists'],
    [
      'into one that was erased',
      request,
      { ...facts, child: { ...head, status: 'erased' as const } },
      'erased',
    ],
    ['before the beginning', { ...request, at: 0 }, facts, 'not-found'],
    ['after the end', { ...request, at: 21 }, facts, 'not-found'],
    ['between entries', { ...request, at: 1.5 }, facts, 'not-found'],
    ['where the past is gone', request, { ...facts, parentBase: 13 }, 'pruned'],
  ])('%s is refused', (...[, asked, known, code]) => {
    expect(() => forkEntry(asked, known, 5000)).toThrow(expect.objectContaining({ code }))
  })

  it('is possible at both ends and at a base', () => {
    for (const at of [1, 20]) expect(forkEntry({ ...request, at }, facts, 5000).seq).toBe(at + 1)
    expect(forkEntry(request, { ...facts, parentBase: 12 }, 5000).seq).toBe(13)
  })
})

describe('a prune', () => {
  const session = { seq: 12, said: 'so far' }
  const request = { key, upTo: 12, position, session }
  const facts = { head, forkedAt: 0, needed: undefined, kept: 3 }

  it('appends a base with the fold, after everything else', () => {
    const data = { upTo: 12, kept: 3, position, session }
    expect(baseEntry(request, facts, 5000)).toEqual({ seq: 21, turn: 0, at: 5000, type: 'base', v: 1, data })
    expect(baseEntry(request, facts, 5)?.at).toBe(900)
  })

  it('keeps who owns the conversation and when it wants to be woken', () => {
    const busy = { ...head, lease: { driver: 'd', leaseMs: 50, renewedAt: 880 }, wakeAt: 7 }
    expect(baseEntry(request, { ...facts, head: busy }, 5000)?.data['position']).toEqual({
      ...position,
      lease: { driver: 'd', leaseMs: 50 },
      wakeAt: 7,
    })
  })

  it('does nothing twice', () => {
    expect(baseEntry(request, { ...facts, head: { ...head, base: 12 } }, 5000)).toBe(undefined)
    expect(baseEntry(request, { ...facts, head: { ...head, base: 15 } }, 5000)).toBe(undefined)
    expect(baseEntry(request, { ...facts, head: { ...head, base: 11 } }, 5000)).toBeDefined()
  })

  it.each([
    ['of nobody', request, { ...facts, head: undefined }, 'not-found'],
    ['of an erased one', request, { ...facts, head: { ...head, status: 'erased' as const } }, 'erased'],
    ['beyond the end', { ...request, upTo: 21 }, facts, 'not-found'],
    ['between entries', { ...request, upTo: 1.5 }, facts, 'not-found'],
    ['of what is the parent’s', request, { ...facts, forkedAt: 12 }, 'not-found'],
    ['of what is needed', request, { ...facts, needed: 12 }, 'in-use'],
  ])('%s is refused', (...[, asked, known, code]) => {
    expect(() => baseEntry(asked, known, 5000)).toThrow(expect.objectContaining({ code }))
  })

  it('says how far it may go', () => {
    expect(() => baseEntry(request, { ...facts, needed: 9 }, 5000)).toThrow(
      expect.objectContaining({ details: { upTo: 12, needed: 9 } }),
    )
    expect(baseEntry(request, { ...facts, needed: 13 }, 5000)).toBeDefined()
    expect(baseEntry(request, { ...facts, forkedAt: 11 }, 5000)).toBeDefined()
  })
})

describe('a head from its journal', () => {
  const entry = (seq: number, type: string, data: Entry['data'] = {}): Entry => ({
    seq,
    turn: 1,
    at: 100 * seq,
    type,
    v: 1,
    data,
  })

  it('of no entries is no head', () => {
    expect(headFrom(head, undefined, [])).toBe(undefined)
  })

  it('is born with its first entry', () => {
    expect(headFrom(head, undefined, [entry(1, 'input'), entry(2, 'input')])).toEqual({
      ...newHead(key, 100),
      seq: 2,
      at: 200,
      pending: 2,
    })
  })

  it('goes on from its base, and from the position of a fork', () => {
    const start = { ...newHead(key, 100), turn: 4, epoch: 6, activeAt: 700, status: 'running', claims: 0 }
    const base = { ...entry(9, 'base'), data: { upTo: 5, position, session: {} } }
    expect(headFrom(head, base, [entry(6, 'tool.end')])).toEqual({ ...start, seq: 6, at: 600 })
    const fork = { ...entry(6, 'fork'), data: { parent: 'p', at: 5, position } }
    expect(headFrom(head, undefined, [fork])).toEqual({
      ...start,
      seq: 6,
      at: 600,
      status: 'paused',
      createdAt: 600,
      activeAt: 600,
    })
  })

  it('keeps whose child it is: no entry says that', () => {
    const parent = { contextId: 'p', kind: 'child', at: 0 } as const
    expect(headFrom({ ...head, parent }, undefined, [entry(1, 'input')])?.parent).toEqual(parent)
  })
})

describe('two heads', () => {
  const lease = { driver: 'd', leaseMs: 50, renewedAt: 1 }
  const parent = { contextId: 'p', kind: 'fork', at: 3 } as const
  const full: Head = { ...head, lease, parent, outcome: 'stop', wakeAt: 5 }

  it('are the same whenever their leases were renewed', () => {
    expect(sameHead(full, { ...full, lease: { ...lease, renewedAt: 99 } })).toBe(true)
    expect(sameHead(head, JSON.parse(JSON.stringify(head)) as Head)).toBe(true)
  })

  it.each<[string, Partial<Record<keyof Head, unknown>>]>([
    ['key', { key: child }],
    ['seq', { seq: 21 }],
    ['at', { at: 901 }],
    ['turn', { turn: 5 }],
    ['status', { status: 'paused' }],
    ['outcome', { outcome: 'limit' }],
    ['no outcome', { outcome: undefined }],
    ['epoch', { epoch: 7 }],
    ['driver', { lease: { ...lease, driver: 'e' } }],
    ['leaseMs', { lease: { ...lease, leaseMs: 51 } }],
    ['no lease', { lease: undefined }],
    ['claims', { claims: 1 }],
    ['wakeAt', { wakeAt: 6 }],
    ['pending', { pending: 1 }],
    ['base', { base: 1 }],
    ['parent', { parent: { ...parent, at: 4 } }],
    ['createdAt', { createdAt: 101 }],
    ['activeAt', { activeAt: 101 }],
  ])('differ by their %s', (_, change) => {
    expect(sameHead(full, { ...full, ...change } as Head)).toBe(false)
    expect(sameHead({ ...full, ...change } as Head, full)).toBe(false)
  })
})
