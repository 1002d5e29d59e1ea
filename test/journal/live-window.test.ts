/** R13: a live window equals a fresh one, entry by entry, and does not grow. */
import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  fold,
  LiveWindow,
  messageCount,
  readWindow,
  transcript,
  type WindowOptions,
} from '../../src/journal/index.ts'
import { estimatedTokens } from '../../src/model/index.ts'
import { type Entry, isInboxType, type Message } from '../../src/protocol/index.ts'
import type { Branch } from './author.ts'
import { conversationKey, converse, MESSAGES_A_TURN } from './conversation.ts'
import { forAll, PATIENCE, STORES, storeFixture } from './property.ts'

/** Messages of a window; where it is read; how late or early inbox entries arrive; when it is compared. */
const views = fc.record({
  maxMessages: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constant(Number.POSITIVE_INFINITY)),
  maxTokens: fc.option(fc.integer({ min: 1, max: 400 }), { nil: undefined }),
  places: fc.array(fc.nat(1_000_000), { minLength: 1, maxLength: 4 }),
  delays: fc.array(fc.integer({ min: -6, max: 6 }), { minLength: 1, maxLength: 5 }),
  resultTurns: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
  looks: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 5 }),
})
type View = typeof views extends fc.Arbitrary<infer T> ? T : never

describe.each(STORES)('a held window on a journal in the %s store', (name) => {
  const fixture = storeFixture(name)

  it(
    'shows at every later entry what a fresh one shows',
    PATIENCE,
    forAll({ fixture, share: 0.12, extra: views, unpruned: true }, async (author, moves, view) => {
      author.resultTurns = view.resultTurns
      await author.write(moves)
      for (const branch of author.branches)
        expect(await differences(branch, { ...view, looks: [1] })).toEqual([])
    }),
  )

  it(
    'shows what a fresh one shows, also when it is looked at now and then',
    PATIENCE,
    forAll({ fixture, share: 0.08, extra: views, unpruned: true }, async (author, moves, view) => {
      author.resultTurns = view.resultTurns
      await author.write(moves)
      for (const branch of author.branches) expect(await differences(branch, view)).toEqual([])
    }),
  )

  it('holds as much after 80 turns as after 20', async () => {
    const key = conversationKey(`held-${name}`)
    await converse(fixture.store, key, { from: 1, to: 1 })
    let session = fold(await fixture.store.read(key))
    const held = await LiveWindow.read(fixture.store, key, { session, maxMessages: 20 })
    const most = [0, 0]
    for (let turn = 2; turn <= 80; turn++) {
      await converse(fixture.store, key, { from: turn, to: turn })
      for (const entry of await fixture.store.read(key, { from: session.seq + 1 })) {
        session = fold([entry], session)
        held.add([entry])
        await held.messages(session)
        const half = turn <= 20 ? 0 : 1
        most[half] = Math.max(most[half] ?? 0, held.held.length)
      }
    }
    expect(session.totals.messages).toBe(80 * MESSAGES_A_TURN)
    expect(most[1]).toBe(most[0])
  })

  /** Reads windows at several positions of a branch, adds the entries after each, and compares. */
  async function differences({ key, log, forkedAt }: Branch, view: View): Promise<Difference[]> {
    const { places } = view
    const limits = limitsOf(view)
    const found: Difference[] = []
    // Entries before the fork were read under another key.
    const first = forkedAt === 0 ? 0 : forkedAt + 1
    for (const place of places) {
      const at = first + (place % (log.length - first + 1))
      let session = fold(log.slice(0, at))
      const held = await LiveWindow.read(fixture.store, key, { session, ...limits })
      const arrivals = arrivalsAfter(log, { at, delays: view.delays })
      for (let seq = at + 1; seq <= log.length; seq++) {
        const entry = log[seq - 1] as Entry
        // Like a driver, which folds its own entries and receives posted ones.
        if (!isInboxType(entry.type)) session = fold([entry], session)
        for (const heard of arrivals.get(seq) ?? []) held.add([...letGo(held, heard, log), heard])
        if ((seq - at) % (view.looks[seq % view.looks.length] ?? 1) !== 0) continue
        const past = log.slice(0, seq)
        const fresh = await readWindow(fixture.store, key, { session: fold(past), ...limits })
        const [is, should] = [await held.messages(session), transcript(fresh)]
        const tooMany = surplus(held.held, { fresh, log: past })
        if (!isDeepStrictEqual(is, should) || tooMany.length > 0) found.push({ at, seq, is, should, tooMany })
      }
    }
    return found
  }
})

function limitsOf({ maxMessages, maxTokens }: Pick<View, 'maxMessages' | 'maxTokens'>): WindowOptions {
  if (maxTokens === undefined) return { maxMessages }
  return { maxMessages, tokens: { max: maxTokens, count: estimatedTokens.message } }
}

/** A window read at `at` differs at `seq` from a fresh one, or holds unneeded entries. */
interface Difference {
  readonly at: number
  readonly seq: number
  readonly is: readonly Message[]
  readonly should: readonly Message[]
  readonly tooMany: readonly number[]
}

/** Taken entries that are not held: posted long ago, or before the window. */
function letGo({ held }: LiveWindow, { takes = [] }: Entry, log: readonly Entry[]): readonly Entry[] {
  const missing = takes.filter((taken) => !held.some(({ seq }) => seq === taken))
  return missing.flatMap((seq) => log[seq - 1] ?? [])
}

function pendingAt(log: readonly Entry[], at: number): readonly Entry[] {
  const past = log.slice(0, at)
  const taken = new Set(past.flatMap(({ takes = [] }) => takes))
  return past.filter(({ type, seq }) => isInboxType(type) && !taken.has(seq))
}

/** The arrival order: driver entries in place, inbox entries about there and before they are taken. */
function arrivalsAfter(
  log: readonly Entry[],
  { at, delays }: { at: number; delays: readonly number[] },
): Map<number, Entry[]> {
  const arrivals = new Map<number, Entry[]>()
  for (const entry of log.slice(at)) {
    const taker = log.find(({ takes }) => takes?.includes(entry.seq))?.seq ?? Number.POSITIVE_INFINITY
    const delay = isInboxType(entry.type) ? (delays[entry.seq % delays.length] ?? 0) : 0
    const when = Math.max(at + 1, Math.min(entry.seq + delay, taker))
    arrivals.set(when, [...(arrivals.get(when) ?? []), entry])
  }
  return arrivals
}

/** Held positions that neither the messages nor pending or just taken entries need, nor lie just before the first message. */
function surplus(
  held: readonly Entry[],
  { fresh, log }: { fresh: readonly Entry[]; log: readonly Entry[] },
): number[] {
  const start = fresh.find((entry) => messageCount(entry) > 0)?.seq ?? log.length + 1
  const before = log.findLast((entry) => entry.seq < start && messageCount(entry) > 0)?.seq ?? 0
  const needed = new Set([
    ...fresh.map(({ seq }) => seq),
    ...pendingAt(log, log.length).map(({ seq }) => seq),
    ...log.slice(before).flatMap(({ takes = [] }) => takes),
  ])
  // The previous summary stays until the next step.
  const extra = held.filter(({ seq, type }) => !needed.has(seq) && seq <= before && type !== 'compact')
  return extra.map(({ seq }) => seq)
}
