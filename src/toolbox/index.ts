/** `holdfast/toolbox`: tools for files, commands, search and the web, confined to a working folder. */
export type {
  AllowedOrigin,
  ConnectAddress,
  ConnectTarget,
  FetchErrorCode,
  GuardedFetchOptions,
  GuardedResponse,
  ResolveHost,
} from '../net/index.ts'
export { GuardedFetchError, guardedFetch } from '../net/index.ts'
export type { DescribeImage, ImageAnswer, ImageQuestion } from './describe-image.ts'
export type { CommandOptions, CommandResult } from './execute-command.ts'
export type { LoadedTools, LoadToolsOptions } from './load-tools.ts'
export { loadTools, TOOL_IDS } from './load-tools.ts'
export type { SandboxMode } from './sandbox.ts'
export type { TodoItem } from './todo-list.ts'
export { TODO_ARTIFACT } from './todo-list.ts'
export type { WebOptions } from './web-access.ts'
