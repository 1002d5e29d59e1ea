/** A host over A2A, mounted on the HTTP server. */
export { a2a } from './mount.ts'
export type { A2aAgent, A2aOptions, A2aSkill } from './options.ts'
export type { PushFailure, PushOptions } from './push-options.ts'
