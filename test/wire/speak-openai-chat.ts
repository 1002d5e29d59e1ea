/** OpenAI's chat completions, as they are streamed; also by those who are compatible with it. */
import { argsText, type Dialect, pieces, type Reply, sse, type Trouble, USED } from './speaking.ts'

const OPENAI_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'invalid_request_error',
  429: 'rate_limit_exceeded',
  500: 'server_error',
}

export const openAIRefusal = ({
  status,
  message,
  type = OPENAI_TYPES[status] ?? 'server_error',
}: Trouble): object => ({
  error: { message, type, param: null, code: status === 401 ? 'invalid_api_key' : null },
})

const USAGE = {
  prompt_tokens: USED.input,
  completion_tokens: USED.output,
  total_tokens: USED.input + USED.output,
  prompt_tokens_details: { cached_tokens: USED.cached },
  completion_tokens_details: { reasoning_tokens: 0 },
}

function deltasOf({ thought, text, calls = [] }: Reply): object[] {
  return [
    { role: 'assistant', content: '' },
    ...(thought === undefined ? [] : pieces(thought).map((piece) => ({ reasoning_content: piece }))),
    ...(text === undefined ? [] : pieces(text).map((content) => ({ content }))),
    ...calls.flatMap((call, index) => [
      {
        tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.tool, arguments: '' } }],
      },
      ...pieces(argsText(call)).map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
  ]
}

function chat(base: string, thinks: boolean): Dialect {
  return {
    vendor: 'openai-chat',
    base,
    isAsked: (path) => path === `${base}/chat/completions`,
    key: (headers) => headers.authorization?.replace('Bearer ', ''),
    events: ({ thought, ...reply }, number) => {
      const chunk = (choices: object[], more: object = {}) =>
        sse({
          id: `chatcmpl-${number}`,
          object: 'chat.completion.chunk',
          created: 1,
          model: 'gpt',
          choices,
          ...more,
        })
      const piece = (delta: object, reason: string | null = null) =>
        chunk([{ index: 0, delta, logprobs: null, finish_reason: reason }])
      const told = thinks && thought !== undefined ? { thought, ...reply } : reply
      return {
        content: deltasOf(told).map((delta) => piece(delta)),
        end: [
          piece({}, reply.isCutOff ? 'length' : reply.calls ? 'tool_calls' : 'stop'),
          chunk([], { usage: USAGE }),
          'data: [DONE]\n\n',
        ],
      }
    },
    failing: (trouble) => sse(openAIRefusal(trouble)),
    refusal: openAIRefusal,
  }
}

/** OpenAI itself tells nobody what a model thought. */
export const openAIChat: Dialect = chat('/openai/v1', false)
export const compatible: Dialect = chat('/compatible/v1', true)
