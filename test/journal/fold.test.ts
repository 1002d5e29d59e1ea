/** R12: the fold is pure. However a journal is split, stored, pruned and read back, the session is the same. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fold, loadSession, newSession, SESSION_FORMAT, type Session } from '../../src/journal/index.ts'
import { MAX_UNKNOWN } from '../../src/journal/session.ts'
import { type Entry, isInboxType } from '../../src/protocol/index.ts'
import type { Branch } from './author.ts'
import { plainJournal } from './conversation.ts'
import { forAll, PATIENCE, STORES, storeFixture } from './property.ts'
import { isParked, newReference, observe } from './reference-state.ts'

type Parked = NonNullable<Session['parked']>
const NOTHING: Parked = { calls: [], requests: [] }
const places = fc.array(fc.nat(1_000_000), { maxLength: 8 })

describe('the size of a session', () => {
  it('is the same after 10 turns and after 2,000, but for a few digits', () => {
    const [short, long] = [10, 2000].map((turns) => text(fold(plainJournal(turns))).length)
    expect(Math.abs((long ?? 0) - (short ?? 0))).toBeLessThan(40)
  })

  it(
    'does not depend on what was said, when nothing is open and nothing parked',
    PATIENCE,
    forAll({ fixture: storeFixture('memory'), share: 0.04 }, async (author, moves) => {
      await author.write([
        ...moves,
        { do: 'begin', takes: 0, together: false },
        { do: 'end', outcome: 'stop', tidy: false, wake: false },
      ])
      const { unknown = [], metadata: _, ...session } = fold(author.log)
      expect(JSON.stringify(session).length).toBeLessThan(640)
      expect(unknown.length).toBeLessThanOrEqual(MAX_UNKNOWN)
    }),
  )
})

describe.each(STORES)('the fold of a journal in the %s store', (name) => {
  const fixture = storeFixture(name)

  it(
    'is the same in any chunks',
    PATIENCE,
    forAll({ fixture, share: 0.05, extra: places }, async (author, moves, cuts) => {
      await author.write(moves)
      for (const { log } of author.branches) {
        const whole = text(fold(log))
        expect(
          text(chunksOf(log, cuts).reduce<Session>((session, part) => fold(part, session), newSession())),
        ).toBe(whole)
      }
    }),
  )

  it(
    'is the same from any snapshot, also after JSON',
    PATIENCE,
    forAll({ fixture, share: 0.05, extra: places }, async (author, moves, cuts) => {
      await author.write(moves)
      for (const { log } of author.branches) {
        const whole = text(fold(log))
        for (const cut of cuts) {
          const at = cut % (log.length + 1)
          const snapshot = fold(log.slice(0, at))
          const before = text(snapshot)
          expect(text(fold(log.slice(at), snapshot))).toBe(whole)
          expect(text(fold(log.slice(at), JSON.parse(before) as Session))).toBe(whole)
          expect(text(snapshot)).toBe(before)
        }
      }
    }),
  )

  it(
    'is what the store gives back, with and without snapshots',
    PATIENCE,
    forAll({ fixture, share: 0.08, extra: places }, async (author, moves, cuts) => {
      const { store } = fixture
      let step = 0
      await author.write(moves, async () => {
        step += 1
        if (cuts.some((cut) => cut % moves.length === step)) await saveSnapshot(author.branch)
      })
      for (const branch of author.branches)
        expect(await loaded(branch)).toEqual(expected(branch, await oldest(branch)))
      for (const { key } of author.branches) await store.dropSnapshots(key)
      for (const branch of author.branches)
        expect(await loaded(branch)).toEqual(expected(branch, await oldest(branch)))
    }),
  )

  it(
    'changes neither its entries nor the session that it started from',
    PATIENCE,
    forAll({ fixture, share: 0.02 }, async (author, moves) => {
      await author.write(moves)
      const entries = structuredClone(author.log)
      const middle = fold(entries.slice(0, entries.length >> 1))
      const before = text(middle)
      fold(entries.slice(entries.length >> 1), middle)
      expect(text(middle)).toBe(before)
      expect(entries).toEqual(author.log)
    }),
  )

  it(
    'holds open what nobody has settled, parked when a turn ended to wait for it',
    PATIENCE,
    forAll({ fixture, share: 0.05 }, async (author, moves) => {
      await author.write(moves)
      for (const { log } of author.branches) {
        const reference = newReference()
        for (let seq = 1; seq <= log.length; seq++) {
          for (const entry of log.slice(seq - 1, seq)) observe(reference, entry)
          const { open, parked } = fold(log.slice(0, seq))
          expect({
            inTurn: open !== undefined,
            parked: parked !== undefined,
            ...openIn(open ?? parked ?? NOTHING),
          }).toEqual({
            inTurn: reference.open,
            parked: isParked(reference),
            calls: reference.calls.map(({ callId, tool, malformed, state, answers, argsKey }) => ({
              callId,
              tool,
              malformed,
              state,
              answers,
              argsKey,
            })),
            requests: reference.requests,
          })
        }
      }
    }),
  )

  it(
    'counts what was used and tried, and remembers what is in doubt',
    PATIENCE,
    forAll({ fixture, share: 0.05 }, async (author, moves) => {
      await author.write(moves)
      for (const { log } of author.branches) {
        const reference = newReference()
        let session = newSession()
        for (const entry of log) {
          observe(reference, entry)
          session = fold([entry], session)
          expect(countsOf(session)).toEqual({
            ...(reference.open
              ? {
                  iteration: reference.iteration,
                  thinking: reference.thinking,
                  tokens: reference.tokens,
                  toolCalls: reference.toolCalls,
                  failures: reference.failures,
                }
              : {}),
            total: { tokens: reference.totalTokens, toolCalls: reference.totalToolCalls },
            unknown: reference.doubtful,
            cleared: reference.cleared,
            metadata: reference.metadata,
          })
        }
      }
    }),
  )

  it(
    'is moved by inbox entries in position and time only',
    PATIENCE,
    forAll({ fixture, share: 0.05 }, async (author, moves) => {
      await author.write(moves)
      for (const { seq, at } of author.log.slice(1).filter(({ type }) => isInboxType(type))) {
        const before = fold(author.log.slice(0, seq - 1))
        expect(fold(author.log.slice(0, seq))).toEqual({ ...before, seq, at })
      }
    }),
  )

  async function saveSnapshot({ key, log }: Branch): Promise<void> {
    const state = fold(log)
    await fixture.store.saveSnapshot(key, { seq: log.length, format: SESSION_FORMAT, state })
  }

  async function oldest({ key }: Branch): Promise<number> {
    return ((await fixture.store.base(key))?.data['upTo'] as number | undefined) ?? 0
  }

  /** The sessions loaded from the store, now and at earlier readable positions. */
  async function loaded(branch: Branch): Promise<string[]> {
    const sessions = [text(await loadSession(fixture.store, branch.key))]
    for (let at = await oldest(branch); at <= branch.log.length; at += 7)
      sessions.push(text(await loadSession(fixture.store, branch.key, at)))
    return sessions
  }
})

