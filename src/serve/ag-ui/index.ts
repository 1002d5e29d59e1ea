/** `holdfast/ag-ui`: agents and graphs of a host for clients of AG-UI. */
export type { AgUiOptions } from './ag-ui.ts'
export { agUi } from './ag-ui.ts'
export { withClientTools } from './client-tools.ts'
export type { GraphRunInput } from './graph-input.ts'
