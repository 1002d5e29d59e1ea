/** R9 and R11 for compactions: the messages after any cut are a legal transcript that begins with the summary. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fold, LiveWindow, messageCount, readWindow, transcript } from '../../src/journal/index.ts'
import { estimatedTokens } from '../../src/model/index.ts'
import type { Entry, Message } from '../../src/protocol/index.ts'
import { type Cut, compaction } from '../../src/turn/compaction.ts'
import type { Branch } from './author.ts'
import { violations } from './oracle.ts'
import { forAll, PATIENCE, storeFixture } from './property.ts'
import { roundIsOpen } from './reference-state.ts'

const keeps = fc.integer({ min: 0, max: 20 })
const views = fc.record({
  keep: keeps,
  maxMessages: fc.integer({ min: 1, max: 30 }),
  max: fc.integer({ min: 20, max: 1000 }),
})

describe('a compaction of any journal', () => {
  const fixture = storeFixture('memory')
  let cuts = 0

  it(
    'leaves the summary and the end of the transcript, and nothing that hangs in the air',
    PATIENCE,
    forAll({ fixture, share: 0.15, extra: keeps }, async (author, moves, keep) => {
      await author.write(moves)
      for (const { key, log, reference } of author.branches) {
        const session = fold(log)
        const cut = compaction(await fixture.store.read(key, { from: session.window.from }), session, {
          keep,
        })
        if (cut === undefined) continue
        const [summary, ...rest] = await afterwards({ key, log }, cut)
        expect(summary).toEqual({ role: 'user', content: 'What was.', by: 'program' })
        expect(violations(rest, roundIsOpen(reference))).toEqual([])
        const all = transcript(await fixture.store.read(key))
        expect(all.slice(all.length - rest.length)).toEqual(rest)
        expect(cut.dropped + cut.kept).toBe(session.window.messages)
        const later = log.filter(({ seq }) => seq > cut.upTo)
        expect(cut.kept).toBe(later.reduce((sum, entry) => sum + messageCount(entry), 0))
      }
    }),
  )

  it(
    'does so if only a part of it was in the window',
    PATIENCE,
    forAll({ fixture, share: 0.15, extra: views }, async (author, moves, { keep, maxMessages, max }) => {
      await author.write(moves)
      for (const { key, log, reference } of author.branches) {
        const session = fold(log)
        const tokens = { max, count: estimatedTokens.message }
        const window = await readWindow(fixture.store, key, { session, maxMessages, tokens })
        const cut = compaction(window, session, { keep })
        if (cut === undefined) continue
        const [summary, ...rest] = await afterwards({ key, log }, cut)
        expect(summary).toEqual({ role: 'user', content: 'What was.', by: 'program' })
        expect(violations(rest, roundIsOpen(reference))).toEqual([])
        // The newest messages stay; a round whose beginning was pruned was not shown before, either.
        const shown = transcript(window.filter(({ type }) => type !== 'compact'))
        expect(rest.at(-1)).toEqual(shown.at(-1))
      }
    }),
  )

  it('was tried on many', () => {
    expect(cuts).toBeGreaterThan(2)
  })

  async function afterwards(
    { key, log }: Pick<Branch, 'key' | 'log'>,
    { upTo, kept }: Cut,
  ): Promise<readonly Message[]> {
    cuts += 1
    const data = { upTo, kept, summary: 'What was.' }
    const compact: Entry = { seq: log.length + 1, turn: 0, at: 0, v: 1, type: 'compact', data }
    const session = fold([compact], fold(log))
    const held = await LiveWindow.over([...log, compact], key, { session, maxMessages: 1e9 })
    return held.messages(session)
  }
})
