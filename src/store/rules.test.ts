/** The rules of an append (R1, R2, R5), decided without any store. */
import { describe, expect, it } from 'vitest'
import type { JsonObject, NewEntry, NewInboxEntry } from '../protocol/index.ts'
import { newHead } from './head.ts'
import type { AppendRequest, Head } from './port.ts'
import {
  type AppendDecision,
  type AppendFacts,
  checkRequest,
  decideAppend,
  epochOf,
  MAX_PENDING,
  refuseRenewal,
} from './rules.ts'

const key = { tenant: 't', actor: 'a', contextId: 'c' }
const bare: AppendRequest = { key, id: 'id', since: 4 }
const claim = { driver: 'd', leaseMs: 100 }
const lease = { driver: 'e', leaseMs: 100, renewedAt: 1000 }
const idle: Head = { ...newHead(key, 500), seq: 4, at: 900, turn: 2, epoch: 7 }
const running: Head = { ...idle, status: 'running', lease }
const note: NewEntry = { type: 'note', turn: 2, data: { text: 'x', from: 'f' } }

function letter(name: string, data: JsonObject = { message: name }): NewInboxEntry {
  return { type: 'input', key: name, data }
}

function decide(more: Partial<AppendRequest>, facts: Partial<AppendFacts> = {}, now = 1050): AppendDecision {
  const known = { head: idle, earlier: false, inbox: new Map(), ...facts }
  const digestOf = (type: string, data: JsonObject) => `${type} ${JSON.stringify(data)}`
  return decideAppend({ ...bare, ...more }, known, { now, liveness: () => 'unknown', digestOf })
}

function accepted(decision: AppendDecision): Extract<AppendDecision, { kind: 'accepted' }> {
  if (decision.kind !== 'accepted') throw new Error(`It was ${decision.kind}.`)
  return decision
}

function refusal(decision: AppendDecision): string {
  return decision.kind === 'refused' ? decision.error.code : decision.kind
}

describe('an append', () => {
  it('adds letters, then the claim, then entries, all at one time', () => {
    const { entries, head } = accepted(
      decide({ inbox: [letter('k')], claim, entries: [{ ...note, takes: ['k'] }] }),
    )
    expect(entries).toEqual([
      { seq: 5, turn: 0, at: 1050, type: 'input', v: 1, key: 'k', data: { message: 'k' } },
      { seq: 6, turn: 0, at: 1050, type: 'claim', v: 2, data: { epoch: 8, ...claim, attempt: 1 } },
      { seq: 7, turn: 2, at: 1050, type: 'note', v: 1, takes: [5], data: note.data },
    ])
    expect(head).toMatchObject({
      seq: 7,
      at: 1050,
      epoch: 8,
      pending: 0,
      claims: 1,
      lease: { ...claim, renewedAt: 1050 },
    })
  })

  it('is refused if its writer has seen more than there is', () => {
    expect(decide({ since: 99, inbox: [letter('k')] })).toMatchObject({
      kind: 'refused',
      error: { code: 'moved' },
    })
  })

  it('creates what is not there, as somebody’s child if it is said', () => {
    const { head, entries } = accepted(
      decide({ since: 0, inbox: [letter('k')], parent: 'p' }, { head: undefined }),
    )
    expect(head).toEqual({
      ...newHead(key, 1050),
      seq: 1,
      at: 1050,
      pending: 1,
      parent: { contextId: 'p', kind: 'child', at: 0 },
    })
    expect(entries[0]?.seq).toBe(1)
    expect(accepted(decide({ inbox: [letter('k')], parent: 'p' })).head).not.toHaveProperty('parent')
  })

  it('never goes back in time, but a lease counts by the clock (R12)', () => {
    const { entries, head } = accepted(
      decide({ epoch: 7, entries: [note] }, { head: { ...running, at: 2000 } }),
    )
    expect(entries[0]?.at).toBe(2000)
    expect(head.lease?.renewedAt).toBe(1050)
  })

  it('leaves a lease alone that is not its own', () => {
    expect(accepted(decide({ inbox: [letter('k')] }, { head: running })).head.lease).toEqual(lease)
  })

  it('stores only marks that are there', () => {
    const { entries } = accepted(
      decide({
        claim,
        entries: [
          { ...note, takes: [], refs: [], v: 3 },
          { ...note, refs: ['r'], optional: true },
        ],
      }),
    )
    expect(entries[1]).toEqual({ seq: 6, turn: 2, at: 1050, type: 'note', v: 3, data: note.data })
    expect(entries[2]).toMatchObject({ refs: ['r'], optional: true })
  })

  it('gives an entry of an unknown type the first format, whatever it is called', () => {
    const { entries } = accepted(
      decide({
        claim,
        entries: [
          { ...note, type: 'constructor' },
          { ...note, type: 'x.future' },
        ],
      }),
    )
    expect(entries.slice(1).map(({ v }) => v)).toEqual([1, 1])
  })

  it('that is stored already is not decided again, not even for a lost epoch (R5)', () => {
    expect(decide({ epoch: 1, entries: [note] }, { earlier: true })).toEqual({ kind: 'repeated' })
    expect(
      refusal(decide({ epoch: 1, entries: [note] }, { earlier: true, head: { ...idle, status: 'erased' } })),
    ).toBe('erased')
  })
})

