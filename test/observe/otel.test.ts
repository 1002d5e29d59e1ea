/** Turns of agents as spans of OpenTelemetry, seen by a real SDK. */
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { describe, expect, it } from 'vitest'
import { agentTool, takeOver } from '../../src/agent/index.ts'
import { newSession } from '../../src/journal/index.ts'
import { type OtelOptions, otel } from '../../src/observe/otel/index.ts'
import type { Entry } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { asking, type BenchOptions, bench, calls, gate, KEY, probe, until } from '../turn/kit.ts'
import { exportedText, idOf, type Recorder, recorder, withContextManager } from './otel-kit.ts'

withContextManager()

interface Observed extends ReturnType<typeof bench> {
  readonly seen: Recorder
}

function observed({ otel: options, ...config }: BenchOptions & { otel?: OtelOptions } = {}): Observed {
  const seen = recorder()
  const telemetry = otel({ tracer: seen.tracer, ...options })
  return { ...bench({ name: 'clerk', telemetry, ...config }), seen }
}

const broken = () =>
  probe('fail', () => {
    throw new TypeError('broken by sesame-1234')
  })

const AUTH = { credentials: { token: 'sesame-1234' } }

describe('the spans of a turn', () => {
  it('are an agent, its model calls and its tools, with the attributes of the conventions', async () => {
    const usage = { inputTokens: 100, outputTokens: 20, cachedTokens: 40 }
    const { agent, seen, store } = observed({
      script: [
        { calls: [{ tool: 'look' }], usage },
        { text: 'Done', usage },
      ],
      tools: [probe('look')],
      settings: { temperature: 0.2, maxOutputTokens: 50, stopSequences: ['END'] },
    })
    await agent.executeTurn('Look').outcome
    expect(seen.tree()).toEqual(['invoke_agent clerk', '  chat model', '  execute_tool look', '  chat model'])
    const common = { 'gen_ai.conversation.id': 'talk', 'gen_ai.agent.name': 'clerk' }
    const [turn, chat, tool] = seen.spans()
    expect(turn).toMatchObject({
      kind: SpanKind.INTERNAL,
      status: { code: SpanStatusCode.UNSET },
      events: [],
    })
    expect(turn?.attributes).toEqual({
      ...common,
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.provider.name': 'scripted',
      'gen_ai.usage.input_tokens': 200,
      'gen_ai.usage.output_tokens': 40,
      'gen_ai.usage.cache_read.input_tokens': 80,
      'holdfast.turn': 1,
      'holdfast.outcome': 'stop',
    })
    expect(chat?.kind).toBe(SpanKind.CLIENT)
    expect(chat?.attributes).toEqual({
      ...common,
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'scripted',
      'gen_ai.request.model': 'model',
      'gen_ai.request.stream': true,
      'gen_ai.request.temperature': 0.2,
      'gen_ai.request.max_tokens': 50,
      'gen_ai.request.stop_sequences': ['END'],
      'gen_ai.response.model': 'model',
      'gen_ai.response.finish_reasons': ['tool_call'],
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.usage.output_tokens': 20,
      'gen_ai.usage.cache_read.input_tokens': 40,
      'holdfast.iteration': 1,
    })
    expect(tool?.kind).toBe(SpanKind.INTERNAL)
    expect(tool?.attributes).toEqual({
      ...common,
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'look',
      'gen_ai.tool.call.id': 'call_1',
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.description': 'does look',
      'holdfast.tool.status': 'ok',
    })
    const start = (await store.read(KEY)).find(({ type }) => type === 'turn.start')
    const { traceId, spanId } = turn?.spanContext() ?? {}
    expect(start?.data['traceparent']).toBe(`00-${traceId}-${spanId}-01`)
  })

  it('end when their work ends, not when its result is durable', async () => {
    const heldMs = 50
    const store = memoryStore()
    const append = store.append.bind(store)
    const hold: Store['append'] = async (request) => {
      if (request.entries?.some(({ type }) => type === 'tool.end'))
        await new Promise((resolve) => setTimeout(resolve, heldMs))
      return append(request)
    }
    Object.assign(store, { append: hold })
    const { agent, seen } = observed({ script: [calls('look'), 'Done'], tools: [probe('look')], store })
    await agent.input('Look')
    const [turnEnd, toolEnd] = ['invoke_agent clerk', 'execute_tool look'].map((name) =>
      ms(seen.span(name).endTime),
    ) as [number, number]
    // The SDK rounds the start of each span to a millisecond.
    expect(turnEnd - toolEnd).toBeGreaterThan(heldMs - 5)
  })

  it('are complete once the entries of a turn are saved, without autoSave', async () => {
    const { agent, seen } = observed({ script: ['One', 'Two'], autoSave: false })
    await agent.executeTurn('1').outcome
    expect(seen.open()).toEqual(['invoke_agent clerk', 'chat model'])
    await agent.executeTurn('2').outcome
    await agent.saveState()
    expect(seen.tree()).toEqual(['invoke_agent clerk', '  chat model', 'invoke_agent clerk', '  chat model'])
    expect(seen.spans().map(({ attributes }) => attributes['holdfast.outcome'])).toEqual([
      'stop',
      undefined,
      'stop',
      undefined,
    ])
    expect(seen.open()).toEqual([])
  })

  it('are below the span of the request, also of one that waited for an earlier turn', async () => {
    const slow = gate()
    const tool = probe('slow', () => slow.promise.then(() => 'done'))
    const { agent, seen } = observed({ script: [calls('slow'), 'One', 'Two'], tools: [tool] })
    const request = (name: string) =>
      seen.tracer.startActiveSpan(name, (span) => {
        const turn = agent.executeTurn(name, { whileBusy: 'queue' })
        span.end()
        return turn
      })
    const first = request('GET /1')
    await until('the tool runs', () => tool.ran.length === 1)
    const second = request('GET /2')
    slow.resolve()
    await Promise.all([first.outcome, second.outcome])
    expect(seen.tree()).toEqual([
      'GET /1',
      '  invoke_agent clerk',
      '    chat model',
      '    execute_tool slow',
      '    chat model',
      'GET /2',
      '  invoke_agent clerk',
      '    chat model',
    ])
  })

  it('are the parents of a tool’s own spans and of the turns of sub-agents, also of tools that run together', async () => {
    const { agent, seen } = observed({
      script: [calls(['helper', { message: 'Help' }], 'own'), 'Done'],
      tools: [
        agentTool({
          name: 'helper',
          description: 'Helps',
          agent: { model: new ScriptedModel([calls('own'), 'Helped']), tools: [own(() => seen)] },
        }),
        own(() => seen),
      ],
    })
    await agent.input('Go')
    expect(seen.tree()).toEqual([
      'invoke_agent clerk',
      '  chat model',
      '  execute_tool helper',
      '    invoke_agent helper',
      '      chat model',
      '      execute_tool own',
      '        SELECT',
      '      chat model',
      '  execute_tool own',
      '    SELECT',
      '  chat model',
    ])
    expect(seen.open()).toEqual([])
  })

  it('are the parents of the spans of hooks and config functions, also in a turn that waited', async () => {
    const slow = gate()
    const tool = probe('slow', () => slow.promise.then(() => 'done'))
    const { agent, seen } = observed({
      script: [calls('slow'), 'One', 'Two'],
      tools: [tool],
      on: { beforeLlm: () => seen.tracer.startSpan('hook').end() },
      systemPrompt: () => {
        seen.tracer.startSpan('prompt').end()
        return 'Be brief.'
      },
    })
    const first = seen.tracer.startActiveSpan('GET /1', (span) => {
      span.end()
      return agent.executeTurn('1')
    })
    await until('the tool runs', () => tool.ran.length === 1)
    const second = agent.executeTurn('2', { whileBusy: 'queue' })
    slow.resolve()
    await Promise.all([first.outcome, second.outcome])
    const steps = ['  prompt', '  hook', '  prompt', '  chat model']
    expect(seen.tree()).toEqual([
      'GET /1',
      ...['invoke_agent clerk', ...steps, '  execute_tool slow', ...steps].map((line) => `  ${line}`),
      'invoke_agent clerk',
      ...steps,
    ])
  })

  it('do not mix when many agents run together', async () => {
    const seen = recorder()
    const telemetry = otel({ tracer: seen.tracer })
    const store = memoryStore()
    const agents = Array.from({ length: 20 }, (_, index) => {
      const name = `agent-${index}`
      const tool = probe('wait', async () => {
        await new Promise((resolve) => setTimeout(resolve, (index * 7) % 5))
        seen.tracer.startSpan(`own ${name}`).end()
      })
      const script = [calls('wait'), calls('wait', 'wait'), 'Done']
      return bench({ contextId: name, name, telemetry, store, script, tools: [tool], realTime: true }).agent
    })
    await Promise.all(agents.map((agent) => agent.input('Go')))
    for (const { name } of agents) {
      const [turn] = seen.spans().filter((span) => span.name === `invoke_agent ${name}`)
      const { traceId } = turn?.spanContext() ?? {}
      const its = seen.spans().filter((span) => span.spanContext().traceId === traceId)
      const ids = its.flatMap(({ attributes }) => attributes['gen_ai.conversation.id'] ?? [])
      expect(new Set(ids)).toEqual(new Set([name]))
      expect(its.map((span) => span.name).filter((text) => text.startsWith('own'))).toEqual(
        [1, 2, 3].map(() => `own ${name}`),
      )
      expect(its).toHaveLength(10)
    }
  })
})

