/** Old tool results: when they become compact, and their compact form. */
import { describe, expect, it } from 'vitest'
import type { Entry, JsonObject, Message, Sighting, ToolResultPart } from '../protocol/index.ts'
import { fold } from './fold.ts'
import { LiveWindow } from './live-window.ts'
import { compactResult, trimPoint } from './tool-results.ts'
import { transcript } from './transcript.ts'

/** `ask` is a turn with a call and its result, `say` one without, `wait` one that ends with the call open. */
type Step = 'ask' | 'say' | 'wait' | 'answer' | 'import'

function journal(...steps: readonly Step[]): Entry[] {
  const entries: Entry[] = []
  let [turn, calls] = [0, 0]
  const add = (type: string, data: JsonObject): void => {
    entries.push({ seq: entries.length + 1, turn, at: 1, type, v: 1, data })
  }
  const end = (outcome: string) => add('turn.end', { outcome, usage: {}, durationMs: 1 })
  const settle = () =>
    add('tool.end', { callId: `c${calls}`, status: 'ok', output: { rows: 'x'.repeat(500), number: calls } })
  const call = (callId: string): JsonObject => ({ type: 'tool-call', callId, tool: 'look', args: {} })
  const plays: Record<Step, () => void> = {
    ask: () => {
      calls += 1
      add('model.end', { content: [call(`c${calls}`), call(`d${calls}`)], finish: 'tool-calls' })
      settle()
      add('tool.end', { callId: `d${calls}`, status: 'error', output: 'y'.repeat(200) })
      end('stop')
    },
    say: () => end('stop'),
    wait: () => {
      calls += 1
      add('model.end', { content: [call(`c${calls}`), call(`d${calls}`)], finish: 'tool-calls' })
      add('tool.end', { callId: `d${calls}`, status: 'ok', output: 'y'.repeat(200) })
      end('input-required')
    },
    answer: () => {
      settle()
      end('stop')
    },
    import: () => {
      const result = { type: 'tool-result', callId: 'i', tool: 'old', status: 'ok', output: 'z'.repeat(100) }
      const messages = [
        { role: 'user', content: 'Hm' },
        { role: 'assistant', content: [call('i')] },
        { role: 'tool', content: [result] },
      ]
      add('import', { messages, source: 'test', key: 'k' })
    },
  }
  for (const step of steps) {
    if (step !== 'import') {
      turn += 1
      add('turn.start', { principal: { tenant: 't', actor: 'a' } })
    }
    plays[step]()
  }
  return entries
}

function startsOf(entries: readonly Entry[]): number[] {
  return entries.filter(({ type }) => type === 'turn.start' || type === 'import').map(({ seq }) => seq)
}

/** The start of the next turn, which trims. */
function trimming(entries: readonly Entry[], trimmedUpTo: number): Entry {
  const data = { principal: { tenant: 't', actor: 'a' }, trimmedUpTo }
  return { seq: entries.length + 1, turn: 99, at: 1, type: 'turn.start', v: 1, data }
}

describe('the point up to which results are trimmed', () => {
  it('is not there while no more turns than allowed have used tools, however many there are', () => {
    expect(trimPoint(journal('ask', 'say', 'ask', 'say', 'say', 'ask'), { turns: 3 })).toBeUndefined()
    expect(trimPoint([], { turns: 1 })).toBeUndefined()
    expect(trimPoint(journal('ask', 'ask', 'ask'), { turns: Number.POSITIVE_INFINITY })).toBeUndefined()
  })

  it.each([
    [1, 1],
    [2, 1],
    [3, 1],
    [4, 2],
    [10, 5],
  ])('leaves half of them whole, and at least one: of %i, %i', (turns, left) => {
    const entries = journal(...Array.from({ length: turns + 1 }, () => 'ask' as const))
    expect(trimPoint(entries, { turns })).toBe((startsOf(entries).at(-left) ?? 0) - 1)
  })

  it('counts from the last one on, so it moves once in several turns', () => {
    const moves: number[] = []
    let trimmedUpTo: number | undefined
    for (let count = 1; count <= 12; count++) {
      const entries = journal(...Array.from({ length: count }, () => 'ask' as const))
      const point = trimPoint(entries, { turns: 3, trimmedUpTo })
      if (point !== undefined) moves.push(count)
      trimmedUpTo = point ?? trimmedUpTo
    }
    expect(moves).toEqual([4, 7, 10])
  })

  it('is never inside of a round: the turn that answers goes with the one that asked', () => {
    const entries = journal('ask', 'ask', 'wait', 'answer', 'say')
    expect(trimPoint(entries, { turns: 2 })).toBe((startsOf(entries)[2] ?? 0) - 1)
    expect(trimPoint(journal('ask', 'wait', 'answer'), { turns: 2 })).toBeUndefined()
  })

  it('counts imported exchanges as turns', () => {
    const entries = journal('import', 'ask')
    expect(trimPoint(entries, { turns: 1 })).toBe((startsOf(entries)[1] ?? 0) - 1)
  })
})

