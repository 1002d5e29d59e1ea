/** The tools of the toolbox by id, made for one working folder. Knows what each tool is called, not what it does. */
import { stat } from 'node:fs/promises'
import { checkName, checkOptions, HoldfastError, type OptionSet, quote } from '../protocol/index.ts'
import type { Tool } from '../tool/index.ts'
import { askFollowupQuestion } from './ask-followup-question.ts'
import { attemptCompletion } from './attempt-completion.ts'
import { type CommandOptions, commandSettings, executeCommand } from './execute-command.ts'
import { listFiles } from './list-files.ts'
import { readFile } from './read-file.ts'
import { replaceInFile } from './replace-in-file.ts'
import { readTodoList, writeTodoList } from './todo-list.ts'
import type { ToolboxContext, ToolFactory } from './toolbox-context.ts'
import { openWorkspace, type Workspace } from './workspace.ts'
import { writeToFile } from './write-to-file.ts'

export interface LoadToolsOptions extends CommandOptions {
  /** The working folder. File tools and commands are confined to it. */
  readonly cwd: string
  /** The tools to load. Default: all. */
  readonly toolIds?: readonly string[]
}

/** Every tool, by its id, which is its name. */
const FACTORIES: Readonly<Record<string, ToolFactory>> = {
  read_file: readFile,
  write_to_file: writeToFile,
  replace_in_file: replaceInFile,
  list_files: listFiles,
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
