/** OpenAI's chat completions: every known way to break a request by one change. */
import { both, describeRules, HALF, put, type Row, splice } from './damage.ts'

const CHAT: readonly Row[] = [
  ['no model', put('model', ''), 'you must provide a model parameter'],
  ['JSON mode, unmentioned', put('response_format', { type: 'json_object' }), "must contain the word 'json'"],
  ['no messages', put('messages', []), "Invalid 'messages': empty array"],
  ['messages that are no list', put('messages', {}), "Missing required parameter: 'messages'"],
  ['a role of its own', put('messages.1.role', 'model'), "Invalid value: 'model' for 'messages[1].role'"],
  [
    'an empty text of the user',
    put('messages.7.content', ''),
    "'messages[7].content': the content must not be empty",
  ],
  ['a list of nothing', put('messages.5.content', []), "'messages[5].content': empty array"],
  ['an empty part', put('messages.5.content.0.text', ''), "'messages[5].content[0].text'"],
  ['a part without a type', put('messages.5.content.0', {}), "'messages[5].content[0].type'"],
  ['null of the user', put('messages.7.content', null), 'expected a string, got null'],
  ['null without calls', put('messages.6.content', null), "'messages[6]': expected a string, got null"],
  ['an empty reply', put('messages.6.content', ''), "'messages[6].content': the content must not be empty"],
  ['a result that is null', put('messages.4.content', null), "'messages[4]': expected a string, got null"],
  ['a list of no calls', put('messages.6.tool_calls', []), "'messages[6].tool_calls': empty array"],
  [
    'calls of the user',
    put('messages.7.tool_calls', [{ id: 'x' }]),
    "only allowed in messages with role 'assistant'",
  ],
  ['a call without an id', put('messages.2.tool_calls.0.id', undefined), "'messages[2].tool_calls[0].id'"],
  [
    'a call without a type',
    put('messages.2.tool_calls.0.type', undefined),
    "'messages[2].tool_calls[0].type'",
  ],
  [
    'an id of 41 letters',
    both(put('messages.2.tool_calls.0.id', 'x'.repeat(41)), put('messages.4.tool_call_id', 'x'.repeat(41))),
    "'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 41",
  ],
  [
    'a name with a dot',
    put('messages.2.tool_calls.0.function.name', 'a.b'),
    "tool_calls[0].function.name': string does not match pattern",
  ],
  ['a name of 65 letters', put('messages.2.tool_calls.0.function.name', 'x'.repeat(65)), 'maximum length 64'],
  [
    'arguments as an object',
    put('messages.2.tool_calls.0.function.arguments', {}),
    "function.arguments': expected a string",
  ],
  [
    'arguments that are no JSON',
    put('messages.2.tool_calls.0.function.arguments', '{"a'),
    'the string is not valid JSON',
  ],
  ['a call without a result', splice('messages.4', 1), 'did not have response messages: a'],
  ['calls at the end', splice('messages.3', 5), 'did not have response messages: a, b'],
  [
    'something said before the results',
    splice('messages.3', 0, { role: 'user', content: 'wait' }),
    'did not have response messages: a, b',
  ],
  [
    'a result after something was said',
    splice('messages.5', 1, { role: 'tool', tool_call_id: 'z', content: '' }),
    "'tool_call_id' of 'z' not found",
  ],
  [
    'a result of no call',
    splice('messages.2', 0, { role: 'tool', tool_call_id: 'a', content: '' }),
    "must be a response to a preceeding message with 'tool_calls' (messages[2])",
  ],
  [
    'two results of one call',
    splice('messages.5', 0, { role: 'tool', tool_call_id: 'a', content: '' }),
    "'tool_call_id' of 'a' has more than one response",
  ],
  [
    'a repeated id',
    both(put('messages.2.tool_calls.1.id', 'a'), splice('messages.3', 1)),
    'the id a is used more than once',
  ],
  [
    'no tools in the list',
    both(put('tools', []), put('tool_choice', undefined)),
    "Invalid 'tools': empty array",
  ],
  ['tools that are no list', put('tools', 1), "Invalid type for 'tools'"],
  [
    '129 tools',
    put(
      'tools',
      Array.from({ length: 129 }, (_, at) => ({ type: 'function', function: { name: `t${at}` } })),
    ),
    'array too long',
  ],
  ['a tool without a type', put('tools.0.type', 1), "'tools[0].type'"],
  ['two tools of one name', put('tools.1.function.name', 'weather'), 'weather is declared more than once'],
  [
    'a tool with a dot',
    put('tools.0.function.name', 'a.b'),
    "'tools[0].function.name': string does not match",
  ],
  [
    'a choice without tools',
    put('tools', undefined),
    "'tool_choice' is only allowed when 'tools' are specified",
  ],
  [
    'a choice of no tool',
    put('tool_choice', { type: 'function', function: { name: 'x' } }),
    "the function x is not in 'tools'",
  ],
  ['half a character', put('messages.0.content', HALF), 'no low surrogate'],
]

describeRules('openai-chat', CHAT)
