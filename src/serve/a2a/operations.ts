/** A2A in the OpenAPI document: the outlines of requests and answers. The codecs of the package read and write them whole. */
import type { JsonObject } from '../../protocol/index.ts'
import { type Operation, objectSchema } from '../operation.ts'
import { CARD_PATH, ROOT } from './card.ts'

const TEXT: JsonObject = { type: 'string' }
const NUMBER: JsonObject = { type: 'integer', minimum: 0 }
const AGENT = `${ROOT}/{agent}`
const TASK_PATH = `${AGENT}/tasks/{id}`
const CONFIGS_PATH = `${TASK_PATH}/pushNotificationConfigs`
const VERSION = { 'A2A-Version': { ...TEXT, description: '1.0; without it, 0.3 over JSON-RPC.' } }

const MESSAGE = objectSchema(
  {
    messageId: TEXT,
    role: { description: 'ROLE_USER; user in 0.3.' },
    parts: { type: 'array', minItems: 1, items: { type: 'object' } },
    contextId: TEXT,
    taskId: TEXT,
    metadata: { type: 'object' },
  },
  ['messageId', 'role', 'parts'],
)
const SEND = objectSchema(
  { message: MESSAGE, configuration: { type: 'object' }, metadata: { type: 'object' } },
  ['message'],
)
const TASK = objectSchema({ id: TEXT, contextId: TEXT, status: { type: 'object' } }, ['id', 'status'])
const CARD = objectSchema({ name: TEXT, description: TEXT, skills: { type: 'array' } }, ['name', 'skills'])
const CONFIG = objectSchema({ id: TEXT, url: TEXT, token: TEXT, authentication: { type: 'object' } })
const RPC = objectSchema({ jsonrpc: { const: '2.0' }, id: {}, method: TEXT, params: { type: 'object' } }, [
  'jsonrpc',
  'method',
])
const RPC_ANSWER = objectSchema(
  { jsonrpc: { const: '2.0' }, id: {}, result: {}, error: { type: 'object' } },
  ['jsonrpc'],
)

export const ERROR_SCHEMA: JsonObject = objectSchema({ error: { type: 'object' } }, ['error'])

const LIST = {
  contextId: TEXT,
  status: TEXT,
  pageToken: TEXT,
  statusTimestampAfter: TEXT,
  includeArtifacts: { type: 'boolean' },
  pageSize: NUMBER,
  historyLength: NUMBER,
} as const

type Described = Pick<Operation, 'method' | 'path' | 'id' | 'summary'> &
  Partial<Pick<Operation, 'query' | 'body' | 'isPublic'>>

/** An operation of HTTP+JSON whose answer has the content type of A2A. */
function rest(described: Described, response: Operation['responses']): Operation {
  return { headers: VERSION, ...described, id: `a2a${described.id}`, responses: response }
}

const TYPE = 'application/a2a+json'

const json = (description: string, schema: JsonObject): Operation['responses'] => ({
  200: { description, type: TYPE, schema },
})
const STREAM: Operation['responses'] = {
  200: { description: 'Events of the task', types: ['text/event-stream'] },
}
const task = json('The task', TASK)

export const OPERATIONS: readonly Operation[] = [
  {
    method: 'GET',
    path: CARD_PATH,
    id: 'a2aDefaultCard',
    summary: 'The card of the default agent',
    isPublic: true,
    responses: { 200: { description: 'The card', schema: CARD } },
  },
  {
    method: 'GET',
    path: `${AGENT}${CARD_PATH}`,
    id: 'a2aCard',
    summary: 'The card of an agent',
    isPublic: true,
    responses: { 200: { description: 'The card', schema: CARD } },
  },
  {
    method: 'POST',
    path: AGENT,
    id: 'a2aJsonRpc',
    summary:
      'A2A over JSON-RPC: SendMessage, SendStreamingMessage, GetTask, ListTasks, CancelTask, SubscribeToTask, …',
    headers: VERSION,
    body: RPC,
    responses: {
      200: {
        description: 'The answer, or a stream of answers',
        schema: RPC_ANSWER,
        types: ['text/event-stream'],
      },
    },
  },
  rest(
    {
      method: 'POST',
      path: `${AGENT}/message:send`,
      id: 'SendMessage',
      summary: 'Sends a message',
      body: SEND,
    },
    json('The task', objectSchema({ task: TASK }, ['task'])),
  ),
  rest(
    {
      method: 'POST',
      path: `${AGENT}/message:stream`,
      id: 'SendStreamingMessage',
      summary: 'Sends a message, and streams its task',
      body: SEND,
    },
    STREAM,
  ),
  rest(
    { method: 'GET', path: `${AGENT}/tasks`, id: 'ListTasks', summary: 'Your tasks', query: LIST },
    json('A page of them', objectSchema({ tasks: { type: 'array', items: TASK } }, ['tasks'])),
  ),
  rest(
    {
      method: 'GET',
      path: TASK_PATH,
      id: 'GetTask',
      summary: 'A task',
      query: { historyLength: NUMBER },
    },
    task,
  ),
  rest({ method: 'POST', path: `${TASK_PATH}:cancel`, id: 'CancelTask', summary: 'Cancels a task' }, task),
  rest(
    { method: 'GET', path: `${TASK_PATH}:subscribe`, id: 'SubscribeToTask', summary: 'Follows a task' },
    STREAM,
  ),
  rest(
    {
      method: 'POST',
      path: `${TASK_PATH}:subscribe`,
      id: 'SubscribeToTaskByPost',
      summary: 'Follows a task',
    },
    STREAM,
  ),
  rest(
    {
      method: 'POST',
      path: CONFIGS_PATH,
      id: 'CreatePushConfig',
      summary: 'Registers an address for push notifications',
      body: CONFIG,
    },
    { 201: { description: 'The config', type: TYPE, schema: CONFIG } },
  ),
  rest(
    { method: 'GET', path: CONFIGS_PATH, id: 'ListPushConfigs', summary: 'The addresses of a task' },
    json('The configs', objectSchema({ configs: { type: 'array', items: CONFIG } })),
  ),
  rest(
    { method: 'GET', path: `${CONFIGS_PATH}/{config}`, id: 'GetPushConfig', summary: 'One address' },
    json('The config', CONFIG),
  ),
  rest(
    {
      method: 'DELETE',
      path: `${CONFIGS_PATH}/{config}`,
      id: 'DeletePushConfig',
      summary: 'Removes an address',
    },
    { 204: { description: 'It is gone' } },
  ),
  rest(
    {
      method: 'GET',
      path: `${AGENT}/extendedAgentCard`,
      id: 'ExtendedCard',
      summary: 'The card for a known caller',
    },
    json('The card', CARD),
  ),
]
