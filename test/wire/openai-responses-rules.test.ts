/** OpenAI's responses: every known way to break a request by one change. */
import { both, describeRules, HALF, put, type Row, splice } from './damage.ts'

const RESPONSES: readonly Row[] = [
  ['no model', put('model', undefined), "Missing required parameter: 'model'"],
  [
    'JSON mode, unmentioned',
    put('text', { format: { type: 'json_object' } }),
    "must contain the word 'json'",
  ],
  ['no input', put('input', []), "Invalid 'input': empty"],
  ['an empty text', put('input', ''), "Invalid 'input': empty"],
  ['an input of no kind', put('input', 5), "Missing required parameter: 'input'"],
  ['an item of no kind', put('input.1', {}), "Missing required parameter: 'input[1].type'"],
  ['a role of its own', put('input.1.role', 'model'), "Invalid value: 'model' for 'input[1].role'"],
  ['an empty content', put('input.0.content', ''), "'input[0].content': the content must not be empty"],
  ['a list of nothing', put('input.1.content', []), "'input[1].content': empty array"],
  ['an empty part', put('input.1.content.0.text', ''), "'input[1].content[0].text'"],
  [
    'a part of the other side',
    put('input.7.content.0.type', 'input_text'),
    "Invalid value: 'input_text' for 'input[7].content[0].type'",
  ],
  ['a call without a result', splice('input.6', 1), 'No tool output found for function call a.'],
  [
    'a result of no call',
    splice('input.4', 1),
    'No tool call found for function call output with call_id b.',
  ],
  [
    'a result before its call',
    splice('input.1', 0, { type: 'function_call_output', call_id: 'a', output: '' }),
    'No tool call found for function call output with call_id a.',
  ],
  [
    'two results of one call',
    splice('input.7', 0, { type: 'function_call_output', call_id: 'a', output: '' }),
    'the call a has more than one output',
  ],
  [
    'a repeated call',
    splice('input.4', 0, { type: 'function_call', call_id: 'a', name: 'x', arguments: '{}' }),
    'the call a is there more than once',
  ],
  [
    'a call without an id',
    put('input.3.call_id', undefined),
    "Missing required parameter: 'input[3].call_id'",
  ],
  [
    'an id of 65 letters',
    both(put('input.3.call_id', 'x'.repeat(65)), put('input.6.call_id', 'x'.repeat(65))),
    "'input[3].call_id': string too long. Expected a string with maximum length 64",
  ],
  [
    'the item id of a call elsewhere',
    put('input.3.id', 'call_1'),
    "Invalid 'input[3].id': 'call_1'. Expected an ID that begins with 'fc'.",
  ],
  ['the item id of reasoning elsewhere', put('input.2.id', 'x1'), "begins with 'rs'"],
  ['the item id of a message elsewhere', put('input.7.id', 'x1'), "begins with 'msg'"],
  ['an item id of 65 letters', put('input.7.id', `msg_${'x'.repeat(61)}`), "'input[7].id': string too long"],
  [
    'an item twice',
    splice('input.3', 0, { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' }),
    'Duplicate item found with id rs_1',
  ],
  ['a name with a dot', put('input.3.name', 'a.b'), "'input[3].name': string does not match pattern"],
  ['arguments as an object', put('input.3.arguments', {}), "'input[3].arguments': expected a string"],
  ['arguments that are no JSON', put('input.3.arguments', '{'), 'the string is not valid JSON'],
  [
    'a result without output',
    put('input.5.output', undefined),
    "Missing required parameter: 'input[5].output'",
  ],
  [
    'reasoning without a summary',
    put('input.2.summary', undefined),
    "Missing required parameter: 'input[2].summary'",
  ],
  [
    'reasoning that was not stored',
    put('input.2.encrypted_content', undefined),
    "Item with id 'rs_1' not found",
  ],
  [
    'a reference to what was not stored',
    splice('input.8', 0, { type: 'item_reference', id: 'msg_9' }),
    "Item with id 'msg_9' not found",
  ],
  [
    'reasoning that led to nothing',
    splice('input.8', 0, { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'x' }),
    "Item 'rs_2' of type 'reasoning' was provided without its required following item.",
  ],
  [
    'reasoning at the end',
    splice('input.9', 0, { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'x' }),
    "Item 'rs_2' of type 'reasoning' was provided without",
  ],
  [
    'reasoning before a result',
    splice('input.5', 0, { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'x' }),
    "Item 'rs_2' of type 'reasoning' was provided without",
  ],
  ['tools that are no list', put('tools', 1), "Invalid type for 'tools'"],
  ['a tool without a type', put('tools.0.type', undefined), "'tools[0].type'"],
  ['a tool with a dot', put('tools.0.name', 'a.b'), "'tools[0].name': string does not match"],
  ['two tools of one name', put('tools.1.name', 'weather'), 'weather is declared more than once'],
  ['a choice of no tool', put('tool_choice', { type: 'function', name: 'x' }), "Tool choice 'x' not found"],
  ['half a character', put('input.0.content', HALF), 'no low surrogate'],
]

describeRules('openai-responses', RESPONSES)
