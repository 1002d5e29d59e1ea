/** One call: the assembly of a reply, and all the ways in which it can fail. */
import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { systemTimer } from '../base/index.ts'
import { CountingIds } from '../testing/counting-ids.ts'
import { ManualClock } from '../testing/manual-clock.ts'
import { ScriptedModel } from '../testing/scripted-model.ts'
import type { LanguageModel, ModelCall, ModelDelta, ModelRequest, ModelStreamPart } from './index.ts'
import { ModelFailure, streamModel } from './index.ts'

function modelOf(parts: readonly ModelStreamPart[], more: Partial<LanguageModel> = {}): LanguageModel {
  const stream = new ReadableStream<ModelStreamPart>({
    start: (controller) => {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
  const doStream = () => Promise.resolve({ stream })
  return { specificationVersion: 'v4', provider: 'acme.chat', modelId: 'm1', doStream, ...more }
}

function nested(levels: number): string {
  return `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
}

function requestOf(model: LanguageModel, more: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model,
    messages: [{ role: 'user', content: 'hello there' }],
    tools: [],
    settings: {},
    signal: new AbortController().signal,
    ids: new CountingIds(),
    timer: new ManualClock(),
    onDelta: () => {},
    ...more,
  }
}

const usage = {
  inputTokens: { total: 10, noCache: 6, cacheRead: 4, cacheWrite: 0 },
  outputTokens: { total: 3, text: 3, reasoning: 0 },
}
const finish: ModelStreamPart = { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage }

async function failureOf(request: ModelRequest): Promise<ModelFailure> {
  const failure: unknown = await streamModel(request).then(
    () => undefined,
    (error: unknown) => error,
  )
  if (failure instanceof ModelFailure) return failure
  throw new Error('it did not fail with a ModelFailure', { cause: failure })
}

async function settle(): Promise<void> {
  for (let round = 0; round < 20; round++) await Promise.resolve()
}

describe('a reply', () => {
  it('is its parts in the order in which they began, with our ids for calls', async () => {
    const deltas: ModelDelta[] = []
    const model = modelOf([
      { type: 'stream-start' },
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'hm' },
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'It ' },
      { type: 'reasoning-end', id: '0', providerMetadata: { acme: { signature: 'xyz' } } },
      { type: 'text-delta', id: '0', delta: 'rains' },
      { type: 'text-end', id: '0' },
      { type: 'tool-input-start', id: 'p1', toolName: 'weather' },
      { type: 'tool-input-delta', id: 'p1', delta: '{"city":' },
      { type: 'tool-input-delta', id: 'p1', delta: '"Rome"}' },
      { type: 'tool-input-end', id: 'p1' },
      {
        type: 'tool-call',
        toolCallId: 'p1',
        toolName: 'weather',
        input: '{"city":"Rome"}',
        providerMetadata: { acme: { thought: 1 } },
      },
      { type: 'tool-call', toolCallId: 'p2', toolName: 'now', input: '' },
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'Done' },
      { ...finish, finishReason: { unified: 'tool-calls', raw: 'tool_use' } },
    ])
    const reply = await streamModel(requestOf(model, { onDelta: (delta) => deltas.push(delta) }))
    expect(reply).toEqual({
      content: [
        { type: 'reasoning', text: 'hm', provider: { acme: { signature: 'xyz' } } },
        { type: 'text', text: 'It rains' },
        {
          type: 'tool-call',
          callId: 'call_1',
          providerId: 'p1',
          tool: 'weather',
          args: { city: 'Rome' },
          provider: { acme: { thought: 1 } },
        },
        { type: 'tool-call', callId: 'call_2', providerId: 'p2', tool: 'now', args: {} },
        { type: 'text', text: 'Done' },
      ],
      finish: 'tool-calls',
      model: 'acme/m1',
      usage: { inputTokens: 10, outputTokens: 3, cachedTokens: 4, costUsd: 0 },
    })
    expect(deltas).toEqual([
      { type: 'reasoning.delta', text: 'hm' },
      { type: 'text.delta', text: 'It ' },
      { type: 'text.delta', text: 'rains' },
      { type: 'call.delta', callId: 'call_1', tool: 'weather', text: '{"city":' },
      { type: 'call.delta', callId: 'call_1', tool: 'weather', text: '"Rome"}' },
      { type: 'text.delta', text: 'Done' },
    ])
  })

  it('leaves out what the provider did itself, and what is not known', async () => {
    const model = modelOf([
      { type: 'ping' },
      { type: 'raw' },
      { type: 'source', id: 's1' },
      { type: 'file' },
      { type: 'tool-input-start', id: 'p1', toolName: 'web_search', providerExecuted: true },
      { type: 'tool-input-delta', id: 'p1', delta: '{}' },
      { type: 'tool-call', toolCallId: 'p1', toolName: 'web_search', input: '{}', providerExecuted: true },
      { type: 'tool-result', toolCallId: 'p1', toolName: 'web_search' },
      { type: 'something-of-next-year' },
      { type: 'text-start', id: 't' },
      { type: 'text-end', id: 't' },
      { type: 'reasoning-start', id: 'r', providerMetadata: { acme: { redacted: 'zzz' } } },
      { type: 'reasoning-end', id: 'r' },
      { type: 'text-delta', id: 'never started', delta: 'ok' },
      finish,
    ])
    const deltas: ModelDelta[] = []
    const { content } = await streamModel(requestOf(model, { onDelta: (delta) => deltas.push(delta) }))
    expect(content).toEqual([
      { type: 'reasoning', text: '', provider: { acme: { redacted: 'zzz' } } },
      { type: 'text', text: 'ok' },
    ])
    expect(deltas).toEqual([{ type: 'text.delta', text: 'ok' }])
  })

  it.each([
    ['{"a":', 'the arguments are not JSON: '],
    ['[1]', 'the arguments are a list, not a JSON object'],
    ['"x"', 'the arguments are a string, not a JSON object'],
    ['null', 'the arguments are null, not a JSON object'],
    [nested(101), 'the arguments are nested more than 100 levels deep'],
    [nested(100_000), 'the arguments are nested more than 100 levels deep'],
  ])('keeps arguments that cannot be used as the model wrote them: %s', async (input, reason) => {
    const call = { type: 'tool-call', toolCallId: 'p', toolName: 't', input }
    const { content } = await streamModel(requestOf(modelOf([call, finish])))
    expect(content).toEqual([
      {
        type: 'tool-call',
        callId: 'call_1',
        providerId: 'p',
        tool: 't',
        args: input,
        malformed: expect.stringContaining(reason),
      },
    ])
  })

  it('has arguments of a hundred levels, but not of more, as text or as they are', async () => {
    const parsed = { type: 'tool-call', toolName: 't', input: JSON.parse(nested(101)) as never }
    const calls = [{ type: 'tool-call', toolName: 't', input: nested(100) }, parsed]
    const { content } = await streamModel(requestOf(modelOf([...calls, finish])))
    expect(content.map((part) => part.type === 'tool-call' && part.malformed)).toEqual([
      undefined,
      'the arguments are nested more than 100 levels deep',
    ])
  })

  it.each([
    [undefined, 'unnamed'],
    ['', 'unnamed'],
    [5, 'unnamed'],
    [{}, 'unnamed'],
    ['x'.repeat(129), 'x'.repeat(128)],
  ])('has no use for a call of a tool named %j', async (toolName, tool) => {
    const call = { type: 'tool-call', toolName: toolName as string, input: '{}' }
    const { content } = await streamModel(requestOf(modelOf([call, finish])))
    expect(content).toEqual([
      { type: 'tool-call', callId: 'call_1', tool, args: {}, malformed: expect.stringMatching(/tool|name/) },
    ])
  })

  it('may be empty: why it stopped says the rest', async () => {
    const filtered = { ...finish, finishReason: { unified: 'content-filter', raw: 'SAFETY' } }
    const reply = await streamModel(requestOf(modelOf([filtered])))
    expect([reply.content, reply.finish]).toEqual([[], 'content-filter'])
  })

  it('has a cost from the table, which is an estimate', async () => {
    const prices = { 'acme/m1': { input: 1, output: 10, cachedInput: 0.5 } }
    const reply = await streamModel(requestOf(modelOf([finish]), { prices }))
    expect(reply.usage).toEqual({
      inputTokens: 10,
      outputTokens: 3,
      cachedTokens: 4,
      costUsd: 38e-6,
      estimated: true,
    })
  })

  it('has an estimated usage when the provider reports none', async () => {
    const nothing = { inputTokens: { total: undefined }, outputTokens: { total: Number.NaN } }
    const parts: ModelStreamPart[] = [
      { type: 'text-delta', id: 't', delta: 'twelve chars' },
      { ...finish, usage: nothing as never },
    ]
    const reply = await streamModel(requestOf(modelOf(parts)))
    expect(reply.usage).toEqual({
      inputTokens: 7,
      outputTokens: 3,
      cachedTokens: 0,
      costUsd: 0,
      estimated: true,
    })
  })
})

describe('a call', () => {
  async function callOf(more: Partial<ModelRequest>, model: Partial<LanguageModel> = {}): Promise<ModelCall> {
    let seen: ModelCall | undefined
    const doStream = (call: ModelCall) => {
      seen = call
      return modelOf([finish]).doStream(call)
    }
    await streamModel(requestOf(modelOf([], { ...model, doStream }), more))
    if (seen === undefined) throw new Error('not called')
    return seen
  }

  it('passes on the settings that are settings, and nothing else', async () => {
    const settings = {
      temperature: 0,
      maxOutputTokens: 9,
      stopSequences: ['x'],
      reasoning: 'low' as const,
      headers: { a: 'b' },
      providerOptions: { acme: { deep: true } },
      toolChoice: { tool: 't' },
      apiKey: 'secret',
      retries: 3,
    }
    const tools = [{ name: 't', description: 'd', parameters: { type: 'object' } }]
    expect(await callOf({ settings, tools, system: 'be brief' })).toEqual({
      prompt: [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: [{ type: 'text', text: 'hello there' }] },
      ],
      tools: [{ type: 'function', name: 't', description: 'd', inputSchema: { type: 'object' } }],
      toolChoice: { type: 'tool', toolName: 't' },
      temperature: 0,
      maxOutputTokens: 9,
      stopSequences: ['x'],
      reasoning: 'low',
      headers: { a: 'b' },
      providerOptions: { acme: { deep: true } },
      abortSignal: expect.any(AbortSignal),
    })
  })

  it('has no tools when there are none, and no effort for version 3', async () => {
    const call = await callOf({ settings: { reasoning: 'high' } }, { specificationVersion: 'v3' })
    expect(Object.keys(call).toSorted()).toEqual(['abortSignal', 'prompt'])
  })

  it('asks the Responses API to keep nothing, unless the caller wants it to', async () => {
    const responses = { provider: 'openai.responses' }
    const plain = await callOf({}, responses)
    const wanted = await callOf({ settings: { providerOptions: { openai: { store: true } } } }, responses)
    expect([plain.providerOptions, wanted.providerOptions]).toEqual([
      { openai: { store: false } },
      { openai: { store: true } },
    ])
  })
})

describe('a call that fails', () => {
  it('is cut off when the stream ends without a finish', async () => {
    const parts: ModelStreamPart[] = [
      { type: 'reasoning-delta', id: 'r', delta: 'mm' },
      { type: 'text-delta', id: 't', delta: 'half a', providerMetadata: { acme: { item: 1 } } },
      { type: 'tool-call', toolCallId: 'p', toolName: 't', input: '{}' },
    ]
    const failure = await failureOf(requestOf(modelOf(parts)))
    expect([failure.kind, failure.retryable, failure.partial]).toEqual([
      'cut-off',
      true,
      [{ type: 'text', text: 'half a' }],
    ])
    expect(failure.usage).toEqual({
      inputTokens: 7,
      outputTokens: 3,
      cachedTokens: 0,
      costUsd: 0,
      estimated: true,
    })
  })

  it('has used nothing when it was refused at the door', async () => {
    const doStream = () => Promise.reject(Object.assign(new Error('slow down'), { statusCode: 429 }))
    const failure = await failureOf(requestOf(modelOf([], { doStream })))
    expect(failure.toData()).toEqual({ kind: 'rate-limit', message: 'slow down', status: 429 })
    expect(failure.usage).toEqual({ inputTokens: 0, outputTokens: 0, cachedTokens: 0, costUsd: 0 })
  })

  it('fails also when the provider throws at once', async () => {
    const doStream = () => {
      throw new Error('no')
    }
    const failure = await failureOf(requestOf(modelOf([], { doStream })))
    expect([failure.kind, failure.message, failure.retryable]).toEqual(['unknown', 'no', false])
  })

  it('fails also when the provider throws something that cannot be read', async () => {
    const unreadable = Object.defineProperty({}, 'message', {
      get: () => {
        throw new Error('no')
      },
    })
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    for (const thrown of [unreadable, proxy]) {
      const failure = await failureOf(requestOf(modelOf([], { doStream: () => Promise.reject(thrown) })))
      expect([failure.kind, failure.message]).toEqual(['unknown', 'The provider failed without saying why'])
    }
  })

  it('reads an error inside of the stream', async () => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
    const failure = await failureOf(requestOf(modelOf([error, finish])))
    expect([failure.kind, failure.message, failure.retryable]).toEqual(['overloaded', 'Overloaded', true])
  })

  it('is cut off when only the package says that it has ended', async () => {
    const text = { type: 'text-delta', id: 't', delta: 'half' }
    const nothing = { inputTokens: { total: undefined }, outputTokens: { total: undefined } } as never
    const ends: ModelStreamPart[] = [
      { ...finish, finishReason: { unified: 'interrupted', raw: undefined } },
      { type: 'finish', finishReason: { unified: 'other', raw: undefined }, usage: nothing },
      // Gemini reports the usage with every piece.
      { ...finish, finishReason: { unified: 'other', raw: undefined } },
    ]
    const kinds = await Promise.all(
      ends.map(async (end) => (await failureOf(requestOf(modelOf([text, end])))).kind),
    )
    expect(kinds).toEqual(['cut-off', 'cut-off', 'cut-off'])
    const said = { ...finish, finishReason: { unified: 'other', raw: 'recitation' } }
    expect((await streamModel(requestOf(modelOf([text, said])))).finish).toBe('other')
  })

  it('fails when the reply finishes with an error', async () => {
    const broken = { ...finish, finishReason: { unified: 'error', raw: 'MALFORMED_FUNCTION_CALL' } }
    const failure = await failureOf(requestOf(modelOf([broken])))
    expect([failure.kind, failure.retryable]).toEqual(['unknown', true])
    expect(failure.message).toBe(
      'The provider ended the reply of acme/m1 with an error (MALFORMED_FUNCTION_CALL).',
    )
  })

  it('fails when the one who listens throws', async () => {
    const onDelta = () => {
      throw new Error('listener')
    }
    const failure = await failureOf(
      requestOf(modelOf([{ type: 'text-delta', id: 't', delta: 'x' }]), { onDelta }),
    )
    expect([failure.kind, failure.message]).toEqual(['unknown', 'listener'])
  })
})

describe('a call that is aborted', () => {
  it('does not begin when the signal was aborted before', async () => {
    const model = new ScriptedModel(['hello'])
    const failure = await failureOf(requestOf(model, { signal: AbortSignal.abort() }))
    expect([failure.kind, failure.retryable, failure.usage.inputTokens]).toEqual(['aborted', false, 0])
    expect(model.calls).toEqual([])
  })

  it('ends at once, also when the provider takes no notice', async () => {
    const late = Promise.withResolvers<{ stream: ReadableStream<ModelStreamPart> }>()
    const model = modelOf([], { doStream: () => late.promise })
    const controller = new AbortController()
    const failing = failureOf(requestOf(model, { signal: controller.signal }))
    await settle()
    controller.abort()
    const failure = await failing
    expect([failure.kind, failure.usage.inputTokens, failure.usage.estimated]).toEqual(['aborted', 7, true])
    let cancelled = false
    late.resolve({ stream: new ReadableStream({ cancel: () => void (cancelled = true) }) })
    await settle()
    expect(cancelled).toBe(true)
  })

  it('keeps the text that had arrived, and cancels the stream', async () => {
    const seen: string[] = []
    const stream = new ReadableStream<ModelStreamPart>({
      start: (source) => source.enqueue({ type: 'text-delta', id: 't', delta: 'so far' }),
      cancel: () => void seen.push('cancelled'),
    })
    const controller = new AbortController()
    let told: AbortSignal | undefined
    const doStream = (call: ModelCall) => {
      told = call.abortSignal
      return Promise.resolve({ stream })
    }
    const onDelta = () => controller.abort()
    const failure = await failureOf(
      requestOf(modelOf([], { doStream }), { signal: controller.signal, onDelta }),
    )
    expect([failure.kind, failure.partial]).toEqual(['aborted', [{ type: 'text', text: 'so far' }]])
    expect([seen, told?.aborted]).toEqual([['cancelled'], true])
  })

  it('leaves a connection that the provider does not end', async () => {
    const clock = new ManualClock()
    const left: string[] = []
    const doStream = ({ abortSignal }: ModelCall) => {
      abortSignal?.addEventListener('abort', () => left.push('request'))
      const stream = new ReadableStream<ModelStreamPart>({
        start: (controller) => controller.enqueue(finish),
        cancel: () => void left.push('stream'),
      })
      return Promise.resolve({ stream })
    }
    const reply = await streamModel(requestOf(modelOf([], { doStream }), { timer: clock }))
    expect([reply.finish, left]).toEqual(['stop', []])
    clock.advance(5000)
    await settle()
    expect([left.toSorted(), clock.waiting]).toEqual([['request', 'stream'], 0])
  })

  it('leaves no listener and no wait behind, however it ends', async () => {
    const { signal } = new AbortController()
    const clock = new ManualClock()
    await streamModel(requestOf(new ScriptedModel(['hi']), { signal, timer: clock }))
    await failureOf(requestOf(modelOf([]), { signal, timer: clock }))
    await failureOf(requestOf(new ScriptedModel([]), { signal, timer: clock }))
    expect([getEventListeners(signal, 'abort'), clock.waiting]).toEqual([[], 0])
  })

  it('calls nobody after it has ended', async () => {
    const source = Promise.withResolvers<ReadableStreamDefaultController<ModelStreamPart>>()
    const stream = new ReadableStream<ModelStreamPart>({ start: (made) => source.resolve(made) })
    const controller = new AbortController()
    const deltas: ModelDelta[] = []
    const model = modelOf([], { doStream: () => Promise.resolve({ stream }) })
    const failing = failureOf(
      requestOf(model, { signal: controller.signal, onDelta: (delta) => deltas.push(delta) }),
    )
    await settle()
    const enqueue = (await source.promise).enqueue.bind(await source.promise)
    enqueue({ type: 'text-delta', id: 't', delta: 'late' })
    controller.abort()
    await failing
    await settle()
    expect(deltas).toEqual([])
  })
})

describe('a call that takes too long', () => {
  it('is given up after ten minutes', async () => {
    const clock = new ManualClock()
    const failing = failureOf(
      requestOf(new ScriptedModel([{ stall: true, after: 'half' }]), { timer: clock }),
    )
    await settle()
    clock.advance(599_999)
    await settle()
    expect(clock.waiting).toBe(1)
    clock.advance(1)
    const failure = await failing
    expect([failure.kind, failure.retryable, failure.partial]).toEqual([
      'timeout',
      true,
      [{ type: 'text', text: 'half' }],
    ])
  })

  it('is given up when the caller says, or never', async () => {
    const clock = new ManualClock()
    const soon = failureOf(requestOf(new ScriptedModel([{ stall: true }]), { timer: clock, timeoutMs: 5 }))
    const never = new AbortController()
    const failing = failureOf(
      requestOf(new ScriptedModel([{ stall: true }]), {
        timer: clock,
        timeoutMs: Infinity,
        signal: never.signal,
      }),
    )
    await settle()
    clock.advance(5)
    expect((await soon).message).toBe('scripted/model did not answer completely within 5 ms.')
    expect(clock.waiting).toBe(0)
    never.abort()
    expect((await failing).kind).toBe('aborted')
  })
})

describe('a stream that always has another part', () => {
  const next = { type: 'text-delta', id: 't', delta: 'and ' }

  /** The stream ends after two seconds: otherwise a reader that starves the event loop would never end. */
  function endless(...parts: readonly ModelStreamPart[]) {
    const started = performance.now()
    const state = { isOver: false }
    const stream = new ReadableStream<ModelStreamPart>({
      start: (controller) => {
        for (const part of parts) controller.enqueue(part)
      },
      pull: (controller) => {
        state.isOver = performance.now() - started > 2000
        if (state.isOver) controller.error(new Error('nobody ended it'))
        else controller.enqueue(next)
      },
    })
    return { state, model: modelOf([], { doStream: () => Promise.resolve({ stream }) }) }
  }

  it('can be aborted', async () => {
    const controller = new AbortController()
    setTimeout(() => controller.abort(), 5)
    const failure = await failureOf(requestOf(endless().model, { signal: controller.signal }))
    expect(failure.kind).toBe('aborted')
  })

  it('takes no longer than it may', async () => {
    const failure = await failureOf(requestOf(endless().model, { timer: systemTimer, timeoutMs: 5 }))
    expect(failure.kind).toBe('timeout')
  })

  it('lets others run after its reply is complete, and is left', async () => {
    const clock = new ManualClock()
    const { model, state } = endless(finish)
    expect((await streamModel(requestOf(model, { timer: clock }))).finish).toBe('stop')
    await new Promise((resolve) => setTimeout(resolve, 1))
    expect(state.isOver).toBe(false)
    clock.advance(5000)
    await new Promise((resolve) => setTimeout(resolve, 1))
    expect(clock.waiting).toBe(0)
  })
})
