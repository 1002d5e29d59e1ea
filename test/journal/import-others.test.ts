/** Histories of other vendors, frameworks and our own: exactly these messages, and exactly these repairs. */
import { describe } from 'vitest'
import type { AssistantPart, Json, Message } from '../../src/protocol/index.ts'
import { call, check, NO_RESULT, reply, results, user, WHOLE, WITHOUT_IDS } from './import-case.ts'

describe('messages of Anthropic', () => {
  const toolUse = (id: string, n: number) => ({
    type: 'tool_use',
    id,
    name: 'weather',
    input: { city: `city ${n}` },
  })
  const toolResult = (id: string, content: unknown, more: object = {}) => ({
    type: 'tool_result',
    tool_use_id: id,
    content,
    ...more,
  })
  const asked = { role: 'user', content: 'Compare the weather.' }

  check({
    name: 'are read with their calls and results',
    history: {
      system: [{ type: 'text', text: 'Be brief.' }],
      messages: [
        asked,
        {
          role: 'assistant',
          content: [{ type: 'text', text: 'I will look.' }, toolUse('a', 1), toolUse('b', 2)],
        },
        {
          role: 'user',
          content: [toolResult('a', 'sun'), toolResult('b', [{ type: 'text', text: 'rain' }])],
        },
        { role: 'assistant', content: 'Sun and rain.' },
      ],
    },
    messages: WHOLE,
    system: 'Be brief.',
    format: 'anthropic',
  })

  check({
    name: 'may say something beside their results, and have thoughts of a known model',
    history: [
      asked,
      {
        role: 'assistant',
        type: 'message',
        model: 'claude-sonnet-4-5',
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: 's' },
          { type: 'redacted_thinking', data: 'r' },
          toolUse('a', 1),
        ],
      },
      {
        role: 'user',
        content: [{ type: 'text', text: 'Quick!' }, toolResult('a', 'down', { is_error: true })],
      },
    ],
    messages: [
      user('Compare the weather.'),
      {
        ...reply(
          { type: 'reasoning', text: 'Hm.', provider: { anthropic: { signature: 's' } } },
          { type: 'reasoning', text: '', provider: { anthropic: { redactedData: 'r' } } },
          call(1, 'a'),
        ),
        model: 'anthropic/claude-sonnet-4-5',
      } as Message,
      results([1, 'down', 'error']),
      user('Quick!'),
    ],
    format: 'anthropic',
  })

  check({
    name: 'with images and documents',
    history: [
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
          { type: 'document', title: 'a.pdf', source: { type: 'url', url: 'https://example.com/a.pdf' } },
          {
            type: 'document',
            title: 'Notes',
            source: { type: 'text', media_type: 'text/plain', data: 'Rain.' },
          },
          { type: 'image', source: { type: 'file', file_id: 'f' } },
        ],
      },
      { role: 'assistant', content: [{ type: 'server_tool_use', id: 's', name: 'web_search', input: {} }] },
    ],
    messages: [
      user([
        { type: 'file', mediaType: 'image/png', data: 'AAAA' },
        { type: 'file', mediaType: 'application/pdf', name: 'a.pdf', data: 'https://example.com/a.pdf' },
        { type: 'text', text: 'Notes\n\nRain.', by: 'program' },
      ]),
    ],
    repairs: ['0 part-dropped', '1 part-dropped', '1 empty-dropped'],
    format: 'anthropic',
  })

  check({
    name: 'with thoughts of nobody knows which model, and a call that nobody answered',
    history: [
      asked,
      { role: 'assistant', content: [{ type: 'redacted_thinking', data: 'r' }, toolUse('a', 1)] },
      { role: 'user', content: [toolResult('b', 'rain')] },
      { role: 'user', content: 'Well?' },
    ],
    messages: [
      user('Compare the weather.'),
      reply(call(1, 'a')),
      results([1, NO_RESULT, 'unknown']),
      user('Well?'),
    ],
    repairs: ['1 provider-data-dropped', '1 result-missing', '2 result-orphan'],
  })
})