describe('ownership (R1)', () => {
  it('is needed to drive, and the newest epoch is', () => {
    expect(refusal(decide({ epoch: 7, entries: [note] }, { head: running }))).toBe('accepted')
    expect(refusal(decide({ epoch: 6, entries: [note] }, { head: running }))).toBe('fenced')
    expect(refusal(decide({ epoch: 8, entries: [note] }, { head: running }))).toBe('fenced')
    expect(refusal(decide({ epoch: 7, entries: [note] }))).toBe('fenced')
    expect(refusal(decide({ epoch: 1, entries: [note] }, { head: undefined }))).toBe('fenced')
  })

  it('that lapsed is still ownership until somebody else claims', () => {
    expect(refusal(decide({ epoch: 7, entries: [note] }, { head: running }, 999_999))).toBe('accepted')
  })

  it('is claimed only when nobody has it', () => {
    expect(refusal(decide({ claim }, { head: running }))).toBe('owned')
    expect(refusal(decide({ claim }, { head: running }, 1100))).toBe('accepted')
    expect(refusal(decide({ claim }))).toBe('accepted')
  })

  it('is claimed with entries only from where the journal stands', () => {
    expect(refusal(decide({ claim, entries: [note], since: 3 }))).toBe('moved')
    expect(refusal(decide({ claim, entries: [note], since: 5 }))).toBe('moved')
    expect(refusal(decide({ claim, since: 3 }))).toBe('accepted')
    expect(refusal(decide({ epoch: 7, entries: [note], since: 3 }, { head: running }))).toBe('accepted')
  })

  it('counts the claims that led nowhere (R7), in the open turn', () => {
    const { entries } = accepted(decide({ claim }, { head: { ...idle, status: 'paused', claims: 4 } }))
    expect(entries[0]).toMatchObject({ turn: 2, data: { attempt: 5, epoch: 8 } })
  })

  it('says who has it and until when', () => {
    const decision = decide({ claim }, { head: running })
    expect(decision).toMatchObject({
      error: { retry: 'later', details: { driver: 'e', epoch: 7, until: 1100 } },
    })
  })

  it('is renewed by the epoch that holds it only', () => {
    const renewal = { key, epoch: 7, since: 0 }
    expect(refuseRenewal(renewal, running)).toBe(undefined)
    expect(refuseRenewal({ ...renewal, epoch: 6 }, running)?.code).toBe('fenced')
    expect(refuseRenewal(renewal, idle)?.code).toBe('fenced')
    expect(refuseRenewal(renewal, undefined)?.code).toBe('fenced')
    expect(refuseRenewal(renewal, { ...running, status: 'erased' })?.code).toBe('erased')
  })

  it('is told in a receipt as it was when the append was made', () => {
    const claimed = [{ seq: 5, turn: 0, at: 1, type: 'claim', v: 1, data: { epoch: 3 } }]
    expect(epochOf({ ...bare, epoch: 2 }, [], idle)).toBe(2)
    expect(epochOf({ ...bare, claim }, claimed, idle)).toBe(3)
    expect(epochOf(bare, [], idle)).toBe(7)
  })
})

