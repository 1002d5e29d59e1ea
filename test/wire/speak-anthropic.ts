/** Anthropic's messages, as they are streamed. */
import { argsText, type Dialect, pieces, type Reply, sse, USED } from './speaking.ts'

const TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  429: 'rate_limit_error',
  500: 'api_error',
  529: 'overloaded_error',
}

const event = (data: { readonly type: string; readonly [field: string]: unknown }) => sse(data, data.type)

function block(index: number, content: object, deltas: readonly object[]): string[] {
  return [
    event({ type: 'content_block_start', index, content_block: content }),
    ...deltas.map((delta) => event({ type: 'content_block_delta', index, delta })),
    event({ type: 'content_block_stop', index }),
  ]
}

function contentOf({ thought, text, calls = [] }: Reply): string[] {
  const events: string[] = []
  let index = 0
  const add = (content: object, deltas: readonly object[]) => events.push(...block(index++, content, deltas))
  if (thought !== undefined)
    add({ type: 'thinking', thinking: '', signature: '' }, [
      ...pieces(thought).map((thinking) => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature: `anthropic-signature-of ${thought}` },
    ])
  if (text !== undefined)
    add(
      { type: 'text', text: '' },
      pieces(text).map((piece) => ({ type: 'text_delta', text: piece })),
    )
  for (const call of calls)
    add(
      { type: 'tool_use', id: call.id, name: call.tool, input: {} },
      pieces(argsText(call)).map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
    )
  return events
}

function stopReason({ calls, isCutOff }: Reply): string {
  if (isCutOff) return 'max_tokens'
  return calls ? 'tool_use' : 'end_turn'
}

export const anthropic: Dialect = {
  vendor: 'anthropic',
  base: '/anthropic/v1',
  isAsked: (path) => path === '/anthropic/v1/messages',
  key: (headers) => headers['x-api-key']?.toString(),
  events: (reply, number) => ({
    content: [
      event({
        type: 'message_start',
        message: {
          id: `msg_${number}`,
          type: 'message',
          role: 'assistant',
          model: 'claude',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: {
            input_tokens: USED.input - USED.cached,
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: USED.cached,
            output_tokens: 1,
          },
        },
      }),
      event({ type: 'ping' }),
      ...contentOf(reply),
    ],
    end: [
      event({
        type: 'message_delta',
        delta: { stop_reason: stopReason(reply), stop_sequence: null },
        usage: { output_tokens: USED.output },
      }),
      event({ type: 'message_stop' }),
    ],
  }),
  failing: ({ status, message, type = TYPES[status] }) => event({ type: 'error', error: { type, message } }),
  refusal: ({ status, message, type = TYPES[status] }) => ({
    type: 'error',
    error: { type, message },
    request_id: 'req_1',
  }),
}
