/** The trace: its entries and fields, what each hook sees of it, and its cost. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { TraceEntry } from '../../src/entry/observe.ts'
import { memoryStore } from '../../src/index.ts'
import { traceOf } from '../../src/journal/index.ts'
import { type Entry, NO_USAGE } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { defineTool, xray } from '../../src/tool/index.ts'
import { everywhere } from '../hook/kit.ts'
import { asking, bench, calls, gate, probe, STORES } from '../turn/kit.ts'

const broken = () =>
  probe('fail', async () => {
    await new Promise((resolve) => setTimeout(resolve, 5))
    throw new TypeError('broken')
  })

function line(entry: TraceEntry): string {
  if (entry.type === 'user_input') return `user_input ${entry.turn} ${entry.prompt}`
  if (entry.type === 'llm_call')
    return `llm_call ${entry.iteration} calls=${entry.tool_calls_count} ${entry.status}`
  if (entry.type === 'tool_execution')
    return `tool_execution ${entry.call_id} ${entry.tool_name} ${entry.status}`
  if (entry.type === 'hook_change') return `hook_change ${entry.hook} ${JSON.stringify(entry.changes)}`
  if (entry.type === 'request') return `request ${entry.request_id} ${entry.how ?? 'open'}`
  if (entry.type === 'turn_result') return `turn_result ${entry.reason}`
  return entry.type
}

const lines = (trace: readonly TraceEntry[]): string[] => trace.map(line)

describe.each(STORES)('the trace, on %s', (_, open) => {
  it('has every field of a call, a failed call and a model call', async () => {
    const { agent } = bench({
      store: open(),
      script: [
        {
          calls: [{ tool: 'look', args: { n: 7 } }, { tool: 'fail' }, { tool: 'nowhere' }],
          usage: { inputTokens: 150, outputTokens: 50 },
        },
        'Done',
      ],
      tools: [probe('look'), broken()],
    })
    await agent.input('Look')
    const trace = await agent.trace({ turn: 1 })
    expect(lines(trace)).toEqual([
      'user_input 1 Look',
      'llm_call 1 calls=3 success',
      'tool_execution call_3 nowhere not_found',
      'tool_execution call_1 look success',
      'tool_execution call_2 fail error',
      'llm_call 2 calls=0 success',
      'turn_result stop',
    ])
    expect(trace[0]).toEqual({ type: 'user_input', turn: 1, prompt: 'Look', timestamp: expect.any(Number) })
    expect(trace[1]).toEqual({
      type: 'llm_call',
      turn: 1,
      model: expect.stringContaining('scripted'),
      timestamp: expect.any(Number),
      duration_ms: expect.any(Number),
      tool_calls_count: 3,
      iteration: 1,
      usage: { input_tokens: 150, output_tokens: 50, cached_tokens: 0, cost: 0 },
      status: 'success',
    })
    expect(trace[3]).toEqual({
      type: 'tool_execution',
      turn: 1,
      tool_name: 'look',
      arguments: { n: 7 },
      call_id: 'call_1',
      result: { n: 7 },
      status: 'success',
      timing: expect.any(Number),
      iteration: 1,
      timestamp: expect.any(Number),
    })
    expect(trace[4]).toMatchObject({ status: 'error', error: 'broken', error_type: 'TypeError' })
    expect(trace[2]).toMatchObject({ error_type: 'unknown-tool', error: expect.stringContaining('nowhere') })
    expect(trace[2]).toHaveProperty('timing', 0)
  })

  it('is what each hook sees, live: the call is its last entry in afterEachTool', async () => {
    const seen: string[] = []
    const script = [calls('look', 'fail'), 'Done']
    const on = everywhere([], {})
    const spied = Object.fromEntries(
      Object.entries(on).map(([name, hook]) => [
        name,
        [
          hook,
          (point: { readonly trace?: readonly TraceEntry[] }) =>
            void (
              point.trace &&
              seen.push(`${name}: ${point.trace.length} ${line(point.trace.at(-1) as TraceEntry)}`)
            ),
        ].flat(),
      ]),
    ) as typeof on
    const { agent } = bench({ store: open(), script, tools: [probe('look'), broken()], on: spied })
    await agent.input('Look')
    expect(seen).toEqual([
      'afterUserInput: 1 user_input 1 Look',
      'beforeIteration: 1 user_input 1 Look',
      'beforeLlm: 1 user_input 1 Look',
      'afterLlm: 2 llm_call 1 calls=2 success',
      'beforeTools: 2 llm_call 1 calls=2 success',
      'beforeEachTool: 2 llm_call 1 calls=2 success',
      'beforeEachTool: 2 llm_call 1 calls=2 success',
      'afterEachTool: 3 tool_execution call_1 look success',
      'onError: 4 tool_execution call_2 fail error',
      'afterEachTool: 4 tool_execution call_2 fail error',
      'afterTools: 4 tool_execution call_2 fail error',
      'afterIteration: 4 tool_execution call_2 fail error',
      'beforeIteration: 4 tool_execution call_2 fail error',
      'beforeLlm: 4 tool_execution call_2 fail error',
      'afterLlm: 5 llm_call 2 calls=0 success',
      'afterIteration: 5 llm_call 2 calls=0 success',
      'onComplete: 5 llm_call 2 calls=0 success',
    ])
  })

  it('has the settled call last also when a later one ended first', async () => {
    const first = gate()
    const seen: string[] = []
    const tools = [
      probe('slow', () => first.promise.then(() => 1)),
      probe('fast', () => {
        first.resolve()
      }),
    ]
    const on = {
      afterEachTool: ({ trace }: { trace: readonly TraceEntry[] }) =>
        void seen.push(line(trace.at(-1) as TraceEntry)),
    }
    const { agent } = bench({ store: open(), script: [calls('slow', 'fast'), 'Done'], tools, on })
    await agent.input('Go')
    expect(seen.toSorted()).toEqual([
      'tool_execution call_1 slow success',
      'tool_execution call_2 fast success',
    ])
  })

  it('says what hooks changed', async () => {
    const { agent } = bench({
      store: open(),
      script: [calls(['look', { n: 1 }]), 'Done'],
      tools: [probe('look')],
      on: {
        beforeEachTool: ({ edit }) => edit({ n: 2 }),
        afterTools: ({ add }) => add('Observation: two'),
      },
    })
    await agent.input('Look')
    expect(lines(await agent.trace())).toEqual([
      'user_input 1 Look',
      'llm_call 1 calls=1 success',
      'hook_change beforeEachTool {"args":{"call_1":{"n":2}}}',
      'tool_execution call_1 look success',
      'hook_change afterTools {"add":"Observation: two"}',
      'llm_call 2 calls=0 success',
      'turn_result stop',
    ])
  })

  it('a model call that was cancelled is neither a success nor an error', async () => {
    const { agent } = bench({ store: open(), script: [{ stall: true, after: 'Half a reply' }] })
    const turn = agent.executeTurn('Go')
    for await (const { type } of turn) if (type === 'text.delta') break
    await agent.cancel()
    await turn.outcome
    const trace = await agent.trace()
    expect(lines(trace)).toEqual(['user_input 1 Go', 'llm_call 1 calls=0 cancelled', 'turn_result cancelled'])
    expect(trace[1]).not.toHaveProperty('error')
    expect(trace[1]).toHaveProperty('duration_ms')
  })

  it('shows a call that waits, and goes on with it in the turn of the answer', async () => {
    const { agent } = bench({
      store: open(),
      script: [calls('ask'), 'Done'],
      tools: [asking('ask', { kind: 'text', prompt: 'Which?' })],
    })
    const { requests } = await agent.executeTurn('Ask').outcome
    expect(lines(await agent.trace())).toEqual([
      'user_input 1 Ask',
      'llm_call 1 calls=1 success',
      'request call_1/answer open',
      'tool_execution call_1 ask waiting',
      'turn_result input-required',
    ])
    await agent.answer({ [requests[0]?.requestId ?? '']: 'this' }).outcome
    expect(lines(await agent.trace({ turn: 2 }))).toEqual([
      'tool_execution call_1 ask success',
      'llm_call 1 calls=0 success',
      'turn_result stop',
    ])
    expect(lines(await agent.trace({ turn: 1 }))).toContain('request call_1/answer open')
    expect(lines(await agent.trace())).toContain('request call_1/answer answered')
  })

  it('names a parked call that is rejected in a later turn', async () => {
    const pay = probe('pay', () => 'paid', { approve: 'always' })
    const { agent } = bench({ store: open(), script: [calls('pay'), 'Done'], tools: [pay] })
    const { requests } = await agent.executeTurn('Pay').outcome
    await agent.answer({ [requests[0]?.requestId ?? '']: false }).outcome
    expect((await agent.trace({ turn: 2 }))[0]).toMatchObject({
      type: 'tool_execution',
      tool_name: 'pay',
      status: 'rejected',
      arguments: {},
    })
  })
})

describe('the trace of one turn', () => {
  it('costs the same however long the conversation is (R13)', async () => {
    const counted = counting(memoryStore())
    const { agent } = bench({ store: counted.store, script: () => 'Yes', realTime: true })
    await agent.input('one')
    counted.entries = 0
    await agent.trace({ turn: 1 })
    const atFirst = counted.entries
    for (let i = 0; i < 50; i++) await agent.input('more')
    counted.entries = 0
    await agent.trace({ turn: 40 })
    expect(counted.entries).toBe(atFirst)
  })

  it('is whole in a hook of a turn that is longer than the window', async () => {
    let seen: readonly TraceEntry[] = []
    const { agent } = bench({
      script: ({ prompt }) => (prompt.length > 24 ? 'Done' : calls('look')),
      tools: [probe('look')],
      maxMessages: 4,
      limits: { iterations: 40 },
      on: { onComplete: ({ trace }) => void (seen = trace) },
      realTime: true,
    })
    const { usage } = await agent.executeTurn('Look').outcome
    expect(usage).toBeDefined()
    const whole = await agent.trace()
    expect(whole.length).toBeGreaterThan(20)
    expect(seen).toEqual(whole.slice(0, seen.length))
    expect(lines(whole.slice(seen.length))).toEqual(['warning', 'turn_result max-iterations'])
  })

  it('is empty if there is no such turn, and refuses what is no option', async () => {
    const { agent } = bench({ script: ['Hi'] })
    await agent.input('Hi')
    expect(await agent.trace({ turn: 9 })).toEqual([])
    await expect(agent.trace({ turns: 1 } as never)).rejects.toThrow('turn')
  })
})

describe('xray', () => {
  const look = (seen: unknown[]) =>
    defineTool({
      name: 'look',
      description: 'looks',
      input: z.object({}),
      run: async () => {
        await new Promise((resolve) => setImmediate(resolve))
        const { agent, task, iteration, previousTools, messages } = xray
        const trace = lines(xray.trace())
        seen.push({
          agent,
          task,
          iteration,
          previousTools,
          messages: messages.map(({ role }) => role),
          trace,
        })
        return 1
      },
    })

  it('shows a tool the turn around it', async () => {
    const seen: unknown[] = []
    const { agent } = bench({
      name: 'clerk',
      script: [calls('fail'), calls('look'), 'Done'],
      tools: [look(seen), broken()],
    })
    await agent.input('Look well')
    expect(seen).toEqual([
      {
        agent: 'clerk',
        task: 'Look well',
        iteration: 2,
        previousTools: [{ tool: 'fail', status: 'error' }],
        messages: ['user', 'assistant', 'tool', 'assistant'],
        trace: [
          'user_input 1 Look well',
          'llm_call 1 calls=1 success',
          'tool_execution call_1 fail error',
          'llm_call 2 calls=1 success',
          'tool_execution call_2 look running',
        ],
      },
    ])
  })

  it('is empty outside of a tool, in hooks, and in what a tool leaves running', async () => {
    const after = gate()
    const late = gate<unknown>()
    const hooked: unknown[] = []
    const tool = probe('leave', () => {
      void after.promise.then(() => late.resolve([xray.agent, xray.trace()]))
      return 1
    })
    const { agent } = bench({
      script: [calls('leave'), 'Done'],
      tools: [tool],
      on: { afterEachTool: () => void hooked.push(xray.task) },
    })
    await agent.input('Go')
    after.resolve()
    expect(await late.promise).toEqual([undefined, []])
    expect(hooked).toEqual([undefined])
    expect([xray.agent, xray.task, xray.iteration, xray.messages, xray.previousTools, xray.trace()]).toEqual([
      undefined,
      undefined,
      undefined,
      [],
      [],
      [],
    ])
  })

  it('is each tool’s own in a hundred agents that run together', async () => {
    const wrong: string[] = []
    const agents = Array.from({ length: 100 }, (_, i) => {
      const tool = probe('look', async () => {
        for (let k = 0; k < 5; k++) {
          await new Promise((resolve) => setImmediate(resolve))
          if (xray.agent !== `agent-${i}` || xray.task !== `task ${i}`) wrong.push(`${i}: ${xray.agent}`)
        }
        return i
      })
      return bench({
        name: `agent-${i}`,
        script: [calls('look', 'look'), 'Done'],
        tools: [tool],
        realTime: true,
      }).agent
    })
    await Promise.all(agents.map((agent, i) => agent.input(`task ${i}`)))
    expect(wrong).toEqual([])
  })
})

function counting(store: Store): { readonly store: Store; entries: number } {
  const read: Store['read'] = async (key, range) => {
    const page = await store.read(key, range)
    counted.entries += page.length
    return page
  }
  const counted = {
    entries: 0,
    store: new Proxy(store, {
      get: (target, name) => {
        const value: unknown = name === 'read' ? read : Reflect.get(target, name)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    }),
  }
  return counted
}

describe('traceOf', () => {
  it('ends a model call whose turn another process ended without a reply', () => {
    const entry = (seq: number, type: string, data: object): Entry =>
      ({ seq, turn: 1, at: 1000 * seq, type, v: 1, data }) as Entry
    const start = [
      entry(1, 'turn.start', {}),
      entry(2, 'model.start', { iteration: 1, attempt: 1, model: 'a/b', key: 'm1' }),
    ]
    expect(lines(traceOf(start))).toEqual(['llm_call 1 calls=0 running'])
    const end = entry(3, 'turn.end', { outcome: 'cancelled', usage: NO_USAGE, durationMs: 2000 })
    const trace = traceOf([...start, end])
    expect(lines(trace)).toEqual(['llm_call 1 calls=0 cancelled', 'turn_result cancelled'])
    expect(trace[0]).toMatchObject({ timestamp: 2000, duration_ms: 1000 })
  })
})
