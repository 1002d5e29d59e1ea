/** From messages to a provider's prompt. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AssistantMessage, AssistantPart, Message, ToolResultPart } from '../protocol/index.ts'
import type { LanguageModel, PromptMessage, PromptPart } from './index.ts'
import { toPrompt } from './index.ts'
import { hashedPrompt, PromptLines } from './prompt.ts'

function model(specificationVersion: 'v3' | 'v4' = 'v4', modelId = 'm1'): LanguageModel {
  const doStream = () => Promise.reject(new Error('not asked'))
  return { specificationVersion, provider: 'acme.chat', modelId, doStream }
}

function prompt(messages: readonly Message[], system?: string): PromptMessage[] {
  return toPrompt({ model: model(), messages, ...(system === undefined ? {} : { system }) })
}

/** The prompt form of a requested reply. */
function reply(said: AssistantMessage): PromptMessage[] {
  return prompt([{ role: 'user', content: 'well?' }, said]).slice(1)
}

describe('the prompt', () => {
  it('has the system text first, and only if there is one', () => {
    const user: PromptMessage = { role: 'user', content: [{ type: 'text', text: 'hi' }] }
    const messages: Message[] = [{ role: 'user', content: 'hi' }]
    expect(prompt(messages, 'be brief')).toEqual([{ role: 'system', content: 'be brief' }, user])
    expect(prompt(messages, '')).toEqual([user])
  })

  it('is the same whatever was made of the same messages before', () => {
    const lines = new PromptLines()
    const say = (text: string): Message => ({ role: 'user', content: text })
    const answer = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }] })
    const [a, b, c, d] = [answer('a'), say('b'), answer('c'), answer('d')]
    const anew = (messages: readonly Message[]) => prompt(structuredClone(messages))
    for (const messages of [[a, b], [a, b, c], [a, b, c, d], [a, d], [a], [a, say(' '), c], [b, a, c], []])
      expect(toPrompt({ model: model(), messages, lines })).toEqual(anew(messages))
    expect(toPrompt({ model: model('v3'), messages: [a, b, c], lines })).toEqual(anew([a, b, c]))
  })

  it('keeps what it made of the messages around one that changed', () => {
    const lines = new PromptLines()
    const say = (text: string): Message => ({ role: 'user', content: text })
    const [first, last] = [say('a'), say('c')]
    const before = toPrompt({ model: model(), messages: [first, say('b'), last], lines })
    const after = toPrompt({ model: model(), messages: [first, say('B'), last], lines })
    expect(after.map((message, at) => message === before[at])).toEqual([true, false, true])
  })

  it('is the same when the window has moved, with its hash', () => {
    const message = fc.oneof(
      fc.constantFrom('', 'hi').map((content): Message => ({ role: 'user', content })),
      fc
        .constantFrom('', 'so')
        .map((text): Message => ({ role: 'assistant', content: [{ type: 'text', text }] })),
      fc.constantFrom('a', 'b').map(
        (itemId): Message => ({
          role: 'assistant',
          model: 'acme/m1',
          content: [
            { type: 'reasoning', text: 'hm', provider: { acme: { itemId } } },
            { type: 'text', text: 'so' },
          ],
        }),
      ),
    )
    const window = fc.tuple(fc.nat(12), fc.nat(12), fc.constantFrom('m1', 'm1', 'm1', 'm2'))
    const check = fc.property(fc.array(message, { minLength: 1 }), fc.array(window), (history, windows) => {
      const lines = new PromptLines()
      for (const [start, length, id] of windows) {
        const messages = history.slice(start, start + length)
        const anew = hashedPrompt({ model: model('v4', id), messages: structuredClone(messages) })
        const kept = hashedPrompt({ model: model('v4', id), messages, lines })
        expect([kept.prompt, kept.hash()]).toEqual([anew.prompt, anew.hash()])
      }
    })
    fc.assert(check)
  })

  it('has no empty texts, and no messages of which nothing remains', () => {
    const messages: Message[] = [
      { role: 'user', content: '' },
      { role: 'user', content: ' \n' },
      { role: 'assistant', content: [{ type: 'text', text: '\t ' }], model: 'acme/m1' },
      { role: 'user', content: [{ type: 'text', text: '' }] },
      { role: 'assistant', content: [{ type: 'text', text: '' }], model: 'acme/m1' },
      { role: 'assistant', content: [{ type: 'reasoning', text: '' }], model: 'acme/m1' },
      { role: 'assistant', content: [{ type: 'reasoning', text: 'mine' }], model: 'other/m2' },
      { role: 'assistant', content: [], model: 'acme/m1' },
    ]
    expect(prompt(messages)).toEqual([])
  })

  it('begins with somebody who asks, and has somebody between two replies', () => {
    const said: Message = { role: 'assistant', content: [{ type: 'text', text: 'so' }] }
    const words = prompt([said, said], 'be brief').map(({ role, content }) =>
      typeof content === 'string' ? role : `${role}: ${content.map(({ text }) => text).join()}`,
    )
    expect(words).toEqual([
      'system',
      'user: [What was said before is left out here.]',
      'assistant: so',
      'user: Go on.',
      'assistant: so',
    ])
  })

  it('has no halves of characters', () => {
    const half = '\ud83d'
    const args = { [half]: [half, 1, null, { deep: half }] }
    const fine = { all: ['is', 1, { fine: null }] }
    const messages: Message[] = [
      { role: 'user', content: half },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: half },
          { type: 'tool-call', callId: 'call_1', tool: 'look', args },
          { type: 'tool-call', callId: 'call_2', tool: 'look', args: fine },
        ],
      },
      {
        role: 'tool',
        content: [{ type: 'tool-result', callId: 'call_1', tool: 'look', status: 'ok', output: half }],
      },
    ]
    const found = prompt(messages, half)
    expect(JSON.stringify(found)).not.toContain(String.raw`\ud83d`)
    const [, called, untouched] = (found[2]?.content ?? []) as readonly PromptPart[]
    expect(called?.input).toEqual({ '\ufffd': ['\ufffd', 1, null, { deep: '\ufffd' }] })
    expect(untouched?.input).toBe(fine)
  })
})

