/** The tools of the toolbox by id, made for one working folder. Knows what each tool is called, not what it does. */
import { stat } from 'node:fs/promises'
import { checkName, checkOptions, HoldfastError, type OptionSet, quote } from '../protocol/index.ts'
import type { Tool } from '../tool/index.ts'
import { askFollowupQuestion } from './ask-followup-question.ts'
import { attemptCompletion } from './attempt-completion.ts'
import {
  type CommandOptions,
  type CommandSettings,
  commandSettings,
  executeCommand,
} from './execute-command.ts'
import { readTodoList, writeTodoList } from './todo-list.ts'
import { openWorkspace, type Workspace } from './workspace.ts'

export interface LoadToolsOptions extends CommandOptions {
  /** The working folder. File tools and commands are confined to it. */
  readonly cwd: string
  /** The tools to load. Default: all. */
  readonly toolIds?: readonly string[]
}

/** Everything that the tools of one working folder share. */
export interface ToolboxContext {
  /** The real path of the working folder. */
  readonly root: string
  /** The working folder, for every path that a model gives. */
  readonly workspace: Workspace
  /** The sandbox and the environment of commands. */
  readonly commands: CommandSettings
}

export type ToolFactory = (context: ToolboxContext) => Tool

/** Every tool, by its id, which is its name. */
const FACTORIES: Readonly<Record<string, ToolFactory>> = {
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
  },
  foreign: { root: 'cwd', folder: 'cwd', tools: 'toolIds', tool_ids: 'toolIds' },
}

/** Makes the tools for a working folder, which must exist. */
export async function loadTools(options: LoadToolsOptions): Promise<readonly Tool[]> {
  checkOptions(options, LOAD_TOOLS)
  const { cwd, toolIds = TOOL_IDS } = options
  for (const id of toolIds) checkName('toolIds', id, TOOL_IDS)
  const workspace = await workspaceAt(cwd)
  const commands = await commandSettings(
    toolIds.includes('execute_command') ? options : { ...options, sandbox: 'off' },
    workspace.root,
  )
  const context: ToolboxContext = { root: workspace.root, workspace, commands }
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
