/** `holdfast/toolbox`: tools for files, commands, search and the web, confined to a working folder. */
export type { CommandOptions, CommandResult } from './execute-command.ts'
export type { LoadToolsOptions } from './load-tools.ts'
export { loadTools, TOOL_IDS } from './load-tools.ts'
export type { SandboxMode } from './sandbox.ts'
export type { TodoItem } from './todo-list.ts'
export { TODO_ARTIFACT } from './todo-list.ts'
