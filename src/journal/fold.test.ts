/** The fold, entry by entry: the changes of each type to a session, and only these. */
import { describe, expect, it } from 'vitest'
import type { Entry, EntryData, EntryType, OutcomeReason } from '../protocol/index.ts'
import { fold } from './fold.ts'
import { messageCount } from './message-count.ts'
import { newSession, type OpenTurn, type Session } from './session.ts'

const principal = { tenant: 't', actor: 'a' }
const usage = { inputTokens: 5, outputTokens: 2, cachedTokens: 1, costUsd: 0.5 }
const noUsage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0, costUsd: 0 }

/** Entries from parts, numbered from 1, a second apart. */
function journal(...parts: readonly Part[]): Entry[] {
  return parts.map(([type, data, more], index) => ({
    seq: index + 1,
    turn: 1,
    at: 1000 * (index + 1),
    type,
    v: 1,
    data: data as Entry['data'],
    ...more,
  }))
}

type Part = { [T in EntryType]: readonly [T, EntryData[T], Partial<Entry>?] }[EntryType]

const input: Part = ['input', { message: 'Hello' }, { turn: 0, key: 'k' }]
const claim: Part = ['claim', { epoch: 3, driver: 'd', leaseMs: 1000, attempt: 2 }]
const start: Part = [
  'turn.start',
  { principal, limits: { iterations: 4 }, metadata: { from: 'cli' } },
  { takes: [1] },
]
const thinking: Part = ['model.start', { model: 'm', iteration: 1 }]
const asking: Part = [
  'model.end',
  {
    content: [
      { type: 'text', text: 'Let me see.' },
      { type: 'tool-call', callId: 'a', providerId: 'p', tool: 'look', args: { at: 1 } },
      { type: 'tool-call', callId: 'b', tool: 'look', args: { at: 2 } },
    ],
    finish: 'tools',
    usage,
  },
]
const startOf = (callId: string): Part => [
  'tool.start',
  { callId, tool: 'look', args: { at: 'edited' }, idempotencyKey: `i-${callId}`, replay: 'safe' },
]
const endOf = (callId: string): Part => ['tool.end', { callId, status: 'ok', output: 'seen' }]
const endWith = (outcome: OutcomeReason): Part => ['turn.end', { outcome, usage, durationMs: 3 }]
const end: Part = endWith('stop')
const artifact: Part = [
  'artifact',
  {
    artifactId: 'f',
    kind: 'file',
    op: 'write',
    version: 1,
    chunk: 1,
    content: 'hi',
    bytes: 2,
    chunks: 1,
    totalBytes: 2,
    complete: false,
  },
]
const fork: Part = [
  'fork',
  {
    parent: 'p',
    at: 6,
    position: { at: 1, turn: 1, epoch: 3, claims: 0, running: true, createdAt: 1, activeAt: 1 },
  },
  { turn: 0 },
]

/** Without position, times and creation, which every entry sets and one test covers. */
function foldOf(...parts: readonly Part[]): Omit<Session, 'seq' | 'at' | 'createdAt' | 'activeAt'> {
  const { seq: _, at: __, createdAt: ___, activeAt: ____, ...rest } = fold(journal(...parts))
  return rest
}

function openAfter(...parts: readonly Part[]): OpenTurn | undefined {
  return fold(journal(input, claim, start, ...parts)).open
}

function cases(...parts: readonly Part[]): { type: EntryType; part: Part }[] {
  return parts.map((part) => ({ type: part[0], part }))
}

