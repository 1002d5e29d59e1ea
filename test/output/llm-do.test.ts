/** One request to a model without an agent: text or data, its usage, and failures that say why. */
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import type { LlmDoResult } from '../../src/entry/model.ts'
import { HoldfastError, jsonSchema, llmDo } from '../../src/index.ts'
import { ManualClock, ScriptedModel } from '../../src/testing/index.ts'
import { bench, calls, probe } from '../turn/kit.ts'

const usage = { inputTokens: 10, outputTokens: 5 }
const schema = z.object({ city: z.string() })

async function failing(work: Promise<unknown>): Promise<HoldfastError> {
  const error: unknown = await work.catch((thrown: unknown) => thrown)
  if (HoldfastError.is(error)) return error
  throw new Error('it did not fail with a HoldfastError', { cause: error })
}

describe('llmDo', () => {
  it('returns the text of the reply, its model and its usage', async () => {
    const model = new ScriptedModel([{ text: 'Rome.', usage }], { name: 'openai/gpt-4.1-mini' })
    const result = await llmDo('Where?', { model, system: 'Be brief.', temperature: 0.2 })
    expect(result).toEqual({
      text: 'Rome.',
      model: 'openai/gpt-4.1-mini',
      finish: 'stop',
      usage: { ...usage, cachedTokens: 0, costUsd: 0.000012, estimated: true },
    })
    expect(model.calls).toEqual([
      {
        prompt: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: [{ type: 'text', text: 'Where?' }] },
        ],
        tools: [],
        settings: { temperature: 0.2 },
      },
    ])
    expectTypeOf(result).toEqualTypeOf<LlmDoResult>()
  })

  it('returns data that fits the schema, after replies that did not, whose usage counts', async () => {
    const model = new ScriptedModel([
      { text: 'It is Rome.', usage },
      { text: '```json\n{"city":"Rome"}\n```', usage },
    ])
    const { output, usage: all } = await llmDo('Where?', { model, schema })
    expectTypeOf(output).toEqualTypeOf<{ city: string }>()
    expect(output).toEqual({ city: 'Rome' })
    expect(all).toMatchObject({ inputTokens: 20, outputTokens: 10 })
    expect(model.calls[1]?.prompt.slice(1).map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
  })

  it('throws the last invalid reply and the reasons', async () => {
    const model = new ScriptedModel([
      { text: '{"city":1}', usage },
      { text: 'I refuse.', usage },
    ])
    const error = await failing(llmDo('Where?', { model, schema, outputRetries: 1 }))
    expect(error).toMatchObject({
      code: 'invalid-output',
      message: '2 replies are not the required output. The last one: It has no JSON value.',
      details: { text: 'I refuse.', issues: ['It has no JSON value'], usage: { inputTokens: 20 } },
    })
  })

  it('retries, then asks the next model', async () => {
    const clock = new ManualClock()
    const busy = { error: { status: 503 } } as const
    const first = new ScriptedModel([busy, busy])
    const model = [{ model: first, settings: { retries: 1 } }, new ScriptedModel(['Rome.'])]
    const result = llmDo('Where?', { model, timer: clock })
    await expect.poll(() => first.calls.length).toBe(1)
    await expect.poll(() => (clock.advance(1000), first.calls.length)).toBe(2)
    expect((await result).text).toBe('Rome.')
  })

  it('throws the failure of the last model', async () => {
    const model = new ScriptedModel([{ error: { status: 401, message: 'Wrong key sk-test-1234567890' } }])
    const error = await failing(llmDo('Where?', { model }))
    expect(error).toMatchObject({
      code: 'model-failed',
      message: 'Wrong key [key]',
      details: { kind: 'auth', status: 401 },
    })
  })

  it('throws what is missing, with the command to type', async () => {
    expect((await failing(llmDo('Where?', { model: 'gtp-4' }))).code).toBe('unknown-model')
    const error = await failing(llmDo('Where?', { model: 'reflex' }))
    expect(error.message).toBe('holdfast/reflex writes no text or data on request. Name another model.')
  })

  it('ends when its signal aborts', async () => {
    const stop = new AbortController()
    const model = new ScriptedModel([{ stall: true }])
    const result = failing(llmDo('Where?', { model, signal: stop.signal }))
    await expect.poll(() => model.calls.length).toBe(1)
    stop.abort()
    expect((await result).code).toBe('cancelled')
  })

  it('gives the value that the schema makes, also one that is no JSON', async () => {
    const dates = z.array(z.string().transform((text) => new Date(text))).transform((all) => new Set(all))
    const model = new ScriptedModel(['["2026-11-18T00:00:00.000Z"]'])
    const { output } = await llmDo('When?', { model, schema: dates })
    expect(output).toEqual(new Set([new Date('2026-11-18T00:00:00.000Z')]))
  })

  it('says that a text was cut off', async () => {
    const model = new ScriptedModel([{ text: 'Once upon', finish: 'length' }])
    expect((await llmDo('Tell me', { model })).finish).toBe('length')
  })

  it.each([
    [{ model: 'gpt-5', output: schema }, 'llmDo() has no "output". Write schema: z.object({ … }) instead.'],
    [{ model: 'gpt-5', systemPrompt: 'x' }, 'llmDo() has no "systemPrompt". Write system instead.'],
    [{ model: 'gpt-5', schema: {} }, 'schema must be a schema: z.object({ … })'],
    [{ model: 'gpt-5', temperature: 'hot' }, 'temperature must be a number, not "hot".'],
    [{ model: 'gpt-5', outputRetries: -1 }, 'outputRetries must be a whole number from 0 on, not -1.'],
    [{ model: 'gpt-5', settings: { temprature: 1 } }, 'Did you mean temperature?'],
    [{}, "model must be given, such as llmDo(prompt, { model: 'openai/gpt-4.1-mini' })."],
  ])('refuses %j', async (options, message) => {
    expect((await failing(llmDo('x', options as never))).message).toContain(message)
  })

  it.each([`[[{'id':'}'}],[]]`, `{'a': ['}'], 'b': []}`, `[['a]'], []]`])(
    'takes no value out of %s, which is no JSON',
    async (text) => {
      const lists = jsonSchema<unknown[]>({ type: 'array' })
      const model = new ScriptedModel([text])
      const error = await failing(llmDo('x', { model, schema: lists, outputRetries: 0 }))
      expect(error).toMatchObject({
        code: 'invalid-output',
        details: { issues: [expect.stringContaining('not valid JSON')] },
      })
    },
  )

  it('takes no number that is too large to be one', async () => {
    const model = new ScriptedModel(['{"n":1e999}', '{"n":7}'])
    const result = await llmDo('How many?', { model, schema: jsonSchema({ type: 'object' }) })
    expect(result.output).toEqual({ n: 7 })
  })

  it('takes the value of a text with other brackets', async () => {
    const model = new ScriptedModel(['As [1) says :] it is [no list], but {"a":[1]} is one }.'])
    const object = jsonSchema<object>({ type: 'object' })
    await expect(llmDo('x', { model, schema: object, outputRetries: 0 })).rejects.toThrow('not valid JSON')
    const clear = new ScriptedModel(['It is :] as [no list] says {"a":[1]}.'])
    expect((await llmDo('x', { model: clear, schema: object })).output).toEqual({ a: [1] })
  })

  it('refuses an empty prompt', async () => {
    expect((await failing(llmDo(' ', { model: 'gpt-5' }))).code).toBe('invalid-option')
  })

  it('works inside a hook, beside the turn', async () => {
    const judge = new ScriptedModel(['{"done":true}'])
    const verdict = jsonSchema<{ done: boolean }>({ type: 'object', required: ['done'] })
    const { agent } = bench({
      script: [calls('look'), 'Seen.'],
      tools: [probe('look')],
      on: {
        afterTools: async ({ add }) => {
          const { output } = await llmDo('Is it done?', { model: judge, schema: verdict })
          add(output.done ? 'It is done.' : 'Go on.')
        },
      },
    })
    await agent.executeTurn('look').outcome
    expect(JSON.stringify(await agent.getMessages())).toContain('It is done.')
  })
})
