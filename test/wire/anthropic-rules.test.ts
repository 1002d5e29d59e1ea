/** Anthropic's messages: every known way to break a request by one change. */
import { both, describeRules, HALF, put, type Row, splice } from './damage.ts'

const text = (words: string) => ({ type: 'text', text: words })
const unanswered = 'without `tool_result` blocks immediately after'
const ANTHROPIC: readonly Row[] = [
  ['no model', put('model', undefined), 'model: Field required'],
  ['no max_tokens', put('max_tokens', undefined), 'max_tokens: Field required'],
  ['max_tokens of 0', put('max_tokens', 0), 'max_tokens: Input should be'],
  ['no messages', put('messages', []), 'at least one message is required'],
  ['messages that are no list', put('messages', 'hi'), 'messages: Field required'],
  ['an empty system text', put('system', ''), 'system: text content blocks must be non-empty'],
  ['a blank system text', put('system.0.text', ' \n'), 'system: text content blocks must contain'],
  ['a system of numbers', put('system', 7), 'system: Input should be a valid string'],
  ['an assistant first', splice('messages.0', 1), 'first message must use the "user" role'],
  ['a role of its own', put('messages.0.role', 'tool'), "Input should be 'user' or 'assistant'"],
  ['no content', put('messages.0.content', null), 'content: Input should be a valid string'],
  ['an empty text as content', put('messages.0.content', ''), 'must have non-empty content'],
  ['a list of nothing as content', put('messages.4.content', []), 'must have non-empty content'],
  ['a blank text as content', put('messages.0.content', ' '), 'must contain non-whitespace text'],
  ['an empty text', put('messages.3.content.0.text', ''), 'text content blocks must be non-empty'],
  ['a blank text', put('messages.3.content.0.text', '\n'), 'must contain non-whitespace text'],
  ['a block without text', put('messages.3.content.0.text', undefined), 'text.text: Field required'],
  ['a block of no known type', put('messages.3.content.0.type', 'call'), "Input tag 'call'"],
  [
    'a picture without a source',
    put('messages.4.content.0', { type: 'image' }),
    'image.source: Field required',
  ],
  [
    'a reply at the end that ends in a blank',
    splice('messages.4', 1, { role: 'assistant', content: 'so ' }),
    'cannot end with trailing whitespace',
  ],
  ['no signature', put('messages.1.content.0.signature', undefined), 'thinking.signature: Field required'],
  [
    'no thinking in thinking',
    put('messages.1.content.0.thinking', undefined),
    'thinking.thinking: Field required',
  ],
  [
    'thinking of the user',
    splice('messages.4.content.0', 0, { type: 'thinking', thinking: 'x', signature: 's' }),
    'can only be in `assistant` messages',
  ],
  [
    'redacted thinking without data',
    put('messages.1.content.0', { type: 'redacted_thinking' }),
    'redacted_thinking.data: Field required',
  ],
  [
    'thinking after the text',
    both(
      splice('messages.1.content.0', 1),
      splice('messages.1.content.1', 0, { type: 'thinking', thinking: 'x', signature: 's' }),
    ),
    'Expected `thinking` or `redacted_thinking`, but found `text`',
  ],
  [
    'a turn that began without thinking',
    both(
      put('thinking', { type: 'enabled', budget_tokens: 1024 }),
      put('max_tokens', 4000),
      splice('messages.1.content.0', 1),
      splice('messages.2.content.2', 1),
      splice('messages.3', 2),
    ),
    'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`',
  ],
  [
    'thinking at the end',
    splice('messages.3.content.1', 0, { type: 'thinking', thinking: 'x', signature: 's' }),
    'final block in an assistant message cannot be `thinking`',
  ],
  [
    'an id with a dot',
    both(put('messages.1.content.2.id', 'f.a:0'), put('messages.2.content.0.tool_use_id', 'f.a:0')),
    "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
  ],
  ['a name with a dot', put('messages.1.content.2.name', 'a.b'), 'tool_use.name: String should match'],
  [
    'a name of 129 letters',
    put('messages.1.content.2.name', 'x'.repeat(129)),
    'tool_use.name: String should match',
  ],
  ['arguments as text', put('messages.1.content.2.input', '{}'), 'input: Input should be a valid dictionary'],
  ['arguments as a list', put('messages.1.content.2.input', []), 'input: Input should be a valid dictionary'],
  [
    'a call of the user',
    splice('messages.4.content.0', 0, { type: 'tool_use', id: 'z', name: 'time', input: {} }),
    '`tool_use` blocks can only be in `assistant` messages',
  ],
  [
    'a repeated id in one message',
    both(put('messages.1.content.3.id', 'a'), put('messages.2.content.1.tool_use_id', 'a')),
    '`tool_use` ids must be unique',
  ],
  [
    'a repeated id in a later round',
    splice(
      'messages.4',
      0,
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'time', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] },
    ),
    'messages.4.content.0: `tool_use` ids must be unique',
  ],
  [
    'a call without a result',
    splice('messages.2.content.1', 1),
    `messages.1: \`tool_use\` ids were found ${unanswered}: b`,
  ],
  ['a round without results', splice('messages.2', 1), `${unanswered}: a, b`],
  ['calls at the end', splice('messages.2', 3), `${unanswered}: a, b`],
  [
    'something said before the results',
    splice('messages.2', 0, { role: 'user', content: 'wait' }),
    `${unanswered}: a, b`,
  ],
  [
    'results in two messages',
    splice(
      'messages.2',
      1,
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'b' }] },
    ),
    `${unanswered}: b`,
  ],
  [
    'a result of no call',
    put('messages.2.content.1.tool_use_id', 'z'),
    'messages.2.content.1: unexpected `tool_use_id` found in `tool_result` blocks: z',
  ],
  [
    'a result long after',
    splice('messages.4.content.0', 0, { type: 'tool_result', tool_use_id: 'a' }),
    'messages.4.content.0: unexpected `tool_use_id`',
  ],
  [
    'two results of one call',
    splice('messages.2.content.1', 0, { type: 'tool_result', tool_use_id: 'a' }),
    'each tool_use must have a single result',
  ],
  [
    'a text before the results',
    splice('messages.2.content.0', 0, text('so')),
    '`tool_result` blocks must come first',
  ],
  [
    'a result of the assistant',
    splice('messages.3.content.0', 0, { type: 'tool_result', tool_use_id: 'a' }),
    '`tool_result` blocks can only be in `user` messages',
  ],
  [
    'an error without words',
    put('messages.2.content.1.content', ''),
    'content cannot be empty if `is_error` is true',
  ],
  [
    'an empty text in a result',
    put('messages.2.content.0.content', [text('')]),
    'text content blocks must be non-empty',
  ],
  [
    'a result that is a number',
    put('messages.2.content.0.content', 5),
    'tool_result.content: Input should be',
  ],
  ['tools that are no list', put('tools', {}), 'tools: Input should be a valid list'],
  ['a tool with a dot', put('tools.0.name', 'a.b'), 'tools.0.custom.name: String should match'],
  ['two tools of one name', put('tools.1.name', 'weather'), 'Tool names must be unique'],
  ['a tool without a schema', put('tools.0.input_schema', {}), "input_schema.type: Input should be 'object'"],
  ['a choice without tools', put('tools', undefined), 'tool_choice may only be specified while providing'],
  [
    'a choice of no tool',
    put('tool_choice', { type: 'tool', name: 'x' }),
    "Tool 'x' not found in provided tools",
  ],
  [
    'too small a budget',
    put('thinking', { type: 'enabled', budget_tokens: 5 }),
    'greater than or equal to 1024',
  ],
  [
    'a budget over the limit',
    put('thinking', { type: 'enabled', budget_tokens: 2000 }),
    '`max_tokens` must be greater than',
  ],
  [
    'thinking and temperature',
    both(
      put('thinking', { type: 'enabled', budget_tokens: 1024 }),
      put('max_tokens', 4000),
      put('temperature', 0),
    ),
    '`temperature` may only be set to 1',
  ],
  [
    'thinking and a forced tool',
    both(
      put('thinking', { type: 'enabled', budget_tokens: 1024 }),
      put('max_tokens', 4000),
      put('tool_choice', { type: 'any' }),
    ),
    'Thinking may not be enabled when tool_choice forces',
  ],
  ['half a character', put('messages.0.content', HALF), 'no low surrogate'],
]

describeRules('anthropic', ANTHROPIC)
