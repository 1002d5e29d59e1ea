/** An operation of the HTTP API as its OpenAPI document describes it. */
import type { JsonObject } from '../protocol/index.ts'

export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** As in OpenAPI: `/conversations/{id}`. */
  readonly path: string
  /** The name of the operation: one in all of a server. */
  readonly id: string
  readonly summary: string
  /** Parameters of the query, by name: JSON Schema. */
  readonly query?: Readonly<Record<string, JsonObject>>
  /** Headers of the request, by name: JSON Schema. */
  readonly headers?: Readonly<Record<string, JsonObject>>
  /** The JSON Schema of the body. */
  readonly body?: JsonObject
  readonly responses: Readonly<Record<number, OperationResponse>>
  /** Needs no caller. */
  readonly isPublic?: true
}

export interface OperationResponse {
  readonly description: string
  readonly schema?: JsonObject
  /** The media type of `schema`. Default: `application/json`. */
  readonly type?: string
  /** Other media types. */
  readonly types?: readonly string[]
}

/** A header for the operations that `keyHeader` reads. */
export const IDEMPOTENCY_KEY: Readonly<Record<string, JsonObject>> = {
  'Idempotency-Key': {
    type: 'string',
    maxLength: 200,
    description: 'A request that is sent twice under one key has one effect.',
  },
}

/** An object with these fields, and any others. */
export function objectSchema(properties: JsonObject, required: readonly string[] = []): JsonObject {
  return { type: 'object', properties, required: [...required] }
}