describe('a session', () => {
  it('is new before the first entry', () => {
    expect(fold([])).toEqual(newSession())
    expect(newSession()).toEqual({
      seq: 0,
      at: 0,
      createdAt: 0,
      activeAt: 0,
      turn: 0,
      epoch: 0,
      claims: 0,
      window: { from: 1, messages: 0 },
      totals: { turns: 0, messages: 0, modelCalls: 0, toolCalls: 0, usage: noUsage },
    })
  })

  it('is born with the first entry and active since the last start of a turn', () => {
    expect(fold(journal(input))).toMatchObject({ seq: 1, at: 1000, createdAt: 1000, activeAt: 1000 })
    expect(fold(journal(input, claim, start, end))).toMatchObject({
      seq: 4,
      at: 4000,
      createdAt: 1000,
      activeAt: 3000,
    })
  })

  it.each(
    cases(
      input,
      ['answer', { requestId: 'r', value: true }, { turn: 0, key: 'k' }],
      ['cancel', { turn: 1 }, { turn: 0, key: 'k' }],
      ['late-result', { callId: 'a', status: 'ok', output: 1 }, { turn: 0, key: 'k' }],
    ),
  )('ignores $type until it is taken (R2)', ({ part }) => {
    const before = foldOf(input, claim, start, thinking, asking)
    expect(foldOf(input, claim, start, thinking, asking, part)).toEqual(before)
  })

  it.each(
    cases(
      ['release', { reason: 'pause' }],
      ['warning', { code: 'w', message: 'odd' }],
      artifact,
      ['take', { as: 'nothing' }, { takes: [1] }],
      ['base', { upTo: 2, kept: 0, position: {} as never, session: {} }],
    ),
  )('is not changed by $type within a turn', ({ part }) => {
    const before = foldOf(input, claim, start, thinking, asking)
    expect(foldOf(input, claim, start, thinking, asking, part)).toEqual(before)
  })
})

describe('ownership', () => {
  it('is the newest claim, with its number of attempts', () => {
    expect(foldOf(claim)).toMatchObject({ epoch: 3, claims: 2, turn: 0 })
  })

  it.each(
    cases(
      ['release', { reason: 'r' }],
      thinking,
      startOf('a'),
      ['warning', { code: 'w', message: 'm' }],
      input,
      ['take', { as: 'nothing' }],
      ['note', { text: 't', from: 'f' }],
      ['phase', { name: 'p' }],
      ['tool.late', { callId: 'a', status: 'ok', output: 1 }],
      artifact,
      ['state', { metadata: {} }],
      ['base', { upTo: 1, kept: 0, position: {} as never, session: {} }],
    ),
  )('leads nowhere with $type (R7)', ({ part }) => {
    expect(foldOf(claim, part).claims).toBe(2)
  })

  it('leads nowhere with a type that this version does not know (R7)', () => {
    const unknown: Entry = { seq: 2, turn: 1, at: 2000, type: 'x.future', v: 1, data: {}, optional: true }
    expect(fold([...journal(claim), unknown]).claims).toBe(2)
  })

  it.each(
    cases(
      start,
      asking,
      endOf('a'),
      ['request.start', { requestId: 'r', kind: 'k', prompt: 'p' }],
      ['request.end', { requestId: 'r', how: 'expired' }],
      end,
      ['compact', { upTo: 1, kept: 0 }],
      ['clear', {}],
      fork,
    ),
  )('leads somewhere with $type (R7)', ({ part }) => {
    expect(foldOf(claim, part).claims).toBe(0)
  })

  it('ends the model call of the owner before, which is made again and counts once', () => {
    const second: Part = ['model.start', { model: 'm', iteration: 2 }]
    expect(openAfter(thinking)).toMatchObject({ thinking: true, iteration: 1 })
    expect(openAfter(thinking, claim)).toMatchObject({ thinking: false, iteration: 0 })
    expect(openAfter(thinking, claim, claim)).toMatchObject({ thinking: false, iteration: 0 })
    expect(openAfter(thinking, claim, thinking)).toMatchObject({ thinking: true, iteration: 1 })
    expect(openAfter(thinking, asking, claim)).toMatchObject({ thinking: false, iteration: 1 })
    expect(openAfter(thinking, asking, second, claim)).toMatchObject({ thinking: false, iteration: 1 })
    expect(foldOf(input, claim, start, thinking, claim, thinking).totals.modelCalls).toBe(2)
  })
})

