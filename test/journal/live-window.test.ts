/** R13: a window that is held and kept up says what a fresh one would, entry by entry, and does not grow. */
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
import { forAll, PATIENCE, STORES, stageOf } from './stage.ts'

/** How many messages a window has; where it is read; how late or early inbox entries are heard of; when it is looked at. */
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
  const stage = stageOf(name)

  it(
    'shows at every later entry what a fresh one shows',
    PATIENCE,
    forAll({ stage, share: 0.12, extra: views, unpruned: true }, async (author, moves, view) => {
      author.resultTurns = view.resultTurns
      await author.play(moves)
      for (const branch of author.branches)
        expect(await differences(branch, { ...view, looks: [1] })).toEqual([])
    }),
  )

  it(
    'shows what a fresh one shows, also when it is looked at now and then',
    PATIENCE,
    forAll({ stage, share: 0.08, extra: views, unpruned: true }, async (author, moves, view) => {
      author.resultTurns = view.resultTurns
      await author.play(moves)
      for (const branch of author.branches) expect(await differences(branch, view)).toEqual([])
    }),
  )

  it('holds as much after 300 turns as after 20', async () => {
    const key = conversationKey(`held-${name}`)
    await converse(stage.store, key, { from: 1, to: 1 })
    let session = fold(await stage.store.read(key))
    const held = await LiveWindow.read(stage.store, key, { session, maxMessages: 20 })
    const most = [0, 0]
    for (let turn = 2; turn <= 300; turn++) {
      await converse(stage.store, key, { from: turn, to: turn })
      for (const entry of await stage.store.read(key, { from: session.seq + 1 })) {
        session = fold([entry], session)
        held.add([entry])
        await held.messages(session)
        const half = turn <= 20 ? 0 : 1
        most[half] = Math.max(most[half] ?? 0, held.held.length)
      }
    }
    expect(session.totals.messages).toBe(300 * MESSAGES_A_TURN)
    expect(most[1]).toBe(most[0])
  })

  /** Reads windows here and there in a branch, feeds each what came after, and looks. */
  async function differences({ key, log, forkedAt }: Branch, view: View): Promise<Difference[]> {
    const { places } = view
    const limits = limitsOf(view)
    const found: Difference[] = []
    // What is before the fork was read under another name.
    const first = forkedAt === 0 ? 0 : forkedAt + 1
    for (const place of places) {
      const at = first + (place % (log.length - first + 1))
      let session = fold(log.slice(0, at))
      const held = await LiveWindow.read(stage.store, key, { session, ...limits })
      const arrivals = arrivalsAfter(log, { at, delays: view.delays })
      for (let seq = at + 1; seq <= log.length; seq++) {
        const entry = log[seq - 1] as Entry
        // Like a driver, which folds what it appends and hears of what others post.
        if (!isInboxType(entry.type)) session = fold([entry], session)
        for (const heard of arrivals.get(seq) ?? []) held.add([...letGo(held, heard, log), heard])
        if ((seq - at) % (view.looks[seq % view.looks.length] ?? 1) !== 0) continue
        const past = log.slice(0, seq)
        const fresh = await readWindow(stage.store, key, { session: fold(past), ...limits })
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

/** A window that was read at `at` does not say at `seq` what it should, or holds what nobody needs. */
interface Difference {
  readonly at: number
  readonly seq: number
  readonly is: readonly Message[]
  readonly should: readonly Message[]
  readonly tooMany: readonly number[]
}

/** What an entry takes and is not held: it has waited for so long, or was there before the window. */
function letGo({ held }: LiveWindow, { takes = [] }: Entry, log: readonly Entry[]): readonly Entry[] {
  const missing = takes.filter((taken) => !held.some(({ seq }) => seq === taken))
  return missing.flatMap((seq) => log[seq - 1] ?? [])
}

/** What nobody has taken up to a position. */
function pendingAt(log: readonly Entry[], at: number): readonly Entry[] {
  const past = log.slice(0, at)
  const taken = new Set(past.flatMap(({ takes = [] }) => takes))
  return past.filter(({ type, seq }) => isInboxType(type) && !taken.has(seq))
}

/** Which entries are heard of when: driver entries in their place, others about there and before they are taken. */
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

/**
 * Positions that are held though nobody needs them: not for the messages, not because they may be taken yet or just
 * were, and not because they lie between the first message and the one before.
 */
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
  // The summary before the last stays until the next step.
  const extra = held.filter(({ seq, type }) => !needed.has(seq) && seq <= before && type !== 'compact')
  return extra.map(({ seq }) => seq)
}
