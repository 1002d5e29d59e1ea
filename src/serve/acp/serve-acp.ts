/** A host as an agent of the Agent Client Protocol, over two streams: what editors start as a program. */
import { isAbsolute } from 'node:path'
import { Readable, Writable } from 'node:stream'
import type { AgentContext, McpServer, SessionModeState } from '@agentclientprotocol/sdk'
import { systemIds } from '../../base/index.ts'
import type { Host } from '../../host/index.ts'
import { checkOptions, HoldfastError, type JsonObject, type OptionSet, quote } from '../../protocol/index.ts'
import { thrownText } from '../../tool/index.ts'
import type { AcpPrompt } from './graph-prompt.ts'
import { type AcpModes, isMode } from './modes.ts'
import { type AcpSdk, acpSdk } from './sdk.ts'
import { Session, TurnFailure } from './session.ts'

export interface ServeAcpOptions {
  /** The agent or graph of the host. */
  readonly agent: string
  readonly input: Readable
  readonly output: Writable
  /** The folder of every session. Default: the one that the editor names. */
  readonly cwd?: string
  /** The version that editors see. */
  readonly version?: string
  /** The model takes images. Default: false. */
  readonly images?: boolean
  /** The host takes MCP servers of the editor over HTTP, too; those that are processes are expected. Default: false. */
  readonly httpMcp?: boolean
  /** The values of a run of a graph. Default: `{ messages: [message] }`. */
  readonly graphInput?: (prompt: AcpPrompt) => JsonObject
  /** Session modes. The agents have to use its plugin. Default: none. */
  readonly modes?: AcpModes
  /** Called with errors that no request of the editor gets. */
  readonly onError?: (error: Error) => void
}

/** A session that an editor opens. */
export interface AcpSession {
  readonly sessionId: string
  /** The folder of the project, absolute. */
  readonly cwd: string
  /** MCP servers that the editor offers, as the protocol has them. */
  readonly mcpServers: readonly JsonObject[]
}

export interface AcpServer {
  /** Resolves when the editor has closed the connection. */
  readonly closed: Promise<void>
  readonly close: () => void
}

const OPTIONS: OptionSet<ServeAcpOptions> = {
  place: 'serveAcp()',
  options: {
    agent: 'a text',
    input: 'an object',
    output: 'an object',
    cwd: 'a text',
    version: 'a text',
    images: 'true or false',
    httpMcp: 'true or false',
    graphInput: 'a function',
    modes: 'an object',
    onError: 'a function',
  },
}

/**
 * Serves an agent or a graph to an editor. `host` may be a function of the session, so that its tools work in the folder of
 * the session. Nothing goes on by itself: a turn that was cut short goes on when its session is loaded.
 */
export async function serveAcp(
  host: Host | ((session: AcpSession) => Host | Promise<Host>),
  options: ServeAcpOptions,
): Promise<AcpServer> {
  checkOptions(options, OPTIONS)
  const sdk = await acpSdk()
  const server = new Server(sdk, typeof host === 'function' ? host : () => host, options)
  const { input, output } = options
  const stream = sdk.ndJsonStream(
    Writable.toWeb(output) as WritableStream<Uint8Array>,
    Readable.toWeb(input) as ReadableStream<Uint8Array>,
  )
  return server.connect(stream)
}

interface Opening {
  readonly sessionId: string
  readonly cwd: string
  readonly mcpServers?: readonly McpServer[] | null
}

class Server {
  readonly #sdk: AcpSdk
  readonly #hostOf: (session: AcpSession) => Host | Promise<Host>
  readonly #options: ServeAcpOptions
  readonly #sessions = new Map<string, Session>()
  readonly #ended = new AbortController()

  constructor(sdk: AcpSdk, hostOf: (session: AcpSession) => Host | Promise<Host>, options: ServeAcpOptions) {
    this.#sdk = sdk
    this.#hostOf = hostOf
    this.#options = options
  }