describe('a failure', () => {
  it('of a tool is an error with its exception, without secrets', async () => {
    const { agent, seen } = observed({ script: [calls('fail'), 'Done'], tools: [broken()] })
    await agent.executeTurn('Go', { auth: AUTH }).outcome
    const { status, attributes, events } = seen.span('execute_tool fail')
    expect(status.code).toBe(SpanStatusCode.ERROR)
    expect(attributes).toMatchObject({ 'error.type': 'TypeError', 'holdfast.tool.status': 'error' })
    expect(events).toMatchObject([
      {
        name: 'exception',
        attributes: {
          'exception.type': 'TypeError',
          'exception.message': 'broken by [redacted]',
          'exception.stacktrace': expect.stringContaining('otel.test.ts'),
        },
      },
    ])
    expect(seen.span('invoke_agent clerk').status.code).toBe(SpanStatusCode.UNSET)
    expect(exportedText(seen.spans())).not.toContain('sesame')
  })

  it('of a model is an error of each attempt, and of the turn once no attempt is left', async () => {
    const { agent, seen } = observed({
      script: [
        { error: { status: 503, retryAfter: 0.001 } },
        { error: { status: 401, message: 'No such key' } },
      ],
      realTime: true,
      settings: { retries: 1 },
    })
    await agent.executeTurn('Go').outcome
    const [turn, first, second] = seen.spans()
    expect(first).toMatchObject({ name: 'chat model', status: { code: SpanStatusCode.ERROR } })
    expect(first?.attributes).toMatchObject({ 'error.type': 'overloaded' })
    expect(first?.events).toMatchObject([
      { name: 'exception', attributes: { 'exception.type': 'overloaded' } },
    ])
    expect(second?.attributes).toMatchObject({ 'error.type': 'auth' })
    expect(second?.events).toHaveLength(1)
    expect(turn?.status).toMatchObject({
      code: SpanStatusCode.ERROR,
      message: expect.stringContaining('No such key'),
    })
    expect(turn?.attributes).toMatchObject({ 'error.type': 'model', 'holdfast.outcome': 'failed' })
    expect(seen.open()).toEqual([])
  })

  it('of a hook is an exception of the turn', async () => {
    const beforeTools = () => {
      throw new RangeError('too many')
    }
    const { agent, seen } = observed({ script: [calls('a')], tools: [probe('a')], on: { beforeTools } })
    await agent.executeTurn('Go').outcome
    const { status, events, attributes } = seen.span('invoke_agent clerk')
    expect(status.code).toBe(SpanStatusCode.ERROR)
    expect(attributes['error.type']).toBe('hook-failed')
    const [exception] = events.filter(({ name }) => name === 'exception')
    expect(exception?.attributes?.['exception.message']).toContain('too many')
  })
})

