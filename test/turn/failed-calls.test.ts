/** Failing calls: the model reads a usable error, and the turn continues. */
import { describe, expect, it } from 'vitest'
import { toolResult } from '../../src/tool/index.ts'
import {
  bench,
  calls,
  entryLines,
  gate,
  journal,
  KEY,
  type Probe,
  probe,
  promptLines,
  quiet,
  said,
  until,
} from './kit.ts'

const circular: Record<string, unknown> = {}
circular['self'] = circular

const CASES: readonly {
  readonly name: string
  readonly call?: Parameters<typeof calls>[0]
  readonly tool?: Probe
  readonly status: string
  readonly words: RegExp
}[] = [
  { name: 'arguments that are not JSON', call: ['a', '{"n": 1'], status: 'rejected', words: /not JSON/ },
  { name: 'arguments that do not fit', call: ['a', { n: 'one' }], status: 'rejected', words: /do not fit/ },
  {
    name: 'a tool that does not exist',
    call: 'aa',
    status: 'rejected',
    words: /no tool called "aa".*Did you mean a\?/,
  },
  {
    name: 'a tool that throws',
    tool: probe('a', () => Promise.reject(new Error('The disk is full'))),
    status: 'error',
    words: /disk is full/,
  },
  {
    name: 'a tool that throws nothing',
    tool: probe('a', () => Promise.reject(undefined)),
    status: 'error',
    words: /threw undefined/,
  },
  {
    name: 'a result that is too large',
    tool: probe('a', () => 'x'.repeat(300_000)),
    status: 'error',
    words: /at most 262144/,
  },
  {
    name: 'a result that is circular',
    tool: probe('a', () => circular),
    status: 'error',
    words: /cannot be written as JSON/,
  },
]

describe('a call', () => {
  it.each(CASES)('with $name ends in a result that the model can read', async (one) => {
    const { call = 'a', tool = probe('a'), status, words } = one
    const { agent, model, store } = bench({ script: [calls(call), 'I see'], tools: [tool] })
    const turn = agent.executeTurn('Hi')
    const told = await entryLines(turn)
    expect(told.filter((text) => text.includes('tool.end'))).toEqual([
      expect.stringContaining(`call_1 ${status}`),
    ])
    expect(told.at(-1)).toContain('turn.end stop')
    expect(told.some((text) => text.includes('tool.start'))).toBe(status !== 'rejected')
    expect(JSON.stringify(model.calls[1]?.prompt.at(-1)).replaceAll('\\', '')).toMatch(words)
    await said(store)
  })

  it.each(['', '  '])('whose arguments are the text %j runs without any, and is answered', async (args) => {
    const tool = probe('a')
    const { agent, store } = bench({ script: [calls(['a', args]), 'I see'], tools: [tool] })
    expect((await agent.executeTurn('Hi').outcome).text).toBe('I see')
    expect(tool.ran).toHaveLength(1)
    expect((await said(store))[2]).toBe('tool call_1:ok')
  })

  it('keeps its result if its sightings cannot be read, with a warning', async () => {
    const pay = probe('pay', () => ({ ...toolResult({ paid: true }, 'Paid'), seen: [null] }))
    const { agent, store } = bench({ script: [calls('pay'), 'Paid'], tools: [pay] })
    expect(await agent.executeTurn('Pay').outcome).toMatchObject({ reason: 'stop', text: 'Paid' })
    const entries = await store.read(KEY)
    const end = entries.find(({ type }) => type === 'tool.end')
    expect(end?.data).toEqual({
      callId: 'call_1',
      status: 'ok',
      output: { paid: true },
      display: 'Paid',
    })
    expect(entries.find(({ type }) => type === 'warning')?.data).toMatchObject({ code: 'ungrounded' })
  })

  it('beside a wrong one is not hindered by it', async () => {
    const a = probe('a')
    const { agent, store } = bench({ script: [calls('b', 'a', ['a', 'no']), 'I see'], tools: [a] })
    expect((await entryLines(agent.executeTurn('Hi'))).slice(4)).toEqual([
      '5 model.end call_1:b call_2:a call_3:a',
      '6 tool.end call_1 rejected',
      '7 tool.end call_3 rejected',
      '8 tool.start call_2 a',
      '9 tool.end call_2 ok',
      '10 model.start 2',
      '11 model.end "I see"',
      '12 turn.end stop',
    ])
    expect((await said(store))[2]).toBe('tool call_1:rejected call_2:ok call_3:rejected')
  })

  it('that is safe and takes too long is an error', async () => {
    const tool = probe('slow', () => new Promise(() => {}), { timeoutMs: 3000, replay: 'safe' })
    const { agent, clock, store } = bench({ script: [calls('slow'), 'I see'], tools: [tool] })
    const turn = agent.executeTurn('Hi')
    await until('it runs', () => tool.ran.length === 1)
    clock.advance(3000)
    expect((await entryLines(turn)).slice(6)).toEqual([
      '7 tool.end call_1 error',
      '8 model.start 2',
      '9 model.end "I see"',
      '10 turn.end stop',
    ])
    await said(store)
  })
})