describe("Gemini's contents", () => {
  const functionCall = (n: number, id?: string) => ({
    functionCall: { name: 'weather', args: { city: `city ${n}` }, ...(id === undefined ? {} : { id }) },
  })
  const response = (value: unknown) => ({ functionResponse: { name: 'weather', response: value } })
  const asked = { role: 'user', parts: [{ text: 'Compare the weather.' }] }

  check({
    name: 'go by the name of the tool, in order',
    history: {
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [
        asked,
        { role: 'model', parts: [{ text: 'I will look.' }, functionCall(1), functionCall(2)] },
        { role: 'user', parts: [response({ output: 'sun' }), response({ result: 'rain' })] },
        { role: 'model', parts: [{ text: 'Sun and rain.' }] },
      ],
    },
    messages: WITHOUT_IDS,
    system: 'Be brief.',
    format: 'google',
  })

  check({
    name: 'in the spelling of Python, with files and failures',
    history: [
      {
        role: 'user',
        parts: [
          { inline_data: { mime_type: 'image/png', data: 'AAAA' } },
          { file_data: { mime_type: 'video/mp4', file_uri: 'https://example.com/v' } },
        ],
      },
      { role: 'model', parts: [{ function_call: { id: 'a', name: 'weather', args: { city: 'city 1' } } }] },
      {
        role: 'function',
        parts: [{ function_response: { id: 'a', name: 'weather', response: { error: 'down' } } }],
      },
    ],
    messages: [
      user([
        { type: 'file', mediaType: 'image/png', data: 'AAAA' },
        { type: 'file', mediaType: 'video/mp4', data: 'https://example.com/v' },
      ]),
      reply(call(1, 'a')),
      results([1, 'down', 'error']),
    ],
    format: 'google',
  })

  check({
    name: 'with signatures, thoughts, code, and one result too few',
    history: [
      asked,
      {
        role: 'model',
        parts: [
          { text: 'Hm.', thought: true },
          { ...functionCall(1), thoughtSignature: 's' },
          functionCall(2),
          { executableCode: { language: 'PYTHON', code: '1' } },
        ],
      },
      { role: 'user', parts: [response({ sky: 'clear', wind: 3 })] },
    ],
    options: { model: 'google/gemini-3-pro' },
    messages: [
      user('Compare the weather.'),
      {
        ...reply(
          { type: 'reasoning', text: 'Hm.' },
          call(1, undefined, { provider: { google: { thoughtSignature: 's' } } }),
          call(2),
        ),
        model: 'google/gemini-3-pro',
      } as Message,
      results([1, { sky: 'clear', wind: 3 }], [2, NO_RESULT, 'unknown']),
    ],
    repairs: ['1 part-dropped', '1 result-missing'],
  })

  check({
    name: 'with pictures in a result, which are left out and reported',
    history: [
      asked,
      { role: 'model', parts: [functionCall(1)] },
      {
        role: 'user',
        parts: [
          {
            functionResponse: {
              name: 'weather',
              response: { output: 'sun' },
              parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }],
            },
          },
        ],
      },
    ],
    messages: [user('Compare the weather.'), reply(call(1)), results([1, 'sun'])],
    repairs: ['2 part-dropped'],
  })
})

