/** The fold of calls: requests and answers, failures, unknown outcomes; and the state of the conversation as a whole. */
import { describe, expect, it } from 'vitest'
import type { Entry, EntryData, EntryType, SettledStatus } from '../protocol/index.ts'
import { fold } from './fold.ts'
import { type Call, MAX_UNKNOWN, newSession, type OpenTurn, type Session } from './session.ts'

type Part = { [T in EntryType]: readonly [T, EntryData[T]] }[EntryType]

const principal = { tenant: 't', actor: 'a' }
const usage = { inputTokens: 5, outputTokens: 2, cachedTokens: 1, costUsd: 0.5 }
const noUsage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0, costUsd: 0 }
const start: Part = ['turn.start', { principal }]
const claim: Part = ['claim', { epoch: 1, driver: 'd', leaseMs: 1000, attempt: 1 }]
const clear: Part = ['clear', {}]
const end: Part = ['turn.end', { outcome: 'stop', usage, durationMs: 1 }]
const wait: Part = ['turn.end', { outcome: 'input-required', usage, durationMs: 1 }]
const fork: Part = ['fork', { parent: 'p', at: 1, position: {} as never }]
const asking = (...callIds: readonly string[]): Part => [
  'model.end',
  {
    content: callIds.map((callId) => ({
      type: 'tool-call' as const,
      callId,
      tool: 'look',
      args: { of: callId },
    })),
    finish: 'tools',
  },
]
const begun = (callId: string, more: { argsKey?: string; args?: string } = {}): Part => [
  'tool.start',
  { callId, tool: 'look', args: { of: callId }, idempotencyKey: `i-${callId}`, replay: 'never', ...more },
]
const settled = (callId: string, status: SettledStatus = 'ok'): Part => [
  'tool.end',
  { callId, status, output: 'seen' },
]
const late = (callId: string): Part => ['tool.late', { callId, status: 'ok', output: 'seen' }]
const request = (requestId: string, more: Partial<EntryData['request.start']> = {}): Part => [
  'request.start',
  { requestId, kind: 'question', prompt: 'Which?', ...more },
]
const told = (requestId: string): Part => ['request.end', { requestId, how: 'answered', value: 'this' }]
/** A round of one call with this end and a key for its arguments. */
const round = (callId: string, argsKey: string, status: SettledStatus): Part[] => [
  asking(callId),
  begun(callId, { argsKey }),
  settled(callId, status),
]

function journal(parts: readonly Part[]): Entry[] {
  return parts.map(([type, data], index) => {
    const seq = index + 1
    return { seq, turn: 1, at: 1000 * seq, type, v: 1, data }
  })
}

function foldOf(...parts: readonly Part[]): Session {
  return fold(journal(parts))
}

function openAfter(...parts: readonly Part[]): OpenTurn {
  const { open } = foldOf(start, ...parts)
  if (open === undefined) throw new Error('no turn is open')
  return open
}

function callsAfter(...parts: readonly Part[]): readonly Call[] {
  return openAfter(...parts).calls
}

describe('a call', () => {
  const requested = { callId: 'a', tool: 'look', state: 'requested', args: { of: 'a' } }
  const started = { ...requested, state: 'started', replay: 'never', idempotencyKey: 'i-a' }

  it('knows why its arguments cannot be used', () => {
    const part = {
      type: 'tool-call',
      callId: 'a',
      tool: 'look',
      args: '{"at":',
      malformed: 'no JSON',
    } as const
    const reply: Part = ['model.end', { content: [part], finish: 'tools' }]
    expect(callsAfter(reply)).toEqual([{ ...requested, args: '{"at":', malformed: 'no JSON' }])
    expect(callsAfter(reply, settled('a', 'rejected'))).toEqual([])
  })

  it('keeps the key of its arguments', () => {
    expect(callsAfter(asking('a'), begun('a'))).toEqual([started])
    expect(callsAfter(asking('a'), begun('a', { argsKey: 'k' }))).toEqual([{ ...started, argsKey: 'k' }])
    expect(callsAfter(asking('a', 'b'), begun('a', { argsKey: 'k' }), settled('a'))[0]).toEqual({
      ...started,
      state: 'settled',
      argsKey: 'k',
    })
  })

  it('that asks has come to a halt, and is requested until it is started again', () => {
    const halted = { ...started, state: 'requested', argsKey: 'k' }
    const untilNow = [asking('a', 'b'), begun('a', { argsKey: 'k' }), request('r', { callId: 'a' })]
    expect(callsAfter(...untilNow)[0]).toEqual(halted)
    expect(callsAfter(...untilNow, begun('a', { args: 'others' }))[0]).toEqual({
      ...halted,
      state: 'started',
      args: 'others',
    })
    expect(callsAfter(...untilNow, begun('a', { argsKey: 'l' }))[0]).toMatchObject({ argsKey: 'l' })
  })

  it('is not moved by what others ask, nor by a question before its start or after its end', () => {
    const [, b] = callsAfter(asking('a', 'b'), begun('b'), request('r', { callId: 'a' }), request('s'))
    expect(b).toMatchObject({ callId: 'b', state: 'started' })
    expect(callsAfter(asking('a'), request('r', { callId: 'a' }))).toEqual([requested])
    expect(
      callsAfter(asking('a', 'b'), begun('a'), settled('a'), request('r', { callId: 'a' }))[0],
    ).toMatchObject({ state: 'settled' })
  })

  it('counts once, however often it is started', () => {
    const again = [begun('a'), request('r', { callId: 'a' }), told('r')]
    const session = foldOf(start, asking('a', 'b'), ...again, ...again, begun('a'), begun('b'))
    expect([session.open?.toolCalls, session.totals.toolCalls]).toEqual([2, 2])
  })

  it('counts once, also when it is started again in the next turn', () => {
    const asked = [start, asking('a'), begun('a'), request('r', { callId: 'a' }), wait]
    const session = foldOf(...asked, start, told('r'), begun('a'))
    expect([session.open?.toolCalls, session.totals.toolCalls]).toEqual([0, 1])
    expect(session.open?.calls).toMatchObject([{ callId: 'a', state: 'started' }])
  })
})

