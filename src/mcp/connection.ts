/**
 * The connection to one server: connects when it is needed, within a time limit, and again after a loss, less often the more
 * it fails. A failure is an error about this server alone. Knows nothing of tools' results.
 */
import { systemClock, systemTimer } from '../base/index.ts'
import { quote } from '../protocol/index.ts'
import { type Redactor, thrownText } from '../tool/index.ts'
import { type CallFailure, failureOf, failureText } from './call-errors.ts'
import type { ServerSettings } from './config.ts'
import { secretsOf } from './config-secrets.ts'
import { type HttpTransport, httpTransport } from './http-transport.ts'
import { packageVersion } from './package-version.ts'
import { Questions, type ServerQuestion } from './questions.ts'
import { type Client, type ClientSdk, clientSdk, defaultEnvironment, type PriorDiscovery } from './sdk.ts'
import type { ServerState } from './status.ts'
import { StdioTransport } from './stdio-transport.ts'

/** A connection that stands. */
export interface LiveServer {
  readonly sdk: ClientSdk
  readonly client: Client
}

const CONNECT_MS = 30_000
const TIMEOUT_MS = 60_000
/** Progress keeps a call alive, but not for ever. */
const LONGEST_CALL_MS = 60 * 60 * 1000
/** How long a process may be silent before it is taken for a server of the older protocol. */
const PROBE_MS = 5000
const MAX_MESSAGE_BYTES = 10 * 1024 * 1024
const LONGEST_BACKOFF_MS = 30_000
const FIRST_BACKOFF_MS = 500
/** A call waits for the end of a short backoff. */
const PATIENCE_MS = 5000
/** A server that dies sooner has failed. */
const YOUNG_MS = 5000
const MOST_PROBLEMS = 20
const LONGEST_PROBLEM = 500

/** A server that cannot be used now. Nothing was sent to it. */
export class ServerUnavailable extends Error {}

/** A process that ended before it was connected; the message says how. */
class ServerEnded extends Error {}

export class ServerConnection {
  readonly settings: ServerSettings
  readonly questions: Questions = new Questions()
  /** Removes the secrets of the config from texts and results of the server. */
  readonly secrets: Redactor
  /** True if the server would report other tools, and the stream of its reports has ended. */
  missesToolReports = false
  /** Called when the server reports other tools, and after every new connection. */
  onToolsChanged: () => void = () => {}
  /** Called with every new problem. */
  onProblem: (problem: string) => void = () => {}
  state: ServerState = 'idle'
  error: string | undefined
  readonly problems: string[] = []
  #live: LiveServer | undefined
  #transport: StdioTransport | HttpTransport | undefined
  #connecting: Promise<LiveServer> | undefined
  /** Aborts when the connection is closed, so that connecting ends. */
  readonly #closing = new AbortController()
  #prior: PriorDiscovery | undefined
  #failures = 0
  #retryAt = 0
  #connectedAt = 0
  #stderr = ''

  constructor(settings: ServerSettings) {
    this.settings = settings
    this.secrets = secretsOf(settings)
  }

  get live(): LiveServer | undefined {
    return this.#live
  }

  get pid(): number | undefined {
    return this.#transport instanceof StdioTransport ? this.#transport.pid : undefined
  }