describe('a call that is not run', () => {
  it('is an event of the turn; a question ends the turn without an error', async () => {
    const pay = probe('pay', () => 'paid', { approve: 'always' })
    const { agent, seen } = observed({ script: [calls('pay', 'none'), 'Then not'], tools: [pay] })
    const [request] = (await agent.executeTurn('Pay').outcome).requests
    await agent.answer({ [request?.requestId ?? '']: false }).outcome
    const [first, second] = seen.spans().filter(({ name }) => name === 'invoke_agent clerk')
    expect(first?.status.code).toBe(SpanStatusCode.UNSET)
    expect(first?.attributes['holdfast.outcome']).toBe('input-required')
    expect(first?.events.map(({ name, attributes }) => [name, attributes])).toEqual([
      [
        'holdfast.request',
        {
          'gen_ai.tool.call.id': 'call_1',
          'holdfast.request.id': request?.requestId,
          'holdfast.request.kind': 'confirmation',
        },
      ],
      [
        'holdfast.tool.settled',
        { 'gen_ai.tool.call.id': 'call_2', 'gen_ai.tool.name': 'none', 'holdfast.tool.status': 'rejected' },
      ],
    ])
    expect(second?.events.map(({ attributes }) => attributes)).toEqual([
      { 'gen_ai.tool.call.id': 'call_1', 'gen_ai.tool.name': 'pay', 'holdfast.tool.status': 'rejected' },
    ])
    expect(seen.tree()).toEqual(['invoke_agent clerk', '  chat model', 'invoke_agent clerk', '  chat model'])
  })

  it('leaves no span open if its tool asks instead', async () => {
    const tool = asking('why', { kind: 'text', prompt: 'Why?', name: 'answer' } as never)
    const { agent, seen } = observed({ script: [calls('why')], tools: [tool] })
    expect((await agent.executeTurn('Go').outcome).reason).toBe('input-required')
    expect(seen.tree()).toEqual(['invoke_agent clerk', '  chat model', '  execute_tool why'])
    expect(seen.open()).toEqual([])
  })
})

