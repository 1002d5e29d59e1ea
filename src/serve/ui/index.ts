/** `holdfast/ui`: the UI message stream of the AI SDK on the HTTP server, for `useChat`. */
export type { UiDataParts, UiMessageMetadata } from './chunks.ts'
export { uiMessageStream } from './mount.ts'
