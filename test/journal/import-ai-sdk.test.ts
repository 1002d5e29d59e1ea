/** Histories of the AI SDK, whole and broken: exactly these messages, and exactly these repairs. */
import { describe } from 'vitest'
import type { Json, Message, SettledStatus } from '../../src/protocol/index.ts'
import { call, check, NO_RESULT, reply, results, user, WHOLE } from './import-case.ts'

describe('messages of the AI SDK for models', () => {
  const asked = { role: 'user', content: 'Compare the weather.' }
  const toolCall = (toolCallId: string, n: number) => ({
    type: 'tool-call',
    toolCallId,
    toolName: 'weather',
    input: { city: `city ${n}` },
  })
  const toolResult = (toolCallId: string, output: unknown) => ({
    type: 'tool-result',
    toolCallId,
    toolName: 'weather',
    output,
  })
  const text = (value: string) => ({ type: 'text', value })
  const approval = { type: 'tool-approval-request', approvalId: 'p', toolCallId: 'a' }
  const response = (more: object) => ({
    role: 'tool',
    content: [{ type: 'tool-approval-response', approvalId: 'p', ...more }],
  })

  const approvals: readonly (readonly [string, object[], Json, SettledStatus, string[]])[] = [
    [
      'that nobody has answered',
      [],
      'Not run: nobody had approved it when the history was imported.',
      'not-run',
      ['1 result-missing'],
    ],
    [
      'that was denied',
      [response({ approved: false, reason: 'no' })],
      'no',
      'rejected',
      ['1 result-missing'],
    ],
    ['that was given', [response({ approved: true })], NO_RESULT, 'unknown', ['1 result-missing']],
    [
      'that was denied, with the result',
      [
        response({ approved: false }),
        { role: 'tool', content: [toolResult('a', { type: 'execution-denied', reason: 'no' })] },
      ],
      'no',
      'rejected',
      [],
    ],
  ]
  for (const [name, more, output, status, repairs] of approvals)
    check({
      name: `know a call with an approval ${name}`,
      history: [asked, { role: 'assistant', content: [toolCall('a', 1), approval] }, ...more],
      messages: [user('Compare the weather.'), reply(call(1, 'a')), results([1, output, status])],
      repairs,
    })

  check({
    name: 'are read with their calls and results',
    history: [
      { role: 'system', content: 'Be brief.' },
      asked,
      {
        role: 'assistant',
        content: [{ type: 'text', text: 'I will look.' }, toolCall('a', 1), toolCall('b', 2)],
      },
      { role: 'tool', content: [toolResult('a', text('sun')), toolResult('b', text('rain'))] },
      { role: 'assistant', content: 'Sun and rain.' },
    ],
    messages: WHOLE,
    system: 'Be brief.',
    format: 'ai-sdk',
  })

  check({
    name: 'of version 4 have args and result',
    history: [
      asked,
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', toolCallId: 'a', toolName: 'weather', args: { city: 'city 1' } },
          { type: 'tool-call', toolCallId: 'b', toolName: 'weather', args: { city: 'city 2' } },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'a', toolName: 'weather', result: { sky: 'clear' } },
          {
            type: 'tool-result',
            toolCallId: 'b',
            toolName: 'weather',
            result: 'no such city',
            isError: true,
          },
        ],
      },
    ],
    messages: [
      user('Compare the weather.'),
      reply(call(1, 'a'), call(2, 'b')),
      results([1, { sky: 'clear' }], [2, 'no such city', 'error']),
    ],
    format: 'ai-sdk',
  })

  check({
    name: 'of version 7 tag the data of files, and have parts that nobody else reads',
    history: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look at these.' },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: Uint8Array.of(1, 2) } },
          { type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'https://example.org/a.png' } },
          { type: 'file', mediaType: 'text/plain', data: { type: 'text', text: 'Hi' }, filename: 'hi.txt' },
          { type: 'file', mediaType: 'image/png', data: { type: 'reference', reference: { openai: 'f-1' } } },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'custom', kind: 'openai.compaction' },
          { type: 'text', text: 'I see.' },
        ],
      },
    ],
    messages: [
      user([
        { type: 'text', text: 'Look at these.' },
        { type: 'file', mediaType: 'image/png', data: 'AQI=' },
        { type: 'file', mediaType: 'image/png', data: 'https://example.org/a.png' },
        { type: 'file', mediaType: 'text/plain', name: 'hi.txt', data: 'SGk=' },
      ]),
      reply('I see.'),
    ],
    repairs: ['0 part-dropped', '1 part-dropped'],
    format: 'ai-sdk',
  })

  check({
    name: 'say in their output how it went',
    history: [
      asked,
      { role: 'assistant', content: [1, 2, 3, 4, 5].map((n) => toolCall(`${n}`, n)) },
      {
        role: 'tool',
        content: [
          toolResult('1', { type: 'json', value: { sky: 'clear' } }),
          toolResult('2', { type: 'error-text', value: 'down' }),
          toolResult('3', { type: 'error-json', value: [1] }),
          toolResult('4', { type: 'execution-denied', reason: 'not now' }),
          toolResult('5', {
            type: 'content',
            value: [
              { type: 'text', text: 'a map' },
              { type: 'media', data: 'AAAA', mediaType: 'image/png' },
            ],
          }),
        ],
      },
    ],
    messages: [
      user('Compare the weather.'),
      reply(...[1, 2, 3, 4, 5].map((n) => call(n, `${n}`))),
      results(
        [1, { sky: 'clear' }],
        [2, 'down', 'error'],
        [3, [1], 'error'],
        [4, 'not now', 'rejected'],
        [5, 'a map'],
      ),
    ],
    repairs: ['2 part-dropped'],
  })

  check({
    name: 'with files in all the forms that data may have',
    history: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image', image: new Uint8Array([1, 2, 3]) },
          { type: 'image', image: Buffer.from([1, 2, 3]).buffer.slice(0, 0) },
          { type: 'file', data: 'data:text/plain;charset=utf-8,a%20b', mediaType: 'text/plain' },
          { type: 'image', image: new URL('https://example.com/a.png'), mimeType: 'image/png' },
          {
            type: 'file',
            data: 'data:application/pdf;base64,JVBERg==',
            filename: 'a.pdf',
            mediaType: 'application/pdf',
          },
        ],
      },
    ],
    messages: [
      user([
        { type: 'text', text: 'What is this?' },
        { type: 'file', mediaType: 'image/*', data: 'AQID' },
        { type: 'file', mediaType: 'text/plain', data: 'YSBi' },
        { type: 'file', mediaType: 'image/png', data: 'https://example.com/a.png' },
        { type: 'file', mediaType: 'application/pdf', name: 'a.pdf', data: 'JVBERg==' },
      ]),
    ],
    repairs: ['0 part-dropped'],
  })

  const thinking = [
    asked,
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'Hm.', providerOptions: { anthropic: { signature: 's' } } },
        { type: 'text', text: 'Well.' },
      ],
    },
  ]
  check({
    name: 'keep what was thought, without a signature that could go to the wrong model',
    history: thinking,
    messages: [asked as Message, reply({ type: 'reasoning', text: 'Hm.' }, 'Well.')],
    repairs: ['1 provider-data-dropped'],
  })
  check({
    name: 'keep signatures if it is said whose they are',
    history: thinking,
    options: { model: 'anthropic/claude-sonnet-4-5' },
    messages: [
      asked as Message,
      {
        ...reply({ type: 'reasoning', text: 'Hm.', provider: { anthropic: { signature: 's' } } }, 'Well.'),
        model: 'anthropic/claude-sonnet-4-5',
      } as Message,
    ],
  })
  check({
    name: 'may hold results that the provider itself got',
    history: [
      asked,
      {
        role: 'assistant',
        content: [toolCall('a', 1), toolResult('a', text('sun')), { type: 'text', text: 'Sun.' }],
      },
    ],
    messages: [user('Compare the weather.'), reply(call(1, 'a')), results([1, 'sun']), reply('Sun.')],
  })
  check({
    name: 'with a result far away, one twice, one of nothing, and none at all',
    history: [
      asked,
      { role: 'assistant', content: [toolCall('a', 1), toolCall('b', 2)] },
      { role: 'user', content: 'And?' },
      { role: 'tool', content: [toolResult('a', text('sun')), toolResult('x', text('?'))] },
      { role: 'tool', content: [toolResult('a', text('snow'))] },
    ],
    messages: [
      user('Compare the weather.'),
      reply(call(1, 'a'), call(2, 'b')),
      results([1, 'sun'], [2, NO_RESULT, 'unknown']),
      user('And?'),
    ],
    repairs: ['1 result-missing', '3 result-moved', '3 result-orphan', '4 result-duplicate'],
  })
})