describe('messages of LangChain', () => {
  const constructed = (name: string, kwargs: object) => ({
    lc: 1,
    type: 'constructor',
    id: ['langchain_core', 'messages', name],
    kwargs: { additional_kwargs: {}, response_metadata: {}, ...kwargs },
  })
  const calls = [
    { name: 'weather', args: { city: 'city 1' }, id: 'a', type: 'tool_call' },
    { name: 'weather', args: { city: 'city 2' }, id: 'b', type: 'tool_call' },
  ]
  const serialised = [
    constructed('SystemMessage', { content: 'Be brief.' }),
    constructed('HumanMessage', { content: 'Compare the weather.' }),
    constructed('AIMessageChunk', { content: 'I will look.', tool_calls: calls, invalid_tool_calls: [] }),
    constructed('ToolMessage', { content: 'sun', tool_call_id: 'a', name: 'weather', status: 'success' }),
    constructed('ToolMessage', { content: 'rain', tool_call_id: 'b' }),
    constructed('AIMessage', { content: [{ type: 'text', text: 'Sun and rain.' }] }),
  ]
  const whole = { messages: WHOLE, system: 'Be brief.', format: 'langchain' as const }

  check({ name: 'as they are serialised', history: serialised, ...whole })
  check({
    name: 'as live objects, which tell themselves the same way',
    history: { messages: serialised.map((told) => ({ lc_serializable: true, toJSON: () => told })) },
    ...whole,
  })
  check({
    name: 'as dictionaries',
    history: [
      { type: 'system', data: { content: 'Be brief.', type: 'system' } },
      { type: 'human', data: { content: 'Compare the weather.' } },
      { type: 'ai', data: { content: 'I will look.', tool_calls: calls } },
      { type: 'tool', data: { content: 'sun', tool_call_id: 'a' } },
      { type: 'tool', data: { content: 'rain', tool_call_id: 'b', status: 'success' } },
      { type: 'ai', data: { content: 'Sun and rain.' } },
    ],
    ...whole,
  })
  check({
    name: 'as plain objects with a type or a role',
    history: [
      { role: 'system', content: 'Be brief.' },
      { role: 'human', content: 'Compare the weather.' },
      { type: 'ai', content: 'I will look.', tool_calls: calls },
      { type: 'tool', content: 'sun', tool_call_id: 'a' },
      { role: 'tool', content: 'rain', tool_call_id: 'b' },
      { role: 'ai', content: 'Sun and rain.' },
    ],
    ...whole,
  })

  check({
    name: 'that came from Anthropic name each call twice, and their model',
    history: [
      constructed('HumanMessage', {
        content: [{ type: 'image_url', image_url: 'data:image/png;base64,AAAA' }],
      }),
      constructed('AIMessage', {
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: 's' },
          { type: 'tool_use', id: 'a', name: 'weather', input: { city: 'city 1' } },
        ],
        tool_calls: calls.slice(0, 1),
        response_metadata: { model_provider: 'anthropic', model_name: 'claude-sonnet-4-5' },
      }),
      constructed('ToolMessage', { content: 'down', tool_call_id: 'a', status: 'error' }),
    ],
    messages: [
      user([{ type: 'file', mediaType: 'image/png', data: 'AAAA' }]),
      {
        ...reply(
          { type: 'reasoning', text: 'Hm.', provider: { anthropic: { signature: 's' } } },
          call(1, 'a'),
        ),
        model: 'anthropic/claude-sonnet-4-5',
      } as Message,
      results([1, 'down', 'error']),
    ],
    format: 'langchain',
  })

  check({
    name: 'with invalid calls, calls of before, and a result of nothing',
    history: [
      { type: 'human', content: 'Compare the weather.' },
      {
        type: 'ai',
        content: '',
        invalid_tool_calls: [{ name: 'weather', args: '{"city', id: 'a', error: 'bad' }],
      },
      { type: 'tool', content: 'no', tool_call_id: 'a' },
      {
        type: 'ai',
        content: '',
        additional_kwargs: {
          tool_calls: [
            { id: 'b', type: 'function', function: { name: 'weather', arguments: '{"city":"city 2"}' } },
          ],
        },
      },
      { type: 'tool', content: 'lost', tool_call_id: 'z' },
    ],
    messages: [
      user('Compare the weather.'),
      reply(call(1, 'a', { args: '{"city', malformed: 'the arguments are not JSON' })),
      results([1, 'no']),
      reply(call(2, 'b')),
      results([2, NO_RESULT, 'unknown']),
    ],
    repairs: ['1 arguments-malformed', '3 result-missing', '4 result-orphan'],
    format: 'langchain',
  })
})

describe('messages of holdfast', () => {
  const own = (callId: string, n: number): AssistantPart => ({ ...call(n, `p${n}`), callId }) as AssistantPart
  const settled = (callId: string, output: Json): Message => ({
    role: 'tool',
    content: [{ type: 'tool-result', callId, tool: 'weather', status: 'ok', output }],
  })

  check({
    name: 'stay as they are, ids included',
    history: [
      user([
        { type: 'text', text: 'Look.' },
        { type: 'file', mediaType: 'image/png', name: 'a.png', data: 'AAAA' },
      ]),
      {
        ...reply({ type: 'text', text: 'So.', provider: { openai: { itemId: 'm' } } }, own('call_9', 1)),
        model: 'openai/gpt-5',
      },
      settled('call_9', { n: 1 }),
    ],
    messages: [
      user([
        { type: 'text', text: 'Look.' },
        { type: 'file', mediaType: 'image/png', name: 'a.png', data: 'AAAA' },
      ]),
      {
        ...reply({ type: 'text', text: 'So.', provider: { openai: { itemId: 'm' } } }, own('call_9', 1)),
        model: 'openai/gpt-5',
      } as Message,
      settled('call_9', { n: 1 }),
    ],
    format: 'holdfast',
  })

  check({
    name: 'may begin with a system prompt, as those of agent.session do',
    history: [
      { role: 'system', content: 'Be brief.' },
      user('Look.'),
      reply(own('call_9', 1)),
      settled('call_9', 'a'),
    ],
    messages: [user('Look.'), reply(own('call_9', 1)), settled('call_9', 'a')],
    system: 'Be brief.',
    format: 'holdfast',
  })

  check({
    name: 'get new ids only where one is used twice',
    history: [
      user('Look.'),
      reply(own('import-2', 1), own('import-2', 2)),
      settled('import-2', 'a'),
      settled('import-2', 'b'),
    ],
    options: { format: 'holdfast' },
    messages: [
      user('Look.'),
      reply(own('import-2', 1), own('import-4', 2)),
      {
        role: 'tool',
        content: [
          { type: 'tool-result', callId: 'import-2', tool: 'weather', status: 'ok', output: 'a' },
          { type: 'tool-result', callId: 'import-4', tool: 'weather', status: 'ok', output: 'b' },
        ],
      },
    ],
    repairs: ['1 id-repeated'],
  })
})
