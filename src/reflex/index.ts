/** The embedded model. Only what is exported here is for others. */
export type { Reflex, ReflexOptions, ReflexReply, ReflexUsage } from './reflex.ts'
export { reflex } from './reflex.ts'
