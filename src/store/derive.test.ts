/** The derived indexes that every store keeps. */
import { describe, expect, it } from 'vitest'
import type { Entry } from '../protocol/index.ts'
import {
  derivationsByType,
  STANDARD_DERIVATIONS,
  turnEnds,
  turnKey,
  turnRange,
  turnStarts,
} from './derive.ts'

function entry(type: string, more: Partial<Entry> = {}): Entry {
  return { seq: 9, turn: 3, at: 1, type, v: 1, data: {}, ...more }
}

describe('the index of turns', () => {
  it('says where a turn begins: with the first input that it took', () => {
    expect(turnStarts.rows(entry('turn.start'))).toEqual([{ key: '000000000003', value: { first: 9 } }])
    expect(turnStarts.rows(entry('turn.start', { takes: [7, 4] }))[0]?.value).toEqual({ first: 4 })
  })

  it('says where and how a turn ends', () => {
    const usage = { inputTokens: 1, outputTokens: 2, cachedTokens: 0, costUsd: 0.5 }
    const data = { outcome: 'limit', usage, durationMs: 12, error: { code: 'x' } }
    expect(turnEnds.rows(entry('turn.end', { data }))).toEqual([
      { key: '000000000003', value: { last: 9, outcome: 'limit', usage, durationMs: 12 } },
    ])
  })

  it('says nothing of other entries', () => {
    for (const type of ['input', 'claim', 'take', 'model.end', 'fork', 'base', 'x.future'])
      for (const { rows } of STANDARD_DERIVATIONS) expect(rows(entry(type))).toEqual([])
  })

  it('has keys that sort as the turns do', () => {
    const turns = [1, 2, 9, 10, 99, 100, 12_345]
    expect(turns.map(turnKey).sort()).toEqual(turns.map(turnKey))
  })
})

describe('derivations by type', () => {
  const every = { index: 'every', rows: () => [] }
  const find = derivationsByType([...STANDARD_DERIVATIONS, every])
  const indexes = (type: string) => find(type).map(({ index }) => index)

  it('are those that name the type, and those that name none', () => {
    expect(indexes('turn.start')).toEqual(['turn', 'every'])
    expect(indexes('input')).toEqual(['mentioned', 'every'])
    expect(indexes('model.end')).toEqual(['every'])
    expect(indexes('x.future')).toEqual(['every'])
    expect(indexes('x.future')).toEqual(['every'])
  })

  it('leave out none that has rows', () => {
    const entries = [
      entry('turn.start'),
      entry('turn.end', { data: { outcome: 'stop' } }),
      entry('artifact', { data: { artifactId: 'a', version: 1, op: 'create' } }),
      entry('tool.end', { data: { callId: 'c', status: 'ok', output: 1, seen: [{ entity: 'e', id: 'i' }] } }),
      entry('input', { data: { message: 'see tsk-1' } }),
      entry('request.end', { data: { requestId: 'r', how: 'answered', value: 'tsk-1' } }),
      entry('import', { data: { key: 'k', messages: [{ role: 'user', content: 'tsk-1' }] } }),
    ]
    for (const one of entries) {
      const withRows = STANDARD_DERIVATIONS.filter(({ rows }) => rows(one).length > 0)
      expect(withRows.length).toBeGreaterThan(0)
      expect(indexes(one.type)).toEqual(expect.arrayContaining(withRows.map(({ index }) => index)))
    }
  })
})

describe('the range of a turn', () => {
  const start = { key: turnKey(3), seq: 9, value: { first: 4 } }
  const end = { key: turnKey(3), seq: 20, value: { last: 20 } }

  it('is from its first input to its end', () => {
    expect(turnRange(start, end)).toEqual({ from: 4, to: 20 })
  })

  it('has no end yet while the turn is open, and is nothing before it began', () => {
    expect(turnRange(start, undefined)).toEqual({ from: 4, to: Number.MAX_SAFE_INTEGER })
    expect(turnRange(undefined, end)).toBe(undefined)
  })
})

describe('the index of what the person wrote', () => {
  const keys = (type: string, data: Entry['data']): readonly string[] =>
    STANDARD_DERIVATIONS.filter(({ index }) => index === 'mentioned').flatMap(({ rows }) =>
      rows(entry(type, { data })).map(({ key }) => key.split('\n')[0] ?? ''),
    )

  it('has the tokens that may be ids, in one form', () => {
    const message = 'I am ANN_42, my order is (#W-123) from Saint-Étienne, for 12 €.'
    expect(keys('input', { message })).toEqual(['ann42', 'w123', 'saintetienne', '12'])
    expect(keys('request.end', { value: ['w-1', { of: 7 }], picked: ['w-1'] })).toEqual(['7', 'w1'])
    expect(
      keys('import', {
        messages: [
          { role: 'user', content: 'a1' },
          { role: 'assistant', content: 'b2' },
        ],
      }),
    ).toEqual(['a1'])
  })

  it('has no more than 256 of a message, and none of what others say', () => {
    const message = Array.from({ length: 1000 }, (_, at) => `t${at}`).join(' ')
    expect(keys('input', { message })).toHaveLength(256)
    expect(keys('note', { text: 'ann_42', from: 'hook' })).toEqual([])
    expect(keys('model.end', { content: [{ type: 'text', text: 'ann_42' }] })).toEqual([])
  })
})
