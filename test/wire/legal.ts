/** A request for each vendor that it would take, with everything in it that can be broken. */
import type { Vendor } from '../vendors/check-vendor-request.ts'

const text = (words: string) => ({ type: 'text', text: words })

function anthropic(): unknown {
  return {
    model: 'claude',
    max_tokens: 100,
    system: [text('be brief')],
    tools: [
      { name: 'weather', input_schema: { type: 'object' } },
      { name: 'time', input_schema: { type: 'object' } },
    ],
    tool_choice: { type: 'auto' },
    messages: [
      { role: 'user', content: 'weather?' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 's' },
          text('let me see'),
          { type: 'tool_use', id: 'a', name: 'weather', input: {} },
          { type: 'tool_use', id: 'b', name: 'time', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: 'sun' },
          { type: 'tool_result', tool_use_id: 'b', content: 'gone', is_error: true },
          text('and now?'),
        ],
      },
      { role: 'assistant', content: [text('It is noon.')] },
      { role: 'user', content: [text('thanks')] },
    ],
  }
}

function chat(): unknown {
  const call = (id: string, name: string) => ({ id, type: 'function', function: { name, arguments: '{}' } })
  return {
    model: 'gpt',
    tools: [
      { type: 'function', function: { name: 'weather' } },
      { type: 'function', function: { name: 'time' } },
    ],
    tool_choice: 'auto',
    messages: [
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'weather?' },
      { role: 'assistant', content: null, tool_calls: [call('a', 'weather'), call('b', 'time')] },
      { role: 'tool', tool_call_id: 'b', content: '' },
      { role: 'tool', tool_call_id: 'a', content: 'sun' },
      { role: 'user', content: [text('and now?')] },
      { role: 'assistant', content: 'It is noon.' },
      { role: 'user', content: 'thanks' },
    ],
  }
}

function responses(): unknown {
  const call = (id: string, more: object) => ({
    type: 'function_call',
    call_id: id,
    name: 'weather',
    arguments: '{}',
    ...more,
  })
  const part = (words: string) => ({ type: 'input_text', text: words })
  return {
    model: 'gpt',
    store: false,
    tools: [
      { type: 'function', name: 'weather' },
      { type: 'function', name: 'time' },
    ],
    input: [
      { role: 'system', content: 'be brief' },
      { role: 'user', content: [part('weather?')] },
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' },
      call('a', { id: 'fc_1' }),
      call('b', {}),
      { type: 'function_call_output', call_id: 'b', output: 'sun' },
      { type: 'function_call_output', call_id: 'a', output: '' },
      { type: 'message', role: 'assistant', id: 'msg_1', content: [{ type: 'output_text', text: 'Sunny.' }] },
      { role: 'user', content: [part('thanks')] },
    ],
  }
}

function google(): unknown {
  const call = (name: string, id: string) => ({ functionCall: { id, name, args: {} } })
  const response = (name: string, id: string) => ({
    functionResponse: { id, name, response: { content: 'sun' } },
  })
  return {
    systemInstruction: { parts: [{ text: 'be brief' }] },
    tools: [{ functionDeclarations: [{ name: 'weather' }, { name: 'time.of:day-1' }] }],
    contents: [
      { role: 'user', parts: [{ text: 'weather?' }] },
      {
        role: 'model',
        parts: [{ text: '', thoughtSignature: 's' }, call('weather', 'a'), call('time', 'b')],
      },
      { role: 'user', parts: [response('weather', 'a'), response('time', 'b')] },
      { role: 'user', parts: [{ text: 'and now?' }] },
      { role: 'model', parts: [{ text: 'Noon.' }] },
      { role: 'user', parts: [{ text: 'thanks' }] },
    ],
  }
}

/** A new one each time, to be changed at will. */
export const LEGAL: Readonly<Record<Vendor, () => unknown>> = {
  anthropic,
  'openai-chat': chat,
  'openai-responses': responses,
  google,
}
