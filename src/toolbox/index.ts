/** `holdfast/toolbox`: tools for files, commands, search and the web, confined to a working folder. */
export type { LoadedTools, LoadToolsOptions } from './load-tools.ts'
export { loadTools, TOOL_IDS } from './load-tools.ts'