describe('what an assistant said', () => {
  const said: AssistantMessage = {
    role: 'assistant',
    model: 'acme/m1',
    content: [
      { type: 'reasoning', text: 'hm', provider: { acme: { signature: 's' } } },
      { type: 'reasoning', text: '', provider: { acme: { redacted: 'r' } } },
      { type: 'text', text: 'I look', provider: { acme: { item: 1 } } },
      {
        type: 'tool-call',
        callId: 'call_1',
        providerId: 'toolu_9',
        tool: 'look',
        args: { at: 'it' },
        provider: { acme: { thought: 't' } },
      },
    ],
  }

  it('goes back to its model with what the provider attached, under our ids (R10)', () => {
    expect(reply(said)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hm', providerOptions: { acme: { signature: 's' } } },
          { type: 'reasoning', text: '', providerOptions: { acme: { redacted: 'r' } } },
          { type: 'text', text: 'I look', providerOptions: { acme: { item: 1 } } },
          {
            type: 'tool-call',
            toolCallId: 'call_1',
            toolName: 'look',
            input: { at: 'it' },
            providerOptions: { acme: { thought: 't' } },
          },
        ],
      },
    ])
  })

  it.each(['acme/m2', 'other/m1', undefined])(
    'goes to another model without it: said by %s (R10)',
    (name) => {
      const { model: _model, ...anonymous } = said
      const other: AssistantMessage = name === undefined ? anonymous : { ...said, model: name }
      expect(reply(other)).toEqual([
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'I look' },
            { type: 'tool-call', toolCallId: 'call_1', toolName: 'look', input: { at: 'it' } },
          ],
        },
      ])
    },
  )

  it('has no thoughts that led to nothing', () => {
    const thought: AssistantPart = { type: 'reasoning', text: 'hm', provider: { acme: { signature: 's' } } }
    const words: AssistantPart = { type: 'text', text: 'so' }
    const kept = reply({ role: 'assistant', model: 'acme/m1', content: [thought, words, thought] })
    expect(kept).toMatchObject([{ content: [{ type: 'reasoning' }, { type: 'text' }] }])
    expect(reply({ role: 'assistant', model: 'acme/m1', content: [thought] })).toEqual([])
  })

  it.each([
    ['7zip', '_7zip'],
    ['-x', '_-x'],
    ['', 'unnamed'],
    ['a.b', 'a_b'],
    ['constructor', 'constructor_'],
    ['__proto__', '__proto___'],
    ['9'.repeat(64), `_${'9'.repeat(63)}`],
  ])('calls a tool %j by a name that every provider takes', (tool, toolName) => {
    const call: AssistantPart = { type: 'tool-call', callId: 'call_1', tool, args: {} }
    expect(reply({ role: 'assistant', content: [call] })).toMatchObject([{ content: [{ toolName }] }])
  })

  it('has ids that every provider takes, the same for a call and its result', () => {
    const ids = ['call_1', 'functions.look:0', 'x'.repeat(41)].map((callId) => {
      const call: Message = {
        role: 'assistant',
        content: [{ type: 'tool-call', callId, tool: 'look', args: {} }],
      }
      const result = { type: 'tool-result', callId, tool: 'look', status: 'ok', output: 1 } as const
      const found = prompt([{ role: 'user', content: 'well?' }, call, { role: 'tool', content: [result] }])
      return found.slice(1).map(({ content }) => (content[0] as PromptPart).toolCallId)
    })
    expect(ids[0]).toEqual(['call_1', 'call_1'])
    expect(ids.every(([call, result]) => call === result && /^[\w-]{1,40}$/.test(String(call)))).toBe(true)
    expect(new Set(ids.flat()).size).toBe(3)
  })

  it('is an object also where the model wrote no JSON', () => {
    const malformed: AssistantMessage = {
      role: 'assistant',
      content: [
        { type: 'tool-call', callId: 'call_1', tool: 'look', args: '{"at":', malformed: 'not JSON' },
        { type: 'tool-call', callId: 'call_2', tool: 'functions.look up!', args: {} },
      ],
    }
    expect(reply(malformed)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', toolCallId: 'call_1', toolName: 'look', input: { invalid_json: '{"at":' } },
          { type: 'tool-call', toolCallId: 'call_2', toolName: 'functions_look_up_', input: {} },
        ],
      },
    ])
  })
})

