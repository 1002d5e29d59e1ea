/** Every outcome of a turn, and the entries it leaves (R14). */
import { describe, expect, it } from 'vitest'
import { bench, calls, entryLines, gate, journal, lines, probe, quiet, said, until } from './kit.ts'

const THINKING = ['1 input "Hi"', '2 claim 1', '3 turn.start takes 1', '4 model.start 1']

describe('a limit', () => {
  const looking = { text: 'Looking', calls: [{ tool: 'a' }] }

  it('of iterations ends the turn with a warning and with what was said so far', async () => {
    const a = probe('a')
    const script = [{ text: 'Looking', calls: [{ tool: 'a' }] }]
    const { agent, store } = bench({ script, tools: [a], limits: { iterations: 1 } })
    const turn = agent.executeTurn('Hi')
    expect(await entryLines(turn)).toEqual([
      ...THINKING,
      '5 model.end "Looking" call_1:a',
      '6 tool.start call_1 a',
      '7 tool.end call_1 ok',
      '8 warning max-iterations',
      '9 turn.end max-iterations iterations',
    ])
    expect(await turn.outcome).toMatchObject({
      reason: 'max-iterations',
      status: 'completed',
      text: 'Looking',
      limit: 'iterations',
      maximum: 1,
    })
    expect(await said(store)).toEqual(['user "Hi"', 'assistant "Looking" call_1:a', 'tool call_1:ok'])
  })

  it.each([
    { limits: { iterations: 2 }, replies: [calls('a'), looking], text: 'iterations (2) reached.\nLooking' },
    { limits: { iterations: 1 }, replies: [calls('a')], text: 'iterations (1) reached.' },
    { limits: { toolCalls: 0 }, replies: [looking], text: 'toolCalls (0) reached.\nLooking' },
  ])('$limits is what input() says first, before what was said so far', async ({ limits, replies, text }) => {
    const { agent } = bench({ script: replies, tools: [probe('a')], limits })
    expect(await agent.input('Hi')).toBe(`Task incomplete: maximum ${text}`)
  })

  it('of the turn goes before that of the agent', async () => {
    const { agent } = bench({
      script: [calls('a'), calls('a')],
      tools: [probe('a')],
      limits: { iterations: 1 },
    })
    const turn = agent.executeTurn('Hi', { limits: { iterations: 2 } })
    expect((await entryLines(turn)).slice(-2)).toEqual([
      '12 warning max-iterations',
      '13 turn.end max-iterations iterations',
    ])
  })

  it('of time ends a model call and keeps its text', async () => {
    const { agent, clock } = bench({
      script: [{ stall: true, after: 'Well, ' }],
      limits: { durationMs: 1500 },
    })
    const turn = agent.executeTurn('Hi')
    await until('the model is asked', async () => turn.number === 1)
    await quiet()
    clock.advance(1500)
    expect(await lines(turn)).toEqual([
      ...THINKING,
      '- text.delta "Well, "',
      '5 model.end "Well, " aborted',
      '6 warning durationMs',
      '7 turn.end limit durationMs',
    ])
    expect(await turn.outcome).toMatchObject({
      reason: 'limit',
      text: 'Well, ',
      durationMs: 1500,
      limit: 'durationMs',
    })
  })

  it('of time ends a tool that listens to its signal', async () => {
    const tool = probe(
      'wait',
      (_, { signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve('half'))),
    )
    const { agent, clock, store } = bench({
      script: [calls('wait')],
      tools: [tool],
      limits: { durationMs: 1500 },
    })
    const turn = agent.executeTurn('Hi')
    await until('the tool runs', () => tool.ran.length === 1)
    clock.advance(1500)
    expect((await entryLines(turn)).slice(4)).toEqual([
      '5 model.end call_1:wait',
      '6 tool.start call_1 wait',
      '7 tool.end call_1 ok',
      '8 warning durationMs',
      '9 turn.end limit durationMs',
    ])
    await said(store)
  })

  it('of tokens counts the input and the output of all calls', async () => {
    const step = { calls: [{ tool: 'a' }], usage: { inputTokens: 40, outputTokens: 20 } }
    const { agent } = bench({ script: [step, step], tools: [probe('a')], limits: { tokens: 100 } })
    const turn = agent.executeTurn('Hi')
    expect((await entryLines(turn)).slice(-3)).toEqual([
      '11 tool.end call_2 ok',
      '12 warning tokens',
      '13 turn.end limit tokens',
    ])
    expect((await turn.outcome).usage).toMatchObject({ inputTokens: 80, outputTokens: 40 })
  })

  it('does not take a whole reply away', async () => {
    const { agent } = bench({
      script: [{ text: 'Done', usage: { inputTokens: 99, outputTokens: 9 } }],
      limits: { tokens: 100 },
    })
    expect((await entryLines(agent.executeTurn('Hi'))).slice(4)).toEqual([
      '5 model.end "Done"',
      '6 turn.end stop',
    ])
  })

  it('of cost is refused with a price that reckons no cost', () => {
    const settings = { prices: { 'scripted/model': { input: 100 } as never } }
    expect(() => bench({ script: ['Hi'], settings })).toThrow(
      'prices of "scripted/model" must be { input, output, cachedInput?, cacheWrite? }',
    )
  })

  it('of cost is reckoned with the prices that are given', async () => {
    const step = { calls: [{ tool: 'a' }], usage: { inputTokens: 1000, outputTokens: 1000 } }
    const settings = { prices: { 'scripted/model': { input: 100, output: 400 } } }
    const { agent } = bench({ script: [step], tools: [probe('a')], settings, limits: { costUsd: 0.5 } })
    const turn = agent.executeTurn('Hi')
    expect((await entryLines(turn)).slice(-2)).toEqual(['8 warning costUsd', '9 turn.end limit costUsd'])
    expect((await turn.outcome).usage.costUsd).toBeCloseTo(0.5)
  })

  it('of tool calls lets those run that fit and refuses the others', async () => {
    const a = probe('a')
    const { agent, store } = bench({ script: [calls('a', 'a', 'a')], tools: [a], limits: { toolCalls: 1 } })
    expect((await entryLines(agent.executeTurn('Hi'))).slice(4)).toEqual([
      '5 model.end call_1:a call_2:a call_3:a',
      '6 tool.end call_2 not-run',
      '7 warning toolCalls',
      '8 tool.end call_3 not-run',
      '9 warning toolCalls',
      '10 tool.start call_1 a',
      '11 tool.end call_1 ok',
      '12 turn.end limit toolCalls',
    ])
    expect(a.ran).toEqual(['call_1'])
    expect((await said(store)).at(-1)).toBe('tool call_1:ok call_2:not-run call_3:not-run')
  })

  it('of failures in a row is three if nobody says', async () => {
    const bad = probe('bad', () => Promise.reject(new Error('no')))
    const { agent } = bench({ script: Array.from({ length: 4 }, () => calls('bad')), tools: [bad] })
    expect((await entryLines(agent.executeTurn('Hi'))).slice(-6)).toEqual([
      '15 tool.end call_3 error',
      '16 model.start 4',
      '17 model.end call_4:bad',
      '18 warning consecutiveFailures',
      '19 tool.end call_4 not-run',
      '20 turn.end limit consecutiveFailures',
    ])
    expect(bad.ran).toHaveLength(3)
  })

  it('of failures leaves the model a chance to say something', async () => {
    const bad = probe('bad', () => Promise.reject(new Error('no')))
    const { agent } = bench({ script: [calls('bad', 'bad', 'bad', 'bad'), 'I see'], tools: [bad] })
    expect(await agent.executeTurn('Hi').outcome).toMatchObject({ reason: 'stop', text: 'I see' })
  })

  it('of failures begins again after a call that went well', async () => {
    const mixed = probe('mixed', ({ n }) => (n === 1 ? 'ok' : Promise.reject(new Error('no'))))
    const bad = calls(['mixed', { n: 0 }])
    const script = [bad, bad, calls(['mixed', { n: 1 }]), bad, bad, 'Done']
    const { agent } = bench({ script, tools: [mixed] })
    expect((await entryLines(agent.executeTurn('Hi'))).at(-1)).toContain('turn.end stop')
  })
})