describe('a model call that failed', () => {
  const failed = (next: string, more: object = {}): Part => [
    'model.end',
    { content: [], finish: 'error', model: 'a/b', error: { kind: 'overloaded', next, ...more } },
  ]

  it('is no iteration if it is repeated, and says what is next, until one goes well', () => {
    const once = [thinking, failed('retry', { waitMs: 2000 })]
    expect(openAfter(...once)).toMatchObject({
      iteration: 0,
      retry: { model: 'a/b', attempt: 2, until: 7000 },
    })
    expect(openAfter(...once, thinking, claim)).toMatchObject({ iteration: 0, retry: { attempt: 2 } })
    expect(openAfter(...once, ...once)?.retry).toEqual({ model: 'a/b', attempt: 3, until: 9000 })
    expect(openAfter(...once, thinking, asking)).not.toHaveProperty('retry')
    expect(openAfter(...once, thinking, asking)).toMatchObject({ iteration: 1 })
  })

  it('hands over to the next model, with attempts of its own', () => {
    const over = [thinking, failed('fallback')]
    expect(openAfter(...over)?.retry).toEqual({ model: 'a/b', attempt: 0, until: 5000, skipped: 1 })
    expect(openAfter(...over, thinking, failed('retry'))?.retry).toMatchObject({ attempt: 2, skipped: 1 })
    expect(openAfter(...over, ...over)?.retry).toMatchObject({ attempt: 0, skipped: 2 })
  })

  it('for good is an iteration with nothing after it', () => {
    expect(openAfter(thinking, failed('fail'))).toMatchObject({ iteration: 1 })
    expect(openAfter(thinking, failed('fail'))).not.toHaveProperty('retry')
  })
})

