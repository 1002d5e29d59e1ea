/** R11 and R13 for windows by tokens: whole rounds, within the limit, in steps, at a cost independent of the past. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  fold,
  isKnown,
  LiveWindow,
  loadSession,
  messageCount,
  newSession,
  readWindow,
  type Session,
  stillOpen,
  transcript,
  type WindowOptions,
} from '../../src/journal/index.ts'
import { estimatedTokens } from '../../src/model/index.ts'
import type { ContextKey, Entry } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { conversationKey, converse, counting, MESSAGES_A_TURN } from './conversation.ts'
import { violations } from './oracle.ts'
import { forAll, PATIENCE, STORES, storeFixture } from './property.ts'
import { roundIsOpen } from './reference-state.ts'

const limits = fc.record({
  resultTurns: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
  maxMessages: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constant(Number.POSITIVE_INFINITY)),
  max: fc.integer({ min: 1, max: 400 }),
})

describe.each(STORES)('a window by tokens on a journal in the %s store', (name) => {
  const fixture = storeFixture(name)

  it(
    'holds whole rounds, and no more tokens than it may unless its only round has more',
    PATIENCE,
    forAll({ fixture, share: 0.08, extra: limits }, async (author, moves, limit) => {
      author.resultTurns = limit.resultTurns
      await author.write(moves)
      for (const { key, log, reference } of author.branches) {
        const session = fold(log)
        const { entries, core } = await view(key, { session, ...options(limit) })
        const shown = transcript(entries)
        expect(violations(shown, roundIsOpen(reference))).toEqual([])
        const isTooMuch = estimatedTokens.messages(shown) > limit.max
        expect(isTooMuch ? placesIn(core, session) : 1).toBeLessThanOrEqual(1)
      }
    }),
  )

  it(
    'says at least what its last turn was asked, and ends as the conversation does',
    PATIENCE,
    forAll({ fixture, share: 0.05, extra: limits, unpruned: true }, async (author, moves, limit) => {
      await author.write(moves)
      for (const { key, log } of author.branches) {
        const session = fold(log)
        const { entries, core } = await view(key, { session, ...options(limit) })
        expect(transcript(entries).at(-1)).toEqual(transcript(await fixture.store.read(key)).at(-1))
        const last = core.findLast(({ turn, type }) => turn > 0 && type !== 'claim')
        const start = log.findLast(({ type, turn }) => type === 'turn.start' && turn === last?.turn)
        const isShown = start !== undefined && start.seq >= session.window.from && core.some(speaks)
        const asked = isShown ? [start.seq, ...(start.takes ?? [])] : []
        expect(entries.map(({ seq }) => seq)).toEqual(expect.arrayContaining(asked))
      }
    }),
  )

  it(
    'is the same as by messages where the tokens suffice',
    PATIENCE,
    forAll({ fixture, share: 0.04, extra: limits }, async (author, moves, { maxMessages }) => {
      await author.write(moves)
      for (const { key, log } of author.branches) {
        const plain = { session: fold(log), maxMessages }
        const enough = { ...plain, ...options({ maxMessages, max: 1e9 }) }
        expect(await readWindow(fixture.store, key, enough)).toEqual(
          await readWindow(fixture.store, key, plain),
        )
      }
    }),
  )

  it(
    'never goes back while the conversation goes on',
    PATIENCE,
    forAll(
      { fixture, share: 0.05, extra: limits, linear: true, whole: true },
      async (author, moves, limit) => {
        let [from, start] = [0, 0]
        const back: number[] = []
        await author.write(moves, async () => {
          const { key, log } = author.branch
          const session = fold(log)
          const { core } = await view(key, { session, ...options(limit) })
          const first = core.find(speaks)
          if (first === undefined) return
          if (session.window.from === from && first.seq < start) back.push(first.seq)
          from = session.window.from
          start = first.seq
        })
        expect(back).toEqual([])
      },
    ),
  )

  it('moves in steps, and keeps a good part of what it may hold', async () => {
    const key = conversationKey(`token-steps-${name}`)
    const starts: number[] = []
    const sizes: number[] = []
    let session = newSession()
    let held: LiveWindow | undefined
    const limit = options({ maxMessages: Number.POSITIVE_INFINITY, max: 1500 })
    for (let turn = 1; turn <= 100; turn++) {
      await converse(fixture.store, key, { from: turn, to: turn })
      const entries = await fixture.store.read(key, { from: session.seq + 1 })
      session = fold(entries, session)
      held?.add(entries)
      held ??= await LiveWindow.read(fixture.store, key, { session, ...limit })
      const messages = await held.messages(session)
      expect(messages).toEqual(transcript(await readWindow(fixture.store, key, { session, ...limit })))
      sizes.push(estimatedTokens.messages(messages))
      const first = held.held.find(speaks)?.seq ?? 0
      if (first !== starts.at(-1)) starts.push(first)
    }
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1500)
    // Calls have a reserve, which is large for rounds as small as these.
    expect(Math.min(...sizes.slice(40))).toBeGreaterThan(500)
    // About 17 turns fit, and a step is about a quarter of them.
    expect(starts.length).toBeGreaterThan(5)
    expect(starts.length).toBeLessThan(100 / 4)
  })

  it('counts every message once', async () => {
    const key = conversationKey(`token-once-${name}`)
    let counted = 0
    const count = () => {
      counted += 1
      return 50
    }
    await converse(fixture.store, key, { from: 1, to: 1 })
    let session = await loadSession(fixture.store, key)
    const held = await LiveWindow.read(fixture.store, key, { session, tokens: { max: 1500, count } })
    for (let turn = 2; turn <= 100; turn++) {
      await converse(fixture.store, key, { from: turn, to: turn })
      for (const entry of await fixture.store.read(key, { from: session.seq + 1 })) {
        session = fold([entry], session)
        held.add([entry])
        await held.messages(session)
      }
    }
    expect(counted).toBe(100 * MESSAGES_A_TURN)
  })

  it('costs as much after 200 turns as after 40', async () => {
    const key = conversationKey(`token-cost-${name}`)
    const costs: number[] = []
    for (const [from, to] of [
      [1, 40],
      [41, 200],
    ] as const) {
      await converse(fixture.store, key, { from, to })
      const counted = counting(fixture.store)
      const session = await loadSession(fixture.store, key)
      expect(session.window.messages).toBe(to * MESSAGES_A_TURN)
      await readWindow(counted, key, { session, ...options({ maxMessages: 100, max: 1500 }) })
      costs.push(counted.rows)
    }
    expect(costs[1]).toBeLessThan(1.5 * (costs[0] ?? 0))
  })

  /** A window, and its contiguous range up to the newest entry. */
  async function view(
    key: ContextKey,
    wanted: WindowOptions & { session: Session },
  ): Promise<{ entries: readonly Entry[]; core: readonly Entry[] }> {
    const newest = new Set<Entry>()
    const source: Pick<Store, 'read' | 'lookup'> = {
      lookup: (...args) => fixture.store.lookup(...args),
      async read(...args) {
        const entries = await fixture.store.read(...args)
        if (args[1]?.order === 'newest') for (const entry of entries) newest.add(entry)
        return entries
      },
    }
    const entries = await readWindow(source, key, wanted)
    const core: Entry[] = []
    for (const entry of entries.toReversed()) {
      const after = core[0]?.seq ?? wanted.session.seq + 1
      if (!newest.has(entry) || entry.seq !== after - 1) break
      core.unshift(entry)
    }
    return { entries, core }
  }
})

function options({ maxMessages, max }: { maxMessages: number; max: number }): WindowOptions {
  return { maxMessages, tokens: { max, count: estimatedTokens.message } }
}

function speaks(entry: Entry): boolean {
  return messageCount(entry) > 0
}

/** Number of possible window starts: messages after a closed round. */
function placesIn(core: readonly Entry[], session: Session): number {
  const entries = core.filter(isKnown)
  return entries.filter((entry, index) => {
    if (!speaks(entry)) return false
    if (entry.type === 'model.end') return true
    const after = entries.slice(index)
    const reply = after.findIndex(({ type }) => type === 'model.end')
    if (reply < 0 && stillOpen(session).calls.length > 0) return false
    return !after.slice(0, reply < 0 ? after.length : reply).some(({ type }) => type === 'tool.end')
  }).length
}
