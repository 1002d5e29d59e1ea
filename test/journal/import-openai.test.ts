/** Histories of OpenAI, whole and broken: exactly these messages, and exactly these repairs. */
import { describe } from 'vitest'
import type { Message } from '../../src/protocol/index.ts'
import { call, check, NO_RESULT, OPENING, reply, results, user, WHOLE } from './import-case.ts'

describe("messages of OpenAI's chat completions", () => {
  const asked = { role: 'user', content: 'Compare the weather.' }
  const toolCall = (id: string, n: number, text = JSON.stringify({ city: `city ${n}` })) => ({
    id,
    type: 'function',
    function: { name: 'weather', arguments: text },
  })
  const toolResult = (id: string | undefined, content: unknown) => ({
    role: 'tool',
    tool_call_id: id,
    content,
  })

  check({
    name: 'are read with their calls and results',
    history: [
      { role: 'developer', content: 'Be brief.' },
      { role: 'system', content: [{ type: 'text', text: 'Be kind.' }] },
      asked,
      { role: 'assistant', content: 'I will look.', tool_calls: [toolCall('a', 1), toolCall('b', 2)] },
      toolResult('b', 'rain'),
      toolResult('a', [{ type: 'text', text: 'sun' }]),
      { role: 'assistant', content: 'Sun and rain.', refusal: null },
    ],
    messages: WHOLE,
    system: 'Be brief.\n\nBe kind.',
    format: 'openai',
  })

  check({
    name: 'of before there were ids go by the name of the function',
    history: [
      asked,
      {
        role: 'assistant',
        content: null,
        function_call: { name: 'weather', arguments: '{"city":"city 1"}' },
      },
      { role: 'function', name: 'weather', content: 'sun' },
      { role: 'assistant', content: 'Sun.' },
    ],
    messages: [user('Compare the weather.'), reply(call(1)), results([1, 'sun']), reply('Sun.')],
    format: 'openai',
  })

  const nested = `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`
  check({
    name: 'keep arguments that are nested too deep as the text that they are',
    history: [
      asked,
      { role: 'assistant', content: null, tool_calls: [toolCall('a', 1, nested)] },
      toolResult('a', 'ok'),
    ],
    messages: [
      user('Compare the weather.'),
      reply(call(1, 'a', { args: nested, malformed: 'the arguments are nested more than 200 levels deep' })),
      results([1, 'ok']),
    ],
    repairs: ['1 arguments-malformed'],
  })

  check({
    name: 'keep arguments that nobody can use as the text that they are',
    history: [
      asked,
      {
        role: 'assistant',
        content: null,
        tool_calls: [toolCall('a', 1, '{"city": "ci'), toolCall('b', 2, '7'), toolCall('c', 3, '')],
      },
      ...['a', 'b', 'c'].map((id) => toolResult(id, 'ok')),
    ],
    messages: [
      user('Compare the weather.'),
      reply(
        call(1, 'a', { args: '{"city": "ci', malformed: 'the arguments are not JSON' }),
        call(2, 'b', { args: '7', malformed: 'the arguments are not a JSON object' }),
        call(3, 'c', { args: {} }),
      ),
      results([1, 'ok'], [2, 'ok'], [3, 'ok']),
    ],
    repairs: ['1 arguments-malformed', '1 arguments-malformed'],
  })

  check({
    name: 'with images, sounds and files',
    history: [
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,AAAA', detail: 'low' } },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
          { type: 'input_audio', input_audio: { data: 'BBBB', format: 'mp3' } },
          { type: 'file', file: { file_data: 'data:application/pdf;base64,CCCC', filename: 'c.pdf' } },
          { type: 'file', file: { file_id: 'file-1' } },
        ],
      },
    ],
    messages: [
      user([
        { type: 'file', mediaType: 'image/jpeg', data: 'AAAA' },
        { type: 'file', mediaType: 'image/*', data: 'https://example.com/a.png' },
        { type: 'file', mediaType: 'audio/mp3', data: 'BBBB' },
        { type: 'file', mediaType: 'application/pdf', name: 'c.pdf', data: 'CCCC' },
      ]),
    ],
    repairs: ['0 part-dropped'],
  })

  check({
    name: 'that were cut at the front begin with a line that says so',
    history: [
      toolResult('z', 'lost'),
      { role: 'assistant', content: 'Done.' },
      { role: 'assistant', content: '', tool_calls: [] },
      { role: 'user', content: '  ' },
      asked,
    ],
    messages: [OPENING, reply('Done.'), user('Compare the weather.')],
    repairs: ['0 result-orphan', '0 opening-added', '2 empty-dropped', '3 empty-dropped'],
    format: 'openai',
  })

  check({
    name: 'in which the system speaks in between',
    history: [asked, { role: 'system', content: 'It is noon.' }, { role: 'assistant', content: 'Yes.' }],
    messages: [
      user('Compare the weather.'),
      { role: 'user', content: '[System: It is noon.]', by: 'program' },
      reply('Yes.'),
    ],
    repairs: ['1 system-noted'],
  })

  check({
    name: 'in which an id was used again and again',
    history: [
      asked,
      { role: 'assistant', content: null, tool_calls: [toolCall('call_0', 1)] },
      toolResult('call_0', 'one'),
      toolResult('call_0', 'one, again'),
      { role: 'assistant', content: null, tool_calls: [toolCall('call_0', 2), toolCall('call_0', 3)] },
      toolResult('call_0', 'two'),
      toolResult('call_0', 'three'),
    ],
    messages: [
      user('Compare the weather.'),
      reply(call(1, 'call_0')),
      results([1, 'one']),
      reply(call(2, 'call_0'), call(3, 'call_0')),
      results([2, 'two'], [3, 'three']),
    ],
    repairs: ['3 result-duplicate', '4 id-repeated', '4 id-repeated'],
  })

  check({
    name: 'in which the same id is asked for again before it was answered',
    history: [
      asked,
      { role: 'assistant', content: null, tool_calls: [toolCall('a', 1)] },
      { role: 'user', content: 'Again.' },
      { role: 'assistant', content: null, tool_calls: [toolCall('a', 2)] },
      toolResult('a', 'sun'),
    ],
    messages: [
      user('Compare the weather.'),
      reply(call(1, 'a')),
      results([1, NO_RESULT, 'unknown']),
      user('Again.'),
      reply(call(2, 'a')),
      results([2, 'sun']),
    ],
    repairs: ['1 result-missing', '3 id-repeated'],
  })

  check({
    name: 'in which a result comes before its call',
    history: [
      asked,
      toolResult('a', 'sun'),
      { role: 'assistant', content: null, tool_calls: [toolCall('a', 1)] },
      { role: 'assistant', content: 'Sun.' },
    ],
    messages: [user('Compare the weather.'), reply(call(1, 'a')), results([1, 'sun']), reply('Sun.')],
    repairs: ['1 result-moved'],
  })
})