describe('a turn', () => {
  it('opens with who asks, limits and metadata', () => {
    expect(foldOf(input, claim, start)).toEqual({
      turn: 1,
      epoch: 3,
      claims: 0,
      open: {
        turn: 1,
        startSeq: 3,
        startedAt: 3000,
        principal,
        limits: { iterations: 4 },
        metadata: { from: 'cli' },
        iteration: 0,
        thinking: false,
        fresh: true,
        calls: [],
        requests: [],
        usage: noUsage,
        toolCalls: 0,
        failures: 0,
      },
      window: { from: 1, messages: 1 },
      totals: { turns: 1, messages: 1, modelCalls: 0, toolCalls: 0, usage: noUsage },
    })
  })

  it('closes with its outcome and leaves nothing open', () => {
    expect(foldOf(input, claim, start, thinking, asking, startOf('a'), end)).toEqual({
      turn: 1,
      epoch: 3,
      claims: 0,
      outcome: 'stop',
      window: { from: 1, messages: 2 },
      totals: { turns: 1, messages: 2, modelCalls: 1, toolCalls: 1, usage },
    })
  })

  it('remembers the last step, so that a model call that is made again finds the phases before it done (R8)', () => {
    const before: Part = ['phase', { name: 'beforeLlm' }]
    const failed: Part = ['model.end', { content: [], finish: 'error', error: { next: 'retry' } }]
    expect(openAfter(before)?.phase).toBe('beforeLlm')
    expect(openAfter(before, thinking)?.phase).toBe('beforeLlm')
    expect(openAfter(before, thinking, claim)?.phase).toBe('beforeLlm')
    expect(openAfter(before, thinking, failed)?.phase).toBe('beforeLlm')
    expect(openAfter(before, thinking, asking)?.phase).toBe('model')
    expect(openAfter(before, thinking, asking, endOf('a'))?.phase).toBe('model')
    expect(openAfter(before, thinking, asking, endOf('a'), endOf('b'))?.phase).toBe('tools')
  })

  it('knows whether what was said has been told to hooks, and whether it was answered', () => {
    const heard: Part = ['phase', { name: 'afterUserInput' }]
    const reply: Part = ['model.end', { content: [{ type: 'text', text: 'Yes.' }], finish: 'stop' }]
    expect(openAfter()?.fresh).toBe(true)
    expect(openAfter(heard)).not.toHaveProperty('fresh')
    expect(openAfter(heard)).not.toHaveProperty('phase')
    expect(openAfter(thinking)).not.toHaveProperty('fresh')
    expect(openAfter(thinking, reply)?.replied).toBe(true)
    expect(openAfter(thinking, asking)).not.toHaveProperty('replied')
  })

  it('keeps what hooks want of the call that follows, and no longer', () => {
    const prompt = { system: 'Be brief.', tools: ['look'] }
    const edited: Part = ['phase', { name: 'beforeLlm', changes: { prompt } }]
    expect(openAfter(edited, thinking)?.prompt).toEqual(prompt)
    expect(openAfter(edited, thinking, asking)).not.toHaveProperty('prompt')
  })

  it('has other arguments for calls that have not started, if a hook wants them', () => {
    const edited: Part = ['phase', { name: 'afterLlm', changes: { args: { a: { at: 9 }, b: { at: 8 } } } }]
    const calls = openAfter(thinking, asking, startOf('b'), edited)?.calls
    expect(calls?.map(({ args }) => args)).toEqual([{ at: 9 }, { at: 'edited' }])
  })

  it('remembers which calls hooks were told of', () => {
    const before: Part = ['phase', { name: 'beforeEachTool', callId: 'a' }]
    const after: Part = ['phase', { name: 'afterEachTool', callId: 'a' }]
    const round = openAfter(thinking, asking, before, endOf('a'))
    expect(round?.calls.map(({ checked = false }) => checked)).toEqual([true, false])
    expect(round?.ended).toEqual(['a'])
    expect(openAfter(thinking, asking, endOf('a'), endOf('b'), after)?.ended).toEqual(['b'])
    expect(openAfter(thinking, asking, endOf('a'), after)).not.toHaveProperty('ended')
    expect(openAfter(thinking, asking, endOf('a'), endOf('b'), thinking)).not.toHaveProperty('ended')
  })

  it('remembers that a hook wants it to end, and that the model asked for too many calls', () => {
    const stop = { by: 'guard/afterLlm', reason: 'enough' }
    expect(openAfter(['phase', { name: 'afterLlm', changes: { stop } }])?.stop).toEqual(stop)
    expect(openAfter(['warning', { code: 'toolCalls', message: 'Too many.' }])?.overCalls).toBe(true)
  })

  it('counts iterations and model calls apart', () => {
    const again: Part = ['model.start', { model: 'm', iteration: 1, attempt: 2 }]
    const failed: Part = ['model.end', { content: [], finish: 'error', error: { code: 'overloaded' } }]
    expect(openAfter(thinking, failed, again)).toMatchObject({ iteration: 1, thinking: true, usage: noUsage })
    expect(foldOf(input, claim, start, thinking, failed, again).totals.modelCalls).toBe(2)
  })
})

describe('a round', () => {
  it('opens with what the model asked for', () => {
    expect(openAfter(thinking, asking)).toMatchObject({
      thinking: false,
      usage,
      calls: [
        { callId: 'a', tool: 'look', state: 'requested', args: { at: 1 } },
        { callId: 'b', tool: 'look', state: 'requested', args: { at: 2 } },
      ],
    })
  })

  it('holds what a started call was really given', () => {
    expect(openAfter(thinking, asking, startOf('b'))?.calls).toEqual([
      { callId: 'a', tool: 'look', state: 'requested', args: { at: 1 } },
      {
        callId: 'b',
        tool: 'look',
        state: 'started',
        args: { at: 'edited' },
        replay: 'safe',
        idempotencyKey: 'i-b',
      },
    ])
  })

  it('stays open until the last call is settled, in whatever order', () => {
    expect(openAfter(thinking, asking, endOf('b'))?.calls.map(({ state }) => state)).toEqual([
      'requested',
      'settled',
    ])
    expect(openAfter(thinking, asking, startOf('a'), endOf('b'), endOf('a'))?.calls).toEqual([])
  })

  it('ignores calls that it does not have, and second starts', () => {
    const before = openAfter(thinking, asking, startOf('a'))
    expect(openAfter(thinking, asking, startOf('a'), startOf('x'))).toEqual(before)
    expect(openAfter(thinking, asking, startOf('a'), startOf('a'))).toEqual(before)
    expect(openAfter(thinking, asking, startOf('a'), endOf('x'))).toEqual(before)
    expect(foldOf(startOf('a'), endOf('a'))).toMatchObject({ totals: { toolCalls: 0 } })
  })

  it('counts only calls that were started', () => {
    expect(openAfter(thinking, asking, startOf('a'), endOf('a'), endOf('b'))?.toolCalls).toBe(1)
  })
})

