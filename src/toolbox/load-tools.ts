/** The tools of the toolbox by id, made for one working folder. Knows what each tool is called, not what it does. */
import { realpath, stat } from 'node:fs/promises'
import { checkName, checkOptions, HoldfastError, type OptionSet, quote } from '../protocol/index.ts'
import type { Tool } from '../tool/index.ts'

export interface LoadToolsOptions {
  /** The working folder. File tools and commands are confined to it. */
  readonly cwd: string
  /** The tools to load. Default: all. */
  readonly toolIds?: readonly string[]
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
  options: { cwd: 'a text', toolIds: 'a list' },
  foreign: { root: 'cwd', folder: 'cwd', tools: 'toolIds', tool_ids: 'toolIds' },
}

/** Makes the tools for a working folder, which must exist. */
export async function loadTools(options: LoadToolsOptions): Promise<readonly Tool[]> {
  checkOptions(options, LOAD_TOOLS)
  const { cwd, toolIds = TOOL_IDS } = options
  for (const id of toolIds) checkName('toolIds', id, TOOL_IDS)
  const root = await folderAt(cwd)
  return toolIds.flatMap((id) => FACTORIES[id]?.({ root }) ?? [])
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