describe('a result in its compact form', () => {
  const part = (output: ToolResultPart['output'], more: Partial<ToolResultPart> = {}): ToolResultPart => ({
    type: 'tool-result',
    callId: 'c',
    tool: 'list',
    status: 'ok',
    output,
    ...more,
  })
  const long = 'x'.repeat(1234)

  it('is the things that it showed, each once and as shown last, by their entities', () => {
    const seen: Sighting[] = [
      { entity: 'project', id: 'p1', label: 'Champigny' },
      { entity: 'task', id: 't1', parent: 'p1' },
      { entity: 'project', id: 'p1', label: 'Champigny Sud' },
    ]
    expect(compactResult(part(long), seen).output).toEqual({
      shown: { project: [{ id: 'p1', label: 'Champigny Sud' }], task: [{ id: 't1' }] },
    })
  })

  it.each(['constructor', 'toString', '__proto__'])('has things of an entity named %s', (entity) => {
    const { output } = compactResult(part(long), [{ entity, id: 'f-1' }])
    expect(JSON.stringify(output)).toBe(`{"shown":{"${entity}":[{"id":"f-1"}]}}`)
  })

  it('says how many more there were', () => {
    const seen = Array.from({ length: 30 }, (_, at): Sighting => ({ entity: 'project', id: `p${at}` }))
    const { output } = compactResult(part(long.repeat(9)), seen)
    expect(output).toMatchObject({ more: 18 })
    expect(JSON.stringify(output).length).toBeLessThan(1000)
  })

  it('is bounded, however long ids and labels are', () => {
    const seen = Array.from(
      { length: 30 },
      (_, at): Sighting => ({ entity: 'project', id: `${at}-${'i'.repeat(200)}`, label: long }),
    )
    expect(JSON.stringify(compactResult(part(long.repeat(9)), seen).output).length).toBeLessThan(1300)
  })

  it('is a line with tool, status and size if it showed nothing', () => {
    expect(compactResult(part(long)).output).toBe('[list: ok, 1234 characters, left out here]')
    expect(compactResult(part({ a: long }, { status: 'error' })).output).toBe(
      '[list: error, 1242 characters, left out here]',
    )
  })

  it('is the result itself if that is shorter', () => {
    const short = part({ done: true })
    expect(compactResult(short)).toBe(short)
    expect(compactResult(short, [{ entity: 'project', id: 'p1', label: 'Champigny' }])).toBe(short)
  })
})

describe('a transcript', () => {
  it('shows results up to the point in the compact form, and all others as they are', () => {
    const entries = journal('import', 'ask', 'ask', 'wait', 'answer')
    const [, , third = 0] = startsOf(entries)
    const [before, after] = [transcript(entries), transcript([...entries, trimming(entries, third - 1)])]
    const results = after.filter(({ role }) => role === 'tool')
    expect(results.map((message) => JSON.stringify(message).includes('left out'))).toEqual([
      true,
      true,
      false,
      false,
    ])
    const expected = before.map((message, at) => {
      const isOld = before.slice(0, at).filter(({ role }) => role === 'tool').length < 2
      if (message.role !== 'tool' || !isOld) return message
      return { ...message, content: message.content.map((result) => compactResult(result)) }
    })
    expect(after).toEqual(expected)
  })
})

describe('a window by tokens', () => {
  const key = { tenant: 't', actor: 'a', contextId: 'c' }
  const tokens = { max: 1100, count: (message: Message) => Math.ceil(JSON.stringify(message).length / 4) }
  const lengthOf = (messages: readonly Message[]) =>
    messages.reduce((sum, each) => sum + tokens.count(each), 0)

  it('counts trimmed results as they are shown: it has room for more, held or read again', async () => {
    const entries = journal(...Array.from({ length: 6 }, () => 'ask' as const))
    const held = await LiveWindow.over(entries, key, { session: fold(entries), tokens })
    const before = await held.messages(fold(entries))
    const start = trimming(entries, (startsOf(entries).at(-1) ?? 0) - 1)
    entries.push(start)
    held.add([start])
    const session = fold(entries)
    const after = await held.messages(session)
    const fresh = await LiveWindow.over(entries, key, { session, tokens })
    expect(after).toEqual(await fresh.messages(session))
    expect(after.length).toBeGreaterThan(before.length)
    expect(lengthOf(before)).toBeLessThanOrEqual(tokens.max)
    expect(lengthOf(after)).toBeLessThanOrEqual(tokens.max)
  })

  it('is trimmed after a compaction, too', async () => {
    const entries = journal('ask', 'ask', 'ask')
    const [, second = 0, third = 0] = startsOf(entries)
    entries.push(trimming(entries, third - 1))
    const compact = { upTo: second - 1, kept: 6 }
    entries.push({ seq: entries.length + 1, turn: 0, at: 1, type: 'compact', v: 1, data: compact })
    const session = fold(entries)
    expect(session.window.trimmedUpTo).toBe(third - 1)
    const held = await LiveWindow.over(entries, key, { session, tokens })
    const results = (await held.messages(session)).filter(({ role }) => role === 'tool')
    expect(results.map((message) => JSON.stringify(message).includes('left out'))).toEqual([true, false])
  })
})
