/** R12: the fold is pure. However a journal is cut up, stored, pruned and read back, the session is the same, byte for byte. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fold, loadSession, newSession, SESSION_FORMAT, type Session } from '../../src/journal/index.ts'
import { MAX_UNKNOWN } from '../../src/journal/session.ts'
import { type Entry, isInboxType } from '../../src/protocol/index.ts'
import type { Branch } from './author.ts'
import { plainJournal } from './conversation.ts'
import { isParked, newLedger, observe } from './ledger.ts'
import { forAll, PATIENCE, STORES, stageOf } from './stage.ts'

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
    forAll({ stage: stageOf('memory'), share: 0.04 }, async (author, moves) => {
      await author.play([
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
  const stage = stageOf(name)

  it(
    'is the same in any chunks',
    PATIENCE,
    forAll({ stage, share: 0.05, extra: places }, async (author, moves, cuts) => {
      await author.play(moves)
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
    forAll({ stage, share: 0.05, extra: places }, async (author, moves, cuts) => {
      await author.play(moves)
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
    forAll({ stage, share: 0.08, extra: places }, async (author, moves, cuts) => {
      const { store } = stage
      let step = 0
      await author.play(moves, async () => {
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
    forAll({ stage, share: 0.02 }, async (author, moves) => {
      await author.play(moves)
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
    forAll({ stage, share: 0.05 }, async (author, moves) => {
      await author.play(moves)
      for (const { log } of author.branches) {
        const ledger = newLedger()
        for (let seq = 1; seq <= log.length; seq++) {
          for (const entry of log.slice(seq - 1, seq)) observe(ledger, entry)
          const { open, parked } = fold(log.slice(0, seq))
          expect({
            inTurn: open !== undefined,
            parked: parked !== undefined,
            ...openIn(open ?? parked ?? NOTHING),
          }).toEqual({
            inTurn: ledger.open,
            parked: isParked(ledger),
            calls: ledger.calls.map(({ callId, tool, malformed, state, answers, argsKey }) => ({
              callId,
              tool,
              malformed,
              state,
              answers,
              argsKey,
            })),
            requests: ledger.requests,
          })
        }
      }
    }),
  )

  it(
    'counts what was used and tried, and remembers what is in doubt',
    PATIENCE,
    forAll({ stage, share: 0.05 }, async (author, moves) => {
      await author.play(moves)
      for (const { log } of author.branches) {
        const ledger = newLedger()
        let session = newSession()
        for (const entry of log) {
          observe(ledger, entry)
          session = fold([entry], session)
          expect(countsOf(session)).toEqual({
            ...(ledger.open
              ? {
                  iteration: ledger.iteration,
                  thinking: ledger.thinking,
                  tokens: ledger.tokens,
                  toolCalls: ledger.toolCalls,
                  failures: ledger.failures,
                }
              : {}),
            total: { tokens: ledger.totalTokens, toolCalls: ledger.totalToolCalls },
            unknown: ledger.doubtful,
            cleared: ledger.cleared,
            metadata: ledger.metadata,
          })
        }
      }
    }),
  )

  it(
    'is moved by inbox entries in position and time only',
    PATIENCE,
    forAll({ stage, share: 0.05 }, async (author, moves) => {
      await author.play(moves)
      for (const { seq, at } of author.log.slice(1).filter(({ type }) => isInboxType(type))) {
        const before = fold(author.log.slice(0, seq - 1))
        expect(fold(author.log.slice(0, seq))).toEqual({ ...before, seq, at })
      }
    }),
  )

  async function saveSnapshot({ key, log }: Branch): Promise<void> {
    const state = fold(log)
    await stage.store.saveSnapshot(key, { seq: log.length, format: SESSION_FORMAT, state })
  }

  async function oldest({ key }: Branch): Promise<number> {
    return ((await stage.store.base(key))?.data['upTo'] as number | undefined) ?? 0
  }

  /** The sessions that the store leads to, now and at earlier positions that are left. */
  async function loaded(branch: Branch): Promise<string[]> {
    const sessions = [text(await loadSession(stage.store, branch.key))]
    for (let at = await oldest(branch); at <= branch.log.length; at += 7)
      sessions.push(text(await loadSession(stage.store, branch.key, at)))
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
