/** Tools of the AI SDK in `tools`, made by the package's own `tool()`. */
import { jsonSchema as aiJsonSchema, dynamicTool, tool, zodSchema } from '@ai-sdk/provider-utils'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { aiTool } from '../../src/entry/tool.ts'
import type { Json, TurnEvent } from '../../src/protocol/index.ts'
import { bench, calls, entryLines, gate, KEY, probe } from '../turn/kit.ts'

const weather = tool({
  description: 'The weather of a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ city, celsius: -4 }),
})

const asking = (city: Json = 'Oslo') => [calls(['weather', { city }]), 'Done']

async function outputs(made: ReturnType<typeof bench>): Promise<readonly unknown[]> {
  await made.agent.input('Go')
  const ends = (await made.store.read(KEY)).filter(({ type }) => type === 'tool.end')
  return ends.map(({ data }) => [data['status'], data['output']])
}

describe('a tool of the AI SDK', () => {
  it('is taken as it is, by name, beside others, from a function and from a plugin', async () => {
    const done = [['ok', { city: 'Oslo', celsius: -4 }]]
    expect(await outputs(bench({ script: asking(), tools: { weather } }))).toEqual(done)
    expect(await outputs(bench({ script: asking(), tools: [probe('look'), { weather }] }))).toEqual(done)
    expect(await outputs(bench({ script: asking(), tools: { look: probe('look'), weather } }))).toEqual(done)
    expect(await outputs(bench({ script: asking(), tools: async () => ({ weather }) }))).toEqual(done)
    expect(
      await outputs(bench({ script: asking(), plugins: [{ name: 'sky', tools: { weather } }] })),
    ).toEqual(done)
  })

  it('is not run again after a crash unless it says so, and its schema is checked', async () => {
    const made = bench({ script: [calls(['weather', { city: 7 }]), ...asking()], tools: { weather } })
    expect(await outputs(made)).toEqual([
      ['rejected', expect.objectContaining({ code: 'invalid-arguments' })],
      ['ok', { city: 'Oslo', celsius: -4 }],
    ])
    const start = (await made.store.read(KEY)).find(({ type }) => type === 'tool.start')
    expect(start?.data['replay']).toBe('never')
    expect(aiTool('weather', weather, { replay: 'safe', timeoutMs: 9 })).toMatchObject({
      name: 'weather',
      replay: 'safe',
      timeoutMs: 9,
      parameters: { type: 'object', required: ['city'] },
    })
  })

  it.each([
    [
      'jsonSchema()',
      aiJsonSchema<{ city: string }>({
        type: 'object',
        properties: { city: { type: 'string' } },
        required: ['city'],
      }),
    ],
    ['zodSchema()', zodSchema(z.object({ city: z.string() }))],
    [
      'a lazy schema',
      () =>
        aiJsonSchema<{ city: string }>({
          type: 'object',
          properties: { city: { type: 'string' } },
          required: ['city'],
        }),
    ],
  ])('may have its schema by %s', async (_, inputSchema) => {
    const found = tool({
      description: 'x',
      inputSchema: inputSchema as never,
      execute: async (input: unknown) => input,
    })
    expect(
      await outputs(
        bench({ script: [calls(['weather', { city: 7 }]), ...asking()], tools: { weather: found } }),
      ),
    ).toEqual([
      ['rejected', expect.objectContaining({ code: 'invalid-arguments' })],
      ['ok', { city: 'Oslo' }],
    ])
  })

  it('gets the options of execute: call, signal, messages and the metadata of the turn as context', async () => {
    const seen: unknown[] = []
    const look = tool({
      inputSchema: z.object({ city: z.string() }),
      execute: (_, { toolCallId, messages, abortSignal, context }) => {
        seen.push([toolCallId, messages, abortSignal?.aborted, context])
        return 'seen'
      },
    })
    const { agent } = bench({ script: [...asking(), ...asking()], tools: { weather: look } })
    await agent.input('One')
    await agent.executeTurn('Two', { metadata: { tenant: 7 } }).outcome
    expect(seen).toEqual([
      ['call_1', [{ role: 'user', content: 'One' }], false, {}],
      [
        'call_2',
        [
          { role: 'user', content: 'One' },
          {
            role: 'assistant',
            content: [
              { type: 'tool-call', toolCallId: 'call_1', toolName: 'weather', input: { city: 'Oslo' } },
            ],
          },
          {
            role: 'tool',
            content: [
              {
                type: 'tool-result',
                toolCallId: 'call_1',
                toolName: 'weather',
                output: { type: 'text', value: 'seen' },
              },
            ],
          },
          { role: 'assistant', content: [{ type: 'text', text: 'Done' }] },
          { role: 'user', content: 'Two' },
        ],
        false,
        { tenant: 7 },
      ],
    ])
  })

  it('that yields on and on is closed once its call is settled', async () => {
    const [begun, left] = [gate(), gate<'closed' | 'ended'>()]
    const endless = tool({
      inputSchema: z.object({}),
      execute: async function* () {
        try {
          for (let turns = 0; turns < 50_000; turns++) {
            await new Promise((resolve) => setImmediate(resolve))
            yield 'still here'
            begun.resolve()
          }
          left.resolve('ended')
        } finally {
          left.resolve('closed')
        }
      },
    })
    const tools = [aiTool('endless', endless, { timeoutMs: 20 })]
    const { agent, clock, store } = bench({ script: [calls('endless'), 'Done'], tools })
    const turn = agent.executeTurn('Go')
    await begun.promise
    clock.advance(20)
    expect((await turn.outcome).text).toBe('Done')
    expect(await left.promise).toBe('closed')
    const ends = (await store.read(KEY)).filter(({ type }) => type === 'tool.end')
    expect(ends).toMatchObject([{ data: { status: 'unknown', output: { code: 'timeout' } } }])
  })

  it('streams: each value is progress, the last one is the result', async () => {
    const slow = tool({
      inputSchema: z.object({ city: z.string() }),
      async *execute({ city }) {
        yield { status: 'loading', city }
        yield { status: 'done', city }
      },
    })
    const { agent } = bench({ script: asking(), tools: { weather: slow } })
    const events: TurnEvent[] = []
    for await (const event of agent.executeTurn('Go')) events.push(event)
    const progress = events.flatMap((event) => (event.type === 'tool.progress' ? [event.data.progress] : []))
    expect(progress).toEqual([
      { status: 'loading', city: 'Oslo' },
      { status: 'done', city: 'Oslo' },
    ])
    const end = events.find(({ type }) => type === 'tool.end')
    expect(end?.data).toMatchObject({ output: { status: 'done', city: 'Oslo' } })
  })

  it.each([
    [true, ['5 request.start call_1/approval confirmation']],
    [false, ['5 tool.start call_1 weather']],
    [async ({ city }: { city: string }) => city === 'Oslo', ['5 request.start call_1/approval confirmation']],
    [async ({ city }: { city: string }) => city === 'Rome', ['5 tool.start call_1 weather']],
    [() => 'yes' as never, ['5 request.start call_1/approval confirmation']],
  ])('asks first if needsApproval is %s', async (needsApproval, lines) => {
    const { agent } = bench({ script: asking(), tools: { weather: { ...weather, needsApproval } } })
    expect(
      (await entryLines(agent.executeTurn('Go'))).slice(5, 6).map((line) => line.replace('6', '5')),
    ).toEqual(lines)
  })

  it.each([
    [{ type: 'text', value: 'cold' }, ['ok', 'cold']],
    [{ type: 'json', value: { c: -4 } }, ['ok', { c: -4 }]],
    [
      {
        type: 'content',
        value: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      ['ok', 'a\nb'],
    ],
    [{ type: 'error-text', value: 'no sky' }, ['error', 'no sky']],
    [{ type: 'execution-denied', reason: 'closed' }, ['error', 'closed']],
  ])('shows the model what toModelOutput makes: %o', async (made, expected) => {
    const shown = { ...weather, toModelOutput: () => made }
    expect(await outputs(bench({ script: asking(), tools: { weather: shown } }))).toEqual([expected])
  })

  it('may be dynamic, without a description, or throw', async () => {
    const any = dynamicTool({ inputSchema: z.object({}).loose(), execute: async (input) => input })
    expect(await outputs(bench({ script: asking(), tools: { weather: any } }))).toEqual([
      ['ok', { city: 'Oslo' }],
    ])
    const broken = { ...weather, execute: () => Promise.reject(new TypeError('no sky')) }
    expect(await outputs(bench({ script: asking(), tools: { weather: broken } }))).toEqual([
      ['error', { error: 'no sky', name: 'TypeError' }],
    ])
  })

  it.each([
    [{ weather: tool({ inputSchema: z.object({}) }) }, 'it has no `execute`'],
    [
      { weather: { type: 'provider', id: 'x.y', args: {}, inputSchema: z.object({}) } },
      'its provider defines or runs it',
    ],
    [{ weather: { execute: () => 1 } }, 'it has no `inputSchema`'],
    [{ weather: 5 }, 'it is neither a tool of the AI SDK nor one of defineTool()'],
    [{ 'no name': weather }, 'its name must be a letter'],
    [[weather], 'Give it by name: tools: { weather: tool({ … }) }'],
    [{ ...weather }, 'tools must be a list such as [search], or tools by name'],
    [probe('look'), 'tools must be a list such as [search], or tools by name'],
    [{ look: probe('weather'), weather }, 'Two tools are called "weather"'],
    [7, 'tools must be a list of tools, tools by name, or a function that gives them, not 7'],
  ])('cannot be %o', (tools, message) => {
    expect(() => bench({ tools: tools as never })).toThrow(message)
  })
})