describe("items of OpenAI's Responses API", () => {
  const functionCall = (id: string, n: number) => ({
    type: 'function_call',
    id: `fc_${id}`,
    call_id: id,
    name: 'weather',
    arguments: JSON.stringify({ city: `city ${n}` }),
    status: 'completed',
  })
  const output = (id: string, text: unknown) => ({ type: 'function_call_output', call_id: id, output: text })
  const asked = { role: 'user', content: [{ type: 'input_text', text: 'Compare the weather.' }] }
  const answered = (text: string) => ({
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [] }],
  })

  check({
    name: 'are put together to replies',
    history: {
      instructions: 'Be brief.',
      input: [
        asked,
        answered('I will look.'),
        functionCall('a', 1),
        functionCall('b', 2),
        output('a', 'sun'),
        output('b', [{ type: 'input_text', text: 'rain' }]),
        answered('Sun and rain.'),
      ],
    },
    messages: WHOLE,
    system: 'Be brief.',
    format: 'openai-responses',
  })

  const sealed = {
    type: 'reasoning',
    id: 'rs_1',
    summary: [{ type: 'summary_text', text: 'Hm.' }],
    encrypted_content: 'gAAA',
  }
  check({
    name: 'keep sealed thoughts for the model that had them',
    history: [asked, sealed, answered('Sun.')],
    options: { model: 'openai/gpt-5' },
    messages: [
      user('Compare the weather.'),
      {
        ...reply(
          {
            type: 'reasoning',
            text: 'Hm.',
            provider: { openai: { itemId: 'rs_1', reasoningEncryptedContent: 'gAAA' } },
          },
          'Sun.',
        ),
        model: 'openai/gpt-5',
      } as Message,
    ],
  })
  check({
    name: 'lose what only the provider can do, and say so',
    history: [
      {
        role: 'user',
        content: [
          { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
          { type: 'input_file', file_id: 'f' },
        ],
      },
      { type: 'web_search_call', id: 'ws_1', status: 'completed' },
      sealed,
      answered('Sun.'),
      functionCall('a', 1),
    ],
    messages: [
      user([{ type: 'file', mediaType: 'image/png', data: 'AAAA' }]),
      reply({ type: 'reasoning', text: 'Hm.' }, 'Sun.', call(1, 'a')),
      results([1, NO_RESULT, 'unknown']),
    ],
    repairs: ['0 part-dropped', '1 part-dropped', '2 provider-data-dropped', '2 result-missing'],
    format: 'openai-responses',
  })
})
