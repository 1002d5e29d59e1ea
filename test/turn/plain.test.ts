/** The entries and events of an undisturbed turn. */
import { describe, expect, it, vi } from 'vitest'
import {
  bench,
  calls,
  entryLines,
  gate,
  journal,
  lines,
  probe,
  promptLines,
  STORES,
  said,
  until,
} from './kit.ts'

describe.each(STORES)('a turn on %s', (_, open) => {
  it('is a message, a reply and an outcome', async () => {
    const { agent, model, store } = bench({ store: open(), script: ['Hello there'], systemPrompt: 'Be kind' })
    const turn = agent.executeTurn('Hi')
    expect(await lines(turn)).toEqual([
      '1 input "Hi"',
      '2 claim 1',
      '3 turn.start takes 1',
      '4 model.start 1',
      '- text.delta "Hello there"',
      '5 model.end "Hello there"',
      '6 turn.end stop',
    ])
    expect(await turn.outcome).toMatchObject({
      reason: 'stop',
      status: 'completed',
      turn: 1,
      text: 'Hello there',
    })
    expect(await said(store)).toEqual(['user "Hi"', 'assistant "Hello there"'])
    expect(promptLines(model, 0)).toEqual(['system "Be kind"', 'user "Hi"'])
    model.done()
  })

  it('tells nothing that is not in the journal, and nothing twice', async () => {
    const { agent, store } = bench({ store: open(), script: ['One', 'Two'] })
    const first = await entryLines(agent.executeTurn('1'))
    const second = await entryLines(agent.executeTurn('2'))
    expect([...first, ...second]).toEqual(await journal(store))
    expect(second[0]).toBe('7 input "2"')
    expect(second.at(-1)).toBe('12 turn.end stop')
  })

  it('runs the tools of one reply together and commits four times', async () => {
    const [a, b] = [probe('a'), probe('b')]
    const { agent, model, store } = bench({ store: open(), script: [calls('a', 'b'), 'Done'], tools: [a, b] })
    expect(await lines(agent.executeTurn('Hi'))).toEqual([
      '1 input "Hi"',
      '2 claim 1',
      '3 turn.start takes 1',
      '4 model.start 1',
      '- call.delta "{}"',
      '- call.delta "{}"',
      '5 model.end call_1:a call_2:b',
      '6 tool.start call_1 a',
      '7 tool.start call_2 b',
      '8 tool.end call_1 ok',
      '9 tool.end call_2 ok',
      '10 model.start 2',
      '- text.delta "Done"',
      '11 model.end "Done"',
      '12 turn.end stop',
    ])
    expect(await said(store)).toEqual([
      'user "Hi"',
      'assistant call_1:a call_2:b',
      'tool call_1:ok call_2:ok',
      'assistant "Done"',
    ])
    expect(promptLines(model, 1)).toEqual([
      'user "Hi"',
      'assistant tool-call:a tool-call:b',
      'tool tool-result:a tool-result:b',
    ])
    expect([a.ran, b.ran]).toEqual([['call_1'], ['call_2']])
  })

  it('runs an exclusive tool alone, in its place', async () => {
    const running = new Set<string>()
    const alone: string[][] = []
    const run = (name: string) => async () => {
      running.add(name)
      alone.push([...running])
      await new Promise((resolve) => setImmediate(resolve))
      running.delete(name)
      return name
    }
    const tools = [probe('a', run('a')), probe('x', run('x'), { exclusive: true }), probe('b', run('b'))]
    const { agent } = bench({ store: open(), script: [calls('a', 'x', 'b'), 'Done'], tools })
    expect((await entryLines(agent.executeTurn('Hi'))).slice(4)).toEqual([
      '5 model.end call_1:a call_2:x call_3:b',
      '6 tool.start call_1 a',
      '7 tool.end call_1 ok',
      '8 tool.start call_2 x',
      '9 tool.end call_2 ok',
      '10 tool.start call_3 b',
      '11 tool.end call_3 ok',
      '12 model.start 2',
      '13 model.end "Done"',
      '14 turn.end stop',
    ])
    expect(alone).toEqual([['a'], ['x'], ['b']])
  })

  it('settles a fast call durably while a slow one runs', async () => {
    const slow = gate()
    const tools = [probe('slow', () => slow.promise.then(() => 'late')), probe('fast')]
    const { agent, store } = bench({ store: open(), script: [calls('slow', 'fast'), 'Done'], tools })
    const turn = agent.executeTurn('Hi')
    await until('the fast one is settled', async () => (await journal(store)).length === 8)
    expect((await journal(store)).slice(5)).toEqual([
      '6 tool.start call_1 slow',
      '7 tool.start call_2 fast',
      '8 tool.end call_2 ok',
    ])
    slow.resolve()
    expect((await entryLines(turn)).slice(7)).toEqual([
      '8 tool.end call_2 ok',
      '9 tool.end call_1 ok',
      '10 model.start 2',
      '11 model.end "Done"',
      '12 turn.end stop',
    ])
    expect((await said(store))[2]).toBe('tool call_1:ok call_2:ok')
  })
})