describe('a cancelled turn', () => {
  it('keeps what the model had said', async () => {
    const { agent, store } = bench({ script: [{ stall: true, after: 'I would ' }, 'Again'] })
    const turn = agent.executeTurn('Hi')
    const told = lines(turn)
    await until('something is said', async () => (await journal(store)).length === 4)
    await quiet()
    await turn.cancel('enough')
    expect(await told).toEqual([
      ...THINKING,
      '- text.delta "I would "',
      '5 cancel 1 enough',
      '6 model.end "I would " aborted',
      '7 turn.end cancelled takes 5',
    ])
    const { usage, ...outcome } = await turn.outcome
    expect(outcome).toMatchObject({ reason: 'cancelled', status: 'cancelled', text: 'I would ' })
    expect(usage).toMatchObject({ estimated: true })
    expect(usage.outputTokens).toBeGreaterThan(0)
    await agent.executeTurn('Again?').outcome
    expect(await said(store)).toEqual([
      'user "Hi"',
      'assistant "I would "',
      'user "Again?"',
      'assistant "Again"',
    ])
  })

  it('waits for a tool that listens, and tells its result', async () => {
    const tool = probe(
      'wait',
      (_, { signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve('half'))),
    )
    const { agent, store } = bench({ script: [calls('wait', 'wait')], tools: [tool] })
    const turn = agent.executeTurn('Hi')
    await until('both run', () => tool.ran.length === 2)
    await turn.cancel()
    expect((await entryLines(turn)).slice(5)).toEqual([
      '6 tool.start call_1 wait',
      '7 tool.start call_2 wait',
      '8 cancel 1',
      '9 tool.end call_1 ok',
      '10 tool.end call_2 ok',
      '11 turn.end cancelled takes 8',
    ])
    expect((await said(store)).at(-1)).toBe('tool call_1:ok call_2:ok')
  })

  it('waits for one that does not listen no longer than the grace time', async () => {
    const never = gate<string>()
    const tool = probe('deaf', () => never.promise)
    const { agent, clock, store } = bench({ script: [calls('deaf')], tools: [tool], graceMs: 2000 })
    const turn = agent.executeTurn('Hi')
    await until('it runs', () => tool.ran.length === 1)
    await turn.cancel()
    await quiet()
    expect(turn.isEnded).toBe(false)
    clock.advance(2000)
    expect((await entryLines(turn)).slice(5)).toEqual([
      '6 tool.start call_1 deaf',
      '7 cancel 1',
      '8 tool.end call_1 unknown',
      '9 turn.end cancelled takes 7',
    ])
    expect((await said(store)).at(-1)).toBe('tool call_1:unknown')
  })

  it('does not start the tools that it has not started', async () => {
    const first = probe(
      'first',
      (_, { signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve('half'))),
      { exclusive: true },
    )
    const second = probe('second')
    const { agent, store } = bench({ script: [calls('first', 'second')], tools: [first, second] })
    const turn = agent.executeTurn('Hi')
    await until('it runs', () => first.ran.length === 1)
    await turn.cancel()
    expect((await entryLines(turn)).slice(6)).toEqual([
      '7 cancel 1',
      '8 tool.end call_1 ok',
      '9 tool.end call_2 not-run',
      '10 turn.end cancelled takes 7',
    ])
    expect(second.ran).toEqual([])
    await said(store)
  })

  it('is cancelled by its signal, and by the agent', async () => {
    const { agent } = bench({ script: [{ stall: true }, { stall: true }] })
    const stop = new AbortController()
    const first = agent.executeTurn('Hi', { signal: stop.signal })
    await until('it runs', () => first.number === 1)
    stop.abort()
    expect((await entryLines(first)).slice(4)).toEqual([
      '5 cancel 1 aborted',
      '6 model.end aborted',
      '7 turn.end cancelled takes 5',
    ])
    const second = agent.executeTurn('Hi')
    await until('it runs', () => second.number === 2)
    await agent.cancel('by hand')
    expect((await second.outcome).reason).toBe('cancelled')
  })

  it('that waits for another is cancelled as soon as it begins, and asks no model', async () => {
    const slow = gate()
    const { agent, model, store } = bench({ script: [async () => (await slow.promise, 'One')] })
    const first = agent.executeTurn('1')
    const second = agent.executeTurn('2')
    await until('it runs', () => first.number === 1)
    await second.cancel()
    slow.resolve()
    expect((await first.outcome).reason).toBe('stop')
    expect((await second.outcome).reason).toBe('cancelled')
    expect(model.calls).toHaveLength(1)
    await said(store)
  })

  it('that has ended is not cancelled any more', async () => {
    const { agent, store } = bench({ script: ['One'] })
    const turn = agent.executeTurn('1')
    await turn.outcome
    await turn.cancel()
    await agent.cancel()
    expect((await turn.outcome).reason).toBe('stop')
    expect(await journal(store)).toHaveLength(6)
  })
})

describe('a turn that a hook stopped', () => {
  it.each<[string | undefined, string]>([
    ['policy', 'Task incomplete: stopped by beforeLlm (policy).'],
    [undefined, 'Task incomplete: stopped by beforeLlm.'],
  ])('is announced by input(), with the reason %j', async (reason, text) => {
    const { agent } = bench({ script: ['Hi.'], on: { beforeLlm: ({ stop }) => stop(reason) } })
    expect(await agent.input('Hi')).toBe(text)
  })

  it('has its last words after the announcement', async () => {
    const on = { afterLlm: ({ stop }: { stop: () => void }) => stop() }
    const { agent } = bench({ script: ['Here it is.'], on })
    expect(await agent.input('Hi')).toBe('Task incomplete: stopped by afterLlm.\nHere it is.')
  })
})