  /** The end of the server's standard error. */
  get stderr(): string {
    const { errorOutput = '' } = this.#transport instanceof StdioTransport ? this.#transport : {}
    return this.secrets.text(errorOutput || this.#stderr)
  }

  /** How long a request may take without an answer and without progress. */
  get timeoutMs(): number {
    return this.settings.options.timeoutMs ?? TIMEOUT_MS
  }

  /** How long a request may take with progress. */
  get longestMs(): number {
    return Math.max(this.timeoutMs, LONGEST_CALL_MS)
  }

  /** True if a connection exists or may be tried now. */
  get isReady(): boolean {
    return this.state !== 'closed' && (this.#live !== undefined || this.#retryAt <= systemClock.now())
  }

  /** The connection, made if there is none. Throws `ServerUnavailable`. */
  async connected(signal?: AbortSignal): Promise<LiveServer> {
    if (this.#live !== undefined) return this.#live
    const waitMs = this.#retryAt - systemClock.now()
    if (waitMs > PATIENCE_MS) throw this.#unavailable(`the next try is in ${Math.ceil(waitMs / 1000)} s`)
    if (waitMs > 0 && this.#connecting === undefined)
      await systemTimer.wait(waitMs, signal === undefined ? {} : { signal })
    signal?.throwIfAborted()
    // Another call may have connected meanwhile.
    if (this.#live !== undefined) return this.#live
    if (this.state === 'closed') throw new ServerUnavailable(`The MCP server ${this.#name} is closed.`)
    this.#connecting ??= this.questions.outside(() => this.#connect())
    return signal === undefined
      ? this.#connecting
      : Promise.race([this.#connecting, rejectedBy(signal, 'The call was cancelled.')])
  }

  /**
   * The kind of a failed request. A connection that is of no use any more is dropped. Without a session there is none to
   * forget: then the server has refused the request, and may be one with another protocol by now.
   */
  async failureOf(live: LiveServer, error: unknown): Promise<CallFailure> {
    const failure = failureOf(live.sdk, error)
    const hasSession = live.client.transport?.sessionId !== undefined
    if (failure === 'expired') await this.drop(live, 'It has forgotten the session.')
    if (failure === 'unsent') await this.drop(live, failureText(error))
    return failure === 'expired' && !hasSession ? 'refused' : failure
  }

  /** Forgets a connection that is of no use any more. */
  async drop(live: LiveServer, why: string): Promise<void> {
    if (this.#live !== live) return
    this.#lost(why)
    await live.client.close().catch(() => {})
  }

  /** A call has succeeded, so that the server works. */
  succeeded(): void {
    this.#failures = 0
  }

  note(problem: string): void {
    const text = this.secrets.cut(problem, LONGEST_PROBLEM).toWellFormed()
    if (this.problems.at(-1) === text) return
    this.problems.push(text)
    if (this.problems.length > MOST_PROBLEMS) this.problems.shift()
    this.onProblem(text)
  }

  async close(): Promise<void> {
    this.state = 'closed'
    this.#closing.abort()
    const live = this.#live
    const transport = this.#transport
    this.#live = undefined
    await this.#endSession(transport)
    await live?.client.close().catch(() => {})
    await transport?.close().catch(() => {})
    await this.#connecting?.catch(() => {})
  }

  get #name(): string {
    return quote(this.settings.name)
  }

  get #connectMs(): number {
    return this.settings.options.connectTimeoutMs ?? CONNECT_MS
  }

  async #connect(): Promise<LiveServer> {
    this.state = 'connecting'
    try {
      const live = await this.#open()
      if ((this.state as ServerState) === 'closed') {
        await live.client.close().catch(() => {})
        throw new Error('it was closed')
      }
      this.#live = live
      this.questions.nameTheirCall =
        this.settings.target.kind === 'http' && live.client.getProtocolEra() === 'modern'
      this.missesToolReports = false
      void this.#watchReports(live)
      this.state = 'connected'
      this.error = undefined
      this.#connectedAt = systemClock.now()
      this.onToolsChanged()
      return live
    } catch (error) {
      // The server may be another one by now, with another protocol.
      this.#prior = undefined
      this.#failed(connectProblem(error, this.settings))
      throw this.#unavailable()
    } finally {
      this.#connecting = undefined
    }
  }

  /** The newest protocol reports changes on a stream, which may end before the connection does. */
  async #watchReports(live: LiveServer): Promise<void> {
    const how = await live.client.autoOpenedSubscription?.closed
    if (how !== undefined && how !== 'local' && this.#live === live) this.missesToolReports = true
  }

  async #open(): Promise<LiveServer> {
    const sdk = await clientSdk()
    const limit = AbortSignal.any([AbortSignal.timeout(this.#connectMs), this.#closing.signal])
    try {
      return await this.#attempt(sdk, limit)
    } catch (error) {
      if (!isProbe(sdk, error) || this.#prior !== undefined || limit.aborted) throw error
      // Older servers may end at the first message that they do not know.
      this.#prior = { kind: 'legacy' }
      return this.#attempt(sdk, limit)
    }
  }

  async #attempt(sdk: ClientSdk, limit: AbortSignal): Promise<LiveServer> {
    const transport = await this.#makeTransport(sdk)
    limit.throwIfAborted()
    this.#transport = transport
    const client = this.#makeClient(sdk)
    const live: LiveServer = { sdk, client }
    const timeout = this.#connectMs
    const connecting = client.connect(transport, {
      timeout,
      signal: limit,
      ...(this.#prior === undefined ? {} : { prior: this.#prior }),
    })
    try {
      await Promise.race([connecting, rejectedBy(limit, `It did not answer within ${timeout} ms.`)])
    } catch (error) {
      connecting.catch(() => {})
      const ended = transport instanceof StdioTransport ? transport.ended : undefined
      if (transport instanceof StdioTransport) this.#stderr = transport.errorOutput
      await transport.close().catch(() => {})
      if (ended === undefined || (isProbe(sdk, error) && this.#prior === undefined)) throw error
      throw new ServerEnded(`${ended}${saidAtLast(this.stderr)}`, { cause: error })
    }
    const onclose = (): void => {
      if (this.#live === live)
        this.#lost((transport instanceof StdioTransport && transport.ended) || 'It closed the connection.')
    }
    Object.assign(client, { onclose })
    this.#prior = priorOf(client)
    return live
  }

  async #makeTransport(sdk: ClientSdk): Promise<StdioTransport | HttpTransport> {
    const { target, options } = this.settings
    const { maxMessageBytes = MAX_MESSAGE_BYTES } = options
    if (target.kind === 'http') {
      const { longestMs } = this
      const currentCall = () => this.questions.currentCall()
      return httpTransport(sdk, { target, maxMessageBytes, longestMs, currentCall })
    }
    return new StdioTransport(sdk, { target, environment: await defaultEnvironment(), maxMessageBytes })
  }

  #makeClient(sdk: ClientSdk): Client {
    const client = new sdk.Client(
      { name: 'holdfast', version: packageVersion() },
      {
        capabilities: { elicitation: { form: {}, url: {} } },
        versionNegotiation: { mode: 'auto', probe: { timeoutMs: Math.min(PROBE_MS, this.#connectMs) } },
        listChanged: {
          tools: { autoRefresh: false, debounceMs: 0, onChanged: () => this.onToolsChanged() },
        },
      },
    )
    const onerror = (error: Error): void => {
      const text = thrownText(error)
      // Progress may overtake the result of its call.
      if (!text.startsWith('Received a progress notification')) this.note(text)
    }
    Object.assign(client, { onerror })
    client.setRequestHandler('elicitation/create', ({ params }, { mcpReq }) =>
      this.questions.answer(params as ServerQuestion, mcpReq.signal),
    )
    return client
  }

  #failed(why: string): void {
    if (this.state === 'closed') return
    this.#failures += 1
    const backoff = this.#failures < 2 ? 0 : FIRST_BACKOFF_MS * 2 ** (this.#failures - 2)
    this.#retryAt = systemClock.now() + Math.min(LONGEST_BACKOFF_MS, backoff)
    this.state = 'failed'
    this.error = this.secrets.text(why)
    this.note(why)
  }

  #lost(why: string): void {
    this.#stderr = this.stderr
    this.#live = undefined
    if (systemClock.now() - this.#connectedAt < YOUNG_MS) this.#failed(why)
    else if (this.state !== 'closed') {
      this.state = 'failed'
      this.error = this.secrets.text(why)
      this.note(why)
    }
  }

  #unavailable(more = 'nothing was sent to it'): ServerUnavailable {
    const { error = 'It is not connected.', stderr } = this
    const said = saidAtLast(stderr)
    const why = said !== '' && error.endsWith(said) ? error : `${error.replace(/\.?$/, '.')}${said}`
    return new ServerUnavailable(`The MCP server ${this.#name} cannot be used; ${more}. ${why}`)
  }

  /** Older servers keep a session until they are told that it is over. */
  async #endSession(transport: StdioTransport | HttpTransport | undefined): Promise<void> {
    if (transport === undefined || transport instanceof StdioTransport || transport.sessionId === undefined)
      return
    const limit = AbortSignal.timeout(GOODBYE_MS)
    await Promise.race([transport.terminateSession(), rejectedBy(limit, 'late')]).catch(() => {})
  }
}

const GOODBYE_MS = 1000

/** The protocol of the server, so that the next connection need not probe it. */
function priorOf(client: Client): PriorDiscovery | undefined {
  if (client.getProtocolEra() !== 'modern') return { kind: 'legacy' }
  const discover = client.getDiscoverResult()
  return discover && { kind: 'modern', discover }
}

const UNAUTHORISED: readonly unknown[] = [401, 403]

function isProbe(sdk: ClientSdk, error: unknown): boolean {
  return error instanceof sdk.SdkError && error.code === sdk.SdkErrorCode.EraNegotiationFailed
}

function connectProblem(error: unknown, { target }: ServerSettings): string {
  const { name, status } = error as { readonly name?: unknown; readonly status?: unknown }
  if (name === 'UnauthorizedError' || UNAUTHORISED.includes(status))
    return 'It wants authorisation. Set `headers`, or `authProvider` in a program.'
  if (error instanceof ServerEnded) return error.message
  const text = failureText(error)
  if (target.kind !== 'http') return text
  const { username, password, port } = new URL(target.url)
  if (username !== '' || password !== '')
    return 'Its url has a user or a password, with which `fetch` never connects. Set `Authorization` in `headers` instead.'
  if (!text.endsWith('bad port')) return text
  return `Port ${port} of its url is one that \`fetch\` never connects to. Serve it on another port.`
}

function rejectedBy(signal: AbortSignal, message: string): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(new Error(message))
    signal.addEventListener('abort', () => reject(new Error(message)), { once: true })
  })
}

const MOST_LINES = 5
const LONGEST_LINES = 1000

function saidAtLast(stderr: string): string {
  const lines = stderr.trim().split('\n').slice(-MOST_LINES).join('\n').slice(-LONGEST_LINES).toWellFormed()
  return lines === '' ? '' : ` Its standard error ends with: ${lines}`
}
