/** The OpenAPI 3.1 document of the routes: the schemas that validate are those that are published. */
import type { JsonObject } from '../../protocol/index.ts'
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

export function openApi(
  routes: readonly Route[],
  { title, version }: { title: string; version: string },
): JsonObject {
  const paths: Record<string, JsonObject> = {}
  for (const route of routes)
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route) }
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

function operation({ id, summary, path, query = {}, body, responses, isPublic, method }: Route): JsonObject {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) =>
    parameter(name, 'path', { type: 'string' }),
  )
  const inQuery = Object.entries(query).map(([name, schema]) => parameter(name, 'query', schema))
  const inHeader = method === 'POST' ? [IDEMPOTENCY_KEY] : []
  return {
    operationId: id,
    summary,
    parameters: [...inPath, ...inQuery, ...inHeader],
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
    responses: {
      ...Object.fromEntries(
        Object.entries(responses).map(([status, response]) => [status, responseOf(response)]),
      ),
      default: {
        description: 'A problem',
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    },
    ...(isPublic ? { security: [] } : {}),
  }
}

const IDEMPOTENCY_KEY: JsonObject = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  schema: { type: 'string', maxLength: 200 },
  description: 'A request that is sent twice under one key has one effect.',
}

function parameter(name: string, place: string, schema: JsonObject): JsonObject {
  return { name, in: place, required: place === 'path', schema }
}

function responseOf({ description, schema, types = [] }: Route['responses'][number]): JsonObject {
  const content = {
    ...(schema === undefined ? {} : { 'application/json': { schema } }),
    ...Object.fromEntries(types.map((type) => [type, {}])),
  }
  return { description, ...(Object.keys(content).length === 0 ? {} : { content }) }
}
