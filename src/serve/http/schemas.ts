/** JSON Schemas of what the routes take and give. */
import type { JsonObject } from '../../protocol/index.ts'

const TEXT: JsonObject = { type: 'string' }
const OBJECT: JsonObject = { type: 'object' }
const POSITION: JsonObject = { type: 'integer', minimum: 0 }

function object(properties: JsonObject, required: readonly string[] = []): JsonObject {
  return { type: 'object', properties, required: [...required], additionalProperties: false }
}

const CONVERSATION_ID: JsonObject = { type: 'string', minLength: 1, maxLength: 512 }

export const CREATE: JsonObject = object({ agent: { type: 'string', minLength: 1, maxLength: 64 } }, [
  'agent',
])

const TEXTS: JsonObject = { type: 'array', items: TEXT }

export const NAMES: JsonObject = {
  type: 'object',
  required: ['agents', 'graphs'],
  properties: { agents: TEXTS, graphs: TEXTS },
}

const CREDENTIALS: JsonObject = {
  type: 'object',
  description: 'Secrets for the tools of this turn. Held in memory, never stored.',
}

const MESSAGE_PART: JsonObject = {
  oneOf: [
    object({ type: { const: 'text' }, text: TEXT }, ['type', 'text']),
    object({ type: { const: 'file' }, mediaType: TEXT, name: TEXT, data: TEXT }, [
      'type',
      'mediaType',
      'data',
    ]),
  ],
}

export const SEND: JsonObject = object({
  message: {
    description: 'A text that is not blank, or parts of which one is.',
    oneOf: [{ type: 'string' }, { type: 'array', items: MESSAGE_PART }],
  },
  values: { ...OBJECT, description: 'For a graph, instead of a message.' },
  continue: { const: true, description: 'Goes on with a turn that was cut short, instead of a message.' },
  whileBusy: { enum: ['queue', 'steer', 'interrupt', 'reject'] },
  metadata: OBJECT,
  credentials: CREDENTIALS,
})

export const ANSWER: JsonObject = object(
  { answers: { type: 'object', minProperties: 1 }, credentials: CREDENTIALS },
  ['answers'],
)

export const CANCEL: JsonObject = object({
  reason: { type: 'string', maxLength: 1000 },
  turn: { ...POSITION, description: 'The newest turn to cancel: a later one is left alone.' },
})

export const FORK: JsonObject = object({ at: { type: 'integer', minimum: 1 } })

export const LIMIT: JsonObject = { type: 'integer', minimum: 1, maximum: 1000 }
export const SINCE: JsonObject = { ...POSITION, description: 'The position of the last entry that you have.' }
export const WAIT: JsonObject = {
  type: 'boolean',
  description: 'Answer when the turn has ended, with its outcome.',
}

export const CONVERSATION: JsonObject = {
  type: 'object',
  required: ['contextId', 'name', 'kind', 'status', 'turn', 'seq', 'createdAt', 'activeAt'],
  properties: {
    contextId: CONVERSATION_ID,
    name: TEXT,
    kind: { enum: ['agent', 'graph'] },
    status: { enum: ['idle', 'running', 'waiting', 'paused'] },
    turn: POSITION,
    seq: POSITION,
    outcome: TEXT,
    createdAt: { type: 'string', format: 'date-time' },
    activeAt: { type: 'string', format: 'date-time' },
    metadata: OBJECT,
    usage: OBJECT,
  },
}

export const ACCEPTED: JsonObject = {
  type: 'object',
  required: ['contextId', 'since'],
  properties: {
    contextId: CONVERSATION_ID,
    since: {
      ...POSITION,
      description: 'Pass it to the stream of events to see the turn from its first entry.',
    },
  },
}

export const OUTCOME: JsonObject = {
  type: 'object',
  required: ['contextId', 'status', 'reason', 'turn'],
  properties: {
    contextId: CONVERSATION_ID,
    status: { enum: ['completed', 'input-required', 'auth-required', 'failed', 'cancelled'] },
    reason: TEXT,
    turn: POSITION,
    text: TEXT,
    output: {},
    state: {},
    usage: OBJECT,
    error: OBJECT,
    requests: { type: 'array', items: OBJECT },
  },
}

export function listOf(name: string, item: JsonObject = OBJECT): JsonObject {
  return {
    type: 'object',
    required: [name],
    properties: { [name]: { type: 'array', items: item }, next: TEXT },
  }
}