describe('requests', () => {
  const ask: Part = [
    'request.start',
    { requestId: 'r', kind: 'approval', prompt: 'May I?', callId: 'a', expiresAt: 9 },
  ]
  const other: Part = ['request.start', { requestId: 's', kind: 'question', prompt: 'Which?' }]

  it('stay open until they are closed, however that is', () => {
    expect(openAfter(ask, other)?.requests).toEqual([
      { requestId: 'r', seq: 4, kind: 'approval', callId: 'a', expiresAt: 9 },
      { requestId: 's', seq: 5, kind: 'question' },
    ])
    for (const how of ['answered', 'expired', 'cancelled'] as const)
      expect(openAfter(ask, other, ['request.end', { requestId: 'r', how }])?.requests).toHaveLength(1)
  })

  it('need an open turn', () => {
    expect(foldOf(ask, ['request.end', { requestId: 'r', how: 'expired' }])).toEqual(foldOf())
  })
})

describe('what a turn waits for', () => {
  const ask: Part = ['request.start', { requestId: 'r', kind: 'approval', prompt: 'May I?', callId: 'b' }]
  const untilNow: readonly Part[] = [input, claim, start, thinking, asking, startOf('a'), ask]
  const wait = endWith('input-required')
  const next: Part = ['turn.start', { principal }, { turn: 2 }]
  const parked: NonNullable<Session['parked']> = {
    calls: [
      {
        callId: 'a',
        tool: 'look',
        state: 'started',
        args: { at: 'edited' },
        replay: 'safe',
        idempotencyKey: 'i-a',
      },
      { callId: 'b', tool: 'look', state: 'requested', args: { at: 2 } },
    ],
    requests: [{ requestId: 'r', seq: 7, kind: 'approval', callId: 'b' }],
    limits: { iterations: 4 },
    metadata: { from: 'cli' },
  }

  it.each(['input-required', 'auth-required'] as const)('is parked when it ends with %s', (outcome) => {
    expect(foldOf(...untilNow, endWith(outcome))).toEqual({
      turn: 1,
      epoch: 3,
      claims: 0,
      outcome,
      parked,
      window: { from: 1, messages: 2 },
      totals: { turns: 1, messages: 2, modelCalls: 1, toolCalls: 1, usage },
    })
  })

  it.each(['stop', 'max-iterations', 'limit', 'failed', 'cancelled'] as const)(
    'is not, when it ends with %s',
    (outcome) => {
      expect(foldOf(...untilNow, endWith(outcome))).not.toHaveProperty('parked')
    },
  )

  it('may be a request alone, the rest of a round, or nothing', () => {
    const [request] = parked.requests
    expect(foldOf(input, claim, start, ask, wait).parked).toEqual({
      ...parked,
      calls: [],
      requests: [{ ...request, seq: 4 }],
    })
    expect(foldOf(input, claim, start, thinking, asking, endOf('a'), wait).parked).toMatchObject({
      calls: [{ state: 'settled' }, { state: 'requested' }],
      requests: [],
    })
    expect(foldOf(input, claim, start, thinking, asking, endOf('a'), endOf('b'), wait)).not.toHaveProperty(
      'parked',
    )
  })

  it('stays parked through what happens between turns', () => {
    const between: Part[] = [
      input,
      ['answer', { requestId: 'r', value: true }, { turn: 0, key: 'k' }],
      claim,
      ['compact', { upTo: 3, kept: 1, summary: 's' }],
      ['warning', { code: 'w', message: 'm' }],
      ['state', { metadata: { title: 't' } }],
      artifact,
      ['tool.late', { callId: 'z', status: 'ok', output: 1 }],
      ['base', { upTo: 2, kept: 0, position: {} as never, session: {} }],
      ['release', { reason: 'r' }],
    ]
    for (let count = 1; count <= between.length; count++)
      expect(foldOf(...untilNow, wait, ...between.slice(0, count)).parked).toEqual(parked)
  })

  it('is found open by the next turn, which counts from zero', () => {
    const session = foldOf(...untilNow, wait, claim, next)
    expect(session).not.toHaveProperty('parked')
    expect(session.open).toEqual({
      turn: 2,
      startSeq: 10,
      startedAt: 10_000,
      principal,
      iteration: 0,
      thinking: false,
      phase: 'beforeTools',
      ...parked,
      usage: noUsage,
      toolCalls: 0,
      failures: 0,
    })
  })

  it('gives its limits and metadata to that turn, field by field, unless it begins with an input', () => {
    const own = { limits: { tokens: 9 }, metadata: { from: 'page' } }
    const openOf = (more: Partial<Entry> = {}) =>
      foldOf(...untilNow, wait, ['turn.start', { principal, ...own }, { turn: 2, ...more }]).open
    expect(openOf()).toMatchObject({ limits: { iterations: 4, tokens: 9 }, metadata: { from: 'page' } })
    expect(openOf({ takes: [8] })?.limits).toEqual(own.limits)
  })

  it('is settled there', () => {
    const answered: Part = ['request.end', { requestId: 'r', how: 'answered' }]
    const settled: Part[] = [answered, startOf('b'), endOf('b'), endOf('a')]
    expect(foldOf(...untilNow, wait, next, ...settled).open).toMatchObject({
      calls: [],
      requests: [],
      toolCalls: 1,
    })
    expect(foldOf(...untilNow, wait, next, ...settled, wait)).not.toHaveProperty('parked')
  })

  it('is parked again by a turn that waits for the rest of it, and forgotten by one that does not', () => {
    expect(foldOf(...untilNow, wait, next, endOf('a'), wait).parked).toMatchObject({
      calls: [{ state: 'settled' }, { state: 'requested' }],
    })
    expect(foldOf(...untilNow, wait, next, wait, next, wait).parked).toEqual(parked)
    expect(foldOf(...untilNow, wait, next, end)).not.toHaveProperty('parked')
    expect(foldOf(...untilNow, wait, next, end, next).open).toMatchObject({ calls: [], requests: [] })
  })

  it('is given up when the model asks for something else, but for what was requested of people', () => {
    const other: Part = ['model.end', { content: [], finish: 'stop' }]
    expect(foldOf(...untilNow, wait, next, thinking, other).open).toMatchObject({
      calls: [],
      requests: parked.requests,
    })
  })

  it('does not outlive a clear or a fork', () => {
    for (const cut of [['clear', {}], fork] as const) {
      expect(foldOf(...untilNow, wait, cut)).not.toHaveProperty('parked')
      expect(foldOf(...untilNow, wait, cut, next).open).toMatchObject({ calls: [], requests: [] })
    }
  })

  it('outlives a clear in the turn that found it, because what was started must be settled', () => {
    expect(foldOf(...untilNow, wait, next, ['clear', {}]).open).toMatchObject(parked)
  })

  it('follows the outcome also when that is changed without a turn', () => {
    expect(foldOf(...untilNow, wait, endWith('auth-required')).parked).toEqual(parked)
    expect(foldOf(...untilNow, wait, endWith('cancelled'))).not.toHaveProperty('parked')
  })
})

