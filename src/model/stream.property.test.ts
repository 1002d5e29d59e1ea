/** Whatever a provider streams, a call ends as a reply that can be stored and sent back, or as a ModelFailure. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { type AssistantPart, type JsonObject, shapeProblem } from '../protocol/index.ts'
import { CountingIds } from '../testing/counting-ids.ts'
import { ManualClock } from '../testing/manual-clock.ts'
import type { LanguageModel, ModelStreamPart } from './index.ts'
import { ModelFailure, streamModel, toPrompt } from './index.ts'

const TYPES = [
  'stream-start',
  'text-start',
  'text-delta',
  'text-end',
  'reasoning-start',
  'reasoning-delta',
  'reasoning-end',
  'tool-input-start',
  'tool-input-delta',
  'tool-call',
  'tool-result',
  'error',
  'raw',
  'custom',
]

const part = fc.record(
  {
    type: fc.constantFrom(...TYPES),
    id: fc.constantFrom('0', '1', ''),
    delta: fc.oneof(fc.string(), fc.constant(null)),
    toolCallId: fc.constantFrom('p1', 'p2', ''),
    toolName: fc.constantFrom('look', 'functions.look', ''),
    input: fc.oneof(fc.json(), fc.string(), fc.constant({ a: 1 }), fc.constant(null)),
    providerExecuted: fc.boolean(),
    providerMetadata: fc.oneof(fc.dictionary(fc.string(), fc.object()), fc.constant({ big: { n: 1n } })),
    error: fc.anything(),
  },
  { requiredKeys: ['type'] },
)
const number = fc.oneof(fc.nat(), fc.double(), fc.constant(undefined))
const finish = fc.record(
  {
    type: fc.constant('finish'),
    finishReason: fc.oneof(
      fc.record({ unified: fc.constantFrom('stop', 'tool-calls', 'length', 'other', 'error', '') }),
      fc.constant('stop'),
    ),
    usage: fc.oneof(
      fc.record({
        inputTokens: fc.record({ total: number, cacheRead: number, cacheWrite: number }),
        outputTokens: fc.record({ total: number }),
      }),
      fc.constant({}),
    ),
  },
  { requiredKeys: ['type'] },
)

function outcome(parts: readonly unknown[]) {
  const stream = new ReadableStream<ModelStreamPart>({
    start: (controller) => {
      for (const each of parts) controller.enqueue(each as ModelStreamPart)
      controller.close()
    },
  })
  const doStream = () => Promise.resolve({ stream })
  const model: LanguageModel = {
    specificationVersion: 'v4',
    provider: 'openai',
    modelId: 'gpt-4.1',
    doStream,
  }
  const request = {
    model,
    messages: [{ role: 'user' as const, content: 'hello' }],
    tools: [],
    settings: {},
    signal: new AbortController().signal,
    ids: new CountingIds(),
    timer: new ManualClock(),
    onDelta: () => {},
  }
  return streamModel(request).then(
    ({ content, usage }) => ({ model, content, usage }),
    (error: unknown) => {
      if (!(error instanceof ModelFailure)) throw error
      JSON.stringify(error.toData())
      return { model, content: error.partial, usage: error.usage }
    },
  )
}

function problems(content: readonly AssistantPart[], usage: object, model: LanguageModel): unknown[] {
  const data: JsonObject = { content }
  const numbers = Object.values(usage).filter((value) => typeof value === 'number')
  const [said] = toPrompt({ model, messages: [{ role: 'assistant', content, model: 'openai/gpt-4.1' }] })
  const wire = typeof said?.content === 'string' ? [] : (said?.content ?? [])
  return [
    shapeProblem('model.end', data),
    numbers.length === 4 && numbers.every((value) => Number.isFinite(value) && value >= 0),
    wire.filter((each) => each.type === 'text' && each.text === ''),
    wire.filter((each) => each.toolName !== undefined && !/^[\w-]{1,64}$/.test(each.toolName)),
    wire.filter((each) => each.type === 'tool-call' && typeof each.input !== 'object'),
  ]
}

it('ends as something that can be stored and sent back', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 12 }), fc.option(finish), async (parts, end) => {
      const { content, usage, model } = await outcome(end === null ? parts : [...parts, end])
      expect(JSON.parse(JSON.stringify(content))).toEqual(content)
      expect(problems(content, usage, model)).toEqual([undefined, true, [], [], []])
    }),
    { numRuns: 300 },
  )
})
