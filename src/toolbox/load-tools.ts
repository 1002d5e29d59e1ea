/** The tools of the toolbox by id, made for one working folder. Knows what each tool is called, not what it does. */
import { realpath, stat } from 'node:fs/promises'
import { checkName, checkOptions, HoldfastError, type OptionSet, quote } from '../protocol/index.ts'
import type { Tool } from '../tool/index.ts'

export interface LoadToolsOptions {
  /** The working folder. File tools and commands are confined to it. */
  readonly cwd: string
  /** The tools to load. Default: all. */
  readonly toolIds?: readonly string[]
  /** MCP servers by name, or the path of a JSON file, as `servers` of `connectMcp`. Their tools as they are now. */
  readonly mcpServers?: Readonly<Record<string, object>> | string
}

/** A list of tools. `close` ends the MCP servers that were started for it. */
export interface LoadedTools extends ReadonlyArray<Tool>, AsyncDisposable {
  readonly close: () => Promise<void>
}

/** Everything that the tools of one working folder share. */
export interface ToolboxContext {
  /** The real path of the working folder. */
  readonly root: string
}

export type ToolFactory = (context: ToolboxContext) => Tool

/** Every tool, by its id, which is its name. */
const FACTORIES: Readonly<Record<string, ToolFactory>> = {}

export const TOOL_IDS: readonly string[] = Object.keys(FACTORIES)

const LOAD_TOOLS: OptionSet<LoadToolsOptions> = {
  place: 'loadTools()',
  options: { cwd: 'a text', toolIds: 'a list', mcpServers: null },
  foreign: { root: 'cwd', folder: 'cwd', tools: 'toolIds', tool_ids: 'toolIds' },
}

/**
 * Makes the tools for a working folder, which must exist, and adds those of MCP servers. The list does not change: for
 * servers that change their tools, give an agent `tools` of `connectMcp`.
 */
export async function loadTools(options: LoadToolsOptions): Promise<LoadedTools> {
  checkOptions(options, LOAD_TOOLS)
  const { cwd, toolIds = TOOL_IDS, mcpServers } = options
  for (const id of toolIds) checkName('toolIds', id, TOOL_IDS)
  const root = await folderAt(cwd)
  const own = toolIds.flatMap((id) => FACTORIES[id]?.({ root }) ?? [])
  if (mcpServers === undefined) return closable(own, async () => {})
  // `connectMcp` checks them; its types belong to a room that is loaded late.
  const { connectMcp } = await import('../mcp/index.ts')
  const mcp = await connectMcp({ servers: mcpServers as string })
  return closable([...own, ...(await mcp.tools())], mcp.close)
}

function closable(tools: readonly Tool[], close: () => Promise<void>): LoadedTools {
  return Object.assign([...tools], { close, [Symbol.asyncDispose]: close })
}

async function folderAt(cwd: string): Promise<string> {
  try {
    const root = await realpath(cwd)
    if ((await stat(root)).isDirectory()) return root
  } catch {}
  throw new HoldfastError('invalid-option', {
    message: `cwd of loadTools() is ${quote(cwd)}, and there is no such folder. Create it first.`,
  })
}