describe('the window', () => {
  it('counts messages: what was taken, said, replied and found', () => {
    const parts: Part[] = [
      input,
      claim,
      start,
      thinking,
      asking,
      endOf('a'),
      endOf('b'),
      ['note', { text: 't', from: 'f' }],
      ['tool.late', { callId: 'a', status: 'ok', output: 1 }],
      artifact,
      ['state', { metadata: {} }],
    ]
    expect(foldOf(...parts)).toMatchObject({ window: { from: 1, messages: 6 }, totals: { messages: 6 } })
    expect(journal(...parts).map(messageCount)).toEqual([0, 0, 1, 0, 1, 1, 1, 1, 1, 0, 0])
  })

  it('counts every input that is taken as a message, and none that is not', () => {
    expect(
      journal(
        ['take', { as: 'message' }, { takes: [1, 2] }],
        ['take', { as: 'nothing' }, { takes: [3] }],
        ['take', { as: 'message' }],
      ).map(messageCount),
    ).toEqual([2, 0, 0])
    expect(
      journal(['turn.start', { principal }, { takes: [1, 2, 3] }], ['turn.start', { principal }]).map(
        messageCount,
      ),
    ).toEqual([3, 0])
  })

  it('does not count empty replies, nor what this version does not know', () => {
    const empty: Part = ['model.end', { content: [], finish: 'error' }]
    expect(
      journal(empty, ['model.end', { content: 'of another format' } as never, { v: 9, optional: true }]).map(
        messageCount,
      ),
    ).toEqual([0, 0])
  })

  it('begins after what was compacted away, and knows where the summary stands', () => {
    const parts: Part[] = [input, claim, start, asking]
    expect(foldOf(...parts, ['compact', { upTo: 3, kept: 1 }]).window).toEqual({ from: 4, messages: 1 })
    expect(foldOf(...parts, ['compact', { upTo: 3, kept: 1, summary: 's' }]).window).toEqual({
      from: 4,
      messages: 1,
      summary: 5,
    })
    expect(foldOf(...parts, ['compact', { upTo: 3, kept: 1 }]).totals.messages).toBe(2)
  })

  it('begins anew after a clear', () => {
    const parts: Part[] = [input, claim, start, ['compact', { upTo: 1, kept: 1, summary: 's' }]]
    expect(foldOf(...parts, ['clear', {}]).window).toEqual({ from: 6, messages: 0 })
  })
})

