/** The embedded model as a model: names, streams, usage, aborting, and whatever tools and texts it may be given. */
import type { LanguageModelV3 } from '@ai-sdk/provider'
import { describe, expect, expectTypeOf, it, vi } from 'vitest'
import { resolveModel } from '../../src/entry/model.ts'
import type { ModelCall, ModelStreamPart, ToolDeclaration } from '../../src/model/index.ts'
import { modelName } from '../../src/model/index.ts'
import { type Reflex, reflex } from '../../src/reflex/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { ask, tool } from './kit.ts'

async function partsOf(call: ModelCall): Promise<ModelStreamPart[]> {
  const { stream } = await reflex().doStream(call)
  const parts: ModelStreamPart[] = []
  for await (const part of stream) parts.push(part)
  return parts
}

const LIST = tool('list_boxes', 'Lists all boxes.', { limit: { type: 'integer' } })

describe('the name', () => {
  it.each(['reflex', 'holdfast/reflex'])('%s means the embedded model', async (name) => {
    expect(await resolveModel(name)).toMatchObject({ provider: 'holdfast', modelId: 'reflex' })
    expect(modelName(name)).toBe('holdfast/reflex')
  })

  it('of the object is the same', () => {
    expect(modelName(reflex())).toBe('holdfast/reflex')
  })

  it('goes with a model that the AI SDK takes', () => {
    expectTypeOf<Omit<Reflex, 'doGenerate' | 'doStream'>>().toExtend<
      Omit<LanguageModelV3, 'doGenerate' | 'doStream'>
    >()
    expectTypeOf<Parameters<LanguageModelV3['doGenerate']>[0]>().toExtend<
      Parameters<Reflex['doGenerate']>[0]
    >()
    expectTypeOf<Awaited<ReturnType<Reflex['doGenerate']>>>().toExtend<
      Awaited<ReturnType<LanguageModelV3['doGenerate']>>
    >()
  })
})

describe('a stream', () => {
  it('of a call has its input, and usage of four characters a token', async () => {
    const call = ask('list 5 boxes', [LIST])
    const input = '{"limit":5}'
    const total = Math.ceil((JSON.stringify([LIST]).length + 'list 5 boxes'.length) / 4)
    const output = Math.ceil(('list_boxes'.length + input.length) / 4)
    expect(await partsOf(call)).toEqual([
      { type: 'stream-start', warnings: [] },
      { type: 'tool-input-start', id: 'reflex_1_1', toolName: 'list_boxes' },
      { type: 'tool-input-delta', id: 'reflex_1_1', delta: input },
      { type: 'tool-input-end', id: 'reflex_1_1' },
      { type: 'tool-call', toolCallId: 'reflex_1_1', toolName: 'list_boxes', input },
      {
        type: 'finish',
        finishReason: { unified: 'tool-calls', raw: 'tool-calls' },
        usage: {
          inputTokens: { total, noCache: total, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: output, text: output, reasoning: 0 },
        },
      },
    ])
  })

  it('of text comes in small pieces that make up the whole', async () => {
    const call = ask('what can you do?', [LIST])
    const deltas = (await partsOf(call)).flatMap(({ delta }) => delta ?? [])
    const { content } = await reflex().doGenerate(call)
    expect(deltas.length).toBeGreaterThan(8)
    expect(Math.max(...deltas.map(({ length }) => length))).toBeLessThan(50)
    expect(content).toEqual([{ type: 'text', text: deltas.join('') }])
  })

  it('says the same to the same', async () => {
    const call = ask('boxes', [LIST])
    expect(await partsOf(call)).toEqual(await partsOf(call))
  })

  it('is cut at the number of tokens that is allowed', async () => {
    const { content, finishReason } = await reflex().doGenerate({
      ...ask('hello', [LIST]),
      maxOutputTokens: 2,
    })
    expect(content).toEqual([{ type: 'text', text: 'Hello. T' }])
    expect(finishReason.unified).toBe('length')
  })

  it('breaks off with the reason when it is aborted in the middle', async () => {
    const clock = new ManualClock()
    const abort = new AbortController()
    const { stream } = await reflex({ paceMs: 10, timer: clock }).doStream({
      ...ask('hello', [LIST]),
      abortSignal: abort.signal,
    })
    const reader = stream.getReader()
    const seen: string[] = []
    for (let at = 0; at < 4; at++) {
      const next = reader.read()
      await vi.waitFor(() => expect(at < 2 || clock.waiting > 0).toBe(true))
      clock.advance(10)
      seen.push((await next).value?.delta ?? '')
    }
    expect(seen).toEqual(['', '', 'Hello. ', 'This '])
    const last = reader.read()
    abort.abort(new Error('enough'))
    await expect(last).rejects.toThrow('enough')
  })

  it('does not begin when it is already aborted', async () => {
    const abortSignal = AbortSignal.abort(new Error('too late'))
    await expect(reflex().doStream({ ...ask('hello'), abortSignal })).rejects.toThrow('too late')
  })
})

