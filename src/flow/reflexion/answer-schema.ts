/** The structured answer of a model: the answer, its critique, and what to search for. */
import type { JsonObject } from '../../protocol/index.ts'
import { jsonSchema, type StandardSchema } from '../../tool/index.ts'

export type Reflection = {
  readonly missing: string
  readonly superfluous: string
}

export type Draft = {
  readonly answer: string
  readonly reflection: Reflection
  readonly queries: readonly string[]
  readonly references?: readonly string[]
}

const TEXT: JsonObject = { type: 'string', minLength: 1 }
const MOST_QUERIES = 3

function schemaOf(leastQueries: number, more: JsonObject): JsonObject {
  return {
    type: 'object',
    properties: {
      answer: TEXT,
      reflection: {
        type: 'object',
        properties: { missing: { type: 'string' }, superfluous: { type: 'string' } },
        required: ['missing', 'superfluous'],
        additionalProperties: false,
      },
      queries: { type: 'array', items: TEXT, minItems: leastQueries, maxItems: MOST_QUERIES },
      ...more,
    },
    required: ['answer', 'reflection', 'queries', ...Object.keys(more)],
    additionalProperties: false,
  }
}

/** The first answer. */
export const DRAFT: StandardSchema<Draft> = jsonSchema<Draft>(schemaOf(1, {}))
/** A better one: it has references, and may search for nothing more. */
export const REVISION: StandardSchema<Draft> = jsonSchema<Draft>(
  schemaOf(0, { references: { type: 'array', items: TEXT } }),
)
