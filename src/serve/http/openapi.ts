/**
 * The OpenAPI 3.1 document of the routes and of the mounted protocols: where a schema validates, it is the one that is published.
 */
import type { JsonObject } from '../../protocol/index.ts'
import type { Mount } from '../mount.ts'
import { IDEMPOTENCY_KEY, type Operation, type OperationResponse } from '../operation.ts'
import type { Route } from './route.ts'

const PROBLEM: JsonObject = {
  type: 'object',
  required: ['type', 'title', 'status', 'code', 'detail'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { type: 'string' },
    detail: { type: 'string' },
    issues: { type: 'array', items: { type: 'string' } },
  },
}

export interface DocumentOptions {
  readonly title: string
  readonly version: string
  readonly mounts: readonly Mount[]
}

export function openApi(routes: readonly Route[], { title, version, mounts }: DocumentOptions): JsonObject {
  const own = { tag: 'conversations', problem: PROBLEM_CONTENT }
  const paths: Record<string, JsonObject> = {}
  const add = (operation: Operation, described: Described): void => {
    const { path, method } = operation
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationObject(operation, described) }
  }
  for (const route of routes)
    add(route.method === 'POST' ? { headers: IDEMPOTENCY_KEY, ...route } : route, own)
  for (const { name, operations = [], problemSchema: schema } of mounts) {
    const problem = schema === undefined ? PROBLEM_CONTENT : { 'application/json': { schema } }
    for (const operation of operations) add(operation, { tag: name, problem })
  }
  return {
    openapi: '3.1.0',
    info: { title, version },
    paths,
    components: {
      schemas: { Problem: PROBLEM },
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        key: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
      },
    },
    security: [{ bearer: [] }, { key: [] }],
  }
}

const PROBLEM_CONTENT: JsonObject = {
  'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
}

interface Described {
  readonly tag: string
  /** The content of a failure. */
  readonly problem: JsonObject
}

function operationObject(operation: Operation, { tag, problem }: Described): JsonObject {
  const { id, summary, path, query = {}, headers = {}, body, responses, isPublic } = operation
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) =>
    parameter(name, 'path', { type: 'string' }),
  )
  const inQuery = Object.entries(query).map(([name, schema]) => parameter(name, 'query', schema))
  const inHeader = Object.entries(headers).map(([name, schema]) => parameter(name, 'header', schema))
  return {
    operationId: id,
    summary,
    tags: [tag],
    parameters: [...inPath, ...inQuery, ...inHeader],
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
    responses: {
      ...Object.fromEntries(
        Object.entries(responses).map(([status, response]) => [status, responseOf(response)]),
      ),
      default: { description: 'A failure', content: problem },
    },
    ...(isPublic ? { security: [] } : {}),
  }
}

function parameter(name: string, place: string, schema: JsonObject): JsonObject {
  return { name, in: place, required: place === 'path', schema }
}

function responseOf({
  description,
  schema,
  type = 'application/json',
  types = [],
}: OperationResponse): JsonObject {
  const content = {
    ...(schema === undefined ? {} : { [type]: { schema } }),
    ...Object.fromEntries(types.map((other) => [other, {}])),
  }
  return { description, ...(Object.keys(content).length === 0 ? {} : { content }) }
}
