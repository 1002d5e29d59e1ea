/** Chats of the AI SDK in the OpenAPI document: the fields that are read, as `DefaultChatTransport` sends them. */
import type { JsonObject } from '../../protocol/index.ts'
import { type Operation, objectSchema } from '../operation.ts'

const TEXT: JsonObject = { type: 'string' }

const CHAT = objectSchema(
  {
    id: { type: 'string', minLength: 1, description: 'The chat: an id of a conversation.' },
    messages: {
      type: 'array',
      minItems: 1,
      items: objectSchema(
        { id: TEXT, role: TEXT, parts: { type: 'array', items: objectSchema({ type: TEXT }) } },
        ['role', 'parts'],
      ),
      description:
        'Only the last one is read: a message of the person, or the reply with approvals and results.',
    },
    trigger: { enum: ['submit-message', 'regenerate-message'] },
    messageId: TEXT,
    answers: { type: 'object', description: 'Answers to open requests by their ids.' },
  },
  ['id', 'messages'],
)

const STREAM = { description: 'The UI message stream of the AI SDK, version 1', types: ['text/event-stream'] }

/** `name`: the beginning of the names of the operations. */
export function operationsBelow(path: string, name: string): readonly Operation[] {
  return [
    {
      method: 'POST',
      path,
      id: name,
      summary: 'Sends the newest message or answers, and streams the reply',
      body: CHAT,
      responses: { 200: STREAM },
    },
    {
      method: 'GET',
      path: `${path}/{id}/stream`,
      id: `${name}Resume`,
      summary: 'The message under way, from its beginning',
      responses: { 200: STREAM, 204: { description: 'No turn runs' } },
    },
    {
      method: 'DELETE',
      path: `${path}/{id}/stream`,
      id: `${name}Stop`,
      summary: 'Cancels the running turn',
      responses: { 204: { description: 'It is requested, or no turn runs' } },
    },
  ]
}
