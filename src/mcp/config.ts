/**
 * The config of MCP servers: the shapes that people have, checked and brought into one. Starts nothing, and no message
 * contains a value of `env` or `headers`.
 */
import { readFile } from 'node:fs/promises'
import type { ToolMapping } from '../grounding/index.ts'
import { checkOptions, defined, HoldfastError, type OptionSet, quote, shown } from '../protocol/index.ts'

/** Options of every server. */
export interface McpServerOptions {
  /**
   * The hints of the server's tools are believed: of all, or of the named ones. A trusted tool with `readOnlyHint` or
   * `idempotentHint` may run again after a crash, and one with `readOnlyHint` needs no approval. Default: none.
   */
  readonly trust?: boolean | readonly string[]
  /** The tools to take, by the server's names. Default: all. */
  readonly tools?: readonly string[]
  /** Adds tools that list and read resources, if the server has some. */
  readonly resources?: boolean
  /** Adds tools that list and get prompts, if the server has some. */
  readonly prompts?: boolean
  /** How long a call may take without an answer and without progress. Default: 60 seconds. */
  readonly timeoutMs?: number
  /** How long connecting may take. Default: 30 seconds. */
  readonly connectTimeoutMs?: number
  /** The largest message of the server. Default: 10 MB. */
  readonly maxMessageBytes?: number
  /** The ids in arguments and results, by the server's names of its tools. */
  readonly grounding?: Readonly<Record<string, ToolMapping>>
  /** The server is not used. */
  readonly disabled?: boolean
}

/** A program that is started, and speaks over its standard input and output. */
export interface StdioServerConfig extends McpServerOptions {
  readonly command: string
  readonly args?: readonly string[]
  /** In addition to PATH, HOME and a few others: nothing else of this process is passed on. `${VAR}` is replaced. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  readonly type?: 'stdio'
  readonly transport?: 'stdio'
}

/** A server that speaks streamable HTTP. */
export interface HttpServerConfig extends McpServerOptions {
  /** `${VAR}` is replaced. */
  readonly url: string
  /** Sent with every request. `${VAR}` is replaced. */
  readonly headers?: Readonly<Record<string, string>>
  readonly type?: HttpType
  readonly transport?: HttpType
  /** An `AuthProvider` or `OAuthClientProvider` of `@modelcontextprotocol/client`. */
  readonly authProvider?: object
}

export type HttpType = 'http' | 'streamable-http' | 'streamable_http' | 'streamableHttp'

export type McpServerConfig = StdioServerConfig | HttpServerConfig

/** Servers by name, as they are or below `mcpServers`; or the path of a JSON file with that. */
export type McpServersOption =
  | Readonly<Record<string, McpServerConfig>>
  | { readonly mcpServers: Readonly<Record<string, McpServerConfig>> }
  | string

/** A checked config of one server. */
export interface ServerSettings {
  readonly name: string
  readonly target: StdioTarget | HttpTarget
  readonly options: McpServerOptions
}

export interface StdioTarget {
  readonly kind: 'stdio'
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string
}

export interface HttpTarget {
  readonly kind: 'http'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly authProvider?: object
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Reads and checks the config. Throws `invalid-option`, and names the server and the field. */
export async function readServers(
  option: McpServersOption,
  env: Environment,
): Promise<readonly ServerSettings[]> {
  const given = typeof option === 'string' ? await fromFile(option) : option
  const place = typeof option === 'string' ? option : 'servers'
  if (!isRecord(given)) throw invalid(place, `must be MCP servers by name, not ${shown(given)}`)
  const servers = Object.hasOwn(given, 'mcpServers') ? given['mcpServers'] : given
  if (!isRecord(servers)) throw invalid(place, 'has no object `mcpServers` with servers by name')
  return Object.entries(servers).flatMap(([name, server]) => {
    const settings = settingsOf(name, server, env)
    return settings === undefined ? [] : [settings]
  })
}

async function fromFile(path: string): Promise<unknown> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    const { code = 'it cannot be read' } = error as NodeJS.ErrnoException
    throw invalid(path, `cannot be read (${code}). Write the path of a JSON file with \`mcpServers\``)
  }
  try {
    return JSON.parse(text.replace(/^\uFEFF/, '')) as unknown
  } catch (error) {
    throw invalid(path, `is no JSON: ${(error as Error).message}`)
  }
}

const SHARED = {
  trust: null,
  tools: 'a list',
  resources: 'true or false',
  prompts: 'true or false',
  timeoutMs: { leastMs: 1 },
  connectTimeoutMs: { leastMs: 1 },
  maxMessageBytes: { least: 1024 },
  grounding: 'an object',
  disabled: 'true or false',
} as const

const FOREIGN = {
  autoApprove: 'trust: ["tool"]',
  alwaysAllow: 'trust: ["tool"]',
  timeout: 'timeoutMs, in milliseconds,',
  serverUrl: 'url',
  httpUrl: 'url',
  enabled: 'disabled: true, or nothing,',
  auth: 'headers, or authProvider in a program,',
  oauth: 'authProvider in a program',
}

const STDIO: Omit<OptionSet<StdioServerConfig>, 'place'> = {
  options: {
    command: 'a text',
    args: 'a list',
    env: 'an object',
    cwd: 'a text',
    type: ['stdio'],
    transport: ['stdio'],
    ...SHARED,
  },
  foreign: FOREIGN,
}

