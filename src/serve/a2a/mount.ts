/** The protocol on the HTTP server: cards, JSON-RPC and HTTP+JSON for each agent and graph of the host. */
import type { AgentCard } from '@a2a-js/sdk'
import { signingSecret } from '../../net/index.ts'
import { HoldfastError, invalidOption, type JsonObject, quote } from '../../protocol/index.ts'
import type { AuthScheme } from '../caller.ts'
import type { Mount, MountCall, MountServer } from '../mount.ts'
import { badRequest, type Problem } from '../problem.ts'
import { CARD_PATH, Cards, ROOT } from './card.ts'
import { answerRpc, idIn } from './json-rpc.ts'
import { ERROR_SCHEMA, OPERATIONS } from './operations.ts'
import { type A2aOptions, checkA2aOptions } from './options.ts'
import { loadSdk, type Sdk } from './packages.ts'
import { PushConfigs } from './push-configs.ts'
import { PushDelivery } from './push-delivery.ts'
import { RequestHandler } from './request-handler.ts'
import { answerRest } from './rest.ts'
import { Seal } from './seal.ts'
import { TaskReader } from './task-reader.ts'

/**
 * A2A 1.0 over JSON-RPC and HTTP+JSON, and 0.3 over JSON-RPC. Pass it to `createHttp` in `mounts`. An agent is at
 * `/a2a/NAME`, its card at `/a2a/NAME/.well-known/agent-card.json`; that of the default agent also at
 * `/.well-known/agent-card.json`.
 */
export async function a2a(options: A2aOptions = {}): Promise<Mount> {
  checkA2aOptions(options)
  const server = new A2aServer(await loadSdk(), options)
  const rest = (method: 'GET' | 'POST' | 'DELETE') =>
    ({ method, path: `${ROOT}/{agent}/*`, handle: (call: MountCall) => server.rest(call) }) as const
  return {
    name: 'a2a',
    requestHeaders: ['a2a-version', 'a2a-extensions'],
    start: (mounted) => server.start(mounted),
    problem: (problem, request) => server.problem(problem, request),
    problemSchema: ERROR_SCHEMA,
    operations: OPERATIONS,
    routes: [
      { method: 'GET', path: CARD_PATH, isPublic: true, handle: (call) => server.card(call) },
      {
        method: 'GET',
        path: `${ROOT}/{agent}${CARD_PATH}`,
        isPublic: true,
        handle: (call) => server.card(call),
      },
      { method: 'POST', path: `${ROOT}/{agent}`, handle: (call) => server.rpc(call) },
      rest('GET'),
      rest('POST'),
      rest('DELETE'),
    ],
  }
}

class A2aServer {
  readonly #sdk: Sdk
  readonly #options: A2aOptions
  /** Ids of JSON-RPC requests, for answers to failures. */
  readonly #ids = new WeakMap<Request, string | number | null>()
  readonly #secret: Uint8Array | undefined
  #cards: Cards | undefined
  #push: PushConfigs | undefined

  constructor(sdk: Sdk, options: A2aOptions) {
    this.#sdk = sdk
    this.#options = options
    this.#secret = options.push && signingSecret(options.push.secret, 'push of a2a()')
  }

