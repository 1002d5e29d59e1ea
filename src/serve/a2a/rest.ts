/**
 * HTTP+JSON. The package has these routes for Express alone, so they are here; JSON is read and written by its codecs, and
 * errors have its form.
 */
import type { AgentCard, StreamResponse } from '@a2a-js/sdk'
import { badRequest, problemOf } from '../problem.ts'
import type { Sdk } from './packages.ts'
import { type RequestHandler, UNREADABLE } from './request-handler.ts'
import { sseResponse } from './sse.ts'

export interface RestCall {
  readonly request: Request
  /** The path below that of the agent, decoded: `['tasks', 'x.1:cancel']`. */
  readonly path: readonly string[]
  readonly body: () => Promise<unknown>
  readonly card: AgentCard
  readonly heartbeatMs: number
}

interface Operation {
  readonly handler: RequestHandler
  readonly sdk: Sdk
  readonly tenant: string
  /** The task, and the id of a push notification config. */
  readonly id: string
  readonly configId: string
  readonly query: URLSearchParams
  readonly body: () => Promise<Record<string, unknown>>
}

type Answer =
  | { readonly json: unknown; readonly status?: number }
  | { readonly stream: AsyncGenerator<StreamResponse, void, undefined> }
  | undefined

type Run = (operation: Operation) => Promise<Answer> | Answer

const subscribe: Run = ({ handler, id, tenant }) => ({ stream: handler.resubscribe({ id, tenant }) })

/** The tenant of a path counts for its body, too. */
async function bodyWithTenant({ body, tenant }: Pick<Operation, 'body' | 'tenant'>): Promise<object> {
  return { ...(await body()), ...(tenant === '' ? {} : { tenant }) }
}

/** The body as a message of the protocol. */
function decoded<T>(codec: { readonly fromJSON: (json: unknown) => T }, json: object): T {
  try {
    return codec.fromJSON(json)
  } catch {
    throw badRequest(UNREADABLE)
  }
}

/** By method and path; `{id}` is a task, `{config}` the id of a push notification config. */
const ROUTES: Readonly<Record<string, Run>> = {
  'POST message:send': async ({ handler, sdk: { core }, ...sent }) => {
    const value = await handler.sendMessage(decoded(core.SendMessageRequest, await bodyWithTenant(sent)))
    return { json: core.SendMessageResponse.toJSON({ payload: { $case: 'task', value } }) }
  },
  'POST message:stream': async ({ handler, sdk: { core }, ...sent }) => ({
    stream: handler.sendMessageStream(decoded(core.SendMessageRequest, await bodyWithTenant(sent))),
  }),
  'GET tasks': async ({ handler, sdk: { core }, query, tenant }) => {
    const request = core.ListTasksRequest.fromJSON({ ...listQuery(query), tenant })
    const { tasks, ...page } = await handler.listTasks(request)
    return { json: { tasks: tasks.map((task) => core.Task.toJSON(task)), ...page } }
  },
  'GET tasks/{id}': async ({ handler, sdk: { core }, id, tenant, query }) => ({
    json: core.Task.toJSON(
      await handler.getTask({ id, tenant, historyLength: count(query, 'historyLength') }),
    ),
  }),
  'POST tasks/{id}:cancel': async ({ handler, sdk: { core }, id, tenant, body }) => {
    const { metadata } = decoded(core.CancelTaskRequest, await body())
    return { json: core.Task.toJSON(await handler.cancelTask({ id, tenant, metadata })) }
  },
  'GET tasks/{id}:subscribe': subscribe,
  'POST tasks/{id}:subscribe': subscribe,
  'POST tasks/{id}/pushNotificationConfigs': async ({ handler, sdk: { core }, id, tenant, body }) => {
    const config = decoded(core.TaskPushNotificationConfig, { ...(await body()), taskId: id, tenant })
    const made = await handler.createTaskPushNotificationConfig(config)
    return { json: core.TaskPushNotificationConfig.toJSON(made), status: 201 }
  },
  'GET tasks/{id}/pushNotificationConfigs': async ({ handler, sdk: { core }, id: taskId, tenant }) => {
    const page = { pageSize: 0, pageToken: '' }
    const found = await handler.listTaskPushNotificationConfigs({ taskId, tenant, ...page })
    return { json: core.ListTaskPushNotificationConfigsResponse.toJSON(found) }
  },
  'GET tasks/{id}/pushNotificationConfigs/{config}': async ({ handler, sdk: { core }, ...ids }) => {
    const { id: taskId, tenant, configId: id } = ids
    const found = await handler.getTaskPushNotificationConfig({ taskId, tenant, id })
    return { json: core.TaskPushNotificationConfig.toJSON(found) }
  },
  'DELETE tasks/{id}/pushNotificationConfigs/{config}': async ({
    handler,
    id: taskId,
    tenant,
    configId: id,
  }) => {
    await handler.deleteTaskPushNotificationConfig({ taskId, tenant, id })
    return undefined
  },
  'GET extendedAgentCard': async ({ handler, sdk: { core } }) => ({
    json: core.AgentCard.toJSON(await handler.getAuthenticatedExtendedAgentCard()),
  }),
}