describe('the inbox (R2)', () => {
  const known = (taken: number, data: JsonObject = { message: 'k' }) =>
    new Map([['k', { seq: 3, taken, digest: `input ${JSON.stringify(data)}` }]])

  it('takes a letter once, however often it is posted', () => {
    expect(accepted(decide({ inbox: [letter('k')] }, { inbox: known(0) })).entries).toEqual([])
    expect(
      accepted(decide({ inbox: [letter('k'), letter('l')] }, { inbox: known(4) })).entries,
    ).toMatchObject([{ key: 'l', seq: 5 }])
  })

  it('refuses another letter under the same key', () => {
    expect(refusal(decide({ inbox: [letter('k')] }, { inbox: known(0, { message: 'other' }) }))).toBe(
      'key-reused',
    )
    expect(refusal(decide({ inbox: [{ ...letter('k'), type: 'cancel' }] }, { inbox: known(0) }))).toBe(
      'key-reused',
    )
  })

  it('gives each letter away once', () => {
    const taking = { claim, entries: [{ ...note, takes: ['k'] }] }
    expect(accepted(decide(taking, { inbox: known(0) })).entries[1]?.takes).toEqual([3])
    expect(refusal(decide(taking, { inbox: known(4) }))).toBe('not-pending')
    expect(refusal(decide(taking))).toBe('not-pending')
    expect(refusal(decide({ claim, entries: [{ ...note, takes: ['k', 'k'] }] }, { inbox: known(0) }))).toBe(
      'not-pending',
    )
    expect(
      refusal(
        decide(
          {
            claim,
            entries: [
              { ...note, takes: ['k'] },
              { ...note, takes: ['k'] },
            ],
          },
          { inbox: known(0) },
        ),
      ),
    ).toBe('not-pending')
  })

  it('gives a letter away that is posted a second time beside its taking', () => {
    const { entries } = accepted(
      decide({ inbox: [letter('k')], claim, entries: [{ ...note, takes: ['k'] }] }, { inbox: known(0) }),
    )
    expect(entries.map(({ type }) => type)).toEqual(['claim', 'note'])
    expect(entries[1]?.takes).toEqual([3])
  })

  it('fills up for inputs first, for cancels and answers later, and never for late results', () => {
    const post = (type: NewInboxEntry['type'], pending: number) =>
      refusal(decide({ inbox: [{ ...letter('k'), type }] }, { head: { ...idle, pending } }))
    expect([post('input', MAX_PENDING - 1), post('input', MAX_PENDING)]).toEqual(['accepted', 'inbox-full'])
    expect([
      post('cancel', MAX_PENDING),
      post('answer', 2 * MAX_PENDING - 1),
      post('cancel', 2 * MAX_PENDING),
      post('late-result', 2 * MAX_PENDING),
    ]).toEqual(['accepted', 'accepted', 'inbox-full', 'accepted'])
    const many = Array.from({ length: 3 }, (_, n) => letter(`k${n}`))
    expect(refusal(decide({ inbox: many }, { head: { ...idle, pending: MAX_PENDING - 2 } }))).toBe(
      'inbox-full',
    )
  })

  it('of an erased conversation takes nothing', () => {
    expect(refusal(decide({ inbox: [letter('k')] }, { head: { ...idle, status: 'erased' } }))).toBe('erased')
  })
})

describe('a request', () => {
  it.each<[string, Partial<AppendRequest>]>([
    ['a post', { inbox: [letter('k')] }],
    ['a claim', { claim }],
    ['driver entries', { epoch: 1, entries: [note] }],
    [
      'everything',
      { inbox: [letter('k')], claim, entries: [note, { ...note, type: 'x.my-own.entry', v: 9 }] },
    ],
  ])('may bring %s', (_, more) => {
    expect(() => checkRequest({ ...bare, ...more })).not.toThrow()
  })

  it.each<[string, Record<string, unknown>]>([
    ['nothing', {}],
    ['entries without an owner', { entries: [note] }],
    ['a claim and an epoch', { claim, epoch: 1 }],
    ['no position', { claim, since: undefined }],
    ['a position before the first', { claim, since: -1 }],
    ['half a position', { claim, since: 0.5 }],
    ['no id', { claim, id: '' }],
    ['an id that is too long', { claim, id: 'x'.repeat(257) }],
    ['a number as id', { claim, id: 7 }],
    ['the same letter twice', { inbox: [letter('k'), letter('k')] }],
    ['a letter without a key', { inbox: [letter('')] }],
    ['a letter of a type that is none', { inbox: [{ ...letter('k'), type: 'note' }] }],
    ['a letter among the driver’s entries', { epoch: 1, entries: [{ ...note, type: 'cancel' }] }],
    ['what only stores write', { epoch: 1, entries: [{ ...note, type: 'claim' }] }],
    ['a fork', { epoch: 1, entries: [{ ...note, type: 'fork' }] }],
    ['a base', { epoch: 1, entries: [{ ...note, type: 'base' }] }],
    ['a type that is no name', { epoch: 1, entries: [{ ...note, type: 'My Type' }] }],
    ['a type that is too long', { epoch: 1, entries: [{ ...note, type: 'x'.repeat(65) }] }],
    ['a turn before the first', { epoch: 1, entries: [{ ...note, turn: -1 }] }],
    ['a turn that is none', { epoch: 1, entries: [{ ...note, turn: Number.NaN }] }],
    ['a format before the first', { epoch: 1, entries: [{ ...note, v: 0 }] }],
    ['half a format', { epoch: 1, entries: [{ ...note, v: 1.5 }] }],
    ['a list as data', { epoch: 1, entries: [{ ...note, data: [] }] }],
    ['null as data', { epoch: 1, entries: [{ ...note, data: null }] }],
    ['no data', { epoch: 1, entries: [{ ...note, data: undefined }] }],
    ['a driver without a name', { claim: { ...claim, driver: '' } }],
    ['a lease of no time', { claim: { ...claim, leaseMs: 0 } }],
    ['a lease of more than a day', { claim: { ...claim, leaseMs: 86_400_001 } }],
    ['a lease of half a millisecond more', { claim: { ...claim, leaseMs: 100.5 } }],
    ['a lease of no number', { claim: { ...claim, leaseMs: Number.NaN } }],
  ])('may not bring %s', (_, more) => {
    expect(() => checkRequest({ ...bare, ...more })).toThrow(
      expect.objectContaining({ code: 'invalid-entry' }),
    )
  })
})