describe('a choice of tools', () => {
  it('of none calls none', async () => {
    const { content } = await reflex().doGenerate({
      ...ask('list the boxes', [LIST]),
      toolChoice: { type: 'none' },
    })
    expect(content).toMatchObject([{ type: 'text' }])
  })

  it('of one calls that one, whatever the words are', async () => {
    const other = tool('open_box', 'Opens a box.')
    const toolChoice = { type: 'tool', toolName: 'open_box' }
    const { content } = await reflex().doGenerate({ ...ask('go', [LIST, other]), toolChoice })
    expect(content).toMatchObject([{ type: 'tool-call', toolName: 'open_box', input: '{}' }])
  })
})

describe('a text of 100 KB', () => {
  const MARK = tool('update_box', 'Changes a box.', { 'status!': { enum: ['open', 'done'] } })

  /** Processor time in milliseconds, whatever else the machine does. */
  async function cost(text: string): Promise<number> {
    const started = process.cpuUsage()
    await reflex().doGenerate(ask(text, [LIST, MARK]))
    const { user, system } = process.cpuUsage(started)
    return (user + system) / 1000
  }

  it.each([
    ['of words', 'some more words about nothing '],
    ['of the words of a tool', 'list the boxes and '],
    ['without a blank', 'a'],
    ['of open quotes', '"a '],
    ['of apostrophes', "'a "],
    ['of numbers', '12 3,456 '],
    ['of ids', 'ab_12 '],
    ['of addresses', 'a@b.c '],
    ['of names of parameters', 'limit 5 '],
    ['of words that ask', 'what '],
    ['of opening brackets', '('],
    ['of choices', 'done '],
    ['of everything', 'list 5 boxes and "others" of a_12 '],
  ])('%s takes about four times as long as a quarter of it', async (_, piece) => {
    const textOf = (length: number) => piece.repeat(length / piece.length)
    const quarters = [await cost(textOf(25_000)), await cost(textOf(25_000)), await cost(textOf(25_000))]
    const most = 10 * Math.max(1, Math.min(...quarters))
    let whole = Number.POSITIVE_INFINITY
    for (let tries = 0; tries < 3 && whole >= most; tries++) whole = await cost(textOf(100_000))
    expect(whole).toBeLessThan(most)
  })
})

describe('a strange schema', () => {
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`param${at}`, { type: 'string' }]))
  const cycle = {
    $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } },
    properties: { x: { $ref: '#/$defs/a' } },
  }
  const nested = (depth: number): object =>
    depth === 0
      ? { type: 'string' }
      : { type: 'object', properties: { a: nested(depth - 1) }, required: ['a'] }
  const SCHEMAS: readonly (readonly [string, unknown])[] = [
    ['is missing', undefined],
    ['is null', null],
    ['is a text', 'object'],
    ['is a list', []],
    ['is true', true],
    ['has no properties', { type: 'object' }],
    ['has properties that are no object', { type: 'object', properties: 7, required: 'x' }],
    [
      'has properties that are no schemas',
      { properties: { a: null, b: true, c: [], d: 'x' }, required: ['a', 'b', 'c', 'd'] },
    ],
    ['refers to itself', cycle],
    [
      'refers to nothing',
      { properties: { x: { $ref: '#/nowhere' }, y: { $ref: 'http://x.org/y' } }, required: ['x', 'y'] },
    ],
    [
      'has alternatives',
      {
        properties: {
          x: { anyOf: [{ type: 'null' }, { type: 'integer' }] },
          y: { oneOf: [] },
          z: { allOf: [{}, null] },
        },
      },
    ],
    ['has fifty parameters', { properties: many, required: Object.keys(many) }],
    [
      'has a pattern that takes for ever',
      { properties: { x: { type: 'string', pattern: '^(a+)+$' } }, required: ['x'] },
    ],
    ['has a pattern that is none', { properties: { x: { type: 'string', pattern: '(' } }, required: ['x'] }],
    ['is deep', nested(200)],
    [
      'uses the names of everything',
      {
        properties: { constructor: { type: 'string' }, toString: { type: 'number' } },
        required: ['constructor'],
      },
    ],
    [
      'has choices that are no texts',
      { properties: { x: { enum: [null, {}, [], 1, 'one', false] } }, required: ['x'] },
    ],
  ]

  it.each(SCHEMAS)('that %s is no trouble', async (_, inputSchema) => {
    const strange: ToolDeclaration = {
      type: 'function',
      name: 'open_box',
      description: 'Opens a box.',
      inputSchema,
    }
    for (const text of [
      'open the box',
      `open the box ${'a'.repeat(60)}!`,
      'open box 7 "a" x@y.org 2026-01-01 one',
      '',
    ]) {
      const { content } = await reflex().doGenerate(ask(text, [strange, LIST]))
      expect(content).toHaveLength(1)
    }
  })

  it('that allows null or a number takes the number', async () => {
    const boxes = tool('open_box', 'Opens a box.', {
      'size!': { anyOf: [{ type: 'null' }, { $ref: '#/$defs/n' }] },
    })
    const inputSchema = { ...(boxes.inputSchema as object), $defs: { n: { type: 'integer' } } }
    const { content } = await reflex().doGenerate(ask('open a box of size 7', [{ ...boxes, inputSchema }]))
    expect(content).toMatchObject([{ toolName: 'open_box', input: '{"size":7}' }])
  })
})
