/** R11 and R13: a window never splits a round, moves in steps, holds the newest messages, at a cost independent of the past. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  fold,
  loadSession,
  messageCount,
  newSession,
  pruneContext,
  readWindow,
  type Session,
  transcript,
  windowSize,
} from '../../src/journal/index.ts'
import type { ContextKey, Entry, EntryOf } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import type { Branch } from './author.ts'
import { conversationKey, converse, counting, MESSAGES_A_TURN } from './conversation.ts'
import { violations } from './oracle.ts'
import { forAll, PATIENCE, STORES, storeFixture } from './property.ts'
import { FUTURE, newReference, observe, roundIsOpen } from './reference-state.ts'

const limits = fc.integer({ min: 1, max: 30 })

describe.each(STORES)('a window on a journal in the %s store', (name) => {
  const fixture = storeFixture(name)

  it(
    'without a limit shows the whole transcript',
    PATIENCE,
    forAll({ fixture, share: 0.04 }, async (author, moves) => {
      await author.write(moves)
      for (const { key, log } of author.branches) {
        const entries = await readWindow(fixture.store, key, {
          session: fold(log),
          maxMessages: Number.POSITIVE_INFINITY,
        })
        expect(transcript(entries)).toEqual(transcript(await fixture.store.read(key)))
      }
    }),
  )

  it(
    'shows summary, opening and the end of the transcript',
    PATIENCE,
    forAll({ fixture, share: 0.07, extra: limits }, async (author, moves, limit) => {
      await author.write(moves)
      for (const branch of author.branches) {
        const { session, readable, entries, core } = await view(branch, limit)
        const shown = transcript(entries)
        const summary = transcript(readable.filter(({ seq }) => seq === session.window.summary))
        const opening = transcript(openingOf({ session, readable, core }))
        const tail = transcript([...readable.filter(({ type }) => type === 'input'), ...core]).slice(
          summaryIn(session, core),
        )
        const all = transcript(readable)
        expect(violations(shown, roundIsOpen(branch.reference))).toEqual([])
        expect(shown).toEqual([...summary, ...opening, ...tail])
        expect(all.slice(all.length - tail.length)).toEqual(tail)
        expect(shown.at(-1)).toEqual(all.at(-1))
      }
    }),
  )

  it(
    'is no longer than its limit, a round and an opening',
    PATIENCE,
    forAll({ fixture, share: 0.06, extra: limits }, async (author, moves, limit) => {
      await author.write(moves)
      for (const branch of author.branches) {
        const { session, readable, entries } = await view(branch, limit)
        const wanted = windowSize(session.window.messages, limit)
        const possible = readable.filter(({ seq }) => seq >= session.window.from)
        const most =
          limit + largestRound(branch.log) + Math.max(0, ...branch.log.map(({ takes }) => takes?.length ?? 0))
        expect(wanted).toBeLessThanOrEqual(limit)
        expect(messagesIn(entries)).toBeGreaterThanOrEqual(Math.min(wanted, messagesIn(possible)))
        expect(messagesIn(entries)).toBeLessThanOrEqual(most)
      }
    }),
  )

  it(
    'begins with no result whose call is missing',
    PATIENCE,
    forAll(
      { fixture, share: 0.05, extra: limits, whole: true, linear: true },
      async (author, moves, limit) => {
        await author.write(moves)
        const { core } = await view(author.branch, limit)
        const asked = core
          .filter((entry): entry is EntryOf<'model.end'> => entry.type === 'model.end' && entry.v !== FUTURE)
          .flatMap(({ data }) =>
            data.content.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : [])),
          )
        const answered = core.filter(({ type }) => type === 'tool.end').map(({ data }) => data['callId'])
        expect(answered.filter((callId) => !asked.includes(callId as string))).toEqual([])
      },
    ),
  )

  it(
    'moves in steps',
    PATIENCE,
    forAll(
      { fixture, share: 0.05, extra: limits, linear: true, whole: true },
      async (author, moves, limit) => {
        const step = Math.max(1, Math.floor(limit / 4))
        const starts = new Set<number>()
        const steps = new Set<number>()
        await author.write(moves, async () => {
          const { key, log } = author.branch
          const session = fold(log)
          const [first] = (await view({ key, log }, limit)).core
          if (first !== undefined) starts.add(first.seq)
          steps.add((session.window.messages - windowSize(session.window.messages, limit)) / step)
        })
        // A dropped round holds the window no longer, which may then begin inside it.
        expect(starts.size).toBeLessThanOrEqual(steps.size + givenUp(author.log))
      },
    ),
  )

  it('begins at another entry once in 25 messages, however long the conversation', async () => {
    const key = conversationKey(`steps-${name}`)
    const starts: number[] = []
    let session = newSession()
    for (let turn = 1; turn <= 100; turn++) {
      await converse(fixture.store, key, { from: turn, to: turn })
      session = fold(await fixture.store.read(key, { from: session.seq + 1 }), session)
      const [first] = await readWindow(fixture.store, key, { session })
      if (first !== undefined && first.seq !== starts.at(-1)) starts.push(first.seq)
    }
    expect(starts.length).toBe(1 + (100 * MESSAGES_A_TURN - 100) / 25)
  })

  it('costs as much after 200 turns as after 40', async () => {
    const key = conversationKey(`cost-${name}`)
    const costs: number[] = []
    for (const [from, to] of [
      [1, 40],
      [41, 200],
    ] as const) {
      await converse(fixture.store, key, { from, to })
      costs.push(await costOf(key), await costOf(key, 8))
    }
    expect(costs.slice(2)).toEqual(costs.slice(0, 2))
    await pruneContext(fixture.store, key, { keepTurns: 100 })
    // The base is one more entry, and pages end elsewhere.
    expect(Math.abs((await costOf(key)) - (costs[0] ?? 0))).toBeLessThan(10)
    await pruneContext(fixture.store, key, { keepTurns: 2 })
    expect(await costOf(key)).toBeLessThan(150)
  })

  it.each(['compact', 'clear'])('costs little after a %s', async (type) => {
    const key = conversationKey(`after-${type}-${name}`)
    await converse(fixture.store, key, { from: 1, to: 100 })
    const { seq } = await loadSession(fixture.store, key)
    const data = type === 'clear' ? {} : { upTo: seq, kept: 0, summary: 'what was' }
    await fixture.store.append({
      key,
      id: type,
      since: seq,
      claim: { driver: 'd', leaseMs: 1 },
      entries: [
        { type, turn: 0, data },
        { type: 'release', turn: 0, data: { reason: 'done' } },
      ],
    })
    expect(await costOf(key)).toBeLessThanOrEqual(4)
    await converse(fixture.store, key, { from: 101, to: 101 })
    expect(await costOf(key)).toBeLessThanOrEqual(20)
  })

  async function costOf(key: ContextKey, maxMessages?: number): Promise<number> {
    const session = await loadSession(fixture.store, key)
    const counted = counting(fixture.store)
    await readWindow(counted, key, { session, ...(maxMessages === undefined ? {} : { maxMessages }) })
    return counted.rows
  }

  async function view({ key, log }: Pick<Branch, 'key' | 'log'>, maxMessages: number): Promise<View> {
    const session = fold(log)
    const core = new Set<Entry>()
    const entries = await readWindow(noting(core), key, { session, maxMessages })
    const readable = await fixture.store.read(key)
    return { session, entries, readable, core: entries.filter((entry) => core.has(entry)) }
  }

  /** The store, recording backward reads, but not fetches of earlier entries. */
  function noting(core: Set<Entry>): Pick<Store, 'read' | 'lookup'> {
    return {
      lookup: (...args) => fixture.store.lookup(...args),
      async read(key, range) {
        const entries = await fixture.store.read(key, range)
        if (range?.order === 'newest') for (const entry of entries) core.add(entry)
        return entries
      },
    }
  }
})