export async function answerRest(sdk: Sdk, handler: RequestHandler, call: RestCall): Promise<Response> {
  const { core, server, errors } = sdk
  const { request, card, heartbeatMs } = call
  const headers = { 'content-type': core.A2A_CONTENT_TYPE }
  const failed = (error: unknown) => {
    const shown = error instanceof errors.A2AError ? error : new Error(problemOf(error).detail)
    return errors.toRestErrorBody(shown, errors.restStatusFor(shown))
  }
  try {
    const version = request.headers.get(core.A2A_VERSION_HEADER) || '0.3'
    server.validateVersion(version, card, 'HTTP+JSON')
    const { run, ...operation } = routed(sdk, handler, call)
    const answer = await run(operation)
    if (answer === undefined) return new Response(null, { status: 204 })
    if ('json' in answer) return Response.json(answer.json, { status: answer.status ?? 200, headers })
    return await sseResponse(jsonOf(sdk, answer.stream), { heartbeatMs, onError: failed })
  } catch (error) {
    if (!(error instanceof errors.A2AError)) throw error
    return Response.json(failed(error), { status: errors.restStatusFor(error), headers })
  }
}

async function* jsonOf(
  { core }: Sdk,
  stream: AsyncGenerator<StreamResponse, void, undefined>,
): AsyncGenerator<unknown, void, undefined> {
  for await (const event of stream) yield core.StreamResponse.toJSON(event)
}

const FIRST: ReadonlySet<string> = new Set(['message:send', 'message:stream', 'tasks', 'extendedAgentCard'])

/** The operation of a path. A first name that is no operation is a tenant. */
function routed(
  sdk: Sdk,
  handler: RequestHandler,
  { request, path, body }: RestCall,
): Operation & { run: Run } {
  const hasTenant = !FIRST.has(path[0] ?? '')
  const [name = '', task = '', list, config] = hasTenant ? path.slice(1) : path
  const [, id = task, verb = ''] = /^(.*)(:cancel|:subscribe)$/s.exec(task) ?? []
  const pattern = [
    name,
    ...(task === '' ? [] : [`{id}${verb}`]),
    ...(list === undefined ? [] : [list]),
    ...(config === undefined ? [] : ['{config}']),
  ].join('/')
  const run = ROUTES[`${request.method} ${pattern}`]
  if (run === undefined || path.length > (hasTenant ? 5 : 4))
    throw new sdk.errors.UnsupportedOperationError(
      `There is no operation ${request.method} /${path.join('/')}.`,
    )
  const query = new URL(request.url).searchParams
  return {
    run,
    handler,
    sdk,
    id,
    configId: config ?? '',
    query,
    tenant: hasTenant ? (path[0] ?? '') : (query.get('tenant') ?? ''),
    body: async () => objectIn(hasBody(request) ? await body() : {}),
  }
}

/** Clients name a type for the body also where they send none. */
function hasBody({ headers }: Request): boolean {
  return headers.has('transfer-encoding') || Number(headers.get('content-length') ?? 0) > 0
}

function objectIn(body: unknown): Record<string, unknown> {
  if (body === null) return {}
  if (typeof body === 'object' && !Array.isArray(body)) return body as Record<string, unknown>
  throw badRequest('The body must be an object.')
}

function listQuery(query: URLSearchParams): Record<string, unknown> {
  const text = (name: string) => query.get(name) || undefined
  return {
    contextId: text('contextId'),
    status: text('status'),
    pageToken: text('pageToken'),
    statusTimestampAfter: text('statusTimestampAfter'),
    includeArtifacts: query.get('includeArtifacts') === 'true',
    pageSize: count(query, 'pageSize'),
    historyLength: count(query, 'historyLength'),
  }
}

function count(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  if (!/^\d{1,9}$/.test(text)) throw badRequest(`${name} must be a number.`)
  return Number(text)
}
