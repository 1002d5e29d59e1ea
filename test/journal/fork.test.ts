/** R15: a fork is its parent up to the fork point, except for open calls and requests; pruning the parent changes no fork. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  fold,
  forkContext,
  loadSession,
  type OpenTurn,
  readWindow,
  type Session,
  transcript,
} from '../../src/journal/index.ts'
import type { Entry, EntryData, Message } from '../../src/protocol/index.ts'
import type { Author, Branch } from './author.ts'
import { expectedTranscript, violations } from './oracle.ts'
import { forAll, PATIENCE, STORES, storeFixture } from './property.ts'

const places = fc.array(fc.nat(1_000_000), { minLength: 1, maxLength: 5 })

describe.each(STORES)('a fork in the %s store', (name) => {
  const fixture = storeFixture(name)

  it(
    'equals its parent at any point, but for what was open',
    PATIENCE,
    forAll({ fixture, share: 0.06, extra: places }, async (author, moves, cuts) => {
      await author.write(moves)
      for (const { child, parent, at } of await forksOf(author, cuts)) {
        const entry = child.log[at] as Entry
        expect(entry).toMatchObject({ seq: at + 1, type: 'fork', turn: 0 })
        expect(await loadSession(fixture.store, child.key)).toEqual(
          afterFork(fold(parent.log.slice(0, at)), entry),
        )
        expect(await fixture.store.inbox(child.key)).toEqual([])
      }
    }),
  )

  it(
    'has the transcript of its parent, open calls not run',
    PATIENCE,
    forAll({ fixture, share: 0.06, extra: places }, async (author, moves, cuts) => {
      await author.write(moves)
      for (const { child, parent, at } of await forksOf(author, cuts)) {
        const said = transcript(child.log)
        expect(violations(said, false)).toEqual([])
        expect(said).toEqual(notRunInFork(expectedTranscript(parent.log.slice(0, at))))
      }
    }),
  )

  it(
    'reads the same as its log wherever nothing was pruned',
    PATIENCE,
    forAll({ fixture, share: 0.03 }, async (author, moves) => {
      await author.write(moves)
      for (const { key, log } of author.branches) {
        const base = ((await fixture.store.base(key))?.data as EntryData['base'] | undefined)?.upTo ?? 0
        expect(await fixture.store.read(key)).toEqual(log.slice(base))
        const newest = await fixture.store.read(key, { order: 'newest', limit: 5 })
        expect(newest).toEqual(log.slice(base).reverse().slice(0, 5))
        for (const start of log.slice(base).filter(({ type }) => type === 'turn.start')) {
          const { from, to } = rangeOf(log, start)
          expect(await fixture.store.read(key, { turn: start.turn })).toEqual(
            log.slice(Math.max(base, from - 1), to),
          )
        }
      }
    }),
  )

  it(
    'is not changed by what happens to its parent later',
    PATIENCE,
    forAll({ fixture, share: 0.05, extra: places }, async (author, moves, cuts) => {
      await author.write(moves)
      const forks = await forksOf(author, cuts)
      const before = await Promise.all(forks.map(({ child }) => pastOf(child)))
      for (const { parent } of forks) {
        author.branch = parent
        await author.write([
          { do: 'reply', calls: 0, text: true, big: false, over: false },
          { do: 'end', outcome: 'stop', tidy: true, wake: false },
          { do: 'prune', back: 2, byTurns: false },
        ])
      }
      expect(await Promise.all(forks.map(({ child }) => pastOf(child)))).toEqual(before)
    }),
  )

  /** Everything that a fork has from its parent: session, entries, prompt. */
  async function pastOf({ key }: Branch): Promise<Past> {
    const session = await loadSession(fixture.store, key)
    return {
      session: JSON.stringify(session),
      readable: await fixture.store.read(key),
      prompt: transcript(await readWindow(fixture.store, key, { session, maxMessages: 8 })),
    }
  }

  /** Forks every branch of a history, forks and pruned branches included, wherever possible. */
  async function forksOf(author: Author, cuts: readonly number[]): Promise<Forked[]> {
    const forks: Forked[] = []
    for (const parent of [...author.branches]) {
      const base = ((await fixture.store.base(parent.key))?.data as EntryData['base'] | undefined)?.upTo ?? 0
      for (const cut of parent.log.length === 0 ? [] : cuts) {
        const lowest = Math.max(1, base)
        const at = lowest + (cut % (parent.log.length - lowest + 1))
        forks.push({ parent, at, child: await forked(author, parent, at) })
      }
    }
    return forks
  }

  async function forked(author: Author, parent: Branch, at: number): Promise<Branch> {
    const contextId = `${parent.key.contextId}.${author.next()}`
    await forkContext(fixture.store, parent.key, { contextId, at })
    const key = { ...parent.key, contextId }
    const own = await fixture.store.read(key, { from: at + 1 })
    return { ...parent, key, log: [...parent.log.slice(0, at), ...own], parent, forkedAt: at }
  }
})

interface Past {
  readonly session: string
  readonly readable: readonly Entry[]
  readonly prompt: readonly Message[]
}

interface Forked {
  readonly parent: Branch
  readonly child: Branch
  readonly at: number
}

/** A turn from its first input to its end, or to the end of the log. */
function rangeOf(log: readonly Entry[], { seq, takes = [], turn }: Entry): { from: number; to: number } {
  const end = log.find((entry) => entry.type === 'turn.end' && entry.turn === turn)
  return { from: Math.min(seq, ...takes), to: end?.seq ?? log.length }
}

/** All changes of a fork entry to a session. */
function afterFork(before: Session, { seq, at, data }: Entry): Session {
  const { open, parked: _, ...session } = before
  const { ended: __, ...turn } = open ?? {}
  const closed = open !== undefined && open.calls.length > 0 ? { phase: 'tools' } : {}
  return {
    ...session,
    seq,
    at,
    createdAt: at,
    activeAt: at,
    claims: 0,
    origin: { parent: data['parent'] as string, at: data['at'] as number },
    ...(open === undefined
      ? {}
      : { open: { ...turn, ...closed, calls: [], requests: [], thinking: false } as OpenTurn }),
  }
}

/** Completes the last round, if it is open, as a fork does. */
function notRunInFork(messages: readonly Message[]): Message[] {
  const index = messages.findLastIndex(({ role }) => role === 'assistant')
  const reply = messages[index]
  const next = messages[index + 1]
  const calls = reply?.role === 'assistant' ? reply.content.filter((part) => part.type === 'tool-call') : []
  if (calls.length === 0) return [...messages]
  const results = next?.role === 'tool' ? next.content : []
  const content = calls.map(
    ({ callId, tool }) =>
      results.find((result) => result.callId === callId) ??
      ({ type: 'tool-result', callId, tool, status: 'not-run', output: 'Not run in this fork.' } as const),
  )
  return messages.toSpliced(index + 1, results.length === 0 ? 0 : 1, { role: 'tool', content })
}