interface View {
  readonly session: Session
  readonly entries: readonly Entry[]
  /** All entries that were not pruned. */
  readonly readable: readonly Entry[]
  /** The contiguous range up to the newest entry. */
  readonly core: readonly Entry[]
}

function messagesIn(entries: readonly Entry[]): number {
  return entries.reduce((sum, entry) => sum + messageCount(entry), 0)
}

/** The most messages from a reply to the end of its round, others in between included. */
function largestRound(log: readonly Entry[]): number {
  const reference = newReference()
  let [largest, messages] = [0, 0]
  for (const entry of log) {
    const wasOpen = roundIsOpen(reference)
    observe(reference, entry)
    if (isReply(entry)) messages = 0
    messages = wasOpen || roundIsOpen(reference) ? messages + messageCount(entry) : 0
    largest = Math.max(largest, messages)
  }
  return largest
}

/** Number of unfinished rounds, by an end that does not wait or by another reply. */
function givenUp(log: readonly Entry[]): number {
  const reference = newReference()
  return log.filter((entry) => {
    const wasOpen = roundIsOpen(reference)
    observe(reference, entry)
    return wasOpen && (isReply(entry) || (entry.type === 'turn.end' && !roundIsOpen(reference)))
  }).length
}

function isReply({ type, v }: Entry): boolean {
  return type === 'model.end' && v !== FUTURE
}

/** The start of the turn that the core begins in, with its inputs, if the core does not hold it. */
function openingOf({ session, readable, core }: Omit<View, 'entries'>): readonly Entry[] {
  const first = core.find(({ turn, type }) => turn > 0 && type !== 'claim')
  const start = readable.find(({ type, turn }) => type === 'turn.start' && turn === first?.turn)
  if (start === undefined || start.seq >= (core[0]?.seq ?? 0) || start.seq < session.window.from) return []
  return [...readable.filter(({ seq }) => start.takes?.includes(seq)), start]
}

/** Number of summary messages in the core's own transcript. */
function summaryIn({ window }: Session, core: readonly Entry[]): number {
  return core.some(({ seq }) => seq === window.summary) ? 1 : 0
}
