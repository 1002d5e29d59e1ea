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
export type { LoadToolsOptions } from './load-tools.ts'
export { loadTools, TOOL_IDS } from './load-tools.ts'
export type { WebOptions } from './web-access.ts'