describe('a turn without a time limit', () => {
  it('combines no signals: each costs weak references and listeners', async () => {
    const any = vi.spyOn(AbortSignal, 'any')
    const { agent } = bench({ script: [calls('look'), 'Done'], tools: [probe('look')] })
    expect(await agent.executeTurn('Hi').outcome).toMatchObject({ reason: 'stop' })
    const combined = any.mock.calls.length
    any.mockRestore()
    expect(combined).toBe(0)
  })
})

describe('a tool', () => {
  it('that is a generator tells its progress, which is not stored', async () => {
    const tool = probe('count', async function* () {
      yield { step: 1 }
      yield { step: 2 }
      return 'counted'
    })
    const { agent, store } = bench({ script: [calls('count'), 'Done'], tools: [tool] })
    const told = await lines(agent.executeTurn('Hi'))
    expect(told.slice(6, 10)).toEqual([
      '6 tool.start call_1 count',
      '- tool.progress call_1 {"step":1}',
      '- tool.progress call_1 {"step":2}',
      '7 tool.end call_1 ok',
    ])
    expect(await journal(store)).toEqual(told.filter((text) => !text.startsWith('-')))
  })

  it('knows its turn, its call, what was asked and what ran before', async () => {
    const seen: unknown[] = []
    const tool = probe('look', (_, context) => {
      const { contextId, callId, turn, iteration, task, previousTools, metadata, principal } = context
      seen.push({ contextId, callId, turn, iteration, task, previousTools, metadata, principal })
      return null
    })
    const { agent } = bench({ script: [calls('look'), calls('look'), 'Done'], tools: [tool] })
    await agent.executeTurn('Look!', { metadata: { from: 'test' } }).outcome
    const same = {
      contextId: 'talk',
      turn: 1,
      task: 'Look!',
      metadata: { from: 'test' },
      principal: { tenant: 'local', actor: 'local' },
    }
    expect(seen).toEqual([
      { ...same, callId: 'call_1', iteration: 1, previousTools: [] },
      { ...same, callId: 'call_2', iteration: 2, previousTools: [{ tool: 'look', status: 'ok' }] },
    ])
  })

  it('gives people a text and the model the data', async () => {
    const tool = probe('show', () => ({ rows: 3 }), { display: () => 'three rows' })
    const { agent, model } = bench({ script: [calls('show'), 'Done'], tools: [tool] })
    const ends: unknown[] = []
    for await (const event of agent.executeTurn('Hi')) if (event.type === 'tool.end') ends.push(event.data)
    expect(ends).toEqual([{ callId: 'call_1', status: 'ok', output: { rows: 3 }, display: 'three rows' }])
    expect(JSON.stringify(model.calls[1]?.prompt)).not.toContain('three rows')
  })
})