function expected({ log }: Branch, oldest: number): string[] {
  const sessions = [text(fold(log))]
  for (let at = oldest; at <= log.length; at += 7) sessions.push(text(fold(log.slice(0, at))))
  return sessions
}

function openIn({ calls, requests }: Parked): Record<string, unknown> {
  return {
    calls: calls.map(({ callId, tool, state, argsKey, malformed, answers = [] }) => ({
      callId,
      tool,
      malformed: malformed !== undefined,
      state,
      answers: answers.map(({ name = '', how }) => `${name}: ${how}`),
      argsKey,
    })),
    requests: requests.map(({ requestId, callId, name = '' }) => ({ requestId, callId, name })),
  }
}

function countsOf({ open, totals, unknown = [], cleared, metadata }: Session): Record<string, unknown> {
  const { iteration, thinking, toolCalls, failures, usage } = open ?? {}
  return {
    ...(open === undefined ? {} : { iteration, thinking, tokens: usage?.inputTokens, toolCalls, failures }),
    total: { tokens: totals.usage.inputTokens, toolCalls: totals.toolCalls },
    unknown,
    cleared,
    metadata,
  }
}

function text(session: Session): string {
  return JSON.stringify(session)
}

function chunksOf(log: readonly Entry[], cuts: readonly number[]): Entry[][] {
  const ends = [...cuts.map((cut) => cut % (log.length + 1)), log.length].sort((a, b) => a - b)
  return ends.map((end, index) => log.slice(ends[index - 1] ?? 0, end))
}
