/** Hashes of requests: different exactly if the request differs, and equal for copies in other processes. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { systemIds, systemTimer } from '../base/index.ts'
import type { Message, SentHashes } from '../protocol/index.ts'
import type { LanguageModel, ModelCall } from './language-model.ts'
import type { ModelSettings, ToolChoice, ToolSpec } from './options.ts'
import { streamModel } from './stream.ts'

interface Asked {
  readonly system?: string
  readonly messages: readonly Message[]
  readonly tools: readonly ToolSpec[]
  readonly settings: ModelSettings
}

/** A model that only records its request. */
function ear(provider: string): { readonly model: LanguageModel; readonly calls: ModelCall[] } {
  const calls: ModelCall[] = []
  const doStream = (call: ModelCall) => {
    calls.push(call)
    return Promise.reject(new Error('heard'))
  }
  return { model: { specificationVersion: 'v4', provider, modelId: 'm', doStream }, calls }
}

async function send(model: LanguageModel, asked: Asked): Promise<SentHashes> {
  const record: { sent: SentHashes | undefined } = { sent: undefined }
  const ports = { signal: new AbortController().signal, ids: systemIds, timer: systemTimer }
  await streamModel({
    ...{ model, ...asked, ...ports, onDelta: () => {} },
    timeoutMs: Number.POSITIVE_INFINITY,
    record,
  }).catch(() => {})
  return record.sent as SentHashes
}

/** Few values, so that two of them are often the same, and often the same in another order. */
const text = fc.constantFrom('a', 'b', ' ', 'a"\n', '\u00e9\ud800')
const json = fc.constantFrom({ x: 1, y: [1, 2] }, { y: [1, 2], x: 1 }, { x: 1 }, [], 'a', null, {
  x: { y: 1 },
})
const own = fc.constantFrom('ear/m', 'other/m', undefined)
const provider = fc.constantFrom(undefined, { ear: { id: 1 } }, { ear: { itemId: 'i' } })
const maybe = <T>(name: string, value: T | undefined): { [key: string]: T } =>
  value === undefined ? {} : { [name]: value }

const user: fc.Arbitrary<Message> = fc.oneof(
  text.map((content): Message => ({ role: 'user', content })),
  fc
    .constantFrom('aGk=', 'aGo=', 'https://x.org/a.png', 'https://x.org/b.png')
    .map((data): Message => ({ role: 'user', content: [{ type: 'file', mediaType: 'image/png', data }] })),
)
const round = fc
  .record({ args: json, output: json, said: text, model: own, provider })
  .map(({ args, output, said, model, provider: attached }): Message[] => [
    {
      role: 'assistant',
      ...maybe('model', model),
      content: [
        { type: 'text', text: said, ...maybe('provider', attached) },
        { type: 'tool-call', callId: 'call_1', tool: 'look', args },
      ],
    },
    {
      role: 'tool',
      content: [{ type: 'tool-result', callId: 'call_1', tool: 'look', status: 'ok', output }],
    },
  ])
const messages = fc
  .array(
    fc.oneof(
      user.map((message) => [message]),
      round,
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((groups) => groups.flat())
/** The very same objects, as of tools that differ only in their names and descriptions. */
const schema = fc.constantFrom<ToolSpec['parameters'][]>({ type: 'object' }, { type: 'object', required: [] })
const tool: fc.Arbitrary<ToolSpec> = fc.record({
  name: fc.constantFrom('look', 'go'),
  description: text,
  parameters: schema,
})
const settings: fc.Arbitrary<ModelSettings> = fc.record(
  {
    temperature: fc.constantFrom(0, 1),
    reasoning: fc.constantFrom('low', 'high'),
    toolChoice: fc.constantFrom<ToolChoice[]>('auto', 'none', { tool: 'look' }),
    providerOptions: fc.constantFrom({ ear: { a: 1, b: 2 } }, { ear: { b: 2, a: 1 } }, {}),
  },
  { requiredKeys: [] },
)
const request: fc.Arbitrary<Asked> = fc
  .record({ system: fc.option(text), messages, tools: fc.array(tool, { maxLength: 2 }), settings })
  .map(({ system, ...rest }) => ({ ...rest, ...(system === null ? {} : { system }) }))

/** The request, by the names of the hashes. */
function sentBy(call: ModelCall): { readonly [Name in keyof SentHashes]: unknown } {
  const { prompt, tools, abortSignal: _, headers: _headers, ...rest } = call
  const [first] = prompt
  const hasSystem = first?.role === 'system'
  const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null))
  return {
    system: hasSystem ? first.content : null,
    messages: plain(hasSystem ? prompt.slice(1) : prompt),
    tools: plain(tools),
    settings: plain(rest),
  }
}

const NAMES = ['system', 'messages', 'tools', 'settings'] as const

/** As another process has it. */
function copy<T>(value: T): T {
  return structuredClone(value)
}

describe('the hashes of a request', () => {
  it('differ exactly where something else is sent', async () => {
    await fc.assert(
      fc.asyncProperty(request, request, fc.subarray([...NAMES]), async (one, two, kept) => {
        const { model, calls } = ear('ear')
        const same = Object.entries(copy(one)).filter(([name]) => kept.some((each) => each === name))
        const other = { ...two, ...Object.fromEntries(same) } as Asked
        const hashes = [await send(model, one), await send(model, other)] as const
        const [first, second] = calls.map(sentBy)
        for (const name of NAMES)
          expect([name, hashes[0][name] === hashes[1][name]]).toEqual([
            name,
            JSON.stringify(first?.[name]) === JSON.stringify(second?.[name]),
          ])
      }),
      { numRuns: 300 },
    )
  })

  it('are the same in another process, and however the conversation has grown', async () => {
    await fc.assert(
      fc.asyncProperty(request, fc.nat(8), async (asked, at) => {
        const { model } = ear('ear')
        if (at > 0) await send(model, { ...asked, messages: asked.messages.slice(0, at) })
        expect(await send(ear('ear').model, copy(asked))).toEqual(await send(model, asked))
      }),
      { numRuns: 200 },
    )
  })

  it('say nothing of headers', async () => {
    const asked = { messages: [{ role: 'user', content: 'Hi' } as const], tools: [] }
    const { model } = ear('ear')
    const plain = await send(model, { ...asked, settings: {} })
    expect(await send(model, { ...asked, settings: { headers: { authorization: 'k' } } })).toEqual(plain)
  })

  it('are these, in every process and version', async () => {
    const parameters = { type: 'object', properties: { n: { type: 'number' } } }
    const asked: Asked = {
      system: 'Be brief.',
      messages: [{ role: 'user', content: 'Hi' }],
      tools: [{ name: 'look', description: 'Looks.', parameters }],
      settings: { temperature: 0 },
    }
    expect(await send(ear('ear').model, asked)).toEqual({
      system: 'ITwi7XI06xERbh6I',
      messages: 'Jmsn4YcUvpdNOsVA',
      tools: 'QMbAl-ynY71Skz_v',
      settings: 'Qb6vsAXUipkcy4YO',
    })
  })
})