const HTTP_TYPES: readonly HttpType[] = ['http', 'streamable-http', 'streamable_http', 'streamableHttp']

const HTTP: Omit<OptionSet<HttpServerConfig>, 'place'> = {
  options: {
    url: 'a text',
    headers: 'an object',
    type: HTTP_TYPES,
    transport: HTTP_TYPES,
    authProvider: 'an object',
    ...SHARED,
  },
  foreign: FOREIGN,
}

/** The names alone: which of the two it is, is not known. */
const EITHER: Omit<OptionSet<Readonly<Record<string, unknown>>>, 'place'> = {
  options: Object.fromEntries(Object.keys({ ...STDIO.options, ...HTTP.options }).map((name) => [name, null])),
  foreign: FOREIGN,
}

const OPTION_NAMES = Object.keys(SHARED) as (keyof McpServerOptions)[]
const LONGEST_NAME = 100

function settingsOf(name: string, server: unknown, env: Environment): ServerSettings | undefined {
  if (name.trim() === '' || name.length > LONGEST_NAME)
    throw invalid(
      'mcpServers',
      `has a server called ${quote(name)}. Use a name of 1 to ${LONGEST_NAME} characters`,
    )
  const place = `The MCP server ${quote(name)}`
  if (!isRecord(server)) throw invalid(place, `must be an object with command or url, not ${shown(server)}`)
  if (server['disabled'] === true) return undefined
  const hasUrl = server['url'] !== undefined
  if (hasUrl === (server['command'] !== undefined)) {
    // A field that is misspelt is why it has neither.
    checkOptions(server, { place, ...EITHER })
    throw invalid(place, `must have either command, to start it, or url, to connect to it`)
  }
  if (server['type'] === 'sse' || server['transport'] === 'sse')
    throw invalid(
      place,
      'uses SSE, which MCP has replaced. Write the url of its streamable HTTP, with type "http"',
    )
  named(place, () => {
    if (hasUrl) checkOptions(server, { place, ...HTTP })
    else checkOptions(server, { place, ...STDIO })
  })
  const target = hasUrl
    ? httpTarget(place, server as unknown as HttpServerConfig, env)
    : stdioTarget(place, server as unknown as StdioServerConfig, env)
  checkTexts(place, 'tools', server['tools'])
  if (typeof server['trust'] !== 'boolean') checkTexts(place, 'trust', server['trust'])
  const options = Object.fromEntries(OPTION_NAMES.map((option) => [option, server[option]]))
  return { name, target, options: defined(options) }
}

/** Messages of `checkOptions` about a value name the option only. */
function named(place: string, check: () => void): void {
  try {
    check()
  } catch (error) {
    const { message } = error as Error
    throw message.startsWith(place) ? error : invalid(place, `is wrong: ${message.replace(/\.$/, '')}`)
  }
}

function stdioTarget(
  place: string,
  { command, args = [], env = {}, cwd }: StdioServerConfig,
  from: Environment,
): StdioTarget {
  checkTexts(place, 'args', args)
  return {
    kind: 'stdio',
    command,
    args,
    env: filled(place, { field: 'env', values: env }, from),
    ...defined({ cwd }),
  }
}

function httpTarget(
  place: string,
  { url, headers = {}, authProvider }: HttpServerConfig,
  from: Environment,
): HttpTarget {
  const whole = replaced(place, { field: 'url', text: url }, from)
  if (!/^https?:$/.test(URL.parse(whole)?.protocol ?? ''))
    throw invalid(place, 'has a url that is no http or https address')
  const sent = filled(place, { field: 'headers', values: headers }, from)
  if (!canBeSent(sent)) {
    throw invalid(
      place,
      'has headers that cannot be sent: a name or a value has characters that HTTP does not allow',
    )
  }
  return { kind: 'http', url: whole, headers: sent, ...defined({ authProvider }) }
}

function canBeSent(headers: Readonly<Record<string, string>>): boolean {
  try {
    return [...new Headers(headers)].length >= 0
  } catch {
    return false
  }
}

function filled(
  place: string,
  { field, values }: { readonly field: string; readonly values: Readonly<Record<string, string>> },
  from: Environment,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(values).map(([key, text]) => [
      key,
      replaced(place, { field: `${field}.${key}`, text }, from),
    ]),
  )
}

const VARIABLE = /\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g

/** The text with `${VAR}` and `${VAR:-default}` replaced. */
function replaced(
  place: string,
  { field, text }: { readonly field: string; readonly text: unknown },
  from: Environment,
): string {
  if (typeof text !== 'string') throw invalid(place, `has a ${field} that is no text`)
  return text.replaceAll(VARIABLE, (_, name: string, fallback: string | undefined) => {
    const value = from[name] ?? fallback
    if (value !== undefined) return value
    throw invalid(place, `needs the environment variable ${name} for ${field}. Set ${name}`)
  })
}

function checkTexts(place: string, field: string, value: unknown): void {
  if (value === undefined) return
  if (!Array.isArray(value) || !value.every((each) => typeof each === 'string'))
    throw invalid(
      place,
      `has ${field} that must be a list of texts${field === 'trust' ? ', true or false' : ''}`,
    )
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function invalid(place: string, why: string): HoldfastError {
  return new HoldfastError('invalid-option', { message: `${place} ${why}.` })
}
