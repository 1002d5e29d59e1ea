/** JSON-RPC, by the handlers of the package: version 1.0, and 0.3 for requests that name that version or none. */
import type { AgentCard } from '@a2a-js/sdk'
import type { JsonObject } from '../../protocol/index.ts'
import { problemOf } from '../problem.ts'
import type { Sdk } from './packages.ts'
import { type RequestHandler, UNREADABLE } from './request-handler.ts'
import { sseResponse } from './sse.ts'

export interface RpcCall {
  readonly request: Request
  readonly body: unknown
  readonly card: AgentCard
  readonly heartbeatMs: number
}

const LEGACY = '0.3'

export async function answerRpc(sdk: Sdk, handler: RequestHandler, call: RpcCall): Promise<Response> {
  const { core, server, legacy, errors } = sdk
  const version = call.request.headers.get(core.A2A_VERSION_HEADER) || LEGACY
  const isLegacy = version === LEGACY
  const Transport = isLegacy ? legacy.LegacyJsonRpcTransportHandler : server.JsonRpcTransportHandler
  const errorOf = (error: unknown) =>
    (isLegacy
      ? legacy.LegacyJsonRpcTransportHandler.mapToLegacyJSONRPCError(error)
      : server.JsonRpcTransportHandler.mapToJSONRPCError(error)) as unknown as JsonObject
  const failed = (error: unknown): JsonObject => ({
    jsonrpc: '2.0',
    id: idIn(call.body),
    error: errorOf(handler.failure === undefined ? error : new Error(problemOf(error).detail)),
  })
  try {
    server.validateVersion(version, call.card, 'JSONRPC')
    const context = new server.ServerCallContext({ requestedVersion: version })
    const answer = (await new Transport(handler).handle(call.body as JsonObject, context)) as object
    if (!(Symbol.asyncIterator in answer)) {
      thrown(handler)
      const { error } = answer as { readonly error?: { readonly code: number } }
      // The codecs of the package fail like programs at a field of another type.
      const isUnread = error?.code === errors.A2A_ERROR_CODE.INTERNAL_ERROR && !handler.isReached
      return Response.json(isUnread ? failed(new errors.RequestMalformedError(UNREADABLE)) : answer)
    }
    const values = answer as AsyncGenerator<JsonObject, void, undefined>
    return await sseResponse(isLegacy ? legacyStream(values, call.body, failed) : values, {
      heartbeatMs: call.heartbeatMs,
      onError: failed,
    })
  } catch (error) {
    thrown(handler)
    return Response.json(failed(error))
  }
}

/** Throws a failure that is not the client's: the server answers it. */
function thrown({ failure }: RequestHandler): void {
  if (failure !== undefined) throw failure.error
}

/**
 * In 0.3 the last update of a stream is `final`, also if the task waits; and a client that subscribes expects a stream in
 * every case, also for an error.
 */
async function* legacyStream(
  answers: AsyncGenerator<JsonObject, void, undefined>,
  body: unknown,
  failed: (error: unknown) => JsonObject,
): AsyncGenerator<JsonObject, void, undefined> {
  try {
    for await (const answer of answers) {
      const result = answer['result'] as LegacyUpdate | undefined
      if (result?.kind === 'status-update' && /^(input|auth)-required$/.test(result.status?.state ?? ''))
        result.final = true
      yield answer
    }
  } catch (error) {
    if ((body as { readonly method?: unknown }).method !== 'tasks/resubscribe') throw error
    yield failed(error)
  }
}

interface LegacyUpdate {
  readonly kind?: string
  readonly status?: { readonly state?: string }
  final?: boolean
}

export function idIn(body: unknown): string | number | null {
  const { id } = (typeof body === 'object' && body !== null ? body : {}) as { readonly id?: unknown }
  return typeof id === 'string' || typeof id === 'number' ? id : null
}
