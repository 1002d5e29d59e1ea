/** A window is cut before a turn that begins with a user's message (R9, R11). */
import { describe, expect, it } from 'vitest'
import { fold } from '../../src/journal/index.ts'
import type { Entry } from '../../src/protocol/index.ts'
import { compaction } from '../../src/turn/index.ts'

const principal = { tenant: 't', actor: 'a' }
const usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0, costUsd: 0 }

type Said = Pick<Entry, 'type' | 'data'> & { readonly takes?: readonly number[] }

const asked = (text: string, seq: number): Said[] => [
  { type: 'input', data: { message: text } },
  { type: 'turn.start', data: { principal }, takes: [seq] },
]
const unasked: Said = { type: 'turn.start', data: { principal } }
const replied: Said[] = [
  { type: 'model.start', data: { model: 'm', iteration: 1 } },
  { type: 'model.end', data: { content: [{ type: 'text', text: 'ok' }], finish: 'stop' } },
]
const looked: Said[] = [
  { type: 'model.start', data: { model: 'm', iteration: 1 } },
  {
    type: 'model.end',
    data: { content: [{ type: 'tool-call', callId: 'c', tool: 'look', args: {} }], finish: 'tool-calls' },
  },
  { type: 'tool.end', data: { callId: 'c', status: 'ok', output: 1 } },
]
const ended: Said = { type: 'turn.end', data: { outcome: 'stop', usage, durationMs: 0 } }

function cut(said: readonly Said[], keep: number): number | undefined {
  const log = said.map((one, index): Entry => ({ seq: index + 1, turn: 1, at: index, v: 1, ...one }))
  return compaction(log, fold(log), { keep })?.upTo
}

describe('a compaction', () => {
  const two = [...asked('a', 1), ...replied, ended, ...asked('b', 6), ...looked, ...replied, ended]

  it('cuts before the first turn that is late enough', () => {
    expect(cut([...two, ...asked('c', 14), ...replied, ended], 6)).toBe(6)
    expect(cut([...two, ...asked('c', 14), ...replied, ended], 5)).toBe(14)
  })

  it('keeps what the last turn was asked, however little may stay', () => {
    expect([4, 3, 1, 0].map((keep) => cut(two, keep))).toEqual([6, 6, 6, 6])
  })

  it('leaves the only turn alone', () => {
    expect(cut([...asked('a', 1), ...looked, ...looked, ...replied, ended], 1)).toBeUndefined()
  })

  it('does not cut before a turn that begins with a reply', () => {
    expect(cut([...two, unasked, ...replied, ended], 1)).toBe(6)
    const note: Said = { type: 'note', data: { text: 'Go on.', from: 'runtime' } }
    expect(cut([...two, unasked, note, ...replied, ended], 2)).toBe(13)
  })

  it('does not cut before the result of a call that an earlier cut has dropped', () => {
    const note: Said = { type: 'note', data: { text: 'Go on.', from: 'hook' } }
    const result = looked.slice(-1)
    expect(cut([note, ended, unasked, ...result], 0)).toBeUndefined()
  })
})
