/** Plugins: hooks and tools that belong together, ready to use. */
export type { BreakpointOptions, Stop, ToolChoice } from './breakpoint.ts'
export { breakpoint } from './breakpoint.ts'