describe('a second settlement of a call', () => {
  const untilNow = [start, asking('a', 'b'), begun('a', { argsKey: 'k' }), settled('a')]
  const again: Part = ['tool.end', { callId: 'a', status: 'unknown', output: 1, usage }]

  it('changes nothing but the count of messages (R4)', () => {
    const { seq: _, at: __, window, totals, ...before } = foldOf(...untilNow)
    expect(foldOf(...untilNow, again)).toMatchObject(before)
    expect(foldOf(...untilNow, again).open).toEqual(before.open)
    expect(foldOf(...untilNow, again)).not.toHaveProperty('unknown')
    expect(foldOf(...untilNow, again).totals).toEqual({ ...totals, messages: window.messages + 1 })
  })
})

describe('the answers of a call', () => {
  it('are what it was told, in order, with the names that it gave', () => {
    const calls = callsAfter(
      asking('a', 'b'),
      request('r', { callId: 'a', name: 'bed', from: 'look' }),
      request('s', { callId: 'a' }),
      request('t', { callId: 'b', from: 'approval' }),
      ['request.end', { requestId: 's', how: 'expired' }],
      ['request.end', { requestId: 'r', how: 'answered', value: { bed: 3 } }],
      ['request.end', { requestId: 't', how: 'cancelled' }],
    )
    expect(calls.map(({ answers }) => answers)).toEqual([
      [
        { requestId: 's', how: 'expired' },
        { requestId: 'r', name: 'bed', from: 'look', how: 'answered', value: { bed: 3 } },
      ],
      [{ requestId: 't', from: 'approval', how: 'cancelled' }],
    ])
  })

  it('stay with it through its start, a wait and another claim', () => {
    const answers = [{ requestId: 'r', how: 'answered', value: 'this' }]
    const untilNow = [start, asking('a'), request('r', { callId: 'a' }), told('r'), begun('a')]
    expect(foldOf(...untilNow).open?.calls).toMatchObject([{ state: 'started', answers }])
    expect(foldOf(...untilNow, claim, wait).parked?.calls).toMatchObject([{ answers }])
    expect(foldOf(...untilNow, wait, start).open?.calls).toMatchObject([{ answers }])
  })

  it('are added to in the next turn, where it was asked in this one', () => {
    const asked = [start, asking('a'), begun('a'), request('r', { callId: 'a', name: 'bed' }), wait]
    expect(foldOf(...asked, start, told('r')).open).toMatchObject({
      requests: [],
      calls: [{ state: 'requested', answers: [{ requestId: 'r', name: 'bed', how: 'answered' }] }],
    })
  })

  it('are none for a request that is about no call, is not known, or was closed before', () => {
    const before = callsAfter(asking('a'))
    expect(callsAfter(asking('a'), request('r'), told('r'))).toEqual(before)
    expect(callsAfter(asking('a'), request('r', { callId: 'x' }), told('r'))).toEqual(before)
    expect(callsAfter(asking('a'), told('r'))).toEqual(before)
    const [call] = callsAfter(asking('a'), request('r', { callId: 'a' }), told('r'), told('r'))
    expect(call?.answers).toHaveLength(1)
  })

  it('are not added to a session that somebody else holds', () => {
    const parts = [start, asking('a'), request('r', { callId: 'a' }), request('s', { callId: 'a' })]
    const entries = journal([...parts, told('r'), told('s')])
    const before = fold(entries.slice(0, -1))
    const text = JSON.stringify(before)
    expect(fold(entries.slice(-1), before).open?.calls[0]?.answers).toHaveLength(2)
    expect(JSON.stringify(before)).toBe(text)
  })
})

