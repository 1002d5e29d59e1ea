/** Research in the OpenAPI document. */
import type { JsonObject } from '../../protocol/index.ts'
import { IDEMPOTENCY_KEY, type Operation, objectSchema } from '../operation.ts'

const TEXT: JsonObject = { type: 'string' }
const COUNT: JsonObject = { type: 'integer', minimum: 0 }
const TIME: JsonObject = { type: 'string', format: 'date-time' }

const SOURCE = objectSchema({
  number: { type: 'integer', minimum: 1 },
  kind: TEXT,
  passage_id: TEXT,
  document_id: TEXT,
  title: TEXT,
  source: TEXT,
  page: { type: ['integer', 'null'] },
  quote: TEXT,
  score: { type: 'number' },
})

const CHAT: JsonObject = {
  ...objectSchema(
    {
      message: { type: 'string', pattern: '\\S', description: 'The question.' },
      session_id: {
        type: ['string', 'null'],
        minLength: 1,
        maxLength: 128,
        description: 'The session to go on with. Default: a new one.',
      },
      top_k: { type: ['integer', 'null'], minimum: 1, maximum: 20, description: 'Passages of a search.' },
    },
    ['message'],
  ),
  additionalProperties: false,
}

const REPLY = objectSchema(
  {
    answer: TEXT,
    sources: { type: 'array', items: SOURCE },
    session_id: TEXT,
    message_count: COUNT,
    confidence_score: { type: ['number', 'null'] },
  },
  ['answer', 'sources', 'session_id', 'message_count', 'confidence_score'],
)

const MEMORY = objectSchema(
  {
    session_id: TEXT,
    message_count: COUNT,
    messages: {
      type: 'array',
      items: objectSchema({ role: { enum: ['user', 'assistant'] }, content: TEXT, at: TIME }),
    },
    created_at: TIME,
    active_at: TIME,
  },
  ['session_id', 'message_count', 'messages'],
)

const PASSAGE = objectSchema(
  {
    id: TEXT,
    document_id: TEXT,
    title: TEXT,
    source: TEXT,
    page: { type: ['integer', 'null'] },
    before: TEXT,
    text: TEXT,
    after: TEXT,
  },
  ['id', 'document_id', 'title', 'source', 'text'],
)

export const OPERATIONS: readonly Operation[] = [
  {
    method: 'POST',
    path: '/chat',
    id: 'researchChat',
    summary: 'Asks a question, and gives the answer with its sources',
    headers: IDEMPOTENCY_KEY,
    body: CHAT,
    responses: { 200: { description: 'The answer', schema: REPLY } },
  },
  {
    method: 'GET',
    path: '/memory/{session}',
    id: 'researchGetSession',
    summary: 'The messages of a session',
    responses: { 200: { description: 'The session', schema: MEMORY } },
  },
  {
    method: 'DELETE',
    path: '/memory/{session}',
    id: 'researchDeleteSession',
    summary: 'Erases a session',
    responses: { 204: { description: 'It is gone' } },
  },
  {
    method: 'GET',
    path: '/passages/{id}',
    id: 'researchGetPassage',
    summary: 'A passage of a document, with the text around it',
    responses: { 200: { description: 'The passage', schema: PASSAGE } },
  },
]