describe('messages of the AI SDK for screens', () => {
  const parts = (state: string, more: object = {}) => [
    { type: 'tool-weather', toolCallId: 'a', state, input: { city: 'city 1' }, ...more },
  ]
  const asked = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Compare the weather.' }] }
  const of = (role: string, content: unknown) => ({ id: 'm2', role, parts: content })

  check({
    name: 'are taken apart into their steps',
    history: [
      of('system', [{ type: 'text', text: 'Be brief.' }]),
      asked,
      of('assistant', [
        { type: 'step-start' },
        { type: 'text', text: 'I will look.', state: 'done' },
        {
          type: 'tool-weather',
          toolCallId: 'a',
          state: 'output-available',
          input: { city: 'city 1' },
          output: 'sun',
        },
        {
          type: 'dynamic-tool',
          toolName: 'weather',
          toolCallId: 'b',
          state: 'output-available',
          input: { city: 'city 2' },
          output: 'rain',
        },
        { type: 'step-start' },
        { type: 'text', text: 'Sun and rain.' },
      ]),
    ],
    messages: WHOLE,
    system: 'Be brief.',
    format: 'ai-sdk',
  })

  const ends: readonly (readonly [string, object, Json, SettledStatus, string[]])[] = [
    ['output-error', { errorText: 'down' }, 'down', 'error', []],
    ['output-denied', { approval: { id: 'p', approved: false, reason: 'no' } }, 'no', 'rejected', []],
    ['input-available', {}, NO_RESULT, 'unknown', ['1 result-missing']],
    ['input-streaming', {}, 'Not run: its arguments never arrived whole.', 'not-run', ['1 result-missing']],
    [
      'approval-requested',
      {},
      'Not run: nobody had approved it when the history was imported.',
      'not-run',
      ['1 result-missing'],
    ],
  ]
  for (const [state, more, output, status, repairs] of ends)
    check({
      name: `know a call that is ${state}`,
      history: [asked, of('assistant', parts(state, more))],
      messages: [user('Compare the weather.'), reply(call(1, 'a')), results([1, output, status])],
      repairs,
    })

  check({
    name: 'of version 4 have invocations',
    history: [
      { id: '1', role: 'user', content: 'Compare the weather.' },
      {
        id: '2',
        role: 'assistant',
        content: 'Sun.',
        toolInvocations: [
          { state: 'result', toolCallId: 'a', toolName: 'weather', args: { city: 'city 1' }, result: 'sun' },
        ],
      },
    ],
    messages: [user('Compare the weather.'), reply(call(1, 'a')), results([1, 'sun']), reply('Sun.')],
    format: 'ai-sdk',
  })

  check({
    name: 'lose what is only for the screen, and say so',
    history: [
      {
        id: '1',
        role: 'user',
        parts: [
          { type: 'file', mediaType: 'image/png', filename: 'a.png', url: 'data:image/png;base64,AAAA' },
        ],
      },
      of('assistant', [
        { type: 'source-url', url: 'https://example.com' },
        { type: 'data-chart', data: {} },
        { type: 'text', text: 'A map.' },
      ]),
    ],
    messages: [
      user([{ type: 'file', mediaType: 'image/png', name: 'a.png', data: 'AAAA' }]),
      reply('A map.'),
    ],
    repairs: ['1 part-dropped', '1 part-dropped'],
  })
})
