/** From messages to a provider's prompt. */
import { describe, expect, it } from 'vitest'
import type { AssistantMessage, Message, ToolResultPart } from '../protocol/index.ts'
import type { LanguageModel, PromptMessage } from './index.ts'
import { toPrompt } from './index.ts'

function model(specificationVersion: 'v3' | 'v4' = 'v4'): LanguageModel {
  const doStream = () => Promise.reject(new Error('not asked'))
  return { specificationVersion, provider: 'acme.chat', modelId: 'm1', doStream }
}

function prompt(messages: readonly Message[], system?: string): PromptMessage[] {
  return toPrompt({ model: model(), messages, ...(system === undefined ? {} : { system }) })
}

describe('the prompt', () => {
  it('has the system text first, and only if there is one', () => {
    const user: PromptMessage = { role: 'user', content: [{ type: 'text', text: 'hi' }] }
    const messages: Message[] = [{ role: 'user', content: 'hi' }]
    expect(prompt(messages, 'be brief')).toEqual([{ role: 'system', content: 'be brief' }, user])
    expect(prompt(messages, '')).toEqual([user])
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
    expect(prompt([said])).toEqual([
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
      expect(prompt([other])).toEqual([
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

  it('is an object also where the model wrote no JSON', () => {
    const malformed: AssistantMessage = {
      role: 'assistant',
      content: [
        { type: 'tool-call', callId: 'call_1', tool: 'look', args: '{"at":', malformed: 'not JSON' },
        { type: 'tool-call', callId: 'call_2', tool: 'functions.look up!', args: {} },
      ],
    }
    expect(prompt([malformed])).toEqual([
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
