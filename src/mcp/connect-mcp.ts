/** The servers of a config together: their tools for an agent, their state, their resources and prompts. */
import { debugThrown, systemTimer } from '../base/index.ts'
import {
  checkOptions,
  HoldfastError,
  type JsonObject,
  nearestName,
  type OptionSet,
  quote,
} from '../protocol/index.ts'
import { type Tool, thrownText } from '../tool/index.ts'
import { type McpServersOption, readServers } from './config.ts'
import { ServerConnection } from './connection.ts'
import { listTools } from './listing.ts'
import { getPrompt, listPrompts, listResources, readResource } from './read-request.ts'
import type { McpProblem, McpServerStatus } from './status.ts'

export interface ConnectMcpOptions {
  readonly servers: McpServersOption
  /** The values of `${VAR}` in the config. Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Connects when tools are first needed, not now. */
  readonly lazy?: boolean
  /** Called with every problem of a server; it is in `status()`, too. */
  readonly onProblem?: (problem: McpProblem) => void
}

export interface McpServers extends AsyncDisposable {
  /**
   * The tools of all servers that can be reached, for `tools` of an agent: it is called for every turn, so that a turn sees
   * the changes before it. Never rejects because of a server.
   */
  readonly tools: (...turn: readonly unknown[]) => Promise<readonly Tool[]>
  readonly status: () => readonly McpServerStatus[]
  readonly resources: (server: string) => Promise<readonly JsonObject[]>
  readonly readResource: (server: string, uri: string) => Promise<readonly JsonObject[]>
  readonly prompts: (server: string) => Promise<readonly JsonObject[]>
  readonly getPrompt: (
    server: string,
    name: string,
    args?: Readonly<Record<string, string>>,
  ) => Promise<JsonObject>
  /** Ends every connection and every process that was started. */
  readonly close: () => Promise<void>
}

const OPTIONS: OptionSet<ConnectMcpOptions> = {
  place: 'connectMcp()',
  options: { servers: null, env: 'an object', lazy: 'true or false', onProblem: 'a function' },
  foreign: { mcpServers: 'servers', config: 'servers', file: 'servers' },
}

/**
 * Connects to servers: `connectMcp({ servers: 'mcp.json' })`. A config that cannot be right is an error; a server that cannot
 * be reached is one in `status()`, and the others go on.
 */
export async function connectMcp(options: ConnectMcpOptions): Promise<McpServers> {
  checkOptions(options, OPTIONS)
  const { servers, env = process.env, lazy = false, onProblem } = options
  const settings = await readServers(servers, env)
  const names = settings.map(({ name }) => name)
  const all = settings.map((each) => new ServerTools(new ServerConnection(each), onProblem))
  const tools = async (): Promise<readonly Tool[]> =>
    (await Promise.all(all.map((each) => each.tools()))).flat()
  const close = async (): Promise<void> => {
    await Promise.all(all.map(({ connection }) => connection.close()))
  }
  const connectionTo = (server: string): ServerConnection => {
    const found = all.find(({ connection }) => connection.settings.name === server)
    if (found === undefined) throw unknownServer(server, names)
    return found.connection
  }
  if (!lazy) await tools()
  return {
    tools,
    close,
    [Symbol.asyncDispose]: close,
    status: () => all.map((each) => each.status()),
    resources: async (server) => listResources(connectionTo(server)),
    readResource: async (server, uri) => readResource(connectionTo(server), uri),
    prompts: async (server) => listPrompts(connectionTo(server)),
    getPrompt: async (server, name, args = {}) =>
      getPrompt(connectionTo(server), { name, arguments: { ...args } }),
  }
}

function unknownServer(server: string, names: readonly string[]): HoldfastError {
  const nearest = nearestName(server, names)
  const hint = nearest === undefined ? `Servers are ${names.join(', ')}.` : `Did you mean ${nearest}?`
  return new HoldfastError('not-found', { message: `There is no MCP server ${quote(server)}. ${hint}` })
}

/** How long a turn waits for a server that has failed before. */
const RECONNECT_MS = 2000

/** The tools of one server, listed again after a change. */
class ServerTools {
  readonly connection: ServerConnection
  #tools: readonly Tool[] = []
  /** Counts changes: a change during a listing is not missed. */
  #changes = 1
  #listed = 0
  #listing: Promise<void> | undefined
  /** The last listing has failed. */
  #hasFailed = false

  constructor(connection: ServerConnection, onProblem: ConnectMcpOptions['onProblem']) {
    this.connection = connection
    connection.onToolsChanged = () => {
      this.#changes += 1
    }
    connection.onProblem = (message) => {
      try {
        onProblem?.({ server: connection.settings.name, message })
      } catch (error) {
        debugThrown('The function onProblem of connectMcp()', error)
      }
    }
  }

  /** The last known list if the server cannot be reached: a call of one connects again. */
  async tools(): Promise<readonly Tool[]> {
    const { live, missesToolReports, isReady } = this.connection
    const isStale = this.#listed !== this.#changes || live === undefined || missesToolReports
    if (isStale && isReady) {
      this.#listing ??= this.#list()
      // A server that has failed before does not hold up every turn.
      await (this.connection.error === undefined && !this.#hasFailed
        ? this.#listing
        : Promise.race([this.#listing, systemTimer.wait(RECONNECT_MS, { background: true })]))
    }
    return this.#tools
  }

  async #list(): Promise<void> {
    try {
      const live = await this.connection.connected()
      const now = this.#changes
      const { tools, problems } = await listTools(this.connection, live)
      this.#tools = tools
      this.#listed = now
      this.#hasFailed = false
      for (const problem of problems) this.connection.note(problem)
    } catch (error) {
      this.#hasFailed = true
      // A failed connection has been noted.
      if (this.connection.live !== undefined)
        this.connection.note(`Its tools cannot be listed: ${thrownText(error)}`)
    } finally {
      this.#listing = undefined
    }
  }

  status(): McpServerStatus {
    const { connection } = this
    const { settings, state, error, pid, stderr } = connection
    const protocolVersion = connection.live?.client.getNegotiatedProtocolVersion()
    return {
      name: settings.name,
      transport: settings.target.kind,
      state,
      ...(error === undefined ? {} : { error }),
      ...(protocolVersion === undefined ? {} : { protocolVersion }),
      tools: this.#tools.length,
      problems: [...connection.problems],
      ...(stderr === '' ? {} : { stderr }),
      ...(pid === undefined ? {} : { pid }),
    }
  }
}
