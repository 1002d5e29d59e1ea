/** The tools that a server lists, read page by page without trust in any of them, within bounds. */
import { type JsonObject, quote } from '../protocol/index.ts'
import type { StandardSchema, Tool } from '../tool/index.ts'
import type { LiveServer, ServerConnection } from './connection.ts'
import { toolName } from './names.ts'
import { readTools } from './read-tools.ts'
import type { ListedTool } from './sdk.ts'
import { serverTool } from './server-tool.ts'

/** Models take some hundred tools at most. */
const MOST_TOOLS = 500
const MOST_PAGES = 100
const MOST_LISTED = 20_000
const LONGEST_LIST_MS = 30_000

export interface ToolList {
  readonly tools: readonly Tool[]
  /** Why tools were left out. */
  readonly problems: readonly string[]
}

export async function listTools(connection: ServerConnection, live: LiveServer): Promise<ToolList> {
  const { name: server, options } = connection.settings
  const problems: string[] = []
  const listed = live.client.getServerCapabilities()?.tools === undefined ? [] : await allPages(live, options)
  const wanted =
    options.tools === undefined ? listed : listed.filter(({ name }) => options.tools?.includes(name))
  // A mapping of a tool that is not there guards nothing.
  for (const name of new Set([...(options.tools ?? []), ...Object.keys(options.grounding ?? {})]))
    if (!listed.some((each) => each.name === name)) problems.push(`It has no tool ${quote(name)}.`)
  if (wanted.length > MOST_TOOLS)
    problems.push(
      `It has ${wanted.length} tools, and the first ${MOST_TOOLS} are used. Name those that you need in \`tools\`.`,
    )
  const made = new Map<string, Tool>()
  for (const each of wanted.slice(0, MOST_TOOLS)) {
    const name = toolName(server, each.name)
    const tool = made.has(name) ? 'another one has the same name' : serverTool(connection, each, name)
    if (typeof tool === 'string') problems.push(`Its tool ${quote(each.name)} is left out: ${tool}.`)
    else made.set(name, tool)
  }
  for (const tool of readTools(connection, live, (name) => toolName(server, name)))
    if (!made.has(tool.name)) made.set(tool.name, tool)
  return { tools: [...made.values()], problems: bounded(problems) }
}

const MOST_PROBLEMS = 10

function bounded(problems: readonly string[]): readonly string[] {
  if (problems.length <= MOST_PROBLEMS) return problems
  const more = problems.length - MOST_PROBLEMS
  return [...problems.slice(0, MOST_PROBLEMS), `And ${more} more problems with its tools.`]
}

interface Page {
  readonly tools: readonly unknown[]
  readonly nextCursor?: string
}

/** The package's own list refuses all tools because of a bad one. */
const PAGE: StandardSchema<Page> = {
  '~standard': {
    version: 1,
    vendor: 'holdfast',
    validate: (value) => {
      const { tools, nextCursor } = (value ?? {}) as {
        readonly tools?: unknown
        readonly nextCursor?: unknown
      }
      if (!Array.isArray(tools)) return { issues: [{ message: 'There is no list `tools`' }] }
      return { value: { tools, ...(typeof nextCursor === 'string' ? { nextCursor } : {}) } }
    },
  },
}

async function allPages(
  { client }: LiveServer,
  { connectTimeoutMs = LONGEST_LIST_MS }: { readonly connectTimeoutMs?: number },
): Promise<readonly ListedTool[]> {
  const signal = AbortSignal.timeout(connectTimeoutMs)
  const found: unknown[] = []
  let cursor: string | undefined
  for (let page = 0; page < MOST_PAGES && found.length < MOST_LISTED; page += 1) {
    const params: JsonObject = cursor === undefined ? {} : { cursor }
    const { tools, nextCursor } = (await client.request({ method: 'tools/list', params }, PAGE as never, {
      signal,
      timeout: connectTimeoutMs,
    })) as Page
    found.push(...tools.slice(0, MOST_LISTED - found.length))
    if (nextCursor === undefined || nextCursor === cursor) break
    cursor = nextCursor
  }
  return found.filter(isNamed)
}

function isNamed(value: unknown): value is ListedTool {
  if (typeof value !== 'object' || value === null) return false
  const { name, description = '', title = '', annotations = {} } = value as Record<string, unknown>
  const isTexts = [name, description, title].every((each) => typeof each === 'string')
  return isTexts && typeof annotations === 'object' && annotations !== null
}
