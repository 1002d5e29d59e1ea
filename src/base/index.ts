/** Mechanics without domain words. This room imports nothing. */
export type { Clock } from './clock.ts'
export { systemClock } from './clock.ts'
export type { Ids } from './id.ts'
export { systemIds } from './id.ts'
export type { Liveness } from './process-identity.ts'
export { processIdentity, processLiveness } from './process-identity.ts'
export type { Timer, WaitOptions } from './timer.ts'
export { systemTimer } from './timer.ts'
