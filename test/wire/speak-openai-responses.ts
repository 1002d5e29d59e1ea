/** OpenAI's responses, as they are streamed. */
import { openAIRefusal } from './speak-openai-chat.ts'
import { argsText, type Call, type Dialect, pieces, type Reply, sse, USED } from './speaking.ts'

type Events = { readonly type: string; readonly [field: string]: unknown }[]

function thoughtEvents(thought: string, id: string, at: number): Events {
  const place = { item_id: id, output_index: at, summary_index: 0 }
  const item = { type: 'reasoning', id, summary: [], encrypted_content: '' }
  const summary = { type: 'summary_text', text: thought }
  return [
    { type: 'response.output_item.added', output_index: at, item },
    { type: 'response.reasoning_summary_part.added', ...place, part: { ...summary, text: '' } },
    ...pieces(thought).map((delta) => ({ type: 'response.reasoning_summary_text.delta', ...place, delta })),
    { type: 'response.reasoning_summary_text.done', ...place, text: thought },
    { type: 'response.reasoning_summary_part.done', ...place, part: summary },
    {
      type: 'response.output_item.done',
      output_index: at,
      item: { ...item, summary: [summary], encrypted_content: `openai-encrypted ${thought}` },
    },
  ]
}

function textEvents(text: string, id: string, at: number): Events {
  const place = { item_id: id, output_index: at, content_index: 0 }
  const item = { type: 'message', id, status: 'in_progress', role: 'assistant', content: [] }
  const part = { type: 'output_text', text, annotations: [], logprobs: [] }
  return [
    { type: 'response.output_item.added', output_index: at, item },
    { type: 'response.content_part.added', ...place, part: { ...part, text: '' } },
    ...pieces(text).map((delta) => ({ type: 'response.output_text.delta', ...place, delta, logprobs: [] })),
    { type: 'response.output_text.done', ...place, text, logprobs: [] },
    { type: 'response.content_part.done', ...place, part },
    {
      type: 'response.output_item.done',
      output_index: at,
      item: { ...item, status: 'completed', content: [part] },
    },
  ]
}

function callEvents(call: Call, id: string, at: number): Events {
  const place = { item_id: id, output_index: at }
  const item = {
    type: 'function_call',
    id,
    call_id: call.id,
    name: call.tool,
    arguments: '',
    status: 'in_progress',
  }
  const args = argsText(call)
  return [
    { type: 'response.output_item.added', output_index: at, item },
    ...pieces(args).map((delta) => ({ type: 'response.function_call_arguments.delta', ...place, delta })),
    { type: 'response.function_call_arguments.done', ...place, arguments: args },
    {
      type: 'response.output_item.done',
      output_index: at,
      item: { ...item, arguments: args, status: 'completed' },
    },
  ]
}

function contentOf({ thought, text, calls = [] }: Reply, number: number): Events {
  const events: Events = []
  let at = 0
  if (thought !== undefined) events.push(...thoughtEvents(thought, `rs_${number}`, at++))
  if (text !== undefined) events.push(...textEvents(text, `msg_${number}`, at++))
  for (const call of calls) events.push(...callEvents(call, `fc_${number}_${at}`, at++))
  return events
}

const CODES: Readonly<Record<number, string>> = { 400: 'invalid_prompt', 429: 'rate_limit_exceeded' }

function ending(response: object, { isCutOff }: Reply): Events[number] {
  if (!isCutOff) return { type: 'response.completed', response: { ...response, status: 'completed' } }
  const incomplete_details = { reason: 'max_output_tokens' }
  return { type: 'response.incomplete', response: { ...response, status: 'incomplete', incomplete_details } }
}

const send = (data: Events[number]) => sse(data, data.type)

export const openAIResponses: Dialect = {
  vendor: 'openai-responses',
  base: '/openai/v1',
  isAsked: (path) => path === '/openai/v1/responses',
  key: (headers) => headers.authorization?.replace('Bearer ', ''),
  events: (reply, number) => {
    const response = { id: `resp_${number}`, object: 'response', created_at: 1, model: 'gpt', output: [] }
    const usage = {
      input_tokens: USED.input,
      input_tokens_details: { cached_tokens: USED.cached },
      output_tokens: USED.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: USED.input + USED.output,
    }
    const begin = { ...response, status: 'in_progress', usage: null }
    return {
      content: [
        { type: 'response.created', response: begin },
        { type: 'response.in_progress', response: begin },
        ...contentOf(reply, number),
      ].map(send),
      end: [send(ending({ ...response, usage }, reply))],
    }
  },
  failing: ({ status, message, type = CODES[status] ?? 'server_error' }) =>
    send({ type: 'error', sequence_number: 9, code: type, message, param: null }),
  refusal: openAIRefusal,
}
