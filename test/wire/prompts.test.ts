/**
 * Conversations as the runtime writes them, through the real provider packages: each vendor would take what it is sent.
 * Every message may have come from any vendor's model, and the one that is asked has spoken too.
 */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type LanguageModel, type ToolSpec, toPrompt } from '../../src/model/index.ts'
import type {
  AssistantPart,
  Json,
  JsonObject,
  Message,
  ToolCallPart,
  ToolResultPart,
} from '../../src/protocol/index.ts'
import { checkVendorRequest, type Vendor } from '../vendors/check-vendor-request.ts'
import { vendorRequests } from '../vendors/vendor-requests.ts'

interface Speaker {
  readonly vendor: Vendor
  readonly model: LanguageModel
  readonly name: string
  /** What it attaches to a thought. */
  readonly thought: JsonObject
}

function speaker(vendor: Vendor, provider: string, thought: JsonObject): Speaker {
  const model: LanguageModel = {
    specificationVersion: 'v4',
    provider,
    modelId: 'm',
    doStream: () => Promise.reject(new Error('nobody asks')),
  }
  return { vendor, model, name: `${provider.split('.')[0]}/m`, thought }
}

const SPEAKERS: readonly Speaker[] = [
  speaker('anthropic', 'anthropic.messages', { anthropic: { signature: 'sig' } }),
  speaker('openai-responses', 'openai.responses', {
    openai: { itemId: 'rs_1', reasoningEncryptedContent: 'secret' },
  }),
  speaker('openai-chat', 'openai.chat', {}),
  speaker('google', 'google.generative-ai', { google: { thoughtSignature: 'sig' } }),
]

const tools: readonly ToolSpec[] = [
  { name: 'weather', description: 'Looks outside', parameters: { type: 'object', properties: {} } },
]

/** What each vendor would refuse of these messages if it were asked. */
async function refusals(messages: readonly Message[], system?: string): Promise<string[]> {
  const found: string[] = []
  for (const { vendor, model } of SPEAKERS) {
    const prompt = toPrompt({ model, messages, ...(system === undefined ? {} : { system }) })
    const declared = tools.map(({ parameters, ...tool }) => ({
      type: 'function',
      ...tool,
      inputSchema: parameters,
    }))
    for (const { body } of await vendorRequests({ prompt, tools: declared }, [vendor]))
      for (const problem of checkVendorRequest(vendor, body)) found.push(`${vendor}: ${problem}`)
  }
  return found
}

const user = (content: string): Message => ({ role: 'user', content })
const said = (model: string, ...content: AssistantPart[]): Message => ({ role: 'assistant', model, content })
const text = (words: string): AssistantPart => ({ type: 'text', text: words })
const call = (callId: string, more: Partial<ToolCallPart> = {}): ToolCallPart => ({
  type: 'tool-call',
  callId,
  tool: 'weather',
  args: {},
  ...more,
})
const result = (callId: string, more: Partial<ToolResultPart> = {}): ToolResultPart => ({
  type: 'tool-result',
  callId,
  tool: 'weather',
  status: 'ok',
  output: 'sun',
  ...more,
})
const results = (...content: ToolResultPart[]): Message => ({ role: 'tool', content })

const ASKED = user('weather?')
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe('every vendor takes', () => {
  const thoughts = SPEAKERS.map(({ name, thought }): [string, Message[]] => [
    `a thought of ${name} that led to a call`,
    [
      ASKED,
      said(name, { type: 'reasoning', text: 'hm', provider: thought }, call('a')),
      results(result('a')),
    ],
  ])
  const lone = SPEAKERS.flatMap(({ name, thought }): [string, Message[]][] => [
    [
      `a thought of ${name} that led to nothing`,
      [ASKED, said(name, { type: 'reasoning', text: 'hm', provider: thought }), user('well?')],
    ],
    [
      `a thought of ${name} after its words`,
      [ASKED, said(name, text('so'), { type: 'reasoning', text: 'hm', provider: thought }), user('well?')],
    ],
    [
      `a thought of ${name} without words of its own`,
      [ASKED, said(name, { type: 'reasoning', text: '', provider: thought }, text('so')), user('well?')],
    ],
  ])
  it.each<[string, Message[]]>([
    ['one question', [ASKED]],
    ['two questions', [ASKED, user('and here?')]],
    [
      'parallel calls',
      [
        ASKED,
        said('x/y', call('a'), call('b')),
        results(result('a'), result('b', { output: { degrees: 7 } })),
      ],
    ],
    ['words before a call', [ASKED, said('x/y', text('one moment'), call('a')), results(result('a'))]],
    ['something said after a round', [ASKED, said('x/y', call('a')), results(result('a')), user('stop')]],
    ['a result without words', [ASKED, said('x/y', call('a')), results(result('a', { output: '' }))]],
    [
      'a failure without words',
      [ASKED, said('x/y', call('a')), results(result('a', { status: 'error', output: '' }))],
    ],
    [
      'a failure of blanks',
      [ASKED, said('x/y', call('a')), results(result('a', { status: 'error', output: ' \n' }))],
    ],
    ['a result that is null', [ASKED, said('x/y', call('a')), results(result('a', { output: null }))]],
    ['a result that is a list', [ASKED, said('x/y', call('a')), results(result('a', { output: [1, 'b'] }))]],
    [
      'arguments that are no JSON',
      [
        ASKED,
        said('x/y', call('a', { args: '{"ci', malformed: 'cut' })),
        results(result('a', { status: 'error' })),
      ],
    ],
    ...['a.b', '7zip', '-x', '', 'тест', 'x'.repeat(128), 'mcp:srv/tool', '🌍'].map(
      (tool): [string, Message[]] => [
        `a call of a tool named ${tool.slice(0, 12)}`,
        [ASKED, said('x/y', call('a', { tool })), results(result('a', { tool, status: 'rejected' }))],
      ],
    ),
    ...['functions.weather:0', 'x'.repeat(41), '', 'café', 'a b'].map((id): [string, Message[]] => [
      `calls with the id ${id.slice(0, 20)}`,
      [ASKED, said('x/y', call(id), call(`${id}2`)), results(result(id), result(`${id}2`))],
    ]),
    ['half a character', [user('so \ud83d'), said('x/y', text('\udc00 it is')), user('well?')]],
    [
      'half a character in a call',
      [
        ASKED,
        said('x/y', call('a', { args: { 'ke\ud83d': ['\ud83d'] } })),
        results(result('a', { output: { cut: 'so \ud83d' } })),
      ],
    ],
    ['a reply of blanks', [ASKED, said('x/y', text(' \n')), user('well?')]],
    ['a reply that was cut off', [ASKED, said('x/y', text('It is ')), user('go on')]],
    [
      'a picture',
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'look' },
            { type: 'file', mediaType: 'image/png', data: PNG },
          ],
        },
      ],
    ],
    ['a window that begins with a reply', [said('x/y', text('so')), user('well?')]],
    [
      'a window that begins with a round',
      [said('x/y', call('a')), results(result('a')), said('x/y', text('sunny')), user('thanks')],
    ],
    ['a window that is a round', [said('x/y', call('a')), results(result('a'))]],
    ['two replies in a row', [ASKED, said('x/y', text('so')), said('x/y', call('a')), results(result('a'))]],
    ...thoughts,
    ...lone,
  ])('%s', async (_, messages) => {
    expect(await refusals(messages, 'be brief')).toEqual([])
  })
})