describe('a turn that goes on elsewhere', () => {
  it('is a new span with a link to the first one, and the lost one ends', async () => {
    const slow = gate()
    const tool = probe('slow', () => slow.promise.then(() => 'done'), { replay: 'safe' })
    const { agent, another, store, seen } = observed({
      script: [calls('slow'), 'Done'],
      tools: [tool],
      realTime: true,
    })
    const turn = agent.executeTurn('Go')
    await until('the tool runs', () => tool.ran.length === 1)
    await takeOver(store, KEY)
    const there = recorder()
    const telemetry = otel({ tracer: there.tracer })
    const other = another({ telemetry, tools: [probe('slow', () => 'here', { replay: 'safe' })] })
    await other.start()
    await other.turn?.outcome
    slow.resolve()
    await turn.outcome
    const first = seen.span('invoke_agent clerk')
    expect(first.attributes).toMatchObject({ 'holdfast.interrupted': true })
    expect(first.attributes['holdfast.outcome']).toBeUndefined()
    expect(seen.open()).toEqual([])
    expect(there.tree()).toEqual(['invoke_agent clerk', '  execute_tool slow', '  chat model'])
    const second = there.span('invoke_agent clerk')
    expect(second.links.map(({ context }) => [context.traceId, context.spanId])).toEqual([
      [first.spanContext().traceId, idOf(first)],
    ])
    expect(second.spanContext().traceId).not.toBe(first.spanContext().traceId)
    expect(second.attributes).toMatchObject({ 'holdfast.turn': 1, 'holdfast.outcome': 'stop' })
  })

  it('ends its span when it is paused or shut down, and links when it is resumed', async () => {
    const slow = gate()
    const tool = probe('slow', () => slow.promise.then(() => 'done'))
    const { agent, seen } = observed({ script: [calls('slow'), 'Done'], tools: [tool] })
    void agent.executeTurn('Go')
    await until('the tool runs', () => tool.ran.length === 1)
    const pausing = agent.pause()
    slow.resolve()
    await pausing
    expect(seen.open()).toEqual([])
    expect(seen.tree()).toEqual(['invoke_agent clerk', '  chat model', '  execute_tool slow'])
    await agent.resume()
    await agent.turn?.outcome
    expect(seen.tree().slice(3)).toEqual(['invoke_agent clerk', '  chat model'])
    const [first, second] = seen.spans().filter(({ name }) => name === 'invoke_agent clerk')
    expect(second?.links.map(({ context }) => context.spanId)).toEqual(first && [idOf(first)])
    await agent.shutdown()
    expect(seen.open()).toEqual([])
  })
})

it('a turn has one span, however many agents want to begin it', async () => {
  const { agent, another, seen } = observed({ script: ['1', '2', '3', '4'], realTime: true })
  const other = another()
  const turns = [agent, other, agent, other].map((each, index) => each.executeTurn(`${index}`))
  await Promise.all(turns.map((turn) => turn.outcome))
  const numbers = seen
    .spans()
    .flatMap(({ attributes }) => attributes['holdfast.turn'] ?? [])
    .map(Number)
  expect(numbers.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4])
})

