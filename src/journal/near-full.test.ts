/** The near-full mark of the fold, and the start of windows by tokens, case by case. */
import { describe, expect, it } from 'vitest'
import type { Entry, EntryType, JsonObject, Message, Usage } from '../protocol/index.ts'
import { memoryStore } from '../store/memory/index.ts'
import { Backwards } from './backwards.ts'
import { fold } from './fold.ts'
import { LiveWindow } from './live-window.ts'
import { loadSession } from './load.ts'
import { newSession, type Session } from './session.ts'
import { transcript } from './transcript.ts'
import { readWindow } from './window.ts'

const principal = { tenant: 't', actor: 'a' }

function entries(...said: readonly (readonly [EntryType, JsonObject])[]): Entry[] {
  return said.map(([type, data], index) => ({ seq: index + 1, turn: 1, at: index, v: 1, type, data }))
}

function usage(inputTokens: number): Usage {
  return { inputTokens, outputTokens: 1, cachedTokens: 0, costUsd: 0 }
}

const begin = ['turn.start', { principal }] as const
const warned = ['warning', { code: 'context-near-full', message: 'm', tokens: 800 }] as const

function replied(inputTokens: number, more: JsonObject = {}): readonly [EntryType, JsonObject] {
  return [
    'model.end',
    { content: [{ type: 'text', text: 'ok' }], finish: 'stop', usage: usage(inputTokens), ...more },
  ]
}

describe('the fold', () => {
  it('counts what a summary used, for the turn and for all', () => {
    const receipt = { usage: usage(70) }
    const log = entries(begin, ['compact', { upTo: 1, kept: 0, summary: 's', receipt }], replied(30))
    expect(fold(log).open?.usage.inputTokens).toBe(100)
    expect(fold(log).totals.usage).toEqual({ ...usage(100), outputTokens: 2 })
    expect(fold(log.slice(1)).totals.usage.inputTokens).toBe(100)
  })

  it('counts what was used for nothing', () => {
    const log = entries(begin, ['warning', { code: 'compaction-failed', message: 'm', usage: usage(40) }])
    expect([fold(log).open?.usage, fold(log).totals.usage]).toEqual([usage(40), usage(40)])
  })

  it.each<[string, readonly (readonly [EntryType, JsonObject])[], number | undefined]>([
    ['stays', [replied(900)], 800],
    ['stays while it is nearly as much', [replied(720)], 800],
    ['goes with a prompt that was clearly smaller', [replied(719)], undefined],
    [
      'stays when a call fails or is aborted',
      [replied(1, { error: { kind: 'timeout' } }), replied(1, { finish: 'aborted' })],
      800,
    ],
    ['stays when nothing was counted', [replied(0)], 800],
    ['goes with a compaction', [['compact', { upTo: 1, kept: 1 }]], undefined],
    ['goes with a clear', [['clear', {}]], undefined],
  ])('remembers that somebody was warned: it %s', (_, then, expected) => {
    expect(fold(entries(begin, warned, ...then)).window.nearFull).toBe(expected)
  })
})

describe('where a window by tokens begins', () => {
  /** Notes of ten tokens each, numbered from 1 on; returns the first that is shown. */
  function firstShown(notes: number, max: number, maxMessages = Number.POSITIVE_INFINITY): number {
    const session: Session = { ...newSession(), window: { from: 1, messages: notes } }
    const scan = new Backwards(session, { maxMessages, tokens: { max, count: () => 10 } })
    for (let seq = notes; seq > 0 && !scan.isDone; seq--)
      scan.read({ seq, turn: 0, at: 0, v: 1, type: 'note', data: { text: `${seq}`, from: 'f' } }, 10)
    return notes - scan.length() + 1
  }

  it('is the beginning for as long as all fits', () => {
    expect([1, 2, 7, 8].map((notes) => firstShown(notes, 80))).toEqual([1, 1, 1, 1])
  })

  it('is after a round number of messages, and stays there for long', () => {
    const starts = Array.from({ length: 24 }, (_, index) => firstShown(9 + index, 80) - 1)
    expect(starts).toEqual([4, 8, 12, 16, 20, 24].flatMap((start) => [start, start, start, start]))
  })

  it('is where the limit on messages wants it, if the tokens suffice', () => {
    const starts = Array.from({ length: 9 }, (_, index) => firstShown(8 + index, 1000, 8) - 1)
    expect(starts).toEqual([0, 2, 2, 4, 4, 6, 6, 8, 8])
  })

  it('is the newest message if not even that fits', () => {
    expect(firstShown(7, 5)).toBe(7)
  })
})

describe('a window by tokens that begins inside of an imported exchange', () => {
  const key = { tenant: 't', actor: 'a', contextId: 'c' }
  const said = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }] })
  const tokens = { max: 35, count: () => 10 }

  it('shows how that began, and counts it', async () => {
    const store = memoryStore()
    const whole = { source: 'test', key: 'k' }
    await store.append({
      key,
      id: 'import',
      since: 0,
      claim: { driver: 'd', leaseMs: 1000 },
      entries: [
        {
          type: 'import',
          turn: 0,
          data: { ...whole, messages: [{ role: 'user', content: 'Count.' }, said('1')] },
        },
        ...['2', '3', '4', '5'].map((text, index) => ({
          type: 'import',
          turn: 0,
          data: { ...whole, messages: [said(text)], continues: index + 1 },
        })),
        { type: 'release', turn: 0, data: { reason: 'done' } },
      ],
    })
    const session = await loadSession(store, key)
    const shown = transcript(await readWindow(store, key, { session, tokens }))
    expect(shown.map(({ content }) => content)).toEqual([
      'Count.',
      [{ type: 'text', text: '1' }],
      [{ type: 'text', text: '5' }],
    ])
    const held = await LiveWindow.read(store, key, { session, tokens })
    expect(await held.messages(session)).toEqual(shown)
  })
})