describe('any conversation', () => {
  const words = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.constantFrom('', ' ', '\n', 'so', 'so ', '\ud83d', '{"a":1}'),
  )
  const json = fc.jsonValue({ maxDepth: 2, stringUnit: 'binary' })
  const speakers = fc.constantFrom(...SPEAKERS)
  const calls = fc.record({
    tool: fc.oneof(fc.constant('weather'), fc.string({ minLength: 1, maxLength: 130 })),
    args: fc.dictionary(fc.string({ maxLength: 4 }), json, { maxKeys: 3 }),
    broken: fc.boolean(),
    status: fc.constantFrom(
      'ok' as const,
      'error' as const,
      'rejected' as const,
      'unknown' as const,
      'not-run' as const,
    ),
    output: fc.oneof(words, json),
  })
  const reply = fc.record({
    by: speakers,
    parts: fc.array(fc.oneof(words, fc.constant(null)), { maxLength: 4 }),
    calls: fc.array(calls, { maxLength: 3 }),
  })
  const turn = fc.record({
    asked: fc.array(words, { maxLength: 2 }),
    replies: fc.array(reply, { maxLength: 3 }),
  })

  it('is one that every vendor takes, whoever has spoken in it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 4 }), words, async (turns, system) => {
        const messages: Message[] = [user('begin')]
        let at = 0
        for (const { asked, replies } of turns) {
          messages.push(...asked.map(user))
          for (const { by, parts, calls: wanted } of replies)
            messages.push(
              ...round(
                by,
                parts,
                wanted.map((one) => ({ ...one, callId: `call_${++at}` })),
              ),
            )
        }
        expect(await refusals(messages, system)).toEqual([])
      }),
      { numRuns: 200 },
    )
  })
})

interface Wanted {
  readonly callId: string
  readonly tool: string
  readonly args: unknown
  readonly broken: boolean
  readonly status: ToolResultPart['status']
  readonly output: unknown
}

/** What a model said, null for a thought, and the round that it asked for. */
function round(by: Speaker, parts: readonly (string | null)[], wanted: readonly Wanted[]): Message[] {
  let thoughts = 0
  // A model thinks before it speaks, and perhaps again later.
  const order = parts.includes(null) ? [null, ...parts] : parts
  const content = order.map((part): AssistantPart => {
    if (part !== null) return text(part)
    thoughts += 1
    return {
      type: 'reasoning',
      text: 'hm',
      provider: thoughtOf(by, `${wanted[0]?.callId ?? 'none'}_${thoughts}`),
    }
  })
  const asked = wanted.map(({ callId, tool, args, broken }) =>
    broken
      ? call(callId, { tool, args: '{"', malformed: 'cut' })
      : call(callId, { tool, args: args as Json }),
  )
  const spoke = said(by.name, ...content, ...asked)
  if (wanted.length === 0) return [spoke]
  return [
    spoke,
    results(
      ...wanted.map(({ callId, tool, status, output }) =>
        result(callId, { tool, status, output: output as Json }),
      ),
    ),
  ]
}

let spoken = 0

/** OpenAI's thoughts have ids of their own. */
function thoughtOf({ thought }: Speaker, id: string): JsonObject {
  const openai = thought['openai'] as JsonObject | undefined
  spoken += 1
  return openai === undefined ? thought : { openai: { ...openai, itemId: `rs_${id}_${spoken}` } }
}