describe('what tools answered', () => {
  it.each([
    ['ok', 'fine', 'text'],
    ['ok', { a: 1 }, 'json'],
    ['ok', null, 'json'],
    ['error', 'broken', 'error-text'],
    ['rejected', { why: 1 }, 'error-json'],
    ['unknown', 'nobody knows', 'error-text'],
    ['not-run', 'not run', 'error-text'],
    ['ok', '', 'text'],
  ] as const)('%s %j is %s', (status, output, type) => {
    const result: ToolResultPart = { type: 'tool-result', callId: 'call_1', tool: 'look', status, output }
    expect(prompt([{ role: 'tool', content: [result] }])).toEqual([
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'call_1',
            toolName: 'look',
            output: { type, value: output },
          },
        ],
      },
    ])
  })
})

describe('a failure', () => {
  it.each(['', ' \n'])('that says %j says that it says nothing', (output) => {
    const result = { type: 'tool-result', callId: 'call_1', tool: 'look', status: 'error', output } as const
    const value = 'It failed and did not say why.'
    expect(prompt([{ role: 'tool', content: [result] }])).toMatchObject([
      { content: [{ output: { type: 'error-text', value } }] },
    ])
  })
})

describe('a file', () => {
  function fileFor(version: 'v3' | 'v4', data: string, name?: string): unknown {
    const part = { type: 'file' as const, mediaType: 'image/png', data, ...(name ? { name } : {}) }
    const [message] = toPrompt({ model: model(version), messages: [{ role: 'user', content: [part] }] })
    return message?.content[0]
  }

  it('is plain data for version 3', () => {
    const file = { type: 'file', mediaType: 'image/png' }
    expect(fileFor('v3', 'aGk=', 'a.png')).toEqual({ ...file, data: 'aGk=', filename: 'a.png' })
    expect(fileFor('v3', 'https://x.org/a.png')).toEqual({ ...file, data: new URL('https://x.org/a.png') })
  })

  it('is tagged data for version 4', () => {
    const file = { type: 'file', mediaType: 'image/png' }
    expect(fileFor('v4', 'aGk=')).toEqual({ ...file, data: { type: 'data', data: 'aGk=' } })
    const url = new URL('https://x.org/a.png')
    expect(fileFor('v4', 'https://x.org/a.png')).toEqual({ ...file, data: { type: 'url', url } })
  })

  it('in a data URL is its data', () => {
    expect(fileFor('v3', 'data:image/png;base64,aGk=')).toMatchObject({ data: 'aGk=' })
  })
})