describe('a call that may happen only once', () => {
  it('is unknown when its time is up, told when it ends after all, and repeated only with approval', async () => {
    const slow = gate<string>()
    const tool = probe('pay', ({ n }) => (n === 1 ? slow.promise : 'other'), { timeoutMs: 3000 })
    const pay = calls(['pay', { n: 1 }])
    const script = [pay, pay, calls(['pay', { n: 2 }]), 'So it happened', 'I see', 'Again']
    const { agent, clock, model, store } = bench({ script, tools: [tool] })
    const turn = agent.executeTurn('Pay')
    await until('it runs', () => tool.ran.length === 1)
    clock.advance(3000)
    expect((await entryLines(turn)).slice(5)).toEqual([
      '6 tool.start call_1 pay',
      '7 tool.end call_1 unknown',
      '8 model.start 2',
      '9 model.end call_2:pay',
      '10 request.start call_2/approval confirmation',
      '11 turn.end input-required',
    ])
    expect((await turn.outcome).requests[0]?.prompt).toContain('nobody knows whether it happened')
    slow.resolve('paid')
    await until('it is handed in', async () => (await journal(store)).length === 12)
    expect((await journal(store))[11]).toBe('12 late-result call_1 ok')
    await quiet()
    const denied = await entryLines(agent.answer({ 'call_2/approval': false }))
    expect(denied.filter((text) => text.includes('tool.'))).toEqual([
      expect.stringMatching(/tool\.late call_1 ok takes 12/),
      expect.stringMatching(/tool\.end call_2 rejected/),
      expect.stringMatching(/tool\.start call_3 pay/),
      expect.stringMatching(/tool\.end call_3 ok/),
    ])
    expect(tool.ran).toEqual(['call_1', 'call_3'])
    expect(promptLines(model, 2).join(' ')).toContain('call_1, whose outcome was unknown')
    await said(store)
  })

  it('is not repeated by an agreement from before its late result: the person is asked again, with it', async () => {
    const slow = gate<string>()
    const tool = probe('pay', (_, { callId }) => (callId === 'call_1' ? slow.promise : 'again'), {
      timeoutMs: 3000,
    })
    const { agent, clock, store } = bench({ script: [calls('pay'), calls('pay'), 'Done'], tools: [tool] })
    const turn = agent.executeTurn('Pay')
    await until('it runs', () => tool.ran.length === 1)
    clock.advance(3000)
    await turn.outcome
    slow.resolve('paid')
    const isHandedIn = async () => (await journal(store)).some((text) => text.includes('late-result'))
    await until('it is handed in', isHandedIn)
    await quiet()
    const { reason, requests } = await agent.answer({ 'call_2/approval': true }).outcome
    expect([reason, tool.ran]).toEqual(['input-required', ['call_1']])
    expect(requests.map(({ requestId, prompt }) => [requestId, prompt])).toEqual([
      [
        'call_2/approval-2',
        'pay was started before with the same arguments, and its result came meanwhile: ok. Run it again?',
      ],
    ])
    expect((await agent.answer({ 'call_2/approval-2': true }).outcome).text).toBe('Done')
    expect(tool.ran).toEqual(['call_1', 'call_2'])
    await said(store)
  })

  it('may be repeated without asking once its late result is known', async () => {
    const slow = gate<string>()
    let first = true
    const tool = probe(
      'pay',
      () => {
        if (!first) return 'again'
        first = false
        return slow.promise
      },
      { timeoutMs: 3000 },
    )
    const { agent, clock, store } = bench({
      script: [calls('pay'), 'Hm', calls('pay'), 'Done'],
      tools: [tool],
    })
    const turn = agent.executeTurn('Pay')
    await until('it runs', () => tool.ran.length === 1)
    clock.advance(3000)
    await turn.outcome
    slow.resolve('paid')
    await until('it is handed in', async () =>
      (await journal(store)).some((text) => text.includes('late-result')),
    )
    await quiet()
    expect((await agent.executeTurn('Again').outcome).text).toBe('Done')
    expect(tool.ran).toEqual(['call_1', 'call_2'])
    await said(store)
  })

  it('is repeated when the person agrees', async () => {
    const tool = probe('pay', (_, { callId }) => (callId === 'call_1' ? new Promise(() => {}) : 'paid'), {
      timeoutMs: 3000,
    })
    const { agent, clock, store } = bench({ script: [calls('pay'), calls('pay'), 'Done'], tools: [tool] })
    const turn = agent.executeTurn('Pay')
    await until('it runs', () => tool.ran.length === 1)
    clock.advance(3000)
    await turn.outcome
    expect((await agent.answer({ 'call_2/approval': true }).outcome).text).toBe('Done')
    expect(tool.ran).toEqual(['call_1', 'call_2'])
    await said(store)
  })
})
