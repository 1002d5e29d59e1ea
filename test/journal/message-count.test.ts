/** Windows and totals count the messages of every entry type that changes the transcript. */
import { describe, expect, it } from 'vitest'
import { messageCount } from '../../src/journal/index.ts'
import {
  ENTRY_KINDS,
  ENTRY_TABLE,
  type Entry,
  type EntryData,
  NO_USAGE,
  type TypesThat,
} from '../../src/protocol/index.ts'

interface Sample {
  readonly data: object
  readonly takes?: readonly string[]
  readonly count: number
}

const text = { type: 'text', text: 'Hi' } as const
const reply: EntryData['model.end'] = { content: [text], finish: 'stop', usage: NO_USAGE }
const result = { callId: 'c1', status: 'ok', output: 1 } as const
const message = { role: 'user', content: 'Hi' } as const

/** The compiler requires a line for a new type that speaks: decide what it counts in `journal/message-count.ts`. */
const SAMPLES: { readonly [T in TypesThat<'inTranscript'>]: Sample } = {
  input: { data: { message: 'Hi' }, count: 0 },
  'turn.start': { data: { principal: {} }, takes: ['m1'], count: 1 },
  take: { data: { as: 'message' }, takes: ['m1', 'm2'], count: 2 },
  note: { data: { text: 'Hi', from: 'hook' }, count: 1 },
  phase: { data: { name: 'afterEachTool' }, count: 0 },
  'model.end': { data: reply, count: 1 },
  'tool.start': { data: { callId: 'c1', tool: 't', args: {} }, count: 0 },
  'tool.end': { data: result, count: 1 },
  'tool.late': { data: result, count: 1 },
  'turn.end': { data: { outcome: 'stop', usage: NO_USAGE, durationMs: 1 }, count: 0 },
  import: { data: { messages: [message, message], key: 'k' }, count: 2 },
  compact: { data: { upTo: 1, kept: 0 }, count: 0 },
  clear: { data: {}, count: 0 },
  fork: { data: {}, count: 0 },
}

describe('the messages of an entry', () => {
  it.each(Object.entries(SAMPLES))('%s', (type, { data, takes = [], count }) => {
    const entry = {
      seq: 1,
      turn: 1,
      at: 1,
      type,
      v: ENTRY_KINDS.get(type)?.v ?? 1,
      data,
      takes,
    } as unknown as Entry
    expect(messageCount(entry)).toBe(count)
  })

  it('are none where the transcript does not change', () => {
    const silent = Object.keys(ENTRY_TABLE).filter((type) => !Object.hasOwn(SAMPLES, type))
    expect(silent.map((type) => messageCount({ seq: 1, turn: 1, at: 1, type, v: 1, data: {} }))).toEqual(
      silent.map(() => 0),
    )
  })
})
