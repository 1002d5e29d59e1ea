/** The MCP servers of `--mcp FILE`: their tools beside those of an agent, and the origin of a tool as text. */
import { resolve } from 'node:path'
import type { Tool } from 'holdfast'
import { toolsFrom } from 'holdfast/tool'
import type { AgentDefinition } from './config/define-config.ts'
import { unusable } from './refusal.ts'
import type { RequestSource } from './request-source.ts'

export interface McpTools {
  readonly tools: () => Promise<readonly Tool[]>
  /** `mcp:server`; undefined for a tool of the agent itself. */
  readonly originOf: (tool: string) => string | undefined
  readonly close: () => Promise<void>
}

export interface OpenMcpOptions {
  /** The JSON file of `--mcp`. */
  readonly file: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly print: (problem: string) => void
}

/** Starts the servers. A server that fails is printed, and the command goes on without it. */
export async function openMcp({ file, cwd, env, print }: OpenMcpOptions): Promise<McpTools> {
  const servers = resolve(cwd, file)
  const onProblem = ({ server, message }: { readonly server: string; readonly message: string }): void =>
    print(`mcp:${server}: ${message}`)
  const { connectMcp } = await import('holdfast/mcp')
  const mcp = await connectMcp({ servers, env, onProblem }).catch((error: unknown) => {
    throw unusable(error instanceof Error ? error.message : String(error), error)
  })
  const origins = new Map<string, string>()
  const tools = async (): Promise<readonly Tool[]> => {
    const all = await mcp.tools()
    for (const { name, origin } of all) if (origin !== undefined) origins.set(name, originText(origin))
    return all
  }
  await tools()
  return { tools, originOf: (tool) => origins.get(tool), close: mcp.close }
}

export function originText(origin: NonNullable<Tool['origin']>): string {
  return origin.kind === 'mcp' ? `mcp:${origin.server}` : `a2a:${origin.url}`
}

/** The definition with the tools of the servers after its own. */
export function withMcp(definition: AgentDefinition, mcp: McpTools | undefined): AgentDefinition {
  if (mcp === undefined) return definition
  const { tools: own = [] } = definition
  const tools: NonNullable<AgentDefinition['tools']> = async (turn) => [
    ...toolsFrom(typeof own === 'function' ? await own(turn) : own),
    ...(await mcp.tools()),
  ]
  return { ...definition, tools }
}

/** The source of a request, with the origin of the tool that it approves. */
export function withOrigin(source: RequestSource, mcp: McpTools | undefined): RequestSource {
  const origin = source.approves && mcp?.originOf(source.approves.tool)
  return origin === undefined ? source : { ...source, origin }
}