describe('a fork', () => {
  it('keeps everything but what was open, and is born now', () => {
    const ask: Part = ['request.start', { requestId: 'r', kind: 'k', prompt: 'p' }]
    const before = fold(journal(input, claim, start, thinking, asking, ask))
    expect(fold(journal(input, claim, start, thinking, asking, ask, fork))).toEqual({
      ...before,
      seq: 7,
      at: 7000,
      createdAt: 7000,
      activeAt: 7000,
      origin: { parent: 'p', at: 6 },
      open: { ...before.open, phase: 'tools', calls: [], requests: [], thinking: false },
    })
  })

  it('of a conversation at rest has no turn', () => {
    expect(foldOf(input, claim, start, end, fork)).not.toHaveProperty('open')
  })

  it('goes on after the phases of its parent, and has what they said (R8)', () => {
    expect(openAfter(['phase', { name: 'beforeLlm' }], fork)?.phase).toBe('beforeLlm')
    expect(openAfter(thinking, asking, endOf('a'), fork)).toMatchObject({ phase: 'tools', calls: [] })
  })
})

describe('a selection', () => {
  const selected = (entity: string, chosen?: readonly string[]): Part => {
    const values = [{ entity, id: 'f-1', at: 1 }]
    return ['active', { values, by: 'select', ...(chosen === undefined ? {} : { chosen }) }]
  }

  it.each(['team', 'constructor'])('of a %s is as old as the entry that chose it, if one did', (entity) => {
    const chosen = fold(journal(selected(entity, [entity]), selected(entity)))
    expect(chosen.activeSince).toEqual({ [entity]: 1 })
    expect(fold(journal(selected(entity), selected(entity)))).not.toHaveProperty('activeSince')
  })
})
