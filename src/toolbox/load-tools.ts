/** The tools of the toolbox by id, made for one working folder. Knows what each tool is called, not what it does. */
import { stat } from 'node:fs/promises'
import { checkName, checkOptions, defined, HoldfastError, type OptionSet, quote } from '../protocol/index.ts'
import type { Tool } from '../tool/index.ts'
import { analyzeImage } from './analyze-image.ts'
import type { DescribeImage } from './describe-image.ts'
import { listFiles } from './list-files.ts'
import { readFile } from './read-file.ts'
import { replaceInFile } from './replace-in-file.ts'
import type { ToolboxContext, ToolFactory } from './toolbox-context.ts'
import type { WebOptions } from './web-access.ts'
import { webFetch } from './web-fetch.ts'
import { openWorkspace, type Workspace } from './workspace.ts'
import { writeToFile } from './write-to-file.ts'

export interface LoadToolsOptions {
  /** The working folder. File tools and commands are confined to it. */
  readonly cwd: string
  /** The tools to load. Default: all. */
  readonly toolIds?: readonly string[]
  /** The addresses that `web_fetch` and `analyze_image` may reach, and those that need no approval. */
  readonly web?: WebOptions
  /** The vision model of `analyze_image`. */
  readonly describeImage?: DescribeImage
}

/** Every tool, by its id, which is its name. */
const FACTORIES: Readonly<Record<string, ToolFactory>> = {
  read_file: readFile,
  write_to_file: writeToFile,
  replace_in_file: replaceInFile,
  list_files: listFiles,
  web_fetch: webFetch,
  analyze_image: analyzeImage,
}

export const TOOL_IDS: readonly string[] = Object.keys(FACTORIES)

const LOAD_TOOLS: OptionSet<LoadToolsOptions> = {
  place: 'loadTools()',
  options: { cwd: 'a text', toolIds: 'a list', web: 'an object', describeImage: 'a function' },
  foreign: {
    root: 'cwd',
    folder: 'cwd',
    tools: 'toolIds',
    tool_ids: 'toolIds',
    visionModel: 'describeImage',
  },
}

/** Makes the tools for a working folder, which must exist. */
export async function loadTools(options: LoadToolsOptions): Promise<readonly Tool[]> {
  checkOptions(options, LOAD_TOOLS)
  const { cwd, toolIds = TOOL_IDS, web, describeImage } = options
  for (const id of toolIds) checkName('toolIds', id, TOOL_IDS)
  const workspace = await workspaceAt(cwd)
  const context: ToolboxContext = { root: workspace.root, workspace, ...defined({ web, describeImage }) }
  return toolIds.flatMap((id) => FACTORIES[id]?.(context) ?? [])
}

async function workspaceAt(cwd: string): Promise<Workspace> {
  try {
    if ((await stat(cwd)).isDirectory()) return await openWorkspace(cwd)
  } catch {}
  throw new HoldfastError('invalid-option', {
    message: `cwd of loadTools() is ${quote(cwd)}, and there is no such folder. Create it first.`,
  })
}