describe('content', () => {
  const conversation = {
    script: [
      { reasoning: 'Hm', calls: [{ tool: 'look', args: { n: 7 } }] },
      'The token sesame-1234 shows seven.',
    ],
    tools: [probe('look', () => ({ found: 'seven' }))],
    systemPrompt: () => 'Be brief with sesame-1234.',
  }

  it('is not recorded', async () => {
    const { agent, seen } = observed(conversation)
    await agent.executeTurn('How many here?', { auth: AUTH }).outcome
    expect(exportedText(seen.spans())).not.toMatch(/many here|brief|seven|sesame|"n":7/)
  })

  it('of messages that another process takes is kept of the newest thousand alone', () => {
    const seen = recorder()
    const of = { key: KEY, name: 'clerk', kind: 'agent', session: newSession, read: async () => [] } as const
    const spans = otel({ tracer: seen.tracer, captureContent: true }).context(of)
    const entry = (one: Partial<Entry>) => spans?.entry?.({ turn: 0, at: 1, v: 1, ...one } as Entry)
    for (let seq = 1; seq <= 1001; seq++) entry({ seq, type: 'input', data: { message: `message ${seq}` } })
    spans?.begin?.(1)
    entry({ seq: 1002, turn: 1, type: 'turn.start', takes: [1, 2, 1001], data: {} })
    spans?.leave?.()
    expect(exportedText(seen.spans()).match(/message \d+/g)).toEqual(['message 2', 'message 1001'])
  })

  it('is recorded by option, without secrets', async () => {
    const { agent, seen } = observed({ ...conversation, otel: { captureContent: true } })
    await agent.executeTurn('How many here?', { auth: AUTH }).outcome
    const [turn, chat, tool, last] = seen.spans().map(({ attributes }) => attributes)
    const read = (text: unknown) => JSON.parse(String(text)) as unknown
    const question = { role: 'user', parts: [{ type: 'text', content: 'How many here?' }] }
    const call = { type: 'tool_call', id: 'call_1', name: 'look', arguments: { n: 7 } }
    const thought = { type: 'reasoning', content: 'Hm' }
    const answer = { type: 'text', content: 'The token [redacted] shows seven.' }
    const reply = { role: 'assistant', parts: [answer], finish_reason: 'stop' }
    expect(read(turn?.['gen_ai.input.messages'])).toEqual([question])
    expect(read(turn?.['gen_ai.output.messages'])).toEqual([reply])
    expect(read(chat?.['gen_ai.system_instructions'])).toEqual([
      { type: 'text', content: 'Be brief with [redacted].' },
    ])
    expect(read(chat?.['gen_ai.input.messages'])).toEqual([question])
    expect(read(chat?.['gen_ai.output.messages'])).toEqual([
      { role: 'assistant', parts: [thought, call], finish_reason: 'tool_call' },
    ])
    expect(read(chat?.['gen_ai.tool.definitions'])).toMatchObject([{ type: 'function', name: 'look' }])
    expect(read(tool?.['gen_ai.tool.call.arguments'])).toEqual({ n: 7 })
    expect(read(tool?.['gen_ai.tool.call.result'])).toEqual({ found: 'seven' })
    expect(read(last?.['gen_ai.input.messages'])).toEqual([
      question,
      { role: 'assistant', parts: [thought, call] },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'call_1', response: { found: 'seven' } }] },
    ])
    expect(read(last?.['gen_ai.output.messages'])).toEqual([reply])
    expect(exportedText(seen.spans())).not.toContain('sesame')
  })
})

describe('without an SDK', () => {
  it('turns run as ever, and store no trace', async () => {
    const { agent, store } = bench({ script: [calls('a'), 'Done'], tools: [probe('a')], telemetry: otel() })
    expect(await agent.input('Go')).toBe('Done')
    const start = (await store.read(KEY)).find(({ type }) => type === 'turn.start')
    expect(start?.data).not.toHaveProperty('traceparent')
  })

  it('spans begin with the provider that is registered later', async () => {
    const seen = recorder()
    const { agent } = bench({ name: 'clerk', script: ['One', 'Two'], telemetry: otel() })
    await agent.input('1')
    trace.setGlobalTracerProvider(seen.provider)
    try {
      await agent.input('2')
    } finally {
      trace.disable()
    }
    expect(seen.tree()).toEqual(['invoke_agent clerk', '  chat model'])
    expect(seen.span('chat model').instrumentationScope).toMatchObject({
      name: 'holdfast',
      schemaUrl: 'https://opentelemetry.io/schemas/1.41.0',
    })
  })
})

describe('the options', () => {
  it('add attributes to every span of a conversation', async () => {
    const attributes = ({ key }: { key: { actor: string } }) => ({ 'user.id': key.actor })
    const { agent, seen } = observed({
      script: [calls('a'), 'Done'],
      tools: [probe('a')],
      otel: { attributes },
    })
    await agent.input('Go')
    expect(seen.spans().map((span) => span.attributes['user.id'])).toEqual(seen.spans().map(() => KEY.actor))
  })

  it('are checked', () => {
    expect(() => otel({ captureMessages: true } as never)).toThrow('otel() has no "captureMessages".')
    expect(() => otel({ tracer: 'mine' as never })).toThrow('tracer must be an object')
  })
})

function own(seen: () => Recorder) {
  return probe('own', async () => {
    await new Promise((resolve) => setImmediate(resolve))
    seen().tracer.startSpan('SELECT').end()
  })
}

function ms([seconds, nanos]: readonly [number, number]): number {
  return seconds * 1000 + nanos / 1e6
}