  connect(stream: ReturnType<AcpSdk['ndJsonStream']>): AcpServer {
    const { agent, version = '0', images = false, httpMcp = false } = this.#options
    const connection = this.#sdk
      .agent({ name: agent })
      .onRequest('initialize', () => ({
        protocolVersion: this.#sdk.PROTOCOL_VERSION,
        agentInfo: { name: 'holdfast', title: `Holdfast: ${agent}`, version },
        agentCapabilities: {
          loadSession: true,
          promptCapabilities: { image: images, embeddedContext: true },
          mcpCapabilities: { http: httpMcp },
        },
        authMethods: [],
      }))
      .onRequest('session/new', ({ params, client }) =>
        this.#answered(async () => {
          const sessionId = systemIds.next('session')
          const session = await this.#open({ ...params, sessionId }, client)
          this.#sessions.set(sessionId, session)
          return { sessionId, ...modesOf(session) }
        }),
      )
      .onRequest('session/load', ({ params, client }) =>
        this.#answered(async () => {
          const session = await this.#open(params, client)
          if (!(await session.load())) throw this.#sdk.RequestError.sessionNotFound(params.sessionId)
          this.#sessions.set(params.sessionId, session)
          return modesOf(session)
        }),
      )
      .onRequest('session/set_mode', ({ params }) =>
        this.#answered(async () => {
          const { mode } = this.#session(params.sessionId)
          if (mode === undefined || !isMode(params.modeId))
            throw this.#sdk.RequestError.invalidParams(undefined, `There is no mode ${quote(params.modeId)}.`)
          await mode.change(params.modeId)
          return {}
        }),
      )
      .onRequest('session/prompt', ({ params }) =>
        this.#answered(async () => ({
          stopReason: await this.#session(params.sessionId).prompt(params.prompt),
        })),
      )
      .onNotification('session/cancel', async ({ params }) => {
        await this.#sessions
          .get(params.sessionId)
          ?.cancel()
          .catch((error: unknown) => this.#failed(error))
      })
      .connect(stream)
    const closed = connection.closed.then(() => this.#ended.abort())
    return { closed, close: () => connection.close() }
  }

  async #open({ sessionId, mcpServers, ...given }: Opening, client: AgentContext): Promise<Session> {
    const { agent, images = false, graphInput = defaultGraphInput, cwd = given.cwd, modes } = this.#options
    if (!isAbsolute(cwd))
      throw this.#sdk.RequestError.invalidParams(undefined, `cwd must be absolute, not ${cwd}.`)
    const servers = (mcpServers ?? []) as unknown as readonly JsonObject[]
    const host = await this.#hostFor({ sessionId, cwd, mcpServers: servers })
    host.nameOf(`${agent}:${sessionId}`)
    return new Session({
      host,
      agent,
      sessionId,
      cwd,
      client,
      images,
      graphInput,
      modes,
      signal: this.#ended.signal,
      onError: (error) => this.#failed(error),
    })
  }

  /** The function of the program may throw any error: the person reads why there is no session. */
  async #hostFor(session: AcpSession): Promise<Host> {
    try {
      return await this.#hostOf(session)
    } catch (error) {
      if (HoldfastError.is(error)) throw error
      throw this.#sdk.RequestError.internalError(undefined, thrownText(error))
    }
  }

  #session(sessionId: string): Session {
    const session = this.#sessions.get(sessionId)
    if (session === undefined) throw this.#sdk.RequestError.sessionNotFound(sessionId)
    return session
  }

  /** Failures with their message: the person at the editor reads it. */
  async #answered<T>(work: () => Promise<T>): Promise<T> {
    const { RequestError } = this.#sdk
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof TurnFailure) && !HoldfastError.is(error)) throw error
      const { code, message } = error
      if (code === 'invalid-option') throw RequestError.invalidParams(undefined, message)
      throw RequestError.internalError(code === undefined ? undefined : { code }, message)
    }
  }

  #failed(error: unknown): void {
    this.#options.onError?.(error instanceof Error ? error : new Error(String(error)))
  }
}

function modesOf({ mode }: Session): { readonly modes?: SessionModeState } {
  return mode === undefined ? {} : { modes: mode.state }
}

function defaultGraphInput({ content }: AcpPrompt): JsonObject {
  return { messages: [{ role: 'user', content }] }
}
