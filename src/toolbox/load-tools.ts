/** The tools of the toolbox by id, made for one working folder. Knows what each tool is called, not what it does. */
import { stat } from 'node:fs/promises'
import { checkName, checkOptions, defined, HoldfastError, type OptionSet, quote } from '../protocol/index.ts'
import type { Tool } from '../tool/index.ts'
import { analyzeImage } from './analyze-image.ts'
import { askFollowupQuestion } from './ask-followup-question.ts'
import { attemptCompletion } from './attempt-completion.ts'
import type { DescribeImage } from './describe-image.ts'
import { type CommandOptions, commandSettings, executeCommand } from './execute-command.ts'
import { listCodeDefinitionNames } from './list-code-definition-names.ts'
import { listFiles } from './list-files.ts'
import { readFile } from './read-file.ts'
import { replaceInFile } from './replace-in-file.ts'
import { searchFiles } from './search-files.ts'
import { readTodoList, writeTodoList } from './todo-list.ts'
import type { ToolboxContext, ToolFactory } from './toolbox-context.ts'
import type { WebOptions } from './web-access.ts'
import { webFetch } from './web-fetch.ts'
import { openWorkspace, type Workspace } from './workspace.ts'
import { writeToFile } from './write-to-file.ts'

export interface LoadToolsOptions extends CommandOptions {
  /** The working folder. File tools and commands are confined to it. */
  readonly cwd: string
  /** The tools to load. Default: all. */
  readonly toolIds?: readonly string[]
  /** The addresses that `web_fetch` and `analyze_image` may reach, and those that need no approval. */
  readonly web?: WebOptions
  /** The vision model of `analyze_image`. */
  readonly describeImage?: DescribeImage
  /** MCP servers by name, or the path of a JSON file, as `servers` of `connectMcp`. Their tools as they are now. */
  readonly mcpServers?: Readonly<Record<string, object>> | string
}

/** The state of an MCP server now, as `status()` of `connectMcp` gives it. */
interface LoadedServer {
  readonly name: string
  readonly state: string
  /** Why it is not connected. */
  readonly error?: string
  readonly tools: number
  readonly problems: readonly string[]
}

/** A list of tools. A server that cannot be used has none in it: `status` says why. `close` ends the servers. */
export type LoadedTools = readonly Tool[] &
  AsyncDisposable & {
    readonly status: () => readonly LoadedServer[]
    readonly close: () => Promise<void>
  }

/** Every tool, by its id, which is its name. */
const FACTORIES: Readonly<Record<string, ToolFactory>> = {
  read_file: readFile,
  write_to_file: writeToFile,
  replace_in_file: replaceInFile,
  list_files: listFiles,
  search_files: searchFiles,
  list_code_definition_names: listCodeDefinitionNames,
  web_fetch: webFetch,
  analyze_image: analyzeImage,
  execute_command: executeCommand,
  write_todo_list: writeTodoList,
  read_todo_list: readTodoList,
  ask_followup_question: askFollowupQuestion,
  attempt_completion: attemptCompletion,
}

export const TOOL_IDS: readonly string[] = Object.keys(FACTORIES)

const LOAD_TOOLS: OptionSet<LoadToolsOptions> = {
  place: 'loadTools()',
  options: {
    cwd: 'a text',
    toolIds: 'a list',
    sandbox: ['auto', 'required', 'off'],
    network: 'true or false',
    env: 'an object',
    readable: 'a list',
    web: 'an object',
    describeImage: 'a function',
    mcpServers: null,
  },
  foreign: {
    root: 'cwd',
    folder: 'cwd',
    tools: 'toolIds',
    tool_ids: 'toolIds',
    visionModel: 'describeImage',
    mcp_server_configs: 'mcpServers',
  },
}

/**
 * Makes the tools for a working folder, which must exist, and adds those of MCP servers. The list does not change: for
 * servers that change their tools, give an agent `tools` of `connectMcp`.
 */
export async function loadTools(options: LoadToolsOptions): Promise<LoadedTools> {
  checkOptions(options, LOAD_TOOLS)
  const { cwd, toolIds = TOOL_IDS, web, describeImage, mcpServers } = options
  for (const id of toolIds) checkName('toolIds', id, TOOL_IDS)
  const workspace = await workspaceAt(cwd)
  const commands = await commandSettings(
    toolIds.includes('execute_command') ? options : { ...options, sandbox: 'off' },
    workspace.root,
  )
  const context: ToolboxContext = {
    workspace,
    commands,
    ...defined({ web, describeImage }),
  }
  const own = toolIds.flatMap((id) => FACTORIES[id]?.(context) ?? [])
  if (mcpServers === undefined) return loaded(own, { status: () => [], close: async () => {} })
  // `connectMcp` checks them; its types belong to a room that is loaded late.
  const { connectMcp } = await import('../mcp/index.ts')
  const mcp = await connectMcp({ servers: mcpServers as string })
  return loaded([...own, ...(await mcp.tools())], mcp)
}

function loaded(
  tools: readonly Tool[],
  { status, close }: Pick<LoadedTools, 'status' | 'close'>,
): LoadedTools {
  return Object.assign([...tools], { status, close, [Symbol.asyncDispose]: close })
}

async function workspaceAt(cwd: string): Promise<Workspace> {
  try {
    if ((await stat(cwd)).isDirectory()) return await openWorkspace(cwd)
  } catch (error) {
    if (error instanceof HoldfastError) throw error
  }
  throw new HoldfastError('invalid-option', {
    message: `cwd of loadTools() is ${quote(cwd)}, and there is no such folder. Create it first.`,
  })
}