  start({ host, authenticate }: MountServer): (() => void) | undefined {
    const unknown = Object.keys(this.#options.agents ?? {}).find((name) => !host.names.includes(name))
    if (unknown !== undefined)
      throw invalidOption('agents', `has ${quote(unknown)}; the host has ${host.names.map(quote).join(', ')}`)
    const schemes = schemesOf(authenticate, this.#options)
    this.#cards = new Cards({ host, options: this.#options, schemes })
    const { push: options } = this.#options
    if (options === undefined || this.#secret === undefined) return undefined
    const seal = new Seal(this.#secret)
    const delivery = new PushDelivery({ host, sdk: this.#sdk, options, secret: this.#secret, seal })
    this.#push = new PushConfigs({ host, options, seal, delivery })
    delivery.start()
    return () => delivery.stop()
  }

  async card(call: MountCall): Promise<Response> {
    const { core } = this.#sdk
    const card = await this.#openCard(call, agentIn(call))
    const json = core.AgentCard.toJSON(card) as JsonObject
    const isCurrent = (call.request.headers.get(core.A2A_VERSION_HEADER) ?? '').startsWith('1')
    return Response.json(isCurrent ? json : await this.#hybrid(card, json), {
      headers: { 'cache-control': 'no-cache', vary: core.A2A_VERSION_HEADER },
    })
  }

  async rpc(call: MountCall): Promise<Response> {
    const body = await call.body()
    this.#ids.set(call.request, idIn(body))
    const { handler, card } = await this.#handler(call)
    const { request, heartbeatMs } = call
    return answerRpc(this.#sdk, handler, { request, body, card, heartbeatMs })
  }

  async rest(call: MountCall): Promise<Response> {
    const { handler, card } = await this.#handler(call)
    const { request, body, heartbeatMs } = call
    return answerRest(this.#sdk, handler, { request, path: pathIn(request), body, card, heartbeatMs })
  }

  /** Failures before a handler has the request, and those that are not the client's. */
  problem({ status, detail, retryAfterS }: Problem, request: Request): Response {
    const { errors } = this.#sdk
    const headers = {
      ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
      ...(retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) }),
    }
    const message = detail
    if (!isRpc(request)) {
      const { error } = errors.toRestErrorBody(new Error(detail), status)
      const name = STATUS_NAMES[status] ?? error.status
      return Response.json({ error: { ...error, status: name } }, { status, headers })
    }
    const code = status === 400 ? errors.A2A_ERROR_CODE.PARSE_ERROR : errors.A2A_ERROR_CODE.INTERNAL_ERROR
    const error = { code: status === 404 ? errors.A2A_ERROR_CODE.INVALID_REQUEST : code, message }
    return Response.json({ jsonrpc: '2.0', id: this.#ids.get(request) ?? null, error }, { status, headers })
  }

  async #handler(call: MountCall): Promise<{ readonly handler: RequestHandler; readonly card: AgentCard }> {
    const { host, caller, request, openStream } = call
    const agent = agentIn(call)
    const card = await this.#openCard(call, agent)
    const handler = new RequestHandler({
      sdk: this.#sdk,
      reader: new TaskReader(host, caller, agent),
      card: () => card,
      extendedCard: () => this.#started.extended(agent, new URL(request.url).origin, caller),
      openStream,
      push: this.#push,
      version: request.headers.get(this.#sdk.core.A2A_VERSION_HEADER) || '0.3',
      signal: () => request.signal,
    })
    return { handler, card }
  }

  get #started(): Cards {
    if (this.#cards === undefined) throw new Error('The mount was not started.')
    return this.#cards
  }

  #openCard({ request }: MountCall, agent: string): Promise<AgentCard> {
    return this.#started.open(agent, new URL(request.url).origin)
  }

  /** A card that clients of 0.3 understand, too: they send no version. */
  async #hybrid(card: AgentCard, json: JsonObject): Promise<JsonObject> {
    const { legacy, server } = this.#sdk
    const cards = { getAgentCard: async () => card, getAuthenticatedExtendedAgentCard: async () => card }
    const transport = new legacy.LegacyRestTransportHandler(cards as never)
    const old = (await transport.getAuthenticatedExtendedAgentCard(
      new server.ServerCallContext(),
    )) as unknown as JsonObject
    const schemes = Object.keys((json['securitySchemes'] ?? {}) as JsonObject).map((name) => {
      const of = (from: JsonObject) => (from['securitySchemes'] as JsonObject)[name] as JsonObject
      return [name, { ...of(old), ...of(json) }] as const
    })
    return {
      ...old,
      ...json,
      ...(schemes.length === 0 ? {} : { securitySchemes: Object.fromEntries(schemes) }),
    }
  }
}

/** Names of statuses that the package does not know for errors of a server. */
const STATUS_NAMES: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
}

function schemesOf(
  authenticate: MountServer['authenticate'],
  { securitySchemes }: A2aOptions,
): Readonly<Record<string, AuthScheme>> {
  if (authenticate === undefined) return {}
  const schemes = securitySchemes ?? authenticate.schemes
  if (schemes !== undefined && Object.keys(schemes).length > 0) return schemes
  throw invalidOption(
    'securitySchemes',
    "is needed: the server authenticates by a function of your own. Write securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } }",
  )
}

/** The agent in the path, or the default one. */
function agentIn({ host, params }: MountCall): string {
  const { agent } = params
  if (agent === undefined) return host.nameOf('card')
  if (host.names.includes(agent)) return agent
  throw new HoldfastError('not-found', { message: `There is no agent ${quote(agent)}.`, details: { agent } })
}

function segments(request: Request): readonly string[] {
  return new URL(request.url).pathname.split('/').filter(Boolean)
}

function isRpc(request: Request): boolean {
  return request.method === 'POST' && segments(request).length === 2
}

/** The path below that of the agent. */
function pathIn(request: Request): readonly string[] {
  try {
    return segments(request)
      .slice(2)
      .map((segment) => decodeURIComponent(segment))
  } catch {
    throw badRequest('The address is not encoded as a URI.')
  }
}
