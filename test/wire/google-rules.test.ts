/** Gemini's contents: every known way to break a request by one change. */
import { both, describeRules, HALF, put, type Row, splice } from './damage.ts'

const name = 'Invalid function name. Must start with a letter or an underscore.'
const GOOGLE: readonly Row[] = [
  [
    'JSON mode beside tools',
    put('generationConfig', { responseMimeType: 'application/json' }),
    "Function calling with a response mime type: 'application/json' is unsupported",
  ],
  ['no contents', put('contents', []), 'contents is not specified'],
  ['contents that are no list', put('contents', 'hi'), 'contents is not specified'],
  ['a model first', splice('contents.0', 1), 'the first turn of the conversation has the role user'],
  ['a role of its own', put('contents.0.role', 'assistant'), 'Please use a valid role: user, model'],
  ['no parts', put('contents.0.parts', []), 'contents[0].parts: contents.parts must not be empty'],
  ['parts that are no list', put('contents.0.parts', null), 'contents.parts must not be empty'],
  ['a part of no kind', put('contents.0.parts.0', {}), "required oneof field 'data'"],
  ['a part of two kinds', put('contents.0.parts.0.inlineData', {}), "required oneof field 'data'"],
  [
    'an empty text',
    put('contents.4.parts.0.text', ''),
    'contents[4].parts[0].text: Unable to submit request because it has an empty text',
  ],
  ['an empty system text', put('systemInstruction.parts.0.text', ''), 'system_instruction.parts[0].text'],
  [
    'calls after the model',
    splice('contents.1', 0, { role: 'model', parts: [{ text: 'so' }] }),
    'function call turn comes immediately after a user turn',
  ],
  ['calls of the user', put('contents.1.role', 'user'), 'function calls have the role model'],
  [
    'calls at the end',
    splice('contents.2', 4),
    'a function call turn is followed by a function response turn',
  ],
  [
    'something said before the results',
    splice('contents.2', 0, { role: 'user', parts: [{ text: 'wait' }] }),
    'function response turn comes immediately after a function call turn',
  ],
  ['fewer results than calls', splice('contents.2.parts.1', 1), 'number of function response parts is equal'],
  [
    'more results than calls',
    splice('contents.2.parts.1', 0, { functionResponse: { name: 'x', response: {} } }),
    'number of function response parts is equal',
  ],
  ['results of the model', put('contents.2.role', 'model'), 'function responses have the role user'],
  [
    'results in another order',
    both(
      put('contents.2.parts.0.functionResponse.name', 'time'),
      put('contents.2.parts.1.functionResponse.name', 'weather'),
    ),
    'the function response time comes where the function weather was called',
  ],
  [
    'a result with the id of another call',
    put('contents.2.parts.0.functionResponse.id', 'z'),
    'has the id of its call, a',
  ],
  [
    'a call that begins with a digit',
    both(
      put('contents.1.parts.1.functionCall.name', '7'),
      put('contents.2.parts.0.functionResponse.name', '7'),
    ),
    name,
  ],
  ['a call of 65 letters', put('contents.1.parts.1.functionCall.name', 'x'.repeat(65)), name],
  ['a result without a name', put('contents.2.parts.0.functionResponse.name', ''), 'Name cannot be empty'],
  [
    'arguments as text',
    put('contents.1.parts.1.functionCall.args', '{}'),
    'args: Invalid value: Struct expected',
  ],
  [
    'a result as text',
    put('contents.2.parts.0.functionResponse.response', 'sun'),
    'response: Invalid value: Struct expected',
  ],
  [
    'a tool with a blank',
    put('tools.0.functionDeclarations.0.name', 'a b'),
    `function_declarations[0].name: ${name}`,
  ],
  [
    'two tools of one name',
    put('tools.0.functionDeclarations.1.name', 'weather'),
    'Duplicate function declaration found: weather',
  ],
  ['half a character', put('contents.0.parts.0.text', HALF), 'no low surrogate'],
]

describeRules('google', GOOGLE)
