/** The OpenAI API in the OpenAPI document: the fields that are read and given here, not all that vendors have. */
import type { JsonObject } from '../../protocol/index.ts'
import { IDEMPOTENCY_KEY, type Operation, objectSchema } from '../operation.ts'

const TEXT: JsonObject = { type: 'string' }
const NAME: JsonObject = { type: 'string', minLength: 1, description: 'The name of an agent or flow.' }
const COUNT: JsonObject = { type: 'integer', minimum: 0 }
const CONTENT: JsonObject = {
  oneOf: [TEXT, { type: 'array', items: objectSchema({ type: TEXT }) }],
  description: 'A text, or parts: texts, images and files.',
}
const MESSAGE: JsonObject = objectSchema({ role: TEXT, content: CONTENT }, ['role'])
const CONVERSATION: JsonObject = { ...TEXT, description: 'The name of the conversation to go on with.' }
const HEADERS = { 'X-Conversation-Id': CONVERSATION, ...IDEMPOTENCY_KEY }
const STREAMS = ['text/event-stream']

const MODEL = objectSchema({ id: TEXT, object: { const: 'model' }, created: COUNT, owned_by: TEXT }, [
  'id',
  'object',
])

const CHAT = objectSchema(
  {
    model: NAME,
    messages: { type: 'array', minItems: 1, items: MESSAGE, description: 'The last one is the user’s.' },
    stream: { type: ['boolean', 'null'] },
    stream_options: { ...objectSchema({ include_usage: { type: 'boolean' } }), type: ['object', 'null'] },
    user: CONVERSATION,
  },
  ['model', 'messages'],
)

const COMPLETION = objectSchema(
  {
    id: TEXT,
    object: { const: 'chat.completion' },
    created: COUNT,
    model: TEXT,
    choices: {
      type: 'array',
      items: objectSchema({
        index: COUNT,
        message: objectSchema({ role: { const: 'assistant' }, content: TEXT }, ['role', 'content']),
        finish_reason: { enum: ['stop', 'length'] },
      }),
    },
    usage: objectSchema({ prompt_tokens: COUNT, completion_tokens: COUNT, total_tokens: COUNT }),
  },
  ['id', 'object', 'created', 'model', 'choices', 'usage'],
)

const CREATE_RESPONSE = objectSchema(
  {
    model: NAME,
    input: { oneOf: [TEXT, { type: 'array', minItems: 1, items: MESSAGE }] },
    instructions: { type: ['string', 'null'] },
    previous_response_id: { type: ['string', 'null'] },
    conversation: { description: 'The name of the conversation, or an object with its id.' },
    stream: { type: ['boolean', 'null'] },
    user: CONVERSATION,
  },
  ['model', 'input'],
)

const RESPONSE = objectSchema(
  {
    id: TEXT,
    object: { const: 'response' },
    created_at: COUNT,
    status: { enum: ['in_progress', 'completed', 'incomplete', 'failed', 'cancelled'] },
    model: TEXT,
    output: {
      type: 'array',
      items: objectSchema({ type: { const: 'message' }, content: { type: 'array' } }),
    },
    error: { type: ['object', 'null'] },
    previous_response_id: { type: ['string', 'null'] },
    usage: { type: ['object', 'null'] },
  },
  ['id', 'object', 'created_at', 'status', 'model', 'output'],
)

export const ERROR_SCHEMA: JsonObject = objectSchema(
  { error: objectSchema({ message: TEXT, type: TEXT, param: {}, code: TEXT }, ['message', 'type', 'code']) },
  ['error'],
)

export const OPERATIONS: readonly Operation[] = [
  {
    method: 'GET',
    path: '/v1/models',
    id: 'openaiListModels',
    summary: 'Agents and flows as models',
    responses: {
      200: {
        description: 'The models',
        schema: objectSchema({ object: { const: 'list' }, data: { type: 'array', items: MODEL } }, [
          'object',
          'data',
        ]),
      },
    },
  },
  {
    method: 'GET',
    path: '/v1/models/{model}',
    id: 'openaiGetModel',
    summary: 'One model',
    responses: { 200: { description: 'The model', schema: MODEL } },
  },
  {
    method: 'POST',
    path: '/v1/chat/completions',
    id: 'openaiCreateChatCompletion',
    summary: 'Sends the newest message, and gives the reply',
    headers: HEADERS,
    body: CHAT,
    responses: {
      200: { description: 'The reply, or a stream of its chunks', schema: COMPLETION, types: STREAMS },
    },
  },
  {
    method: 'POST',
    path: '/v1/responses',
    id: 'openaiCreateResponse',
    summary: 'Sends the newest message, and gives the reply as a response',
    headers: HEADERS,
    body: CREATE_RESPONSE,
    responses: {
      200: { description: 'The response, or a stream of its events', schema: RESPONSE, types: STREAMS },
    },
  },
  {
    method: 'GET',
    path: '/v1/responses/{id}',
    id: 'openaiGetResponse',
    summary: 'A response, as far as it is',
    query: { stream: { type: 'boolean', description: 'As events, from its beginning.' } },
    responses: {
      200: { description: 'The response, or a stream of its events', schema: RESPONSE, types: STREAMS },
    },
  },
  {
    method: 'POST',
    path: '/v1/responses/{id}/cancel',
    id: 'openaiCancelResponse',
    summary: 'Cancels the turn of a response',
    responses: { 200: { description: 'The response', schema: RESPONSE } },
  },
]