describe('a request', () => {
  it('knows where it was asked, by whom, and what the answer is called', () => {
    expect(
      openAfter(asking('a'), request('r', { callId: 'a', name: 'bed', from: 'look', expiresAt: 9 })).requests,
    ).toEqual([
      { requestId: 'r', seq: 3, kind: 'question', callId: 'a', name: 'bed', from: 'look', expiresAt: 9 },
    ])
  })

  it('leaves everything else to its entry', () => {
    const rest = {
      schema: { type: 'string' },
      options: ['a'],
      multiple: true,
      about: { tool: 'look' },
    } as const
    expect(openAfter(request('r', rest)).requests).toEqual([{ requestId: 'r', seq: 2, kind: 'question' }])
  })
})

describe('failures', () => {
  it('are calls in a row that did not end well, over rounds and of any kind', () => {
    const kinds = ['error', 'rejected', 'unknown', 'not-run'] as const
    const rounds = kinds.flatMap((status, n) => [asking(`${n}`), settled(`${n}`, status)])
    expect(openAfter().failures).toBe(0)
    expect(openAfter(...rounds).failures).toBe(4)
    expect(openAfter(...rounds, asking('a'), begun('a')).failures).toBe(4)
    expect(openAfter(...rounds, asking('a', 'b'), settled('a')).failures).toBe(0)
    expect(openAfter(...rounds, asking('a', 'b'), settled('a'), settled('b', 'error')).failures).toBe(1)
  })

  it('are counted in each turn from zero', () => {
    const failed = [start, asking('a', 'b'), settled('a', 'error')]
    expect(foldOf(...failed, wait, start).open?.failures).toBe(0)
    expect(foldOf(...failed, end, start).open?.failures).toBe(0)
  })

  it('are none of calls that the round does not have', () => {
    expect(openAfter(asking('a'), settled('x', 'error')).failures).toBe(0)
  })
})

describe('the usage of a call', () => {
  const spent: Part = ['tool.end', { callId: 'a', status: 'ok', output: 1, usage }]

  it('adds to that of the turn and of the conversation', () => {
    const reply: Part = [
      'model.end',
      { content: [{ type: 'tool-call', callId: 'a', tool: 'look', args: {} }], finish: 'tools', usage },
    ]
    const twice = { inputTokens: 10, outputTokens: 4, cachedTokens: 2, costUsd: 1 }
    const session = foldOf(start, reply, spent)
    expect([session.open?.usage, session.totals.usage]).toEqual([twice, twice])
    expect(foldOf(start, reply, spent, end, start)).toMatchObject({
      open: { usage: noUsage },
      totals: { usage: twice },
    })
  })

  it('is estimated once a part of it is', () => {
    const guess: Part = [
      'tool.end',
      { callId: 'b', status: 'ok', output: 1, usage: { ...usage, estimated: true } },
    ]
    expect(openAfter(asking('a', 'b'), spent).usage).not.toHaveProperty('estimated')
    expect(openAfter(asking('a', 'b'), guess, spent).usage).toMatchObject({
      inputTokens: 10,
      estimated: true,
    })
  })

  it('counts for nothing where there is no such call', () => {
    expect(foldOf(start, asking('b'), spent).totals.usage).toEqual(noUsage)
    expect(foldOf(spent).totals.usage).toEqual(noUsage)
  })
})

