/** `holdfast/openai`: agents as models of the OpenAI API on the HTTP server. */
export type { OpenAiOptions } from './mount.ts'
export { openai } from './mount.ts'
