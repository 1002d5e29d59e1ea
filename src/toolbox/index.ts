/** `holdfast/toolbox`: tools for files, commands, search and the web, confined to a working folder. */

export type { GuardedFetchOptions, GuardedResponse } from './address-guard.ts'
export { guardedFetch } from './address-guard.ts'
export type { DescribeImage, ImageAnswer, ImageQuestion } from './describe-image.ts'
export type { ConnectAddress, ConnectTarget } from './guard-exchange.ts'
export type { AllowedOrigin, FetchErrorCode, ResolveHost } from './guard-target.ts'
export { GuardedFetchError } from './guard-target.ts'
export type { LoadToolsOptions } from './load-tools.ts'
export { loadTools, TOOL_IDS } from './load-tools.ts'
export type { WebOptions } from './web-access.ts'