describe('calls of unknown outcome', () => {
  it('are remembered by the key of their arguments, beyond their turn', () => {
    const unknown = [{ callId: 'a', argsKey: 'k' }]
    expect(foldOf(start, ...round('a', 'k', 'unknown')).unknown).toEqual(unknown)
    for (const after of [end, wait, claim, clear, fork])
      expect(foldOf(start, ...round('a', 'k', 'unknown'), after).unknown).toEqual(unknown)
  })

  it('are not remembered without such a key, nor with any other status', () => {
    expect(foldOf(start, asking('a'), begun('a'), settled('a', 'unknown'))).not.toHaveProperty('unknown')
    for (const status of ['ok', 'error', 'rejected', 'not-run'] as const)
      expect(foldOf(start, ...round('a', 'k', status))).not.toHaveProperty('unknown')
  })

  it('are remembered one by one, in the order of their ends: each may still hear from its tool', () => {
    const rounds = [
      ...round('a', 'k', 'unknown'),
      ...round('b', 'l', 'unknown'),
      ...round('c', 'k', 'unknown'),
    ]
    expect(foldOf(start, ...rounds).unknown).toEqual([
      { callId: 'a', argsKey: 'k' },
      { callId: 'b', argsKey: 'l' },
      { callId: 'c', argsKey: 'k' },
    ])
  })

  it.each(['ok', 'error'] as const)('need no person any more when the same ends as %s', (status) => {
    const untilNow = [start, ...round('a', 'k', 'unknown'), ...round('b', 'l', 'unknown')]
    const [a, b] = [
      { callId: 'a', argsKey: 'k', repeated: true },
      { callId: 'b', argsKey: 'l' },
    ]
    expect(foldOf(...untilNow, ...round('c', 'k', status)).unknown).toEqual([a, b])
    expect(foldOf(...untilNow, ...round('c', 'k', status), ...round('d', 'k', 'unknown')).unknown).toEqual([
      a,
      b,
      { callId: 'd', argsKey: 'k' },
    ])
    expect(foldOf(...untilNow, ...round('c', 'k', status), late('a')).unknown).toEqual([b])
  })

  it('are in doubt no more when their result comes late, in a turn or between turns', () => {
    const untilNow = [start, ...round('a', 'k', 'unknown'), ...round('b', 'l', 'unknown')]
    for (const between of [[], [end], [end, claim, start]]) {
      expect(foldOf(...untilNow, ...between, late('a')).unknown).toEqual([{ callId: 'b', argsKey: 'l' }])
      expect(foldOf(...untilNow, ...between, late('x')).unknown).toHaveLength(2)
      expect(foldOf(...untilNow, ...between, late('a'), late('b'))).not.toHaveProperty('unknown')
    }
  })

  it('are forgotten when there are too many, the oldest first', () => {
    const rounds = Array.from({ length: MAX_UNKNOWN + 2 }, (_, n) => round(`c${n}`, `k${n}`, 'unknown'))
    const { unknown = [] } = foldOf(start, ...rounds.flat())
    expect([unknown.length, unknown[0], unknown.at(-1)]).toEqual([
      50,
      { callId: 'c2', argsKey: 'k2' },
      { callId: 'c51', argsKey: 'k51' },
    ])
  })
})

describe('a session', () => {
  it('knows whether its turn was asked for with credentials', () => {
    expect(openAfter()).not.toHaveProperty('credentials')
    const asked: Part = ['turn.start', { principal, credentials: true }]
    expect(foldOf(asked).open).toMatchObject({ credentials: true })
    expect(foldOf(asked, fork).open).toMatchObject({ credentials: true })
    expect(foldOf(asked, wait, start).open).not.toHaveProperty('credentials')
  })

  it('knows where it was last cleared, through what comes after', () => {
    expect(foldOf(start, end)).not.toHaveProperty('cleared')
    expect(foldOf(start, end, clear, start).cleared).toBe(3)
    expect(foldOf(start, end, clear, clear, ['compact', { upTo: 4, kept: 0 }]).cleared).toBe(4)
  })

  it('remembers the last state as a whole, in a turn, between turns and in a fork', () => {
    const state = (metadata: EntryData['state']['metadata']): Part => ['state', { metadata }]
    expect(foldOf(state({ title: 'one', tags: ['a'] })).metadata).toEqual({ title: 'one', tags: ['a'] })
    expect(foldOf(state({ title: 'one' }), start, state({ tags: [] }), end, clear, fork).metadata).toEqual({
      tags: [],
    })
  })

  it('is moved by a state in nothing else, and by an artifact not at all', () => {
    const change = {
      ...({ artifactId: 'f', kind: 'file', op: 'append', version: 1, chunk: 2, content: 'hi' } as const),
      ...{ bytes: 2, chunks: 2, totalBytes: 4, complete: false },
    }
    const untilNow: Part[] = [start, asking('a'), begun('a')]
    const artifact: Part = ['artifact', { ...change, callId: 'a' }]
    const before = foldOf(...untilNow)
    const moved = { ...before, seq: 4, at: 4000 }
    expect(foldOf(...untilNow, artifact)).toEqual(moved)
    expect(foldOf(...untilNow, ['state', { metadata: { title: 't' } }])).toEqual({
      ...moved,
      metadata: { title: 't' },
    })
  })

  it('has none of this when it is new', () => {
    expect(Object.keys(newSession())).toEqual([
      'seq',
      'at',
      'createdAt',
      'activeAt',
      'turn',
      'epoch',
      'claims',
      'window',
      'totals',
    ])
  })
})
